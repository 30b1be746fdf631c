/* caisson help, caisson version */
#include <string.h>

#include "shim/cli/cmd.h"
#include "shim/task/settings.h"

#define TEXT_MAX (256 * 1024)

struct help {
	bool man;
	bool own;
	bool keys;
};

/* The hidden forms are what the build makes the manual pages from. */
static const struct cs_opt rows[] = {
	{ "man", 0, CS_OPT_SWITCH, offsetof(struct help, man), .help = "flags as man(7) paragraphs", .hidden = true },
	{ "own", 0, CS_OPT_SWITCH, offsetof(struct help, own), .help = "without the settings", .hidden = true },
	{ "keys", 0, CS_OPT_SWITCH, offsetof(struct help, keys), .help = "keys as man(7) paragraphs", .hidden = true },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

static void man_of(const struct cs_cmd *cmd, bool own_only, struct cs_buf *out)
{
	struct cs_opt_set sets[CS_CMD_SETS];
	size_t n = cs_cmd_sets(cmd, sets);

	for (size_t i = 0; i < n; i++)
		if (!own_only || sets[i].rows != cs_settings_rows)
			cs_opt_man(&sets[i], out);
}

static void roff_dashes(const char *text, struct cs_buf *out)
{
	for (; *text; text++)
		cs_buf_addf(out, *text == '-' ? "\\-" : "%c", *text);
}

static const char *key_form(const struct cs_opt *row)
{
	switch (row->type) {
	case CS_OPT_SWITCH:
		return "true or false";
	case CS_OPT_LIST:
		return "list of strings";
	case CS_OPT_U64:
		return "number";
	default:
		return row->arg;
	}
}

static void keys_man(struct cs_buf *out)
{
	for (size_t i = 0; i < cs_settings_n_rows; i++) {
		const struct cs_opt *row = &cs_settings_rows[i];

		if (!row->key)
			continue;
		cs_buf_addf(out, ".TP\n.BR %s \" (", row->key);
		roff_dashes(key_form(row), out);
		cs_buf_adds(out, ")\"\n");
		roff_dashes(row->help, out);
		cs_buf_adds(out, ": as\n.B \\-\\-");
		roff_dashes(row->name, out);
		cs_buf_adds(out, "\n");
	}
}

static int run_help(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct help *help = call->own;
	cs_auto(buf) text = CS_BUF_INIT(TEXT_MAX);
	const struct cs_cmd *cmd = NULL;

	if (call->argc > 0) {
		cmd = cs_cmd_by_name(call->argv[0]);
		if (!cmd)
			return cs_cmd_fail_unknown(call->argv[0], err);
	}
	if (help->keys)
		keys_man(&text);
	else if (help->man && cmd)
		man_of(cmd, help->own, &text);
	else
		cs_cmd_help(cmd, &text);
	return cs_cmd_print(&text, err);
}

const struct cs_cmd cs_cmd_help_row = {
	.name = "help",
	.summary = "tell what a command does and which flags it takes",
	.usage = "[COMMAND]",
	.rows = rows,
	.n_rows = &n_rows,
	.own_size = sizeof(struct help),
	.operands_max = 1,
	.act = run_help,
};

static int run_version(struct cs_cmd_call *call CS_UNUSED, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(256);

	cs_buf_adds(&text, PACKAGE_STRING "\nspec: 1.0.2\n");
	return cs_cmd_print(&text, err);
}

const struct cs_cmd cs_cmd_version = {
	.name = "version",
	.summary = "print the version",
	.usage = "",
	.act = run_version,
};
