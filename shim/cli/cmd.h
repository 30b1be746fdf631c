/*
 * Subcommands as rows: one file each exports one, cmds.c lists them; help,
 * completion, the manual and dispatch read the list.
 */
#ifndef CS_CLI_CMD_H
#define CS_CLI_CMD_H

#include "shim/base/buf.h"
#include "shim/base/err.h"
#include "shim/base/opt.h"

struct cs_cmd {
	const char *name;
	const char *summary;          /* one line, lower case */
	const char *usage;            /* what stands behind the name */
	const struct cs_opt *rows;    /* its own flags, with --help among them; NULL: none */
	const size_t *n_rows;         /* so that a table's length is known where it stands */
	bool settings;                /* takes the flags of shim/task/settings_rows.c too */

	/*
	 * argv[0] is the subcommand's name. 0 with the exit code in *ret_code, or
	 * -1 with err, which main reports once.
	 */
	int (*run)(int argc, char *const argv[], int *ret_code, struct cs_err *err);
};

/* The i-th subcommand; NULL past the end. */
const struct cs_cmd *cs_cmd_at(size_t i);
const struct cs_cmd *cs_cmd_by_name(const char *name);

/* "Usage: …", the flags, for one subcommand; cmd NULL: the overview. */
void cs_cmd_help(const struct cs_cmd *cmd, struct cs_buf *out);

/* Is --help or -h among the flags before the first operand? Looked for first, so that help needs no other flag to be right. */
bool cs_cmd_wants_help(int argc, char *const argv[]);

/*
 * Where live runs are on record, for commands that take --state-dir and no
 * other setting: what was given there (NULL: nothing), else what the
 * configuration says. The caller frees *ret.
 */
int cs_cmd_state_dir(const char *given, char **ret, struct cs_err *err);

/* Writes to stdout, all of it. */
int cs_cmd_print(const struct cs_buf *text, struct cs_err *err);

/* --format of ps, gc and check. */
enum cs_list_format { CS_LIST_TEXT, CS_LIST_JSON };

extern const struct cs_cmd cs_cmd_run, cs_cmd_ps, cs_cmd_gc, cs_cmd_check, cs_cmd_bundle, cs_cmd_help_row,
	cs_cmd_version;

#endif
