#include "shim/task/configure.h"

#include <errno.h>
#include <string.h>

#include "oci-spec/json_text.h"

#define TEXT_MAX (1 << 20) /* of a file that a person keeps */

/* --- Docker ------------------------------------------------------------------------- */

/*
 * Without arguments dockerd calls the program itself; with some it goes
 * through a script of its own. So the plain name has none: its policy is the
 * default one.
 */
static const struct runtime {
	const char *name;
	const char *args[5];
} runtimes[] = {
	{ "caisson", { NULL } },
	{ "caisson-gvisor", { "--runtime", "runsc", NULL } },
	{ "caisson-strict", { "--policy", "strict", NULL } },
};

static struct cs_json *value_of(const struct runtime *runtime, const char *path)
{
	cs_autojson struct cs_json *value = cs_json_new_object(), *args = cs_json_new_array();
	int bad = cs_json_put(value, "path", cs_json_new_string(path));

	for (size_t i = 0; runtime->args[i]; i++)
		bad |= cs_json_add(args, cs_json_new_string(runtime->args[i]));
	if (runtime->args[0])
		bad |= cs_json_put(value, "runtimeArgs", cs_take_ptr(&args));
	return bad ? NULL : cs_take_ptr(&value);
}

static int out_of_memory(struct cs_err *err)
{
	return cs_fail(err, CS_LIMIT, ENOMEM, "configuration");
}

/* The content of `from` takes the place of that of `to`. */
static int move_text(struct cs_buf *to, struct cs_buf *from, struct cs_err *err)
{
	cs_buf_reset(to);
	return cs_buf_add(to, from->data ? from->data : "", from->len) < 0 ? out_of_memory(err) : 0;
}

static struct cs_json *parse(const char *text, const char *name, struct cs_err *err)
{
	struct cs_json *tree = NULL;

	return cs_json_parse(text, strlen(text), name, &tree, err) < 0 ? NULL : tree;
}

/* All ours at once, where there is no "runtimes" yet. */
static int add_all(const char *text, const char *name, const char *path, struct cs_buf *out, struct cs_err *err)
{
	cs_autojson struct cs_json *all = cs_json_new_object();

	for (size_t i = 0; i < CS_ARRAY_LEN(runtimes); i++)
		if (cs_json_put(all, runtimes[i].name, value_of(&runtimes[i], path)) < 0)
			return out_of_memory(err);
	return cs_json_text_put(text, strlen(text), name, NULL, "runtimes", all, out, err);
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

static int docker_add(const char *text, const char *name, const char *path, struct cs_buf *out, struct cs_err *err)
{
	cs_auto(buf) now = CS_BUF_INIT(TEXT_MAX);
	cs_autojson struct cs_json *tree = NULL;

	/* dockerd takes an empty file for an empty object */
	if (is_blank(text))
		return add_all("{}\n", name, path, out, err);
	tree = parse(text, name, err);
	if (!tree)
		return -1;
	if (cs_json_kind(tree) == CS_JSON_OBJECT && !cs_json_member(tree, "runtimes"))
		return add_all(text, name, path, out, err);
	cs_buf_adds(&now, text);
	for (size_t i = 0; i < CS_ARRAY_LEN(runtimes); i++) {
		cs_auto(buf) next = CS_BUF_INIT(TEXT_MAX);
		cs_autojson struct cs_json *value = value_of(&runtimes[i], path);

		if (!value || now.failed)
			return out_of_memory(err);
		if (cs_json_text_put(now.data, now.len, name, "runtimes", runtimes[i].name, value, &next, err) < 0 ||
		    move_text(&now, &next, err) < 0)
			return -1;
	}
	return move_text(out, &now, err);
}

/* The path that our entries hold, from the tree; NULL when there is none. */
static const char *path_in(const struct cs_json *tree)
{
	const char *path = NULL;

	for (size_t i = 0; i < CS_ARRAY_LEN(runtimes) && !path; i++)
		path = cs_json_string(cs_json_member(
			cs_json_member(cs_json_member(tree, "runtimes"), runtimes[i].name), "path"));
	return path;
}

/* Does our part put into `before` give `text`? */
static bool comes_from(const char *text, const char *before, const char *path)
{
	cs_auto(buf) again = CS_BUF_INIT(TEXT_MAX);
	struct cs_err ignored = CS_ERR_INIT;

	return path && docker_add(before, "backup", path, &again, &ignored) == 0 && strcmp(again.data, text) == 0;
}

static int remove_from(const char *text, const char *name, const char *parent, const char *key, struct cs_buf *out,
		       struct cs_err *err)
{
	cs_auto(buf) next = CS_BUF_INIT(TEXT_MAX);

	if (cs_json_text_remove(text, strlen(text), name, parent, key, &next, err) < 0)
		return -1;
	return move_text(out, &next, err);
}

/* An object "runtimes" that is left empty goes too, unless it was there before us. */
static int remove_empty(const char *name, const char *before, struct cs_buf *out, struct cs_err *err)
{
	struct cs_err ignored = CS_ERR_INIT;
	cs_autojson struct cs_json *tree = parse(out->data, name, err);
	cs_autojson struct cs_json *old = before ? parse(before, "backup", &ignored) : NULL;
	const struct cs_json *left = cs_json_member(tree, "runtimes");

	if (!tree)
		return -1;
	if (cs_json_kind(left) != CS_JSON_OBJECT || cs_json_count(left) > 0 || cs_json_member(old, "runtimes"))
		return 0;
	return remove_from(out->data, name, NULL, "runtimes", out, err);
}

static int docker_remove(const char *text, const char *name, const char *before, struct cs_buf *out,
			 struct cs_err *err)
{
	cs_autojson struct cs_json *tree = NULL;
	const char *path;

	if (is_blank(text)) {
		cs_buf_adds(out, text);
		return 0;
	}
	tree = parse(text, name, err);
	if (!tree)
		return -1;
	path = path_in(tree);
	if (before && comes_from(text, before, path)) {
		cs_buf_adds(out, before);
		return out->failed ? out_of_memory(err) : 0;
	}
	/* a file that we made ourselves */
	if (!before && comes_from(text, "", path))
		return 0;
	cs_buf_adds(out, text);
	for (size_t i = 0; i < CS_ARRAY_LEN(runtimes); i++)
		if (remove_from(out->data, name, "runtimes", runtimes[i].name, out, err) < 0)
			return -1;
	return path ? remove_empty(name, before, out, err) : 0;
}

static bool docker_has(const char *text)
{
	struct cs_err ignored = CS_ERR_INIT;
	cs_autojson struct cs_json *tree = parse(text, "", &ignored);

	for (size_t i = 0; i < CS_ARRAY_LEN(runtimes); i++)
		if (cs_json_member(cs_json_member(tree, "runtimes"), runtimes[i].name))
			return true;
	return false;
}

/* --- Podman --------------------------------------------------------------------------- */

static const char podman_head[] = "# Made by 'caisson configure podman'; 'caisson configure podman --remove' takes it away.\n";

static int podman_add(const char *text, const char *name, const char *path, struct cs_buf *out, struct cs_err *err)
{
	if (!is_blank(text) && strncmp(text, podman_head, strlen(podman_head)) != 0)
		return cs_fail(err, CS_EXISTS, 0, "'%s' is not of our making: give another name with --file", name);
	cs_buf_adds(out, podman_head);
	cs_buf_adds(out, "# podman run --runtime caisson …; of another policy or engine:\n"
			 "# podman run --runtime caisson --runtime-flag policy=strict --runtime-flag runtime=runsc …\n"
			 "[engine.runtimes]\n"
			 "caisson = [\"");
	cs_buf_add_json_escaped(out, path, strlen(path)); /* TOML's basic strings escape the same */
	cs_buf_adds(out, "\"]\n");
	return out->failed ? out_of_memory(err) : 0;
}

static bool podman_has(const char *text)
{
	return strncmp(text, podman_head, strlen(podman_head)) == 0;
}

static int podman_remove(const char *text, const char *name, const char *before, struct cs_buf *out, struct cs_err *err)
{
	(void)before;
	if (!is_blank(text) && !podman_has(text))
		return cs_fail(err, CS_EXISTS, 0, "'%s' is not of our making: it stays", name);
	(void)out;
	return 0;
}

static const struct cs_configure_tool tools[] = {
	{ "docker", "/etc/docker/daemon.json", "systemctl reload docker", docker_add, docker_remove, docker_has },
	{ "podman", "/etc/containers/containers.conf.d/50-caisson.conf", NULL, podman_add, podman_remove, podman_has },
};

const struct cs_configure_tool *cs_configure_tool(const char *name)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

const char *cs_configure_tools(void)
{
	return "docker, podman";
}

/* --- what changes ------------------------------------------------------------------------ */

#define CONTEXT 3

struct lines {
	const char **start; /* n + 1 of them: the last is the end */
	size_t n;
};

static int split(const char *text, struct lines *ret)
{
	size_t n = 0;

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		n++;
	ret->start = calloc(n + 1, sizeof(*ret->start));
	if (!ret->start)
		return -ENOMEM;
	ret->n = 0;
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		ret->start[ret->n++] = p;
	ret->start[n] = text + strlen(text);
	return 0;
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
	size_t len = (size_t)(a->start[i + 1] - a->start[i]);

	return len == (size_t)(b->start[j + 1] - b->start[j]) && memcmp(a->start[i], b->start[j], len) == 0;
}

static void add_lines(struct cs_buf *out, char mark, const struct lines *lines, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		size_t len = (size_t)(lines->start[i + 1] - lines->start[i]);

		cs_buf_addc(out, mark);
		cs_buf_add(out, lines->start[i], len);
		if (len == 0 || lines->start[i][len - 1] != '\n')
			cs_buf_adds(out, "\n\\ No newline at end of file\n");
	}
}

static void add_diff(const char *name, const struct lines *a, const struct lines *b, struct cs_buf *out)
{
	size_t head = 0, tail = 0, from, to;

	while (head < a->n && head < b->n && same_line(a, head, b, head))
		head++;
	if (head == a->n && head == b->n)
		return;
	while (tail < a->n - head && tail < b->n - head && same_line(a, a->n - 1 - tail, b, b->n - 1 - tail))
		tail++;
	from = head - CS_MIN(head, (size_t)CONTEXT);
	to = CS_MIN(tail, (size_t)CONTEXT);
	cs_buf_addf(out, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", name, name, a->n ? from + 1 : 0,
		    a->n - tail + to - from, b->n ? from + 1 : 0, b->n - tail + to - from);
	add_lines(out, ' ', a, from, head);
	add_lines(out, '-', a, head, a->n - tail);
	add_lines(out, '+', b, head, b->n - tail);
	add_lines(out, ' ', a, a->n - tail, a->n - tail + to);
}

int cs_configure_diff(const char *name, const char *before, const char *after, struct cs_buf *out)
{
	struct lines a = { 0 }, b = { 0 };

	if (split(before, &a) == 0 && split(after, &b) == 0)
		add_diff(name, &a, &b, out);
	else
		out->failed = true;
	free(a.start);
	free(b.start);
	return out->failed ? -ENOMEM : 0;
}
