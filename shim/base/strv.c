#include "shim/base/strv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cs_strv_release(struct cs_strv *strv)
{
	for (size_t i = 0; i < strv->n; i++)
		free(strv->v[i]);
	free(strv->v);
	*strv = (struct cs_strv)CS_STRV_INIT;
}

int cs_strv_add_take(struct cs_strv *strv, char *text)
{
	if (!text)
		return -ENOMEM;
	if (strv->n + 1 >= strv->cap) {
		size_t cap = strv->cap ? strv->cap * 2 : 8;
		char **v = reallocarray(strv->v, cap, sizeof(*v));

		if (!v) {
			free(text);
			return -ENOMEM;
		}
		strv->v = v;
		strv->cap = cap;
	}
	strv->v[strv->n++] = text;
	strv->v[strv->n] = NULL;
	return 0;
}

int cs_strv_add(struct cs_strv *strv, const char *text)
{
	return cs_strv_add_take(strv, strdup(text));
}

int cs_strv_addf(struct cs_strv *strv, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? -ENOMEM : cs_strv_add_take(strv, text);
}

int cs_strv_add_all(struct cs_strv *strv, const char *const *texts)
{
	size_t before = strv->n;

	for (; texts && *texts; texts++) {
		if (cs_strv_add(strv, *texts) < 0) {
			while (strv->n > before)
				free(strv->v[--strv->n]);
			if (strv->v)
				strv->v[strv->n] = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

int cs_strv_copy(struct cs_strv *to, const struct cs_strv *from)
{
	return cs_strv_add_all(to, (const char *const *)from->v);
}

char *const *cs_strv_v(const struct cs_strv *strv)
{
	static char *const empty[] = { NULL };

	return strv->v ? strv->v : empty;
}

bool cs_strv_has(const struct cs_strv *strv, const char *text)
{
	for (size_t i = 0; i < strv->n; i++)
		if (strcmp(strv->v[i], text) == 0)
			return true;
	return false;
}

bool cs_words_have(const char *const *words, const char *text)
{
	for (; words && *words; words++)
		if (strcmp(*words, text) == 0)
			return true;
	return false;
}

/* Position of the last KEY=…, or n when there is none. */
static size_t env_find(const struct cs_strv *strv, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = strv->n; i > 0; i--)
		if (strncmp(strv->v[i - 1], key, len) == 0 && strv->v[i - 1][len] == '=')
			return i - 1;
	return strv->n;
}

const char *cs_strv_env_get(const struct cs_strv *strv, const char *key)
{
	size_t i = env_find(strv, key);

	return i < strv->n ? strv->v[i] + strlen(key) + 1 : NULL;
}

int cs_strv_env_set(struct cs_strv *strv, const char *key, const char *value)
{
	size_t i = env_find(strv, key);
	char *text = NULL;

	if (i == strv->n)
		return cs_strv_addf(strv, "%s=%s", key, value);
	if (asprintf(&text, "%s=%s", key, value) < 0)
		return -ENOMEM;
	free(strv->v[i]);
	strv->v[i] = text;
	return 0;
}
