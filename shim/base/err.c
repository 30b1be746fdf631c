#include "shim/base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct cs_err_row rows[] = {
	[CS_OK]          = { "ok", 0, 0 },
	[CS_INVALID]     = { "invalid", 125, 3 },
	[CS_NOT_FOUND]   = { "not-found", 125, 5 },
	[CS_EXISTS]      = { "exists", 125, 6 },
	[CS_STATE]       = { "state", 125, 9 },
	[CS_DENIED]      = { "denied", 125, 7 },
	[CS_LIMIT]       = { "limit", 125, 8 },
	[CS_TIMEOUT]     = { "timeout", 125, 4 },
	[CS_ENGINE]      = { "engine", 125, 2 },
	[CS_IO]          = { "io", 125, 2 },
	[CS_UNSUPPORTED] = { "unsupported", 125, 12 },
	[CS_BUG]         = { "bug", 125, 13 },
};
_Static_assert(CS_ARRAY_LEN(rows) == CS_ERR_KINDS, "a row for every kind");

const struct cs_err_row *cs_err_row(enum cs_err_kind kind)
{
	if ((unsigned)kind >= CS_ERR_KINDS)
		kind = CS_BUG;
	return &rows[kind];
}

int cs_fail(struct cs_err *err, enum cs_err_kind kind, int errnum, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	assert(!cs_err_is_set(err));
	assert(kind != CS_OK);
	err->kind = kind;
	err->errnum = errnum;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);

	len = strlen(err->text);
	if (errnum != 0)
		snprintf(err->text + len, sizeof(err->text) - len, ": %s", strerror(errnum));
	return -1;
}

int cs_wrap(struct cs_err *err, const char *fmt, ...)
{
	char inner[CS_ERR_TEXT_MAX];
	va_list ap;
	size_t len;

	assert(cs_err_is_set(err));
	memcpy(inner, err->text, sizeof(inner));

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);

	len = strlen(err->text);
	/* cut on purpose: the outermost context says most */
	if (snprintf(err->text + len, sizeof(err->text) - len, ": %s", inner) < 0)
		err->text[len] = '\0';
	return -1;
}

void cs_err_clear(struct cs_err *err)
{
	err->kind = CS_OK;
	err->errnum = 0;
	err->text[0] = '\0';
}

enum cs_err_kind cs_err_kind_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
	case ESRCH:
		return CS_NOT_FOUND;
	case EEXIST:
		return CS_EXISTS;
	case EACCES:
	case EPERM:
		return CS_DENIED;
	case EINVAL:
		return CS_INVALID;
	case ETIMEDOUT:
		return CS_TIMEOUT;
	case ENOSYS:
	case EOPNOTSUPP:
		return CS_UNSUPPORTED;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOSPC:
	case EDQUOT:
	case E2BIG:
		return CS_LIMIT;
	default:
		return CS_IO;
	}
}
