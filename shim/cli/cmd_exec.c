/* caisson exec: one more command in a live session, bounded like a run of its own. */
#include <errno.h>
#include <string.h>

#include "shim/cli/cmd.h"
#include "shim/cli/outcome.h"
#include "shim/sys/signals.h"
#include "shim/task/exec.h"
#include "shim/task/session.h"

/* Whoever waits for a record gets one, with the session's id where it is known. */
static int refuse(const struct cs_settings *settings, const char *id, const struct cs_err *why)
{
	struct cs_settings s = *settings; /* borrows all of it */

	s.id = (char *)id;
	cs_outcome_refused(&s, why);
	return -1;
}

static int exec_job(struct cs_cmd_call *call, const char *id, char *const *args, struct cs_err *err)
{
	const struct cs_settings *s = &call->tree->values;
	cs_auto(strv) command = CS_STRV_INIT;
	struct cs_exec_plan plan = { .tree = call->tree, .id = id, .args = &command };
	struct cs_outcome_target target = CS_OUTCOME_TARGET_INIT;
	struct cs_result result;
	int r;

	if (cs_strv_add_all(&command, (const char *const *)args) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "command");
	if (cs_outcome_open(s->result, &target, err) < 0)
		return refuse(s, id, err);
	cs_result_init(&result);
	cs_exec_run(&plan, &result);
	cs_outcome_report(s, &result);
	call->code = cs_result_outward(&result);
	r = cs_outcome_write(s, &target, &result, err);
	cs_outcome_close(&target);
	cs_result_release(&result);
	return r;
}

/* The command behind the id, with "--" before it and without, as in docker exec; NULL with err when there is none. */
static char *const *command_of(const struct cs_cmd_call *call, struct cs_err *err)
{
	char *const *args = call->argv + 1;

	if (*args && strcmp(*args, "--") == 0)
		args++;
	if (*args)
		return args;
	cs_fail(err, CS_INVALID, 0, "no command to run in '%s': caisson %s %s", call->argv[0], call->cmd->name,
		call->cmd->usage);
	return NULL;
}

static int exec(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct cs_settings *s = &call->tree->values;
	char id[CS_ID_MAX + 1] = "";
	char *const *args;
	sigset_t before;
	int r;

	if (call->argc == 0) {
		cs_cmd_fail_missing(call->cmd, err);
		return refuse(s, NULL, err);
	}
	args = command_of(call, err);
	if (!args || cs_session_find(s->state_dir, call->argv[0], id, err) < 0)
		return refuse(s, cs_id_valid(call->argv[0]) ? call->argv[0] : NULL, err);
	r = cs_signals_block(&before);
	if (r < 0) {
		cs_fail(err, CS_IO, -r, "signals");
		return refuse(s, id, err);
	}
	return exec_job(call, id, args, err);
}

const struct cs_cmd cs_cmd_exec = {
	.name = "exec",
	.summary = "run one more command in a live session, under bounds of its own",
	.usage = "[FLAGS] ID [--] COMMAND [ARGUMENTS]",
	.settings = CS_FOR_EXEC,
	.operands_max = CS_CMD_ANY,
	.operand = "id of a session",
	.act = exec,
	.refused = cs_outcome_refused,
};
