/* caisson exec: one more command in a live session, bounded like a run of its own. */
#include <errno.h>
#include <string.h>

#include "shim/base/parse.h"
#include "shim/cli/cmd.h"
#include "shim/cli/outcome.h"
#include "shim/sys/signals.h"
#include "shim/task/exec.h"

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
		return -1;
	cs_result_init(&result);
	cs_exec_run(&plan, &result);
	cs_outcome_report(s, &result);
	call->code = cs_result_outward(&result);
	r = cs_outcome_write(s, &target, &result, err);
	cs_outcome_close(&target);
	cs_result_release(&result);
	return r;
}

static int exec(struct cs_cmd_call *call, struct cs_err *err)
{
	char *const *args;
	sigset_t before;
	int r;

	if (call->argc == 0)
		return cs_cmd_fail_missing(call->cmd, err);
	if (!cs_id_valid(call->argv[0]))
		return cs_fail(err, CS_INVALID, 0, "'%.64s' is no id of a session", call->argv[0]);
	/* with "--" behind the id and without, as in docker exec */
	args = call->argv + 1;
	if (*args && strcmp(*args, "--") == 0)
		args++;
	if (!*args)
		return cs_fail(err, CS_INVALID, 0, "no command to run in '%s': caisson %s %s", call->argv[0], call->cmd->name,
			       call->cmd->usage);
	r = cs_signals_block(&before);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "signals");
	return exec_job(call, call->argv[0], args, err);
}

const struct cs_cmd cs_cmd_exec = {
	.name = "exec",
	.summary = "run one more command in a live session, under bounds of its own",
	.usage = "[FLAGS] ID [--] COMMAND [ARGUMENTS]",
	.settings = CS_FOR_EXEC,
	.operands_max = CS_CMD_ANY,
	.operand = "id of a session",
	.act = exec,
};
