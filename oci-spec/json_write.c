/* Tree to text: the keys, order and digits that are in the tree, nothing else. */
#include "oci-spec/json_int.h"

#include <errno.h>
#include <string.h>

#include "shim/base/file.h"

struct writer {
	struct cs_buf *out;
	bool indented;
	struct cs_err *err;
};

static int write_value(const struct writer *writer, const struct cs_json *json, size_t depth);

static bool is_utf8(const char *data, size_t len)
{
	size_t n;

	for (; len > 0; data += n, len -= n) {
		n = cs_utf8_len(data, len);
		if (n == 0)
			return false;
	}
	return true;
}

/* Appends "process.args.2" for a value, from the root of its tree. */
static void add_path(struct cs_buf *path, const struct cs_json *json)
{
	const struct cs_json *steps[CS_JSON_DEPTH_MAX + 1];
	size_t n = 0;

	for (; json->up && n < CS_ARRAY_LEN(steps); json = json->up)
		steps[n++] = json;
	while (n > 0) {
		const struct cs_json *step = steps[--n];
		size_t i = 0;

		if (step->key) {
			cs_buf_add_json_escaped(path, step->key, strlen(step->key));
		} else {
			while (step->up->v[i] != step)
				i++;
			cs_buf_addf(path, "%zu", i);
		}
		if (n > 0)
			cs_buf_addc(path, '.');
	}
}

static int fail_utf8(const struct writer *writer, const struct cs_json *json, const char *what)
{
	cs_auto(buf) path = CS_BUF_INIT(512);

	add_path(&path, json);
	return cs_fail(writer->err, CS_INVALID, 0, "%s: %s is not valid UTF-8, which JSON needs",
		       path.data ? path.data : "JSON", what);
}

static void write_quoted(const struct writer *writer, const char *data, size_t len)
{
	cs_buf_addc(writer->out, '"');
	cs_buf_add_json_escaped(writer->out, data, len);
	cs_buf_addc(writer->out, '"');
}

static void write_line_break(const struct writer *writer, size_t depth)
{
	if (!writer->indented)
		return;
	cs_buf_addc(writer->out, '\n');
	for (size_t i = 0; i < depth; i++)
		cs_buf_addc(writer->out, '\t');
}

static int write_key(const struct writer *writer, const struct cs_json *child)
{
	size_t len = strlen(child->key);

	if (!is_utf8(child->key, len))
		return fail_utf8(writer, child, "the key");
	write_quoted(writer, child->key, len);
	cs_buf_adds(writer->out, writer->indented ? ": " : ":");
	return 0;
}

static int write_container(const struct writer *writer, const struct cs_json *json, size_t depth)
{
	const char *brackets = json->kind == CS_JSON_OBJECT ? "{}" : "[]";

	cs_buf_addc(writer->out, brackets[0]);
	for (size_t i = 0; i < json->n && !writer->out->failed; i++) {
		if (i > 0)
			cs_buf_addc(writer->out, ',');
		write_line_break(writer, depth + 1);
		if (json->v[i]->key && write_key(writer, json->v[i]) < 0)
			return -1;
		if (write_value(writer, json->v[i], depth + 1) < 0)
			return -1;
	}
	if (json->n > 0)
		write_line_break(writer, depth);
	cs_buf_addc(writer->out, brackets[1]);
	return 0;
}

/* Recurses at most CS_JSON_DEPTH_MAX deep: no tree is deeper. */
static int write_value(const struct writer *writer, const struct cs_json *json, size_t depth)
{
	switch (cs_json_kind(json)) {
	case CS_JSON_BOOL:
		cs_buf_adds(writer->out, json->boolean ? "true" : "false");
		return 0;
	case CS_JSON_NUMBER:
		cs_buf_add(writer->out, json->text, json->len);
		return 0;
	case CS_JSON_STRING:
		if (!is_utf8(json->text, json->len))
			return fail_utf8(writer, json, "the text");
		write_quoted(writer, json->text, json->len);
		return 0;
	case CS_JSON_ARRAY:
	case CS_JSON_OBJECT:
		return write_container(writer, json, depth);
	default:
		cs_buf_adds(writer->out, "null");
		return 0;
	}
}

int cs_json_write(const struct cs_json *json, enum cs_json_style style, struct cs_buf *out,
		  struct cs_err *err)
{
	struct writer writer = { .out = out, .indented = style == CS_JSON_INDENTED, .err = err };

	if (write_value(&writer, json, 0) < 0)
		return -1;
	if (out->failed)
		return cs_fail(err, CS_LIMIT, 0, "the JSON text does not fit into %zu bytes",
			       out->max);
	return 0;
}

int cs_json_write_file(const struct cs_json *json, enum cs_json_style style, int dirfd,
		       const char *path, mode_t mode, struct cs_err *err)
{
	/* what we write must be what we would read again */
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	int r;

	if (cs_json_write(json, style, &text, err) < 0)
		return cs_wrap(err, "write '%s'", path);
	if (cs_buf_addc(&text, '\n') < 0)
		return cs_fail(err, CS_LIMIT, 0, "write '%s': more than %d bytes of JSON", path,
			       CS_JSON_BYTES_MAX);
	r = cs_file_write_atomic(dirfd, path, text.data, text.len, mode, false);
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "write '%s'", path);
	return 0;
}
