/* caisson run: one bounded job, from flags to exit code. */
#include <errno.h>

#include "shim/cli/cmd.h"
#include "shim/cli/detach.h"
#include "shim/cli/outcome.h"
#include "shim/sys/signals.h"
#include "shim/task/config.h"
#include "shim/task/job.h"

static int run_job(const struct cs_job_plan *plan, const struct cs_outcome_target *target, int *ret_code,
		   struct cs_err *err)
{
	struct cs_result result;
	int r;

	cs_result_init(&result);
	cs_job_run(plan, &result);
	cs_outcome_report(plan->settings, &result);
	*ret_code = cs_result_outward(&result);
	r = cs_outcome_write(plan->settings, target, &result, err);
	cs_result_release(&result);
	return r;
}

/* In the supervisor, which is a child; here the id is printed. */
static int run_detached(const struct cs_job_plan *plan, const struct cs_outcome_target *target, const sigset_t *mask,
			struct cs_detach *detach, int *ret_code, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_ID_MAX + 2);
	int r = cs_detach(mask, &target->dir_fd, 1, detach, ret_code, err);

	if (r < 0)
		return -1;
	if (r == 0) {
		r = run_job(plan, target, ret_code, err);
		cs_close_fd(&detach->report_fd);
		return r;
	}
	if (*ret_code != 0)
		return 0;
	cs_buf_addf(&text, "%s\n", detach->id);
	return cs_cmd_print(&text, err);
}

static int run_command(struct cs_cmd_call *call, const sigset_t *mask, struct cs_err *err)
{
	cs_auto(strv) command = CS_STRV_INIT;
	struct cs_detach detach;
	struct cs_job_plan plan = { .settings = &call->tree->values, .config = call->config, .args = &command,
				    .on_started = cs_detach_started, .arg = &detach };
	struct cs_outcome_target target = CS_OUTCOME_TARGET_INIT;
	int r;

	if (cs_strv_add_all(&command, (const char *const *)call->argv) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "command");
	if (cs_outcome_open(plan.settings->result, &target, err) < 0) {
		cs_outcome_refused(plan.settings, err);
		return -1;
	}
	r = plan.settings->detach ? run_detached(&plan, &target, mask, &detach, &call->code, err)
				  : run_job(&plan, &target, &call->code, err);
	cs_outcome_close(&target);
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
	return run_command(call, &before, err);
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
