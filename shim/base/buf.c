#include "shim/base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cs_buf_release(struct cs_buf *buf)
{
	free(buf->data);
	*buf = (struct cs_buf){ .max = buf->max };
}

void cs_buf_reset(struct cs_buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

/* Room for `more` bytes and the NUL behind them. */
static int reserve(struct cs_buf *buf, size_t more)
{
	size_t want, cap;
	char *data;

	if (buf->failed)
		return -ENOSPC;
	if (more > buf->max - buf->len) {
		buf->failed = true;
		return -ENOSPC;
	}
	want = buf->len + more + 1;
	if (buf->data && want <= buf->cap)
		return 0;
	cap = buf->cap ? buf->cap : 64;
	while (cap < want)
		cap = cap > buf->max ? want : cap * 2;
	data = realloc(buf->data, cap);
	if (!data) {
		buf->failed = true;
		return -ENOMEM;
	}
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int cs_buf_add(struct cs_buf *buf, const void *data, size_t len)
{
	int r = reserve(buf, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int cs_buf_adds(struct cs_buf *buf, const char *text)
{
	return cs_buf_add(buf, text, strlen(text));
}

int cs_buf_addc(struct cs_buf *buf, char c)
{
	return cs_buf_add(buf, &c, 1);
}

int cs_buf_addf(struct cs_buf *buf, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		buf->failed = true;
		return -EINVAL;
	}
	r = reserve(buf, (size_t)n);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf->len += (size_t)n;
	return 0;
}

size_t cs_utf8_len(const char *p, size_t left)
{
	/* first byte class → length, smallest and largest second byte */
	const unsigned char *s = (const unsigned char *)p;
	unsigned char lo = 0x80, hi = 0xbf;
	size_t len;

	if (left == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		len = 2;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		len = 3;
		if (s[0] == 0xe0)
			lo = 0xa0;
		if (s[0] == 0xed)
			hi = 0x9f; /* surrogates are no characters */
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		len = 4;
		if (s[0] == 0xf0)
			lo = 0x90;
		if (s[0] == 0xf4)
			hi = 0x8f;
	} else {
		return 0;
	}
	if (left < len || s[1] < lo || s[1] > hi)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static const char *short_escape(unsigned char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

/* Bytes from the beginning that stand for themselves in a string: most of most texts. */
static size_t plain_ascii_len(const char *data, size_t len)
{
	size_t n = 0;

	while (n < len && data[n] >= 0x20 && data[n] < 0x7f && data[n] != '"' && data[n] != '\\')
		n++;
	return n;
}

/* Any other character, or a byte that is none: how many bytes it took. */
static size_t add_escaped(struct cs_buf *buf, const char *data, size_t len)
{
	unsigned char c = (unsigned char)data[0];
	const char *escape = short_escape(c);
	size_t n = cs_utf8_len(data, len);

	if (escape)
		cs_buf_adds(buf, escape);
	else if (n == 0)
		cs_buf_adds(buf, "\xef\xbf\xbd");
	else if (c < 0x20 || c == 0x7f)
		cs_buf_addf(buf, "\\u%04x", c);
	else
		cs_buf_add(buf, data, n);
	return n ? n : 1;
}

int cs_buf_add_json_escaped(struct cs_buf *buf, const char *data, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = plain_ascii_len(data + i, len - i);

		if (n > 0)
			cs_buf_add(buf, data + i, n);
		else
			n = add_escaped(buf, data + i, len - i);
		i += n;
	}
	return buf->failed ? -ENOSPC : 0;
}

int cs_buf_add_base64(struct cs_buf *buf, const void *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	size_t before = buf->len;

	for (; len > 0; p += CS_MIN(len, (size_t)3), len -= CS_MIN(len, (size_t)3)) {
		unsigned bits = (unsigned)p[0] << 16 | (len > 1 ? (unsigned)p[1] << 8 : 0) |
				(len > 2 ? p[2] : 0);
		const char quad[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
				       len > 1 ? digits[bits >> 6 & 63] : '=',
				       len > 2 ? digits[bits & 63] : '=' };
		int r = cs_buf_add(buf, quad, sizeof(quad));

		if (r < 0) {
			buf->len = before;
			if (buf->data)
				buf->data[before] = '\0';
			return r;
		}
	}
	return 0;
}

char *cs_buf_take(struct cs_buf *buf)
{
	char *data;

	if (buf->failed || (!buf->data && reserve(buf, 0) < 0))
		return NULL;
	buf->data[buf->len] = '\0';
	data = cs_take_ptr(&buf->data);
	cs_buf_release(buf);
	return data;
}

bool cs_utf8_valid(const char *data, size_t len)
{
	while (len > 0) {
		size_t n = cs_utf8_len(data, len);

		if (n == 0)
			return false;
		data += n;
		len -= n;
	}
	return true;
}

int cs_buf_add_utf8(struct cs_buf *buf, const char *data, size_t len)
{
	int r = 0;

	for (size_t i = 0; i < len && r == 0;) {
		size_t n = cs_utf8_len(data + i, len - i);

		r = n ? cs_buf_add(buf, data + i, n) : cs_buf_adds(buf, "\xef\xbf\xbd");
		i += n ? n : 1;
	}
	return r;
}
