/*
 * Owned vectors of strings: argv, environments, lists of options.
 *
 * v is always NULL-terminated and never NULL after the first add; cs_strv_v
 * gives an empty vector in place of NULL. Strings are copies unless the name
 * ends in _take.
 */
#ifndef CS_BASE_STRV_H
#define CS_BASE_STRV_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/attr.h"

struct cs_strv {
	char **v;
	size_t n;
	size_t cap;
};

#define CS_STRV_INIT { 0 }

void cs_strv_release(struct cs_strv *strv);

/* 0 or -ENOMEM; nothing is changed on failure. */
int cs_strv_add(struct cs_strv *strv, const char *text);
int cs_strv_addf(struct cs_strv *strv, const char *fmt, ...) CS_PRINTF(2, 3);
int cs_strv_add_take(struct cs_strv *strv, char *text); /* frees text on failure too */
int cs_strv_add_all(struct cs_strv *strv, const char *const *texts); /* NULL-terminated, may be NULL */
int cs_strv_copy(struct cs_strv *to, const struct cs_strv *from);

/* For execve and friends: never NULL. */
char *const *cs_strv_v(const struct cs_strv *strv);

bool cs_strv_has(const struct cs_strv *strv, const char *text);

/* The same for a NULL-terminated table of words, which may be NULL. */
bool cs_words_have(const char *const *words, const char *text);

/* Value of KEY in a vector of KEY=VALUE: the last one wins, NULL when absent. */
const char *cs_strv_env_get(const struct cs_strv *strv, const char *key);

/* Sets KEY=VALUE, in place of an earlier one. 0 or -ENOMEM. */
int cs_strv_env_set(struct cs_strv *strv, const char *key, const char *value);

#endif
