/* What the commands for ids of runs have in common. */
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/cli/cmd.h"
#include "shim/task/ctl.h"
#include "shim/task/session.h"
#include "shim/task/settings.h"

/* As all errors of caisson itself: another number could be a program's. */
#define FAILED 125

static int do_one(const char *state_dir, const char *id, unsigned flags, cs_cmd_id_fn *fn, void *arg, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_ID_MAX + 2);

	if (fn(state_dir, id, arg, err) < 0)
		return -1;
	cs_buf_addf(&text, "%s\n", id);
	return flags & CS_EACH_PRINT ? cs_cmd_print(&text, err) : 0;
}

int cs_cmd_each_id(struct cs_cmd_call *call, unsigned flags, cs_cmd_id_fn *fn, void *arg, struct cs_err *err CS_UNUSED)
{
	const char *state_dir = call->tree->values.state_dir;

	for (int i = 0; i < call->argc; i++) {
		struct cs_err one = CS_ERR_INIT;
		char id[CS_ID_MAX + 1];
		bool found = cs_session_find(state_dir, call->argv[i], id, &one) == 0;

		if (found && do_one(state_dir, id, flags, fn, arg, &one) == 0)
			continue;
		cs_log_error("%s", one.text);
		if (found || one.kind != CS_NOT_FOUND || !(flags & CS_EACH_MISSING_OK))
			call->code = FAILED;
	}
	return 0;
}

int cs_cmd_ask(const char *state_dir, const char *id, const char *word, struct cs_err *err)
{
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	int r;

	if (cs_ctl_connect(state_dir, id, CS_CMD_CONNECT_NS, &client, err) < 0)
		return -1;
	r = cs_ctl_call(&client, cs_ctl_request(word), cs_clock_deadline_ns(CS_CMD_ANSWER_NS), NULL, err);
	cs_ctl_client_release(&client);
	return r;
}
