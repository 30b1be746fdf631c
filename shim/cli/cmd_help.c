/* caisson help, caisson version */
#include <string.h>

#include "shim/cli/cmd.h"
#include "shim/task/settings.h"

#define TEXT_MAX (256 * 1024)

struct help {
	bool man;
	bool own;
	bool keys;
	bool help;
};

/* The hidden forms are what the build makes the manual pages from. */
static const struct cs_opt rows[] = {
	{ "man", 0, CS_OPT_SWITCH, offsetof(struct help, man), .help = "flags as man(7) paragraphs", .hidden = true },
	{ "own", 0, CS_OPT_SWITCH, offsetof(struct help, own), .help = "without the settings", .hidden = true },
	{ "keys", 0, CS_OPT_SWITCH, offsetof(struct help, keys), .help = "keys as man(7) paragraphs", .hidden = true },
	{ "help", 'h', CS_OPT_SWITCH, offsetof(struct help, help), .help = "this text" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

static void man_of(const struct cs_cmd *cmd, bool own_only, struct cs_buf *out)
{
	const struct cs_opt_set settings = { .rows = cs_settings_rows, .n = cs_settings_n_rows };

	if (cmd->rows) {
		const struct cs_opt_set own = { .rows = cmd->rows, .n = *cmd->n_rows };

		cs_opt_man(&own, out);
	}
	if (cmd->settings && !own_only)
		cs_opt_man(&settings, out);
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

static int run_help(int argc, char *const argv[], int *ret_code, struct cs_err *err)
{
	struct help help = { 0 };
	const struct cs_opt_set set = { .rows = rows, .n = n_rows, .target = &help };
	cs_auto(buf) text = CS_BUF_INIT(TEXT_MAX);
	const struct cs_cmd *cmd = NULL;
	int at = cs_opt_parse(&set, argc, argv, err);

	*ret_code = 0;
	if (at < 0)
		return -1;
	if (at < argc) {
		cmd = cs_cmd_by_name(argv[at]);
		if (!cmd)
			return cs_fail(err, CS_INVALID, 0, "unknown command '%.64s': see 'caisson help'", argv[at]);
	}
	if (help.keys)
		keys_man(&text);
	else if (help.man && cmd)
		man_of(cmd, help.own, &text);
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
	.run = run_help,
};

static int run_version(int argc CS_UNUSED, char *const argv[] CS_UNUSED, int *ret_code, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(256);

	*ret_code = 0;
	cs_buf_adds(&text, PACKAGE_STRING "\nspec: 1.0.2\n");
	return cs_cmd_print(&text, err);
}

const struct cs_cmd cs_cmd_version = {
	.name = "version",
	.summary = "print the version",
	.usage = "",
	.run = run_version,
};
