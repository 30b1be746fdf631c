/* caisson help, caisson version */
#include <string.h>

#include "shim/cli/cmd.h"
#include "shim/engine/engine.h"
#include "shim/task/policy.h"
#include "shim/task/settings.h"

#define TEXT_MAX (256 * 1024)

struct help {
	bool man;
	bool keys;
	bool table;
};

/* The hidden forms are what the build makes manual pages and completions from. */
static const struct cs_opt rows[] = {
	{ "man", 0, CS_OPT_SWITCH, offsetof(struct help, man), .help = "flags as man(7) paragraphs", .hidden = true },
	{ "keys", 0, CS_OPT_SWITCH, offsetof(struct help, keys), .help = "keys as man(7) paragraphs", .hidden = true },
	{ "table", 0, CS_OPT_SWITCH, offsetof(struct help, table), .help = "commands and flags as lines of fields", .hidden = true },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

static void man_of(const struct cs_cmd *cmd, struct cs_buf *out)
{
	struct cs_opt_set sets[CS_CMD_SETS];
	size_t n = cs_cmd_sets(cmd, sets);

	for (size_t i = 0; i < n; i++)
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

/* --- the table ------------------------------------------------------------------- */

static const char *or_dash(const char *text)
{
	return text && text[0] ? text : "-";
}

/* Words that a flag takes and that no row lists. */
static void words_table(struct cs_buf *out)
{
	const char *name;

	cs_buf_adds(out, "words\truntime");
	for (size_t i = 0; cs_engine_kind_at(i); i++)
		cs_buf_addf(out, "\t%s", cs_engine_kind_at(i)->name);
	cs_buf_adds(out, "\nwords\tpolicy");
	for (size_t i = 0; (name = cs_policy_builtin_at(i)); i++)
		cs_buf_addf(out, "\t%s", name);
	cs_buf_addc(out, '\n');
}

/*
 * Fields between tabs, "-" for none:
 *   cmd    NAME SUMMARY USAGE OPERAND
 *   flag   COMMAND NAME LETTER PLACEHOLDER CHOICES OPTIONAL HELP
 *   words  FLAG WORD…
 */
static void table(struct cs_buf *out)
{
	const struct cs_cmd *cmd;

	for (size_t i = 0; (cmd = cs_cmd_at(i)); i++) {
		struct cs_opt_set sets[CS_CMD_SETS];
		size_t n = cs_cmd_sets(cmd, sets);

		cs_buf_addf(out, "cmd\t%s\t%s\t%s\t%s\n", cmd->name, cmd->summary, or_dash(cmd->usage), or_dash(cmd->operand));
		for (size_t j = 0; j < n; j++)
			for (size_t k = 0; k < sets[j].n; k++) {
				const struct cs_opt *row = &sets[j].rows[k];
				const char letter[] = { row->letter, '\0' };

				if (row->hidden || !cs_opt_in_scope(&sets[j], row, CS_ORIGIN_FLAG))
					continue;
				cs_buf_addf(out, "flag\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cmd->name, row->name, or_dash(letter),
					    or_dash(row->arg), or_dash(row->choices), row->absent ? "optional" : "-", row->help);
			}
	}
	words_table(out);
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
	if (help->table)
		table(&text);
	else if (help->keys)
		keys_man(&text);
	else if (help->man && cmd)
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
