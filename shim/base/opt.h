/*
 * Options as rows: one row gives the flag, the configuration key, the help
 * line, the manual line and the place of the value. Used by all faces.
 *
 *     static const struct cs_opt rows[] = {
 *             { "memory", 'm', CS_OPT_SIZE, offsetof(struct settings, memory_bytes),
 *               .key = "memory", .arg = "SIZE", .help = "memory of the whole run" },
 *     };
 *     struct cs_opt_set set = { rows, CS_ARRAY_LEN(rows), &settings, origins };
 *     n = cs_opt_parse(&set, argc, argv, &err);     // argv[n] is the first operand
 *
 * Flags take the forms --name VALUE, --name=VALUE, -x VALUE, -xVALUE and -xy
 * for switches; parsing stops at "--" or the first operand, as in docker run.
 * A switch may be written --name=false. An unknown flag is an error that names
 * the nearest known one. Nothing here prints or exits.
 */
#ifndef CS_BASE_OPT_H
#define CS_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"
#include "shim/base/strv.h"

enum cs_opt_type {
	CS_OPT_SWITCH,   /* bool */
	CS_OPT_TEXT,     /* char *, owned by the target */
	CS_OPT_U64,      /* uint64_t */
	CS_OPT_SIZE,     /* uint64_t bytes (cs_parse_size) */
	CS_OPT_DURATION, /* int64_t nanoseconds (cs_parse_duration) */
	CS_OPT_CPUS,     /* uint64_t thousandths of a CPU */
	CS_OPT_SIGNAL,   /* int */
	CS_OPT_CHOICE,   /* int: position in choices */
	CS_OPT_LIST,     /* struct cs_strv: values append; "=VALUE" empties the list first, "=" only empties it */
	CS_OPT_TYPES
};

/* Which words mean "no limit" for a number, size, duration or CPU count. */
enum cs_opt_lift {
	CS_LIFT_NEVER,
	CS_LIFT_WORD, /* "unlimited" and "-1" */
	CS_LIFT_ZERO  /* and "0" */
};

/* What the target then holds; durations: CS_NEVER (clock.h). */
#define CS_OPT_UNLIMITED UINT64_MAX

/* What makes a value tighter than another one, for sources that may only tighten. */
enum cs_opt_tighter {
	CS_TIGHTER_NEVER, /* the row is not for them */
	CS_TIGHTER_LESS,  /* the smaller number; no limit is the largest; of choices the one named first */
	CS_TIGHTER_TRUE,  /* a switch that is on */
	CS_TIGHTER_MORE   /* a longer list */
};

struct cs_opt {
	const char *name;    /* long name without dashes */
	char letter;         /* short name or 0 */
	enum cs_opt_type type;
	size_t offset;       /* of the value in the target */
	const char *key;     /* configuration key, camelCase; NULL: not in files */
	const char *arg;     /* placeholder in help; NULL for switches */
	const char *help;    /* one line, lower case, no full stop */
	const char *group;   /* heading in help and manual, of this row and those that follow it; NULL: as the one before */
	const char *no_key;  /* of a setting without a key: why it has none */
	const char *man;     /* further sentences for the manual, or NULL */
	const char *choices; /* CHOICE: "kill|discard"; LIST: what each element, or each part of it between commas, must be; or NULL */
	const char *absent;  /* value when the flag stands without one; then only --name=VALUE gives one */
	uint64_t min, max;   /* of numbers, sizes, durations; max 0 means none */
	enum cs_opt_lift lift; /* words for "no limit" */
	enum cs_opt_tighter tighter; /* what cs_opt_tighten takes */
	bool hidden;         /* not in help */
	unsigned scope;      /* bits of whoever owns the table, one a command: who takes the row; 0 is bit 0 alone */
	unsigned flag_only;  /* of these bits: who takes it as a flag and from nowhere else */

	/* Further check of a value's text, or NULL. Fills err with the reason only: the flag's name is put before it. */
	int (*check)(const char *value, struct cs_err *err);
};

/* Where a value came from; later ones win. */
enum cs_opt_origin {
	CS_ORIGIN_BUILTIN,
	CS_ORIGIN_POLICY,
	CS_ORIGIN_FILE,
	CS_ORIGIN_FLAG,
	CS_ORIGIN_ANNOTATION, /* of a container; only ever tightens, so it comes last */
	CS_ORIGINS
};

struct cs_opt_set {
	const struct cs_opt *rows;
	size_t n;
	void *target;           /* what offsets count from; NULL: flags are known, and kept nowhere */
	unsigned char *origins; /* n of enum cs_opt_origin, or NULL */
	uint32_t *layers;       /* n of bits, one for each layer that had a say in the value (lists: several); or NULL */
	unsigned layer;         /* what values that are put now come from: 0 to 31, their meaning is the caller's */
	const struct cs_opt_set *more; /* further rows with a target of their own, for flags; or NULL */
	unsigned scope;         /* one bit: the other commands' rows are refused as flags and passed over elsewhere; 0: every row counts */
};

/* Reads flags of argv[1…]. Returns the position of the first operand (argc when none), or -1 with CS_INVALID. */
int cs_opt_parse(const struct cs_opt_set *set, int argc, char *const argv[], struct cs_err *err);

/*
 * What can be understood of a command line that cs_opt_parse refused: wrong
 * values are passed over. Ends at the first operand, and at a flag that is
 * unknown or lacks its value: nobody knows what the words behind it are.
 */
void cs_opt_salvage(const struct cs_opt_set *set, int argc, char *const argv[]);

/*
 * Sets one value from text. `what` names it in errors ("--memory", "key
 * 'memory'"). An origin lower than the one on record does nothing for scalars,
 * nor does one that the set's scope leaves out, but for flags, which are CS_INVALID then.
 */
int cs_opt_put(const struct cs_opt_set *set, const struct cs_opt *row, const char *what,
	       const char *value, enum cs_opt_origin origin, struct cs_err *err);

/* Does the command of the set take the row: as a flag, and from that origin? */
bool cs_opt_in_scope(const struct cs_opt_set *set, const struct cs_opt *row, enum cs_opt_origin origin);

/*
 * Sets a value unless it is looser than the one that is there, in the sense of
 * the row's `tighter`; a looser one is read and changes nothing. CS_INVALID as
 * above, and for a row that is not for this.
 */
int cs_opt_tighten(const struct cs_opt_set *set, const struct cs_opt *row, const char *what,
		   const char *value, enum cs_opt_origin origin, struct cs_err *err);

/* Row by long name or by key, whatever its scope; NULL when there is none. */
const struct cs_opt *cs_opt_by_name(const struct cs_opt_set *set, const char *name);
const struct cs_opt *cs_opt_by_key(const struct cs_opt_set *set, const char *key);

/* Name (or key) nearest to a wrong one, NULL when none is near. */
const char *cs_opt_nearest(const struct cs_opt_set *set, const char *wrong, bool keys);

enum cs_opt_origin cs_opt_origin_of(const struct cs_opt_set *set, const struct cs_opt *row);
const char *cs_opt_origin_word(enum cs_opt_origin origin);

/* The value as text that cs_opt_put reads back; a list as its elements joined by ", ". */
int cs_opt_value_text(const struct cs_opt_set *set, const struct cs_opt *row, struct cs_buf *out);

/*
 * Lines "  -m, --memory SIZE   memory of the whole run (256m)", wrapped, below
 * the headings of their groups. Values only where the set has a target.
 */
int cs_opt_help(const struct cs_opt_set *set, struct cs_buf *out);

/* The same as .TP paragraphs of man(7). */
int cs_opt_man(const struct cs_opt_set *set, struct cs_buf *out);

/* Frees the texts and lists that rows point at. */
void cs_opt_release(const struct cs_opt_set *set);

#endif
