/* caisson wait: until a session has ended; exits as the run did. */
#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/cli/cmd.h"
#include "shim/task/ctl.h"
#include "shim/task/session.h"
#include "shim/task/settings.h"

struct wait {
	int code; /* of the last one */
};

/* 0 with the code; 1 when there is no result. */
static int read_code(int dir_fd, int *ret_code, struct cs_err *err)
{
	cs_autojson struct cs_json *result = NULL;
	int64_t code;

	if (cs_session_result(dir_fd, &result, err) < 0)
		return err->kind == CS_STATE ? cs_err_clear(err), 1 : -1;
	if (cs_json_get_i64(cs_json_member(result, "outwardCode"), &code) < 0 || code < 0 || code > 255)
		return cs_fail(err, CS_INVALID, 0, "result: \"outwardCode\" is no exit code");
	*ret_code = (int)code;
	return 0;
}

/* The connection's end is the event; the result is there by then, if ever. */
static int wait_for_end(const char *state_dir, const char *id, struct cs_err *err)
{
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	int r = cs_ctl_connect(state_dir, id, CS_CMD_CONNECT_NS, &client, err);

	if (r == 0)
		r = cs_ctl_call(&client, cs_ctl_request("wait"), cs_clock_deadline_ns(CS_CMD_ANSWER_NS), NULL, err);
	if (r == 0)
		cs_ctl_wait_closed(&client, CS_NEVER);
	cs_ctl_client_release(&client);
	/* it has ended before we could ask */
	if (r < 0 && (err->kind == CS_NOT_FOUND || err->kind == CS_STATE))
		return cs_err_clear(err), 0;
	return r;
}

static int wait_one(const char *state_dir, const char *id, void *arg, struct cs_err *err)
{
	struct wait *wait = arg;
	cs_autofd int dir_fd = cs_session_open(state_dir, id, err);
	int r = dir_fd < 0 ? -1 : read_code(dir_fd, &wait->code, err);

	if (r == 1 && wait_for_end(state_dir, id, err) == 0)
		r = read_code(dir_fd, &wait->code, err);
	if (r == 1 && !cs_err_is_set(err))
		cs_fail(err, CS_STATE, 0, "how '%s' ended is not known: it was removed, or its supervisor was killed", id);
	return cs_err_is_set(err) ? -1 : 0;
}

static int each(struct cs_cmd_call *call, struct cs_err *err)
{
	struct wait *wait = call->own;

	if (cs_cmd_each_id(call, 0, wait_one, wait, err) < 0)
		return -1;
	if (call->code == 0)
		call->code = wait->code;
	return 0;
}

const struct cs_cmd cs_cmd_wait = {
	.name = "wait",
	.summary = "wait for the end of a session, and exit with its code (of several: the last one's)",
	.usage = "[FLAGS] ID...",
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct wait),
	.operands_min = 1,
	.operands_max = CS_CMD_ANY,
	.operand = "id",
	.act = each,
};
