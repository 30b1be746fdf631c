/* caisson run: one bounded job, from flags to exit code. */
#include <errno.h>

#include "shim/cli/cmd.h"
#include "shim/cli/outcome.h"
#include "shim/sys/signals.h"
#include "shim/task/config.h"
#include "shim/task/job.h"

/* --- the walk ---------------------------------------------------------------------------- */

static int run_job(struct cs_settings_tree *tree, const struct cs_config *config, char *const *args,
		   int *ret_code, struct cs_err *err)
{
	struct cs_settings *s = &tree->values;
	cs_auto(strv) command = CS_STRV_INIT;
	struct cs_job_plan plan = { .settings = s, .config = config, .args = &command };
	struct cs_outcome_target target = CS_OUTCOME_TARGET_INIT;
	struct cs_result result;
	int r;

	if (cs_strv_add_all(&command, (const char *const *)args) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "command");
	if (cs_outcome_open(s->result, &target, err) < 0) {
		cs_outcome_refused(s, err);
		return -1;
	}
	cs_result_init(&result);
	cs_job_run(&plan, &result);
	cs_outcome_report(s, &result);
	*ret_code = cs_result_outward(&result);
	r = cs_outcome_write(s, &target, &result, err);
	cs_outcome_close(&target);
	cs_result_release(&result);
	return r;
}

static int run(struct cs_cmd_call *call, struct cs_err *err)
{
	sigset_t before;
	int r;

	if (call->argc == 0) {
		cs_cmd_fail_missing(call->cmd, err);
		cs_outcome_refused(&call->tree->values, err);
		return -1;
	}
	/* blocked before anything is made, so that no signal finds us half way */
	r = cs_signals_block(&before);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "signals");
	return run_job(call->tree, call->config, call->argv, &call->code, err);
}

const struct cs_cmd cs_cmd_run = {
	.name = "run",
	.summary = "run a command in a sandbox, under bounds, and remove everything",
	.usage = "[FLAGS] [--] COMMAND [ARGUMENTS]",
	.settings = CS_FOR_RUN,
	.operands_max = CS_CMD_ANY,
	.operand = "command to run",
	.act = run,
	.refused = cs_outcome_refused,
};
