/*
 * Text to tree. The library below is good at tokens and numbers, but takes
 * what RFC 8259 and RFC 3629 do not: overlong and surrogate UTF-8, \v and \f
 * as blanks, lone surrogates (turned into "?"). So the text is looked over
 * once before the library sees it.
 */
#include "oci-spec/json_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "shim/base/file.h"

struct reader {
	const char *text;
	size_t len;
	const char *name;
	yajl_handle yajl;
	bool at_end;          /* all text is handed over: offsets no longer count from its start */
	struct cs_json *root; /* owned */
	struct cs_json *open; /* the container that is being filled */
	char *key;            /* owned; waits for its value */
	size_t key_end;
	size_t n_values;
	struct cs_err *err;
};

/* --- errors with a place -------------------------------------------------- */

/* Of the byte at offset. Columns count characters. */
static void place_of(const char *text, size_t len, size_t offset, size_t *ret_line, size_t *ret_column)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < offset && i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n') {
			line++;
			column = 1;
		} else if ((c & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

/* Says that the byte at offset is wrong. */
static int fail_at(struct reader *reader, size_t offset, enum cs_err_kind kind, const char *what)
{
	size_t line, column;

	place_of(reader->text, reader->len, offset, &line, &column);
	return cs_fail(reader->err, kind, 0, "%s: line %zu, column %zu: %s", reader->name, line,
		       column, what);
}

/* Where the library has read to: behind the token whose callback runs. */
static size_t offset_behind(const struct reader *reader)
{
	return reader->at_end ? reader->len : yajl_get_bytes_consumed(reader->yajl);
}

/* The last byte of the token that was read. */
static size_t offset_of_token(const struct reader *reader)
{
	size_t behind = offset_behind(reader);

	return behind > 0 ? behind - 1 : 0;
}

/* Callbacks return 0 to stop the library. */
static int stop(struct reader *reader, enum cs_err_kind kind, const char *what)
{
	fail_at(reader, offset_of_token(reader), kind, what);
	return 0;
}

/* --- the look before ------------------------------------------------------- */

static bool read_hex4(const char *p, size_t left, unsigned *ret)
{
	unsigned value = 0;

	if (left < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = p[i] ? strchr(digits, p[i] | 0x20) : NULL;

		if (!digit)
			return false;
		value = value << 4 | (unsigned)(digit - digits);
	}
	*ret = value;
	return true;
}

/*
 * Length of the escape at p, 0 for half a surrogate pair (RFC 8259, section
 * 8.2). Escapes of a wrong form pass: the library refuses them by name.
 */
static size_t escape_len(const char *p, size_t left)
{
	unsigned high, low;

	if (left < 2 || p[1] != 'u' || !read_hex4(p + 2, left - 2, &high))
		return CS_MIN(left, 2);
	if (high < 0xd800 || high > 0xdfff)
		return 6;
	if (high > 0xdbff || left < 12 || p[6] != '\\' || p[7] != 'u' ||
	    !read_hex4(p + 8, left - 8, &low) || low < 0xdc00 || low > 0xdfff)
		return 0;
	return 12;
}

static int look_over(struct reader *reader)
{
	/* bytes that tokens outside strings are made of, and blanks */
	static const char outside[] = "{}[]:,\"0123456789+-.Eaeflnrstu \t\r\n";
	bool in_string = false;
	size_t n;

	for (size_t i = 0; i < reader->len; i += n) {
		const char *p = reader->text + i;

		n = cs_utf8_len(p, reader->len - i);
		if (n == 0)
			return fail_at(reader, i, CS_INVALID, "not valid UTF-8");
		if (!in_string && (*p == '\0' || !strchr(outside, *p)))
			return fail_at(reader, i, CS_INVALID,
				       "a character that may stand in strings only");
		if (*p == '"') {
			in_string = !in_string;
		} else if (*p == '\\') {
			n = escape_len(p, reader->len - i);
			if (n == 0)
				return fail_at(reader, i, CS_INVALID, "half of a surrogate pair");
			/* the character behind a backslash may be a long one */
			if (n == 2)
				n = 1 + cs_utf8_len(p + 1, reader->len - i - 1);
		}
	}
	return 0;
}

/* --- keys that stand twice --------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
	const struct cs_json *x = *(struct cs_json *const *)a;
	const struct cs_json *y = *(struct cs_json *const *)b;
	int order = strcmp(x->key, y->key);

	return order != 0 ? order : (x->key_end > y->key_end) - (x->key_end < y->key_end);
}

static const struct cs_json *find_twin_pairwise(const struct cs_json *object)
{
	for (size_t i = 1; i < object->n; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(object->v[i]->key, object->v[j]->key) == 0)
				return object->v[i];
	return NULL;
}

/* The first member whose key stood before; by sorting when there are many. */
static int find_twin(const struct cs_json *object, const struct cs_json **ret)
{
	const struct cs_json *twin = NULL;
	struct cs_json **sorted;

	if (object->n <= 8) {
		*ret = find_twin_pairwise(object);
		return 0;
	}
	sorted = reallocarray(NULL, object->n, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, object->v, object->n * sizeof(*sorted));
	qsort(sorted, object->n, sizeof(*sorted), compare_keys);
	for (size_t i = 1; i < object->n; i++)
		if (strcmp(sorted[i]->key, sorted[i - 1]->key) == 0 &&
		    (!twin || sorted[i]->key_end < twin->key_end))
			twin = sorted[i];
	free(sorted);
	*ret = twin;
	return 0;
}

/* Offset of the quote that opens the string whose closing quote is before `end`. */
static size_t string_start(const char *text, size_t end)
{
	size_t i = end - 1;

	while (i > 0) {
		size_t backslashes = 0;

		if (text[--i] != '"')
			continue;
		while (backslashes < i && text[i - 1 - backslashes] == '\\')
			backslashes++;
		if (backslashes % 2 == 0)
			return i;
	}
	return 0;
}

static int fail_twin(struct reader *reader, const struct cs_json *twin)
{
	cs_auto(buf) what = CS_BUF_INIT(512);
	size_t len = strlen(twin->key);

	cs_buf_adds(&what, "key \"");
	cs_buf_add_json_escaped(&what, twin->key, CS_MIN(len, (size_t)60));
	cs_buf_addf(&what, "%s\" stands twice in one object", len > 60 ? "..." : "");
	fail_at(reader, string_start(reader->text, twin->key_end), CS_INVALID,
		what.failed ? "a key stands twice in one object" : what.data);
	return 0;
}

/* --- callbacks ------------------------------------------------------------------ */

/* Puts the value where reading stands; consumes it. */
static int take_value(struct reader *reader, struct cs_json *value_consume)
{
	int r = -ENOMEM;

	if (!value_consume)
		goto fail;
	r = -E2BIG;
	if (++reader->n_values > CS_JSON_VALUES_MAX)
		goto fail;
	if (!reader->open) {
		reader->root = value_consume;
		return 1;
	}
	value_consume->key = cs_take_ptr(&reader->key);
	value_consume->key_end = (uint32_t)reader->key_end;
	r = cs__json_attach(reader->open, reader->open->n, value_consume);
	if (r == 0)
		return 1;
fail:
	cs_json_free(value_consume);
	if (r == -ELOOP)
		return stop(reader, CS_LIMIT, "nested deeper than 100 levels");
	if (r == -E2BIG)
		return stop(reader, CS_LIMIT, "more values than fit");
	return stop(reader, CS_LIMIT, "out of memory");
}
_Static_assert(CS_JSON_DEPTH_MAX == 100, "the text above says the number");

static int open_container(struct reader *reader, enum cs_json_kind kind)
{
	struct cs_json *container = cs__json_new(kind);

	if (!take_value(reader, container))
		return 0;
	reader->open = container;
	return 1;
}

static int on_null(void *ctx)
{
	return take_value(ctx, cs_json_new_null());
}

static int on_bool(void *ctx, int value)
{
	return take_value(ctx, cs_json_new_bool(value));
}

static int on_number(void *ctx, const char *text, size_t len)
{
	return take_value(ctx, cs__json_new_text(CS_JSON_NUMBER, text, len));
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	return take_value(ctx, cs__json_new_text(CS_JSON_STRING, (const char *)text, len));
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	struct reader *reader = ctx;

	if (memchr(text, '\0', len))
		return stop(reader, CS_INVALID, "a key holds NUL");
	reader->key = strndup((const char *)text, len);
	if (!reader->key)
		return stop(reader, CS_LIMIT, "out of memory");
	reader->key_end = offset_behind(reader);
	return 1;
}

static int on_object(void *ctx)
{
	return open_container(ctx, CS_JSON_OBJECT);
}

static int on_array(void *ctx)
{
	return open_container(ctx, CS_JSON_ARRAY);
}

static int on_array_end(void *ctx)
{
	struct reader *reader = ctx;

	reader->open = reader->open->up;
	return 1;
}

static int on_object_end(void *ctx)
{
	struct reader *reader = ctx;
	const struct cs_json *twin;

	if (find_twin(reader->open, &twin) < 0)
		return stop(reader, CS_LIMIT, "out of memory");
	if (twin)
		return fail_twin(reader, twin);
	reader->open = reader->open->up;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_bool,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_object,
	.yajl_map_key = on_key,
	.yajl_end_map = on_object_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

/* --- the whole --------------------------------------------------------------------- */

/* Repeats the library's words, such as "parse error: premature EOF\n", with the place. */
static int fail_library(struct reader *reader)
{
	static const char parse_error[] = "parse error: ", lexical_error[] = "lexical error: ";
	unsigned char *text = yajl_get_error(reader->yajl, 0, NULL, 0);
	const char *what = text ? (const char *)text : "not JSON";
	size_t offset = offset_behind(reader);
	char line[160];

	if (strncmp(what, lexical_error, strlen(lexical_error)) == 0) {
		what += strlen(lexical_error);
	} else if (strncmp(what, parse_error, strlen(parse_error)) == 0) {
		/* a whole token was read before it was found not to fit */
		what += strlen(parse_error);
		if (!reader->at_end)
			offset = offset_of_token(reader);
	}
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(what, "\n"), what);
	fail_at(reader, offset, CS_INVALID, line);
	if (text)
		yajl_free_error(reader->yajl, text);
	return -1;
}

static int read_all(struct reader *reader)
{
	const unsigned char *text = (const unsigned char *)reader->text;
	yajl_status status = yajl_parse(reader->yajl, text, reader->len);

	if (status == yajl_status_ok) {
		reader->at_end = true;
		status = yajl_complete_parse(reader->yajl);
	}
	if (status == yajl_status_ok)
		return 0;
	/* a callback that stopped the library has said why */
	return status == yajl_status_client_canceled ? -1 : fail_library(reader);
}

int cs_json_parse(const char *text, size_t len, const char *name, struct cs_json **ret,
		  struct cs_err *err)
{
	struct reader reader = { .text = text ? text : "", .len = len, .name = name, .err = err };
	int r;

	if (len > CS_JSON_BYTES_MAX)
		return cs_fail(err, CS_LIMIT, 0, "%s: more than %d bytes of JSON", name,
			       CS_JSON_BYTES_MAX);
	if (look_over(&reader) < 0)
		return -1;
	reader.yajl = yajl_alloc(&callbacks, NULL, &reader);
	if (!reader.yajl)
		return cs_fail(err, CS_LIMIT, ENOMEM, "%s", name);
	r = read_all(&reader);
	yajl_free(reader.yajl);
	free(reader.key);
	if (r < 0)
		cs_json_free(reader.root);
	else
		*ret = reader.root;
	return r;
}

bool cs_json_key_place(const struct cs_json *member, const char *text, size_t len, size_t *ret_line, size_t *ret_column)
{
	if (!member || member->key_end == 0 || member->key_end > len)
		return false;
	place_of(text, len, string_start(text, member->key_end), ret_line, ret_column);
	return true;
}

int cs_json_read_file(int dirfd, const char *path, struct cs_json **ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	int r = cs_file_read(dirfd, path, &text);

	if (r == -EFBIG)
		return cs_fail(err, CS_LIMIT, 0, "%s: more than %d bytes of JSON", path,
			       CS_JSON_BYTES_MAX);
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "read '%s'", path);
	return cs_json_parse(text.data, text.len, path, ret, err);
}
