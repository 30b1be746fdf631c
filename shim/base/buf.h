/*
 * Growable bytes with a cap that is fixed at initialisation.
 *
 * data is NUL-terminated behind len whenever it is not NULL, so it can be
 * read as a string when its content has no NUL. A failed add sets `failed`
 * and leaves the content as it was; later adds fail too, so a writer may add
 * many pieces and look once at the end.
 *
 *     cs_auto(buf) b = CS_BUF_INIT(64 * 1024);
 *     cs_buf_addf(&b, "%s=%d", name, n);
 *     if (b.failed) …
 */
#ifndef CS_BASE_BUF_H
#define CS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/attr.h"

struct cs_buf {
	char *data;  /* owned; NULL while nothing was added */
	size_t len;  /* bytes in use, without the final NUL */
	size_t cap;  /* bytes allocated */
	size_t max;  /* len never passes this */
	bool failed; /* an add did not fit or memory ran out */
};

#define CS_BUF_INIT(max_bytes) { .max = (max_bytes) }

void cs_buf_release(struct cs_buf *buf);

/* Drops the content and the failure, keeps the memory. */
void cs_buf_reset(struct cs_buf *buf);

/* All return 0, -ENOSPC past max, -ENOMEM. */
int cs_buf_add(struct cs_buf *buf, const void *data, size_t len);
int cs_buf_adds(struct cs_buf *buf, const char *text);
int cs_buf_addc(struct cs_buf *buf, char c);
int cs_buf_addf(struct cs_buf *buf, const char *fmt, ...) CS_PRINTF(2, 3);

/*
 * Adds the inside of a JSON string (RFC 8259, section 7): quotes, backslashes
 * and control bytes escaped, bytes that are no UTF-8 replaced by U+FFFD.
 */
int cs_buf_add_json_escaped(struct cs_buf *buf, const char *data, size_t len);

/* Adds the bytes in base64, padded (RFC 4648, section 4). */
int cs_buf_add_base64(struct cs_buf *buf, const void *data, size_t len);

/* The content as a string that the caller frees; buf is empty afterwards. NULL when failed or out of memory. */
char *cs_buf_take(struct cs_buf *buf);

/* Length in bytes (1-4) of the UTF-8 sequence at p, 0 when it is none (RFC 3629). */
size_t cs_utf8_len(const char *p, size_t left);

/* Are all len bytes UTF-8 sequences? NUL is one. */
bool cs_utf8_valid(const char *data, size_t len);

/* Adds the bytes, with each that is no UTF-8 replaced by U+FFFD. */
int cs_buf_add_utf8(struct cs_buf *buf, const char *data, size_t len);

#endif
