#include "oci-spec/json_text.h"

#include <string.h>

struct span {
	size_t start, end;
};

/* An object in a text, and the member of it that was looked for. */
struct object {
	size_t open, close; /* of its braces */
	size_t n;
	struct span last_key, last_value;
	bool found;
	size_t before; /* end of the value before the found one; 0 when it is the first */
	size_t next;   /* start of the key behind it; 0 when it is the last */
	struct span key, value;
};

/* How members stand in an object. */
struct layout {
	const char *line_break; /* NULL: all in one line */
	struct span indent;     /* of its members, in the text */
	struct span unit;       /* one level more */
	bool spaced;            /* behind colons and commas */
};

/* --- walking: the text was parsed before, so every step finds what it wants ----------- */

static size_t skip_space(const char *text, size_t i)
{
	return i + strspn(text + i, " \t\r\n");
}

static size_t skip_string(const char *text, size_t i)
{
	for (i++; text[i] != '"'; i++)
		i += text[i] == '\\';
	return i + 1;
}

static size_t skip_value(const char *text, size_t i)
{
	size_t depth = 0;

	if (text[i] == '"')
		return skip_string(text, i);
	if (text[i] != '{' && text[i] != '[')
		return i + strcspn(text + i, ",]} \t\r\n");
	do {
		if (text[i] == '"') {
			i = skip_string(text, i);
			continue;
		}
		depth += text[i] == '{' || text[i] == '[';
		depth -= text[i] == '}' || text[i] == ']';
		i++;
	} while (depth > 0);
	return i;
}

static bool is_key(const char *text, struct span span, const char *key)
{
	return span.end - span.start == strlen(key) + 2 && memcmp(text + span.start + 1, key, strlen(key)) == 0;
}

/* Reads the object that opens at `open`, looking for `key`. */
static struct object read_object(const char *text, size_t open, const char *key)
{
	struct object ret = { .open = open };
	size_t i = skip_space(text, open + 1);

	while (text[i] != '}') {
		struct span of_key = { i, skip_string(text, i) }, of_value;

		of_value.start = skip_space(text, skip_space(text, of_key.end) + 1);
		of_value.end = skip_value(text, of_value.start);
		if (ret.found && ret.next == 0)
			ret.next = of_key.start;
		if (is_key(text, of_key, key)) {
			ret.found = true;
			ret.key = of_key;
			ret.value = of_value;
			ret.before = ret.n ? ret.last_value.end : 0;
		}
		ret.n++;
		ret.last_key = of_key;
		ret.last_value = of_value;
		i = skip_space(text, of_value.end);
		if (text[i] == ',')
			i = skip_space(text, i + 1);
	}
	ret.close = i;
	return ret;
}

/* The object that the call is about. 1; 0 when parent is missing; -1. */
static int find_object(const char *text, size_t len, const char *name, const char *parent, const char *key,
		       struct object *ret, struct cs_err *err)
{
	cs_autojson struct cs_json *tree = NULL;
	const struct cs_json *in;

	if (cs_json_parse(text, len, name, &tree, err) < 0)
		return -1;
	if (cs_json_kind(tree) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "%s: is %s where an object is needed", name,
			       cs_json_kind_word(cs_json_kind(tree)));
	*ret = read_object(text, skip_space(text, 0), parent ? parent : key);
	in = parent ? cs_json_member(tree, parent) : tree;
	if (parent && !in)
		return 0;
	if (parent && !ret->found)
		return cs_fail(err, CS_INVALID, 0, "%s: the key '%s' is spelt with escapes: write it plainly", name, parent);
	if (cs_json_kind(in) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "%s: '%s' is %s where an object is needed", name, parent,
			       cs_json_kind_word(cs_json_kind(in)));
	if (parent)
		*ret = read_object(text, ret->value.start, key);
	if (cs_json_member(in, key) && !ret->found)
		return cs_fail(err, CS_INVALID, 0, "%s: the key '%s' is spelt with escapes: write it plainly", name, key);
	return 1;
}

/* --- layout ------------------------------------------------------------------------------ */

/* The blanks between the last line break before `at` and it; false when something else stands between. */
static bool indent_of(const char *text, size_t at, struct span *ret)
{
	size_t start = at;

	while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t'))
		start--;
	*ret = (struct span){ start, at };
	return start > 0 && text[start - 1] == '\n';
}

/* The indentation of the line that `at` stands in. */
static struct span line_indent(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return (struct span){ at, at + strspn(text + at, " \t") };
}

static bool begins_with(const char *text, struct span whole, struct span part)
{
	size_t len = part.end - part.start;

	return whole.end - whole.start > len && memcmp(text + whole.start, text + part.start, len) == 0;
}

/* What a line is indented by below the line in which the braces of `object` opened. */
static struct span unit_below(const char *text, const struct object *object, struct span indent)
{
	struct span above = line_indent(text, object->open);

	if (!begins_with(text, indent, above))
		return indent;
	return (struct span){ indent.start + (above.end - above.start), indent.end };
}

static const char *line_break_of(const char *text)
{
	const char *first = strchr(text, '\n');

	return first && first > text && first[-1] == '\r' ? "\r\n" : "\n";
}

/* As the last member stands; an object without any follows the one around it (`top`). */
static struct layout layout_of(const char *text, const struct object *object, const struct object *top)
{
	const struct object *model = object->n ? object : top;
	struct layout ret = { .line_break = NULL, .spaced = true };

	if (model->n == 0) { /* an empty file of an empty object: as we like it */
		ret.line_break = line_break_of(text);
		return ret;
	}
	ret.spaced = text[model->last_value.start - 1] != ':';
	if (!indent_of(text, model->last_key.start, &ret.indent))
		return ret;
	ret.line_break = line_break_of(text);
	ret.unit = unit_below(text, model, ret.indent);
	return ret;
}

/* --- writing ------------------------------------------------------------------------------- */

struct writer {
	const char *text;
	struct layout layout;
	size_t levels; /* below the indentation of the layout */
	struct cs_buf *out;
	struct cs_err *err;
};

static void add_unit(const struct writer *w)
{
	if (w->layout.unit.end > w->layout.unit.start)
		cs_buf_add(w->out, w->text + w->layout.unit.start, w->layout.unit.end - w->layout.unit.start);
	else
		cs_buf_addc(w->out, '\t');
}

static void add_line(const struct writer *w, size_t levels)
{
	if (!w->layout.line_break)
		return;
	cs_buf_adds(w->out, w->layout.line_break);
	cs_buf_add(w->out, w->text + w->layout.indent.start, w->layout.indent.end - w->layout.indent.start);
	for (size_t i = 0; i < levels; i++)
		add_unit(w);
}

static int add_value(const struct writer *w, const struct cs_json *value, size_t levels);

static int add_member(const struct writer *w, const char *key, const struct cs_json *value, size_t levels)
{
	cs_buf_addc(w->out, '"');
	cs_buf_add_json_escaped(w->out, key, strlen(key));
	cs_buf_adds(w->out, w->layout.spaced ? "\": " : "\":");
	return add_value(w, value, levels);
}

/* Objects a member a line, arrays in one. */
static int add_value(const struct writer *w, const struct cs_json *value, size_t levels)
{
	bool object = cs_json_kind(value) == CS_JSON_OBJECT;

	if ((!object && cs_json_kind(value) != CS_JSON_ARRAY) || cs_json_count(value) == 0)
		return cs_json_write(value, CS_JSON_COMPACT, w->out, w->err);
	cs_buf_addc(w->out, object ? '{' : '[');
	for (size_t i = 0; i < cs_json_count(value); i++) {
		const struct cs_json *child = cs_json_at(value, i);

		if (i > 0)
			cs_buf_adds(w->out, w->layout.spaced && (!object || !w->layout.line_break) ? ", " : ",");
		if (object)
			add_line(w, levels + 1);
		if ((object ? add_member(w, cs_json_key_at(value, i), child, levels + 1) : add_value(w, child, levels)) < 0)
			return -1;
	}
	if (object)
		add_line(w, levels);
	cs_buf_addc(w->out, object ? '}' : ']');
	return 0;
}

static int finish(const struct cs_buf *out, const char *name, struct cs_err *err)
{
	return out->failed ? cs_fail(err, CS_LIMIT, 0, "%s: does not fit into %zu bytes", name, out->max) : 0;
}

/* The first member of an object that has none: between its braces, what stands there kept. */
static int add_first(const struct writer *w, const struct object *object, const char *key, const struct cs_json *value)
{
	bool lines = w->layout.line_break != NULL;
	bool closes_line = memchr(w->text + object->open, '\n', object->close - object->open) != NULL;

	cs_buf_add(w->out, w->text, object->open + 1);
	if (lines)
		add_line(w, w->levels);
	if (add_member(w, key, value, w->levels) < 0)
		return -1;
	if (lines && !closes_line) {
		struct span above = line_indent(w->text, object->open);

		cs_buf_adds(w->out, w->layout.line_break);
		cs_buf_add(w->out, w->text + above.start, above.end - above.start);
	}
	cs_buf_adds(w->out, w->text + object->open + 1);
	return 0;
}

int cs_json_text_put(const char *text, size_t len, const char *name, const char *parent, const char *key,
		     const struct cs_json *value, struct cs_buf *out, struct cs_err *err)
{
	struct object object, top;
	struct writer w = { .text = text, .out = out, .err = err };
	int r = find_object(text, len, name, parent, key, &object, err);

	if (r <= 0)
		return r < 0 ? -1 : cs_fail(err, CS_INVALID, 0, "%s: has no '%s'", name, parent);
	top = read_object(text, skip_space(text, 0), key);
	w.layout = layout_of(text, &object, &top);
	/* without a member to follow, members stand a level below the one that holds them */
	w.levels = object.n == 0 && (parent || top.n == 0);
	if (object.found) {
		cs_buf_add(out, text, object.value.start);
		if (add_value(&w, value, 0) < 0)
			return -1;
		cs_buf_adds(out, text + object.value.end);
	} else if (object.n == 0) {
		if (add_first(&w, &object, key, value) < 0)
			return -1;
	} else {
		cs_buf_add(out, text, object.last_value.end);
		cs_buf_adds(out, w.layout.spaced && !w.layout.line_break ? ", " : ",");
		add_line(&w, 0);
		if (add_member(&w, key, value, 0) < 0)
			return -1;
		cs_buf_adds(out, text + object.last_value.end);
	}
	return finish(out, name, err);
}

int cs_json_text_remove(const char *text, size_t len, const char *name, const char *parent, const char *key,
			struct cs_buf *out, struct cs_err *err)
{
	struct object object;
	struct span gone = { 0, 0 };
	int r = find_object(text, len, name, parent, key, &object, err);

	if (r < 0)
		return -1;
	if (r > 0 && object.found) {
		gone = (struct span){ object.before, object.value.end };
		if (object.n == 1)
			gone = (struct span){ object.open + 1, object.close };
		else if (object.before == 0)
			gone = (struct span){ object.key.start, object.next };
	}
	cs_buf_add(out, text, gone.start);
	cs_buf_adds(out, text + gone.end);
	return finish(out, name, err);
}
