/* caisson pause, caisson resume: freezes all processes of a run, and lets them go on. */
#include "shim/cli/cmd.h"
#include "shim/task/settings.h"

static int ask(const char *state_dir, const char *id, void *arg, struct cs_err *err)
{
	return cs_cmd_ask(state_dir, id, arg, err);
}

/* The subcommand's name is that of the request. */
static int each(struct cs_cmd_call *call, struct cs_err *err)
{
	char word[16];

	snprintf(word, sizeof(word), "%s", call->cmd->name);
	return cs_cmd_each_id(call, CS_EACH_PRINT, ask, word, err);
}

const struct cs_cmd cs_cmd_pause = {
	.name = "pause",
	.summary = "freeze every process of a run; its limits of time go on",
	.usage = "[FLAGS] ID...",
	.settings = CS_FOR_RECORDS,
	.operands_min = 1,
	.operands_max = CS_CMD_ANY,
	.operand = "id",
	.act = each,
};

const struct cs_cmd cs_cmd_resume = {
	.name = "resume",
	.summary = "let a run that is paused go on",
	.usage = "[FLAGS] ID...",
	.settings = CS_FOR_RECORDS,
	.operands_min = 1,
	.operands_max = CS_CMD_ANY,
	.operand = "id",
	.act = each,
};
