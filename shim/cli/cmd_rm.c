/* caisson rm: removes what is kept of a finished session; with -f ends a live run first, and cleans up behind a dead one. */
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/cli/cmd.h"
#include "shim/task/ctl.h"
#include "shim/task/record.h"
#include "shim/task/session.h"
#include "shim/task/settings.h"

/* A supervisor that answers has killed and removed everything by then; one that does not is killed itself. */
#define END_NS (10 * CS_NSEC_PER_SEC)
#define CLEAN_NS (10 * CS_NSEC_PER_SEC)

struct rm {
	bool force;
};

static const struct cs_opt rows[] = {
	{ "force", 'f', CS_OPT_SWITCH, offsetof(struct rm, force),
	  .help = "end it when it is live, whatever state it is in; an id that nothing is known of is no failure" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

/* Asks the supervisor to end it. False when that cannot be had: it is to be killed itself. */
static bool ask_to_end(const struct cs_ctl_client *client, struct cs_err *err)
{
	int r = cs_ctl_call(client, cs_ctl_request("rm"), cs_clock_deadline_ns(CS_CMD_CONNECT_NS), NULL, err);

	if (r < 0 && err->kind != CS_STATE)
		return false;
	cs_err_clear(err);
	return cs_ctl_wait_closed(client, cs_clock_deadline_ns(END_NS)) == 0;
}

/* The record of it, when there is one: with -f played back whoever holds it. */
static int end_run(const char *state_dir, const char *id, bool force, struct cs_err *err)
{
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	bool ended = false;
	int r = cs_ctl_connect(state_dir, id, CS_CMD_CONNECT_NS, &client, err);

	if (r < 0 && err->kind == CS_NOT_FOUND)
		return cs_err_clear(err), 0;
	if (r == 0 && !force)
		cs_fail(err, CS_STATE, 0, "'%s' is live: 'caisson stop %s' first, or 'caisson rm -f %s'", id, id, id);
	else if (r == 0)
		ended = ask_to_end(&client, err);
	cs_ctl_client_release(&client);
	if (!force)
		return -1;
	cs_err_clear(err);
	/* also behind one that has ended in order: what it could not remove is tried again */
	r = cs_record_end(state_dir, id, !ended, cs_clock_deadline_ns(CLEAN_NS), &leftovers, err);
	return r > 0 ? cs_fail(err, CS_TIMEOUT, 0, "left behind, 'caisson gc' tries again: %s", leftovers.v[0]) : r;
}

static int remove_one(const char *state_dir, const char *id, void *arg, struct cs_err *err)
{
	const struct rm *rm = arg;

	if (end_run(state_dir, id, rm->force, err) < 0)
		return -1;
	/* with -f nothing more may be left of it than its result, if that was on its way already */
	if (cs_session_discard(state_dir, id, err) < 0 && !(rm->force && err->kind == CS_NOT_FOUND))
		return -1;
	cs_err_clear(err);
	return 0;
}

static int each(struct cs_cmd_call *call, struct cs_err *err)
{
	struct rm *rm = call->own;

	return cs_cmd_each_id(call, CS_EACH_PRINT | (rm->force ? CS_EACH_MISSING_OK : 0), remove_one, rm, err);
}

const struct cs_cmd cs_cmd_rm = {
	.name = "rm",
	.summary = "remove what is kept of a finished run, or end a live one and forget it",
	.usage = "[FLAGS] ID...",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct rm),
	.operands_min = 1,
	.operands_max = CS_CMD_ANY,
	.operand = "id",
	.act = each,
};
