#include <errno.h>
#include <string.h>

#include "shim/base/buf.h"
#include "shim/base/parse.h"
#include "shim/files/volume_int.h"

/* Copies the absolute path to `to` with "." parts and spare slashes left out. */
static int clean_destination(const char *path, size_t len, char to[static PATH_MAX],
			     struct cs_err *err)
{
	const char *end = path + len;
	size_t used = 0;

	if (len == 0 || path[0] != '/')
		return cs_fail(err, CS_INVALID, 0,
			       "the destination '%.*s' must be an absolute path inside", (int)len,
			       path);
	if (len >= PATH_MAX)
		return cs_fail(err, CS_INVALID, ENAMETOOLONG, "destination");
	while (path < end) {
		size_t n;

		while (path < end && *path == '/')
			path++;
		for (n = 0; path + n < end && path[n] != '/'; n++)
			;
		if (n == 2 && path[0] == '.' && path[1] == '.')
			return cs_fail(err, CS_INVALID, 0, "the destination has '..' in it");
		if (n > 0 && !(n == 1 && path[0] == '.')) {
			to[used++] = '/';
			memcpy(to + used, path, n);
			used += n;
		}
		path += n;
	}
	to[used] = '\0';
	if (!cs_utf8_valid(to, strlen(to)))
		return cs_fail(err, CS_INVALID, 0, "the destination is no UTF-8");
	return 0;
}

/* What the sandbox itself stands on is no place for a mount. */
static int check_destination(const char *path, struct cs_err *err)
{
	static const char *const taken[] = { "", "/proc", "/sys", "/dev" };

	for (size_t i = 0; i < CS_ARRAY_LEN(taken); i++)
		if (strcmp(path, taken[i]) == 0)
			return cs_fail(err, CS_INVALID, 0,
				       "the destination may not be /, /proc, /sys or /dev");
	if (strncmp(path, "/proc/", 6) == 0)
		return cs_fail(err, CS_INVALID, 0, "the destination may not be below /proc");
	return 0;
}

static int take_destination(const char *path, size_t len, struct cs__volume_parts *ret,
			    struct cs_err *err)
{
	if (clean_destination(path, len, ret->destination, err) < 0)
		return -1;
	return check_destination(ret->destination, err);
}

int cs__volume_split(const char *text, struct cs__volume_parts *ret, struct cs_err *err)
{
	const char *colon = strchr(text, ':'), *destination, *end;
	size_t len;

	if (!colon)
		return cs_fail(err, CS_INVALID, 0, "must be SRC:DST or SRC:DST:OPTIONS");
	len = (size_t)(colon - text);
	if (text[0] != '/')
		return cs_fail(err, CS_INVALID, 0,
			       "the source '%.*s' must be an absolute path: there are no named volumes",
			       (int)len, text);
	if (len >= sizeof(ret->source))
		return cs_fail(err, CS_INVALID, ENAMETOOLONG, "source");
	memcpy(ret->source, text, len);
	ret->source[len] = '\0';

	destination = colon + 1;
	end = strchrnul(destination, ':');
	ret->options = *end ? end + 1 : NULL;
	if (ret->options && strchr(ret->options, ':'))
		return cs_fail(err, CS_INVALID, 0,
			       "has more than three parts (a colon in a path cannot be written here)");
	return take_destination(destination, (size_t)(end - destination), ret, err);
}

int cs__tmpfs_split(const char *text, struct cs__volume_parts *ret, struct cs_err *err)
{
	const char *end = strchrnul(text, ':');

	ret->source[0] = '\0';
	ret->options = *end ? end + 1 : NULL;
	return take_destination(text, (size_t)(end - text), ret, err);
}

/* --- options --------------------------------------------------------- */

/*
 * One word that may stand between commas. `group` is what it decides: two
 * words of one group contradict or repeat each other.
 */
struct option_row {
	const char *word;
	unsigned group;
	bool with_value; /* WORD=VALUE */
	int (*set)(void *options, const char *word, const char *value);
};

enum { GROUP_ACCESS, GROUP_EXEC, GROUP_SUID, GROUP_DEV, GROUP_PROPAGATION, GROUP_SIZE, GROUP_INODES,
       GROUP_MODE, GROUP_UID, GROUP_GID };

static int set_nothing(void *options CS_UNUSED, const char *word CS_UNUSED,
		       const char *value CS_UNUSED)
{
	return 0; /* on in any case */
}

static int set_writable(void *options, const char *word, const char *value CS_UNUSED)
{
	((struct cs__volume_options *)options)->writable = strcmp(word, "rw") == 0;
	return 0;
}

static int set_noexec(void *options, const char *word, const char *value CS_UNUSED)
{
	((struct cs__volume_options *)options)->noexec = strcmp(word, "noexec") == 0;
	return 0;
}

static int set_propagation(void *options, const char *word, const char *value CS_UNUSED)
{
	((struct cs__volume_options *)options)->propagation = word;
	return 0;
}

static const struct option_row volume_rows[] = {
	{ "ro", GROUP_ACCESS, false, set_writable },
	{ "rw", GROUP_ACCESS, false, set_writable },
	{ "exec", GROUP_EXEC, false, set_noexec },
	{ "noexec", GROUP_EXEC, false, set_noexec },
	{ "nosuid", GROUP_SUID, false, set_nothing },
	{ "nodev", GROUP_DEV, false, set_nothing },
	{ "private", GROUP_PROPAGATION, false, set_propagation },
	{ "rprivate", GROUP_PROPAGATION, false, set_propagation },
	{ "slave", GROUP_PROPAGATION, false, set_propagation },
	{ "rslave", GROUP_PROPAGATION, false, set_propagation },
};

static int tmpfs_set_readonly(void *options, const char *word, const char *value CS_UNUSED)
{
	((struct cs__tmpfs_options *)options)->readonly = strcmp(word, "ro") == 0;
	return 0;
}

static int tmpfs_set_exec(void *options, const char *word, const char *value CS_UNUSED)
{
	((struct cs__tmpfs_options *)options)->exec = strcmp(word, "exec") == 0;
	return 0;
}

static int tmpfs_set_size(void *options, const char *word CS_UNUSED, const char *value)
{
	struct cs__tmpfs_options *o = options;
	int r = cs_parse_size(value, &o->size_bytes);

	return r == 0 && o->size_bytes == 0 ? -ERANGE : r;
}

static int tmpfs_set_inodes(void *options, const char *word CS_UNUSED, const char *value)
{
	struct cs__tmpfs_options *o = options;
	int r = cs_parse_u64(value, &o->inodes);

	/* tmpfs keeps the count in an unsigned long and refuses what exceeds it */
	return r == 0 && (o->inodes == 0 || o->inodes > INT64_MAX) ? -ERANGE : r;
}

static int tmpfs_set_mode(void *options, const char *word CS_UNUSED, const char *value)
{
	struct cs__tmpfs_options *o = options;
	unsigned mode = 0;

	if (value[0] == '\0' || strlen(value) > 5 || value[strspn(value, "01234567")] != '\0')
		return -EINVAL;
	for (; *value; value++)
		mode = mode * 8 + (unsigned)(*value - '0');
	if (mode > 01777)
		return -ERANGE;
	o->mode = mode;
	return 0;
}

static int tmpfs_set_uid(void *options, const char *word CS_UNUSED, const char *value)
{
	struct cs__tmpfs_options *o = options;

	o->uid_given = true;
	return cs_parse_u32(value, &o->uid);
}

static int tmpfs_set_gid(void *options, const char *word CS_UNUSED, const char *value)
{
	struct cs__tmpfs_options *o = options;

	o->gid_given = true;
	return cs_parse_u32(value, &o->gid);
}

static const struct option_row tmpfs_rows[] = {
	{ "size", GROUP_SIZE, true, tmpfs_set_size },
	{ "nr_inodes", GROUP_INODES, true, tmpfs_set_inodes },
	{ "mode", GROUP_MODE, true, tmpfs_set_mode },
	{ "uid", GROUP_UID, true, tmpfs_set_uid },
	{ "gid", GROUP_GID, true, tmpfs_set_gid },
	{ "ro", GROUP_ACCESS, false, tmpfs_set_readonly },
	{ "rw", GROUP_ACCESS, false, tmpfs_set_readonly },
	{ "exec", GROUP_EXEC, false, tmpfs_set_exec },
	{ "noexec", GROUP_EXEC, false, tmpfs_set_exec },
	{ "nosuid", GROUP_SUID, false, set_nothing },
	{ "nodev", GROUP_DEV, false, set_nothing },
};

static int fail_unknown(const struct option_row *rows, size_t n, const char *word,
			struct cs_err *err)
{
	cs_auto(buf) known = CS_BUF_INIT(512);

	/* Docker's labels for SELinux: silence would look like protection */
	if (strcmp(word, "z") == 0 || strcmp(word, "Z") == 0)
		return cs_fail(err, CS_UNSUPPORTED, 0,
			       "option '%s': SELinux labels are not set here; label the source beforehand",
			       word);
	for (size_t i = 0; i < n; i++)
		cs_buf_addf(&known, "%s%s%s", i ? ", " : "", rows[i].word,
			    rows[i].with_value ? "=…" : "");
	return cs_fail(err, CS_INVALID, 0, "unknown option '%s'; known: %s", word,
		       known.data ? known.data : "");
}

static int apply_option(const struct option_row *rows, size_t n, char *word, void *options,
			unsigned *seen, struct cs_err *err)
{
	char *value = strchr(word, '=');
	const struct option_row *row = NULL;
	int r;

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < n && !row; i++)
		if (strcmp(rows[i].word, word) == 0)
			row = &rows[i];
	if (!row)
		return fail_unknown(rows, n, word, err);
	if (row->with_value != (value != NULL))
		return cs_fail(err, CS_INVALID, 0, "option '%s' %s", word,
			       value ? "takes no value" : "needs a value");
	if (*seen & 1u << row->group)
		return cs_fail(err, CS_INVALID, 0, "option '%s' repeats or contradicts an earlier one",
			       word);
	*seen |= 1u << row->group;
	r = row->set(options, row->word, value);
	if (r < 0)
		return cs_fail(err, CS_INVALID, 0, "option '%s': '%s' is %s", word, value,
			       r == -ERANGE ? "out of range" : "of the wrong form");
	return 0;
}

static int parse_options(const struct option_row *rows, size_t n, const char *text, void *options,
			 struct cs_err *err)
{
	unsigned seen = 0;
	char word[64];

	while (text) {
		const char *end = strchrnul(text, ',');
		size_t len = (size_t)(end - text);

		if (len == 0)
			return cs_fail(err, CS_INVALID, 0, "an empty option");
		if (len >= sizeof(word))
			return cs_fail(err, CS_INVALID, 0, "unknown option '%.*s…'", 40, text);
		memcpy(word, text, len);
		word[len] = '\0';
		if (apply_option(rows, n, word, options, &seen, err) < 0)
			return -1;
		text = *end ? end + 1 : NULL;
	}
	return 0;
}

int cs__volume_options_parse(const char *text, struct cs__volume_options *ret, struct cs_err *err)
{
	return parse_options(volume_rows, CS_ARRAY_LEN(volume_rows), text, ret, err);
}

int cs__tmpfs_options_parse(const char *text, struct cs__tmpfs_options *ret, struct cs_err *err)
{
	return parse_options(tmpfs_rows, CS_ARRAY_LEN(tmpfs_rows), text, ret, err);
}
