/*
 * Errors of everything above the ground floor.
 *
 * A struct cs_err lives on the caller's stack; its text has a fixed array, so
 * failing never allocates. Functions that take one return 0 or -1 (or NULL),
 * fill it on failure and leave it alone on success. The message is built from
 * the inside out: each layer adds what only it knows, outermost first:
 *
 *     create 'web1': crun create: open '/run/b/config.json': No such file…
 *
 *     struct cs_err err = CS_ERR_INIT;
 *     if (thing(…, &err) < 0)
 *             return cs_wrap(&err, "create '%s'", id);
 *
 * Callers branch on kind or errno, never on text. Nothing here prints.
 */
#ifndef CS_BASE_ERR_H
#define CS_BASE_ERR_H

#include <stdbool.h>

#include "shim/base/attr.h"

enum cs_err_kind {
	CS_OK,          /* no error */
	CS_INVALID,     /* input that can never work: flags, keys, JSON */
	CS_NOT_FOUND,   /* the thing named is not there */
	CS_EXISTS,      /* the name is taken */
	CS_STATE,       /* not possible in the present state */
	CS_DENIED,      /* not allowed, by us or by the kernel */
	CS_LIMIT,       /* a bound of ours was reached, or a limit is not in force */
	CS_TIMEOUT,     /* a deadline of ours passed */
	CS_ENGINE,      /* the OCI runtime below said no */
	CS_IO,          /* a system call failed */
	CS_UNSUPPORTED, /* this kernel, engine or build cannot */
	CS_BUG,         /* cannot happen */
	CS_ERR_KINDS
};

#define CS_ERR_TEXT_MAX 1024

struct cs_err {
	enum cs_err_kind kind;
	int errnum; /* errno of the failed call, or 0 */
	char text[CS_ERR_TEXT_MAX];
};

#define CS_ERR_INIT ((struct cs_err){ .kind = CS_OK })

/*
 * Fills err; the text is cut at CS_ERR_TEXT_MAX - 1 bytes. When errnum is not
 * 0, ": " and its strerror text are appended. Asserts that err was empty.
 * Always returns -1, so that `return cs_fail(…)` reads well.
 */
int cs_fail(struct cs_err *err, enum cs_err_kind kind, int errnum, const char *fmt, ...)
	CS_PRINTF(4, 5);

/* Puts "fmt: " before the text of an error that is set. Returns -1. */
int cs_wrap(struct cs_err *err, const char *fmt, ...) CS_PRINTF(2, 3);

/* Empties err, so that it can be used again. */
void cs_err_clear(struct cs_err *err);

static inline bool cs_err_is_set(const struct cs_err *err)
{
	return err->kind != CS_OK;
}

/* Kind of a plain errno: ENOENT → CS_NOT_FOUND, EACCES → CS_DENIED, … else CS_IO. */
enum cs_err_kind cs_err_kind_of_errno(int errnum);

/* What the table of kinds knows of a kind; never NULL. */
struct cs_err_row {
	const char *word;      /* "invalid", "not-found", … for logs and JSON */
	int exit_code;         /* of `caisson` when this is the reason it did nothing */
	int ttrpc_code;        /* google.rpc.Code */
};
const struct cs_err_row *cs_err_row(enum cs_err_kind kind);

#endif
