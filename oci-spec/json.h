/*
 * JSON as a tree that keeps what it was given: order of keys, numbers as
 * written, unknown keys (RFC 8259).
 *
 * Parsing is strict, since the text may be hostile: bytes, values and depth
 * are capped; duplicate keys, NUL in keys, lone surrogates, wrong UTF-8,
 * comments and trailing text are refused; errors carry line and column. Only
 * json_read.c knows the library below. What the keys mean is not known here.
 *
 *     cs_autojson struct cs_json *config = NULL;
 *     if (cs_json_parse(text, len, "config.json", &config, err) < 0) …
 *     args = cs_json_get(config, "process.args");
 *
 * Values are owned by the tree they stand in; only cs_json_free frees, and it
 * is given roots only. Pointers to values stay good until the value is removed
 * or replaced. No tree is deeper than CS_JSON_DEPTH_MAX, however it was made,
 * so walking one by recursion is safe.
 */
#ifndef CS_OCI_SPEC_JSON_H
#define CS_OCI_SPEC_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"
#include "shim/base/strv.h"

enum cs_json_kind {
	CS_JSON_NULL,
	CS_JSON_BOOL,
	CS_JSON_NUMBER, /* text as written */
	CS_JSON_STRING, /* bytes with a length: a NUL may be inside */
	CS_JSON_ARRAY,
	CS_JSON_OBJECT,
	CS_JSON_KINDS
};

struct cs_json; /* opaque */

#define CS_JSON_DEPTH_MAX 100         /* objects and arrays in each other */
#define CS_JSON_BYTES_MAX (16 << 20)  /* of one text */
#define CS_JSON_VALUES_MAX (1 << 20)  /* in one text: about 100 MB of tree at worst */

/* Frees a root and all below it, without recursion. NULL allowed; keeps errno. */
void cs_json_free(struct cs_json *json);
void cs_json_free_ptr(struct cs_json **json);
#define cs_autojson __attribute__((cleanup(cs_json_free_ptr)))

/* --- text ------------------------------------------------------------ */

/*
 * Reads a whole text into a new tree, *ret, which is the caller's. `name` says
 * in errors where the text came from: "config.json: line 3, column 7: …";
 * columns count characters and name the last one of what did not fit.
 * CS_INVALID for text that is no JSON or is refused (see above), CS_LIMIT past
 * a cap or without memory.
 */
int cs_json_parse(const char *text, size_t len, const char *name, struct cs_json **ret,
		  struct cs_err *err);

/* Reads a whole file (cs_file_read) and parses it. Errors of both, naming the path. */
int cs_json_read_file(int dirfd, const char *path, struct cs_json **ret, struct cs_err *err);

enum cs_json_style { CS_JSON_COMPACT, CS_JSON_INDENTED /* one tab a level, one value a line */ };

/*
 * Appends the text: what was read comes out with the same digits, keys and
 * order; only characters that need an escape get one. json may be a part of a
 * tree. CS_LIMIT when `out` is full or memory ran out; CS_INVALID, naming the
 * path, for a string made of bytes that are no UTF-8. After a failure `out`
 * may hold a part.
 */
int cs_json_write(const struct cs_json *json, enum cs_json_style style, struct cs_buf *out,
		  struct cs_err *err);

/* cs_file_write_atomic (not durable) of the text and a newline, at most CS_JSON_BYTES_MAX. */
int cs_json_write_file(const struct cs_json *json, enum cs_json_style style, int dirfd,
		       const char *path, mode_t mode, struct cs_err *err);

/* --- making ----------------------------------------------------------- */

/*
 * NULL when memory ran out. Adders below take NULL for child or container and
 * fail then, so calls nest. Strings are copied; they should be UTF-8, which is
 * looked at when they are written. A NULL text gives NULL.
 */
struct cs_json *cs_json_new_null(void);
struct cs_json *cs_json_new_bool(bool value);
struct cs_json *cs_json_new_u64(uint64_t value);
struct cs_json *cs_json_new_i64(int64_t value);
struct cs_json *cs_json_new_string(const char *text);
struct cs_json *cs_json_new_string_n(const char *data, size_t len);        /* may hold NUL */
struct cs_json *cs_json_new_words(const char *text);                       /* for people: what is no UTF-8 becomes U+FFFD */
struct cs_json *cs_json_new_array(void);
struct cs_json *cs_json_new_object(void);
struct cs_json *cs_json_new_strv(const struct cs_strv *strv);              /* array of strings */
struct cs_json *cs_json_copy(const struct cs_json *json);                  /* deep */

/*
 * All consume the child in every case; it must stand in no tree. 0; -ENOMEM,
 * also for NULL; -EINVAL for a container of the wrong kind or an index past its
 * end; -ELOOP when the tree would be too deep. Nothing is changed on failure.
 */
int cs_json_add(struct cs_json *array, struct cs_json *child_consume);
int cs_json_insert_at(struct cs_json *array, size_t i, struct cs_json *child_consume);
/* A new last member; -EEXIST for a key that is there. Looks at every key: not for huge objects. */
int cs_json_put(struct cs_json *object, const char *key, struct cs_json *child_consume);
/* In place of child i of an array or an object, whose key stays; the old child is freed. */
int cs_json_replace_at(struct cs_json *container, size_t i, struct cs_json *child_consume);

/* Takes child i out; it is the caller's, without its key. NULL when there is none. */
struct cs_json *cs_json_take_at(struct cs_json *container, size_t i);

/* --- looking ----------------------------------------------------------- */

enum cs_json_kind cs_json_kind(const struct cs_json *json); /* CS_JSON_NULL for NULL */
const char *cs_json_kind_word(enum cs_json_kind kind);      /* "an object", … */

/* Member by name; NULL when json is NULL or no object, or has no such key. */
struct cs_json *cs_json_member(const struct cs_json *json, const char *key);

/*
 * Where the key of a member stands in the text that it was read from, which
 * must be that text: the line, and the column of its first character, both
 * from 1. False for what has no key or was not read.
 */
bool cs_json_key_place(const struct cs_json *member, const char *text, size_t len, size_t *ret_line, size_t *ret_column);

/* Index of that member; cs_json_count() when there is none. */
size_t cs_json_find(const struct cs_json *object, const char *key);

/* Walk by keys joined with dots, "linux.resources.memory"; a number steps into an array. NULL when absent. */
struct cs_json *cs_json_get(const struct cs_json *json, const char *path);

size_t cs_json_count(const struct cs_json *json);                      /* of array or object; else 0 */
struct cs_json *cs_json_at(const struct cs_json *json, size_t i);      /* child; NULL past the end */
const char *cs_json_key_at(const struct cs_json *json, size_t i);      /* key of an object's child */

#define cs_json_each(child, json) \
	for (size_t cs_i_ = 0; ((child) = cs_json_at((json), cs_i_)) != NULL; cs_i_++)
#define cs_json_each_member(key, child, json) \
	for (size_t cs_i_ = 0; ((child) = cs_json_at((json), cs_i_)) != NULL && \
	     ((key) = cs_json_key_at((json), cs_i_)) != NULL; cs_i_++)

/*
 * --- reading values -----------------------------------------------------
 *
 * Strict, at the moment of use: -ENOENT for NULL, -EINVAL for another kind or
 * form (a fraction, an exponent), -ERANGE. *ret is written on success only.
 * Texts returned are the tree's.
 */
int cs_json_get_bool(const struct cs_json *json, bool *ret);
int cs_json_get_u64(const struct cs_json *json, uint64_t *ret); /* digits only */
int cs_json_get_i64(const struct cs_json *json, int64_t *ret);
const char *cs_json_string(const struct cs_json *json);         /* NULL unless a string without NUL */
const char *cs_json_string_n(const struct cs_json *json, size_t *ret_len);
const char *cs_json_number_text(const struct cs_json *json);    /* NULL unless a number */
/* An array of strings without NUL, appended to *ret; nothing is appended on failure. */
int cs_json_get_strv(const struct cs_json *json, struct cs_strv *ret);

#endif
