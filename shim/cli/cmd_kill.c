/* caisson kill: SIGKILL ends a run at once; any other signal is for its program. */
#include <signal.h>

#include "shim/base/clock.h"
#include "shim/cli/cmd.h"
#include "shim/task/ctl.h"
#include "shim/task/settings.h"

/* An engine that passes the signal on has its own deadline, of 10 s, unless the run was told another. */
#define ANSWER_NS (15 * CS_NSEC_PER_SEC)
#define END_NS (15 * CS_NSEC_PER_SEC)

struct kill {
	int signal;
};

static const struct cs_opt rows[] = {
	{ "signal", 's', CS_OPT_SIGNAL, offsetof(struct kill, signal), .arg = "SIGNAL",
	  .help = "signal for the program's first process, in place of KILL, which ends the whole run" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

static struct cs_json *request(int signal)
{
	struct cs_json *request = cs_ctl_request("kill");

	if (cs_json_put(request, "signal", cs_json_new_i64(signal)) < 0)
		cs_json_free_ptr(&request);
	return request;
}

static int kill_one(const char *state_dir, const char *id, void *arg, struct cs_err *err)
{
	const struct kill *kill = arg;
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	int r;

	if (cs_ctl_connect(state_dir, id, CS_CMD_CONNECT_NS, &client, err) < 0)
		return -1;
	r = cs_ctl_call(&client, request(kill->signal), cs_clock_deadline_ns(ANSWER_NS), NULL, err);
	if (r == 0 && kill->signal == SIGKILL && cs_ctl_wait_closed(&client, cs_clock_deadline_ns(END_NS)) < 0)
		r = cs_fail(err, CS_TIMEOUT, 0, "'%s' does not end: 'caisson rm -f %s' ends it all the same", id, id);
	cs_ctl_client_release(&client);
	return r;
}

static int each(struct cs_cmd_call *call, struct cs_err *err)
{
	struct kill *kill = call->own;

	if (kill->signal == 0)
		kill->signal = SIGKILL;
	return cs_cmd_each_id(call, CS_EACH_PRINT, kill_one, kill, err);
}

const struct cs_cmd cs_cmd_kill = {
	.name = "kill",
	.summary = "end a run at once, or send its program a signal",
	.usage = "[FLAGS] ID...",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct kill),
	.operands_min = 1,
	.operands_max = CS_CMD_ANY,
	.operand = "id",
	.act = each,
};
