/* caisson help, caisson version */
#include <string.h>

#include "shim/cli/cmd.h"
#include "shim/task/settings.h"

#define TEXT_MAX (256 * 1024)

struct help {
	bool man;
	bool keys;
	bool help;
};

/* Both forms are what the build makes the manual pages from. */
static const struct cs_opt rows[] = {
	{ "man", 0, CS_OPT_SWITCH, offsetof(struct help, man), .help = "flags as man(7) paragraphs", .hidden = true },
	{ "keys", 0, CS_OPT_SWITCH, offsetof(struct help, keys), .help = "keys as man(7) paragraphs", .hidden = true },
	{ "help", 'h', CS_OPT_SWITCH, offsetof(struct help, help), .help = "this text" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

static void man_of(const struct cs_cmd *cmd, struct cs_buf *out)
{
	const struct cs_opt_set settings = { .rows = cs_settings_rows, .n = cs_settings_n_rows };

	if (cmd->rows) {
		const struct cs_opt_set own = { .rows = cmd->rows, .n = *cmd->n_rows };

		cs_opt_man(&own, out);
	}
	if (cmd->settings)
		cs_opt_man(&settings, out);
}

static void keys_man(struct cs_buf *out)
{
	for (size_t i = 0; i < cs_settings_n_rows; i++) {
		const struct cs_opt *row = &cs_settings_rows[i];

		if (!row->key)
			continue;
		cs_buf_addf(out, ".TP\n.B %s\n", row->key);
		cs_buf_addf(out, "The flag\n.B \\-\\-");
		for (const char *p = row->name; *p; p++)
			cs_buf_addf(out, *p == '-' ? "\\-" : "%c", *p);
		cs_buf_addf(out, "\n%s%s\n", row->type == CS_OPT_LIST ? "(a list)" : "",
			    row->type == CS_OPT_SWITCH ? "(true or false)" : "");
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
		man_of(cmd, &text);
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
