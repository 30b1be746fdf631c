/* What all subcommands have in common: flags, --help, operands, release. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "shim/cli/cmd.h"
#include "shim/cli/tone.h"
#include "shim/task/config.h"

#define HELP_MAX (256 * 1024)
#define EFFECTIVE_MAX (4 << 20)

struct common {
	bool help;
};

static const struct cs_opt common_rows[] = {
	{ "help", 'h', CS_OPT_SWITCH, offsetof(struct common, help), .help = "this text" },
};

static struct cs_opt_set own_set(const struct cs_cmd *cmd)
{
	return (struct cs_opt_set){ .rows = cmd->rows, .n = cmd->rows ? *cmd->n_rows : 0 };
}

size_t cs_cmd_sets(const struct cs_cmd *cmd, struct cs_opt_set ret[CS_CMD_SETS])
{
	size_t n = 0;

	if (cmd->rows)
		ret[n++] = own_set(cmd);
	ret[n] = (struct cs_opt_set){ .rows = common_rows, .n = CS_ARRAY_LEN(common_rows) };
	n++;
	if (cmd->settings) {
		ret[n] = (struct cs_opt_set){ .rows = cs_settings_rows, .n = cs_settings_n_rows, .scope = cmd->settings };
		n++;
	}
	return n;
}

static int print_help(const struct cs_cmd *cmd, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(HELP_MAX);

	cs_cmd_help(cmd, &text);
	return cs_cmd_print(&text, err);
}

int cs_cmd_fail_missing(const struct cs_cmd *cmd, struct cs_err *err)
{
	return cs_fail(err, CS_INVALID, 0, "no %s: caisson %s %s", cmd->operand, cmd->name, cmd->usage);
}

static int fail_too_many(const struct cs_cmd *cmd, const char *word, struct cs_err *err)
{
	if (cmd->operands_max == 0)
		return cs_fail(err, CS_INVALID, 0, "caisson %s takes no arguments, and '%.64s' is one", cmd->name, word);
	return cs_fail(err, CS_INVALID, 0, "'%.64s' is one argument too many: caisson %s %s", word, cmd->name, cmd->usage);
}

static int count_operands(const struct cs_cmd_call *call, struct cs_err *err)
{
	const struct cs_cmd *cmd = call->cmd;

	if (call->argc < cmd->operands_min)
		return cs_cmd_fail_missing(cmd, err);
	return call->argc > cmd->operands_max ? fail_too_many(cmd, call->argv[cmd->operands_max], err) : 0;
}

void cs_cmd_log_level(enum cs_log_level level)
{
	cs_log_setup(&(struct cs_log_config){
		.program = "caisson",
		.level = level,
		.format = CS_LOG_TEXT,
		.fd = STDERR_FILENO,
		.colour = cs_tone_of(STDERR_FILENO).colour,
	});
}

/* What would hold, in place of doing anything. */
static int print_effective(struct cs_settings_tree *tree, struct cs_err *err)
{
	cs_autojson struct cs_json *json = NULL;
	cs_auto(buf) text = CS_BUF_INIT(EFFECTIVE_MAX);

	if (tree->values.format == CS_FORMAT_TEXT)
		cs_settings_print(tree, &text);
	else if (cs_settings_json(tree, &json, err) < 0 || cs_json_write(json, CS_JSON_INDENTED, &text, err) < 0)
		return -1;
	else
		cs_buf_addc(&text, '\n');
	return cs_cmd_print(&text, err);
}

/* The call itself, its operands being found. */
static int act(struct cs_cmd_call *call, bool help, struct cs_err *err)
{
	if (help)
		return print_help(call->cmd, err);
	if (call->tree && call->tree->values.print_effective)
		return print_effective(call->tree, err);
	return count_operands(call, err) < 0 ? -1 : call->cmd->act(call, err);
}

static void tell_refused(const struct cs_cmd *cmd, int argc, char *const argv[], const struct cs_opt_set *own,
			 const struct cs_err *why)
{
	struct cs_settings_tree tree;
	struct cs_err err = CS_ERR_INIT;

	if (!cmd->refused || cs_config_salvage(argc, argv, cmd->settings, own, &tree, &err) < 0)
		return;
	cmd->refused(&tree.values, why);
	cs_settings_release(&tree);
}

static int act_with_settings(struct cs_cmd_call *call, int argc, char *const argv[], const struct cs_opt_set *own,
			     const bool *help, struct cs_err *err)
{
	struct cs_settings_tree tree;
	struct cs_config config;
	int at, r;

	if (cs_config_load(argc, argv, call->cmd->settings, own, &config, &tree, &at, err) < 0) {
		tell_refused(call->cmd, argc, argv, own, err);
		return -1;
	}
	cs_cmd_log_level(tree.values.quiet ? CS_LOG_ERROR : tree.values.verbose ? CS_LOG_DEBUG : CS_LOG_WARN);
	call->tree = &tree;
	call->config = &config;
	call->argc = argc - at;
	call->argv = argv + at;
	r = act(call, *help, err);
	call->tree = NULL;
	call->config = NULL;
	cs_settings_release(&tree);
	cs_config_release(&config);
	return r;
}

static int act_without_settings(struct cs_cmd_call *call, int argc, char *const argv[], const struct cs_opt_set *own,
				const bool *help, struct cs_err *err)
{
	int at = cs_opt_parse(own, argc, argv, err), behind;

	if (at < 0)
		return -1;
	call->argc = argc - at;
	call->argv = argv + at;
	if (call->cmd->flags_behind && call->argc > 0 && strcmp(argv[at - 1], "--") != 0) {
		/* the operand is then what the command's name is elsewhere */
		if (cs_cmd_wants_help(call->argc, call->argv))
			return print_help(call->cmd, err);
		behind = cs_opt_parse(own, call->argc, call->argv, err);
		if (behind < 0)
			return -1;
		if (behind < call->argc)
			return fail_too_many(call->cmd, call->argv[behind], err);
		call->argc = 1;
	}
	return act(call, *help, err);
}

int cs_cmd_dispatch(const struct cs_cmd *cmd, int argc, char *const argv[], int *ret_code, struct cs_err *err)
{
	struct common common = { 0 };
	const struct cs_opt_set common_set = { .rows = common_rows, .n = CS_ARRAY_LEN(common_rows), .target = &common };
	struct cs_opt_set own = own_set(cmd);
	cs_autofree void *target = calloc(1, CS_MAX(cmd->own_size, (size_t)1));
	struct cs_cmd_call call = { .cmd = cmd, .own = target };
	int r;

	if (!target)
		return cs_fail(err, CS_LIMIT, ENOMEM, "flags");
	/* looked for first, so that help needs no other flag to be right */
	if (cs_cmd_wants_help(argc, argv))
		return *ret_code = 0, print_help(cmd, err);
	own.target = target;
	own.more = &common_set;
	r = cmd->settings ? act_with_settings(&call, argc, argv, &own, &common.help, err)
			  : act_without_settings(&call, argc, argv, &own, &common.help, err);
	cs_opt_release(&own);
	if (r == 0)
		*ret_code = call.code;
	return r;
}
