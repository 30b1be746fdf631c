/*
 * Subcommands as rows: one file each exports one, cmds.c lists them; help,
 * completion, the manual and dispatch read the list.
 */
#ifndef CS_CLI_CMD_H
#define CS_CLI_CMD_H

#include <limits.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"
#include "shim/base/log.h"
#include "shim/base/opt.h"

struct cs_cmd;
struct cs_config;
struct cs_settings;
struct cs_settings_tree;

/* One call of a subcommand: its flags are read, its operands are counted. */
struct cs_cmd_call {
	const struct cs_cmd *cmd;
	void *own;                      /* the struct that the row's own flags filled, zeros where none was given */
	int argc;                       /* operands */
	char *const *argv;              /* the operands, NULL behind the last */
	struct cs_settings_tree *tree;  /* all settings, resolved and checked; NULL unless the row says settings */
	const struct cs_config *config; /* NULL likewise */
	int code;                       /* exit code, 0 to begin with */
};

struct cs_cmd {
	const char *name;
	const char *summary;          /* one line, lower case */
	const char *usage;            /* what stands behind the name */
	const struct cs_opt *rows;    /* its own flags, without --help; NULL: none */
	const size_t *n_rows;         /* so that a table's length is known where it stands */
	size_t own_size;              /* of the struct that the rows' offsets count in */
	unsigned settings;            /* takes those flags of shim/task/settings_rows.c too that are for it (enum cs_settings_scope); 0: none */
	int operands_min, operands_max; /* max CS_CMD_ANY: no bound */
	const char *operand;          /* what is missing when operands are: "id"; NULL when none is taken */
	bool flags_behind;            /* flags may follow the operand too, of which there is one; not with settings */

	/*
	 * Everything in call is borrowed and lives until it returns. 0 with the exit
	 * code in call->code, or -1 with err, which main reports once.
	 */
	int (*act)(struct cs_cmd_call *call, struct cs_err *err);

	/* NULL, or called where flags or configuration are refused, with what the flags say all the same. main reports. */
	void (*refused)(const struct cs_settings *settings, const struct cs_err *why);
};

#define CS_CMD_ANY INT_MAX

/*
 * Calls a subcommand, argv[0] being its name: the frame that all have in
 * common. --help is answered here, flags are read and released here, too few
 * and too many operands are CS_INVALID. *ret_code is written on success.
 */
int cs_cmd_dispatch(const struct cs_cmd *cmd, int argc, char *const argv[], int *ret_code, struct cs_err *err);

/* The CS_INVALID of a call that lacks an operand, for commands that need one only sometimes. Returns -1. */
int cs_cmd_fail_missing(const struct cs_cmd *cmd, struct cs_err *err);

/* The flags of a subcommand, set by set, in the order in which help lists them. Without targets: to be read, not filled. */
#define CS_CMD_SETS 3
size_t cs_cmd_sets(const struct cs_cmd *cmd, struct cs_opt_set ret[CS_CMD_SETS]);

/* The i-th subcommand; NULL past the end. */
const struct cs_cmd *cs_cmd_at(size_t i);
const struct cs_cmd *cs_cmd_by_name(const char *name);

/* The CS_INVALID of a name that is no subcommand's, with the nearest one. Returns -1. */
int cs_cmd_fail_unknown(const char *name, struct cs_err *err);

/* "Usage: …", the flags, for one subcommand; cmd NULL: the overview. */
void cs_cmd_help(const struct cs_cmd *cmd, struct cs_buf *out);

/* Is --help or -h among the flags before the first operand? Looked for first, so that help needs no other flag to be right. */
bool cs_cmd_wants_help(int argc, char *const argv[]);

enum cs_cmd_each {
	CS_EACH_PRINT = 1,     /* the id of each that went well, as docker does */
	CS_EACH_MISSING_OK = 2 /* an id that nothing is known of is told, and is no failure */
};

/*
 * The frame of commands that take ids of runs and sessions, or the unique
 * beginnings of such (settings CS_FOR_RECORDS): calls fn with each. What fails is reported at once, the
 * others are done all the same, and the exit code is 125 then.
 */
typedef int cs_cmd_id_fn(const char *state_dir, const char *id, void *arg, struct cs_err *err);
int cs_cmd_each_id(struct cs_cmd_call *call, unsigned flags, cs_cmd_id_fn *fn, void *arg, struct cs_err *err);

/* Time that a supervisor has for a connection, and for an answer: one that is stopped or stuck shall hold nobody up. */
#define CS_CMD_CONNECT_NS (2 * INT64_C(1000000000))
#define CS_CMD_ANSWER_NS (5 * INT64_C(1000000000))

/* Connects, sends {"op": word} to a live run and waits for the answer. */
int cs_cmd_ask(const char *state_dir, const char *id, const char *word, struct cs_err *err);

/* What is said on stderr from now on, in the tone of a person's tool. */
void cs_cmd_log_level(enum cs_log_level level);

/* Writes to stdout, all of it. */
int cs_cmd_print(const struct cs_buf *text, struct cs_err *err);

/* --format of ps, gc and check. */
enum cs_list_format { CS_LIST_TEXT, CS_LIST_JSON };

extern const struct cs_cmd cs_cmd_run, cs_cmd_exec, cs_cmd_ps, cs_cmd_logs, cs_cmd_wait, cs_cmd_stop, cs_cmd_kill,
	cs_cmd_pause, cs_cmd_resume, cs_cmd_stats, cs_cmd_rm, cs_cmd_gc, cs_cmd_check, cs_cmd_configure, cs_cmd_bundle, cs_cmd_help_row,
	cs_cmd_version;

#endif
