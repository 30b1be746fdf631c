/*
 * state and list: as the engine says it, but with the caller's bundle in place
 * of ours. Text is replaced in the text, so that layout, keys and digits stay the engine's.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/oci/verbs.h"

#define OUTPUT_MAX (4 << 20)

/* A file in memory that cannot grow past what we take: who writes more is told so (EPERM), and not we out of memory. */
static int open_sink(int *ret_fd)
{
	cs_autofd int fd = memfd_create("caisson", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, OUTPUT_MAX) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return -errno;
	*ret_fd = cs_take_fd(&fd);
	return 0;
}

/* What was written: up to where the engine, which had the same open file, left off. */
static int read_sink(int fd, struct cs_buf *ret)
{
	off_t len = lseek(fd, 0, SEEK_CUR), at = 0;
	char chunk[16 * 1024];

	if (len < 0)
		return -errno;
	if (len >= OUTPUT_MAX)
		return -EFBIG;
	while (at < len) {
		ssize_t n = pread(fd, chunk, CS_MIN(sizeof(chunk), (size_t)(len - at)), at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if (cs_buf_add(ret, chunk, (size_t)n) < 0)
			return -ENOMEM;
		at += n;
	}
	return 0;
}

/* Runs the engine with stdout in `ret`, all of it. */
static int capture(const struct cs_oci_face *face, struct cs_buf *ret, int *ret_code, struct cs_err *err)
{
	cs_autofd int fd = -1;
	int stdio[] = { STDIN_FILENO, -1, STDERR_FILENO };
	const struct cs_oci_run run = { .stdio = stdio, .own_group = true, .timeout_ns = cs_oci_timeout_ns(face) };
	int r = open_sink(&fd);

	if (r < 0)
		return cs_fail(err, CS_IO, -r, "memory file");
	stdio[1] = fd;
	if (cs_oci_face_run(face, &run, ret_code, err) < 0)
		return -1;
	r = read_sink(fd, ret);
	return r < 0 ? cs_fail(err, CS_LIMIT, -r, "what %s says", face->engine.kind->name) : 0;
}

int cs_oci_ask_state(struct cs_oci_face *face, struct cs_buf *ret, int *ret_code, struct cs_err *err)
{
	char *word = strdup(cs_oci_verb_row(CS_OCI_STATE)->word);

	if (!word)
		return cs_fail(err, CS_LIMIT, ENOMEM, "state");
	free(face->call.verb_word);
	face->call.verb_word = word;
	while (face->call.n_flags > 0) {
		struct cs_oci_given *last = &face->call.flags[--face->call.n_flags];

		free(last->value);
		free(last->word);
	}
	face->call.verb = CS_OCI_STATE;
	return capture(face, ret, ret_code, err);
}

static int print(const struct cs_buf *text, struct cs_err *err)
{
	int r = text->failed ? -ENOMEM : cs_fd_write_all(STDOUT_FILENO, text->data ? text->data : "", text->len);

	return r < 0 ? cs_fail(err, CS_IO, -r, "stdout") : 0;
}

static void add_path(struct cs_buf *out, const char *path, bool json)
{
	if (json)
		cs_buf_add_json_escaped(out, path, strlen(path));
	else
		cs_buf_adds(out, path);
}

/*
 * The text with the caller's bundle in every place of ours. A path of ours has a fixed form, which
 * no caller's bundle has: <state>/containers/KEY/bundle.
 */
static void put_callers(const char *text, size_t len, const char *state_dir, bool json, struct cs_buf *out)
{
	cs_auto(buf) prefix = CS_BUF_INIT(CS_FOREIGN_PATH_MAX);
	const char *end = text + len, *at;

	add_path(&prefix, state_dir, json);
	cs_buf_adds(&prefix, "/containers/");
	while (prefix.data && (at = memmem(text, (size_t)(end - text), prefix.data, prefix.len))) {
		const char *key = at + prefix.len, *behind = key + CS_FOREIGN_KEY_LEN + strlen("/bundle");
		cs_autofree char *bundle = NULL;

		if (behind <= end && strncmp(key + CS_FOREIGN_KEY_LEN, "/bundle", strlen("/bundle")) == 0)
			bundle = cs_foreign_bundle_of(state_dir, key);
		cs_buf_add(out, text, (size_t)(at - text));
		if (bundle)
			add_path(out, bundle, json);
		else
			cs_buf_add(out, at, (size_t)(key - at));
		text = bundle ? behind : key;
	}
	cs_buf_add(out, text, (size_t)(end - text));
}

int cs_oci_verb_state(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	cs_auto(buf) said = CS_BUF_INIT(OUTPUT_MAX), out = CS_BUF_INIT(OUTPUT_MAX);

	if (!face->kept)
		return cs_oci_verb_pass(face, ret_code, err);
	if (capture(face, &said, ret_code, err) < 0)
		return -1;
	put_callers(said.data ? said.data : "", said.len, face->tree.values.state_dir, true, &out);
	return print(&out, err);
}

/* --- the table ------------------------------------------------------------------------ */

/* The column of bundles in a table: from its head to the next one's. */
struct column {
	size_t from, to;
};

static bool find_column(const char *text, struct column *ret)
{
	const char *line_end = strchr(text, '\n'), *head = strstr(text, "BUNDLE"), *next = head ? strstr(head, "CREATED") : NULL;

	if (!next || !line_end || next > line_end)
		return false;
	*ret = (struct column){ .from = (size_t)(head - text), .to = (size_t)(next - text) };
	return true;
}

/* A line in three: before the column, in it (without the blanks that fill it), behind it. */
struct row {
	const char *cell, *behind, *end;
	size_t len;
};

/* A cell that is wider than its column pushes the others on: it ends at the next blank (crun). */
static bool split(const char *line, const char *end, const struct column *column, struct row *ret)
{
	size_t len = (size_t)(end - line);
	const char *behind;

	if (len <= column->from)
		return false;
	behind = line + CS_MIN(len, column->to);
	while (behind < end && behind[-1] != ' ' && behind > line + column->from)
		behind++;
	*ret = (struct row){ .cell = line + column->from, .behind = behind, .end = end };
	ret->len = (size_t)(behind - ret->cell);
	while (ret->len > 0 && ret->cell[ret->len - 1] == ' ')
		ret->len--;
	return true;
}

/* What the widest cell takes, before and after. */
static void measure(const char *text, const struct column *column, const char *state_dir, size_t *ret_old, size_t *ret_new)
{
	*ret_old = *ret_new = 0;
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		cs_auto(buf) cell = CS_BUF_INIT(OUTPUT_MAX);
		struct row row;

		if (!split(line, end, column, &row))
			continue;
		put_callers(row.cell, row.len, state_dir, false, &cell);
		*ret_old = CS_MAX(*ret_old, row.len);
		*ret_new = CS_MAX(*ret_new, cell.len);
	}
}

/* As the engine laid it out, with the column as wide as it must be now. */
static void put_table(const char *text, const char *state_dir, struct cs_buf *out)
{
	struct column column;
	size_t old_width, width, gap;

	if (!find_column(text, &column)) {
		put_callers(text, strlen(text), state_dir, false, out);
		return;
	}
	measure(text, &column, state_dir, &old_width, &width);
	gap = column.to - column.from > old_width ? column.to - column.from - old_width : 1;
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		cs_auto(buf) cell = CS_BUF_INIT(OUTPUT_MAX);
		struct row row;

		if (split(line, end, &column, &row)) {
			put_callers(row.cell, row.len, state_dir, false, &cell);
			cs_buf_add(out, line, column.from);
			cs_buf_addf(out, "%-*s", (int)(width + gap), cell.data ? cell.data : "");
			cs_buf_add(out, row.behind, (size_t)(row.end - row.behind));
		} else {
			cs_buf_add(out, line, (size_t)(end - line));
		}
		cs_buf_addc(out, '\n');
	}
}

int cs_oci_verb_list(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	const char *format = cs_oci_flag(&face->call, "format"), *state_dir = face->tree.values.state_dir;
	cs_auto(buf) said = CS_BUF_INIT(OUTPUT_MAX), out = CS_BUF_INIT(OUTPUT_MAX);

	if (!cs_foreign_any(state_dir) || cs_oci_switch(&face->call, "quiet"))
		return cs_oci_verb_pass(face, ret_code, err);
	if (capture(face, &said, ret_code, err) < 0)
		return -1;
	if (format && strcmp(format, "json") == 0)
		put_callers(said.data ? said.data : "", said.len, state_dir, true, &out);
	else
		put_table(said.data ? said.data : "", state_dir, &out);
	return print(&out, err);
}
