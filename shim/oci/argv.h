/*
 * The command line of an OCI runtime, as its callers write it: dockerd's shim
 * (go-runc), podman's conmon, CRI-O and conmon-rs each have their own order
 * and spelling of flags. Text in, structure out; and back: the same call, in
 * one spelling that runc, crun and runsc all take.
 *
 *     GLOBAL FLAGS, VERB, FLAGS AND OPERANDS
 *
 * Flags may stand in any order, before or behind the operands (of `exec` and
 * `ps`, whose last operands are somebody else's command line, only before), as
 * `--flag value`, `--flag=value`, `-flag …` (Go, flag package) or `-f …`. What
 * is not in the tables (argv_rows.c) is passed on as it was written.
 *
 * Global flags stand before the verb, as in all engines. Four of them are ours:
 * --policy, --runtime, --config and --state-dir, which an operator writes into
 * "runtimeArgs"; engines never see them.
 */
#ifndef CS_OCI_ARGV_H
#define CS_OCI_ARGV_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/err.h"
#include "shim/base/strv.h"

enum cs_oci_verb {
	CS_OCI_CREATE,
	CS_OCI_RUN,
	CS_OCI_RESTORE,
	CS_OCI_START,
	CS_OCI_STATE,
	CS_OCI_KILL,
	CS_OCI_DELETE,
	CS_OCI_EXEC,
	CS_OCI_PAUSE,
	CS_OCI_RESUME,
	CS_OCI_PS,
	CS_OCI_UPDATE,
	CS_OCI_EVENTS,
	CS_OCI_LIST,
	CS_OCI_CHECKPOINT,
	CS_OCI_SPEC,
	CS_OCI_FEATURES,
	CS_OCI_OTHER, /* a verb of one engine only, or none at all */
	CS_OCI_VERBS
};

/* What follows a flag. */
enum cs_oci_arity {
	CS_OCI_SWITCH, /* nothing, or =true, =false */
	CS_OCI_VALUE,
	CS_OCI_LOOSE   /* engines differ: a word that is neither flag nor verb is its value */
};

enum cs_oci_trait {
	CS_OCI_OURS = 1 << 0,     /* not the engine's */
	CS_OCI_PATH = 1 << 1,     /* made absolute: engines disagree on what a relative one counts from */
	CS_OCI_PER_CALL = 1 << 2, /* global: of this call only, so not kept with the container */
};

struct cs_oci_flag {
	const char *name;
	char letter;      /* 0: none */
	enum cs_oci_arity arity;
	unsigned traits;
	unsigned verbs;   /* bits of enum cs_oci_verb; 0: global */
};

/* One flag of a call, in order. */
struct cs_oci_given {
	const struct cs_oci_flag *row; /* NULL: in no table */
	char *value;                   /* NULL: none; a switch has "true" or "false" */
	char *word;                    /* as written, value included when it is joined by '=' */
};

struct cs_oci_call {
	struct cs_oci_given *globals, *flags;
	size_t n_globals, n_flags;
	enum cs_oci_verb verb;
	char *verb_word;         /* NULL: none */
	struct cs_strv operands; /* the first is the container's id where the verb is about one */
	bool odd;                /* something in it is in no table, or wrong: the engine may well say no before it opens its log */
};

/*
 * Reads argv[1…]. A mistake in the engine's flags is not ours to judge: podman
 * probes for the words that it gets. It makes the call odd and goes on as it was
 * written. One in a flag of ours is CS_INVALID in err and -1, but the rest is
 * read all the same, so that it can be told where --log says. ret is to be released in every case.
 */
int cs_oci_call_parse(int argc, char *const argv[], struct cs_oci_call *ret, struct cs_err *err);
void cs_oci_call_release(struct cs_oci_call *call);

/* Value of the last global flag or verb flag of that name; NULL when it was not given. A switch: "true" or "false". */
const char *cs_oci_global(const struct cs_oci_call *call, const char *name);
const char *cs_oci_flag(const struct cs_oci_call *call, const char *name);
bool cs_oci_switch(const struct cs_oci_call *call, const char *name);

/* Puts value (copied) in place of the flag's; NULL takes the flag out. 0 or -ENOMEM. */
int cs_oci_set_flag(struct cs_oci_call *call, const char *name, const char *value);

/* The container's id: NULL when the verb is not about one, or it was left out. */
const char *cs_oci_id(const struct cs_oci_call *call);

/*
 * Appends the flags in the common spelling: --name=value, a switch that is on
 * as --name, one that is off not at all, what is in no table as it was written.
 * Ours are left out; `skip` (may be NULL) says whether to leave another one out too.
 * 0 or -ENOMEM.
 */
typedef bool cs_oci_skip_fn(const struct cs_oci_given *given, const void *arg);
int cs_oci_add_globals(const struct cs_oci_call *call, cs_oci_skip_fn *skip, const void *arg, struct cs_strv *ret);

/* Verb, flags, operands. */
int cs_oci_add_verb(const struct cs_oci_call *call, cs_oci_skip_fn *skip, const void *arg, struct cs_strv *ret);

/* --- the tables -------------------------------------------------------------- */

/* i-th row, NULL past the end. */
const struct cs_oci_flag *cs_oci_flag_at(size_t i);

struct cs_oci_verb_row {
	const char *word;
	bool has_id;        /* the first operand is a container */
	bool in_order;      /* flags end at the first operand */
	size_t operands_max;
	int fail_code;      /* of an error of our own: runc's */
};
const struct cs_oci_verb_row *cs_oci_verb_row(enum cs_oci_verb verb);
/* CS_OCI_OTHER for a word that is none. */
enum cs_oci_verb cs_oci_verb_of(const char *word);

#endif
