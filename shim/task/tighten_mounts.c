/*
 * Mounts that show a container the files by which its own limits are set. A
 * process of uid 0 needs no capability to write them: they are root's, and only
 * a mount can keep it from that.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/spec.h"
#include "shim/sys/mountinfo.h"
#include "shim/task/tighten_int.h"

static bool is_cgroup_type(const char *type)
{
	return type && (strcmp(type, "cgroup") == 0 || strcmp(type, "cgroup2") == 0);
}

/* What the tree at a path has to do with cgroups. */
enum shows { SHOWS_NONE, SHOWS_THEM_BELOW, SHOWS_THEM };

static int look_at(const char *path, enum shows *ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
	bool on_cgroups = false, below = false;
	struct cs_mountinfo row;
	size_t longest = 0;
	char *cursor;
	int r = cs_mountinfo_read(&text);

	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "read '/proc/self/mountinfo'");
	cursor = text.data;
	while (cs_mountinfo_next(&cursor, &row) > 0) {
		/* of those that hold the path the last of the longest is on top */
		if (cs_mountinfo_is_below(path, row.point) && strlen(row.point) >= longest) {
			longest = strlen(row.point);
			on_cgroups = is_cgroup_type(row.fstype);
		}
		if (is_cgroup_type(row.fstype) && cs_mountinfo_is_below(row.point, path))
			below = true;
	}
	*ret = on_cgroups ? SHOWS_THEM : below ? SHOWS_THEM_BELOW : SHOWS_NONE;
	return 0;
}

/* "ro" alone, and last: engines take options in their order. */
static int make_readonly(const struct cs__tighten *t, struct cs_json *mount, const char *path)
{
	struct cs_json *options = cs_json_member(mount, "options");
	bool readonly = false;

	if (cs__tighten_want(t, options, "mounts: options", CS_JSON_ARRAY) < 0)
		return -1;
	for (size_t i = 0; i < cs_json_count(options);) {
		const char *word = cs_json_string(cs_json_at(options, i));

		if (!word)
			return cs_fail(t->err, CS_INVALID, 0, "mounts: options must be strings");
		if (strcmp(word, "rw") == 0) {
			cs_json_free(cs_json_take_at(options, i));
			continue;
		}
		readonly = strcmp(word, "ro") == 0;
		i++;
	}
	if (readonly)
		return 0;
	cs__tighten_note(t, "mounts: %.80s: read-only", path);
	return cs_json_append(mount, "options", cs_json_new_string("ro"), t->err);
}

static bool is_recursive(const struct cs_json *mount)
{
	const struct cs_json *option;

	cs_json_each(option, cs_json_member(mount, "options"))
		if (cs_json_string(option) && strcmp(cs_json_string(option), "rbind") == 0)
			return true;
	return false;
}

/* A source that cannot be looked up is none that an engine could mount. */
static int confine_bind(const struct cs__tighten *t, struct cs_json *mount)
{
	const char *source = cs_json_string(cs_json_member(mount, "source"));
	char resolved[PATH_MAX];
	enum shows shows = SHOWS_NONE;

	if (!source || !realpath(source, resolved))
		return 0;
	if (look_at(resolved, &shows, t->err) < 0)
		return -1;
	if (shows == SHOWS_THEM)
		return make_readonly(t, mount, source);
	if (shows == SHOWS_THEM_BELOW && is_recursive(mount))
		return cs_fail(t->err, CS_DENIED, 0,
			       "mounts: '%.80s' holds the host's cgroups: the container could lift its limits", source);
	return 0;
}

int cs__tighten_mounts(const struct cs__tighten *t)
{
	struct cs_json *mounts = cs__tighten_get(t, "mounts"), *mount;

	if (cs__tighten_want(t, mounts, "mounts", CS_JSON_ARRAY) < 0)
		return -1;
	cs_json_each(mount, mounts) {
		const char *type = cs_json_string(cs_json_member(mount, "type"));

		if (is_cgroup_type(type) && make_readonly(t, mount, type) < 0)
			return -1;
		if (cs_spec_mount_is_bind(mount) && confine_bind(t, mount) < 0)
			return -1;
	}
	return 0;
}
