/* What a process may do: capabilities, privileges, root, namespaces, hidden paths. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/spec.h"
#include "oci-spec/spec_tables.h"
#include "shim/task/tighten_int.h"

/* --- capabilities --------------------------------------------------------------------- */

static int add_allowed(const struct cs__tighten *t, struct cs_strv *ret)
{
	const struct cs_strv *names = &t->settings->cap_add;

	for (size_t i = 0; i < names->n; i++) {
		char name[CS_CAPABILITY_TEXT];

		if (cs_capability_parse(names->v[i], name, t->err) < 0)
			return cs_wrap(t->err, "--cap-add");
		if (cs_strv_add(ret, name) < 0)
			return cs_fail(t->err, CS_LIMIT, ENOMEM, "--cap-add");
	}
	return 0;
}

/* Engines differ in what they take for a name: only what surely is an allowed one stays. */
static bool is_allowed(const char *text, const struct cs_strv *allowed)
{
	struct cs_err ignored = CS_ERR_INIT;
	char name[CS_CAPABILITY_TEXT];

	return cs_capability_parse(text, name, &ignored) == 0 && cs_strv_has(allowed, name);
}

static int intersect_set(const struct cs__tighten *t, const char *path, const struct cs_strv *allowed)
{
	struct cs_json *set = cs__tighten_get(t, path);

	if (cs__tighten_want(t, set, path, CS_JSON_ARRAY) < 0)
		return -1;
	for (size_t i = 0; i < cs_json_count(set);) {
		const char *name = cs_json_string(cs_json_at(set, i));

		if (!name)
			return cs_fail(t->err, CS_INVALID, 0, "%s: must be strings", path);
		if (is_allowed(name, allowed)) {
			i++;
			continue;
		}
		cs__tighten_note(t, "%s: without %.64s", path, name);
		cs_json_free(cs_json_take_at(set, i));
	}
	return 0;
}

static int confine_capabilities(const struct cs__tighten *t)
{
	static const char *const sets[] = { "bounding", "effective", "inheritable", "permitted", "ambient" };
	static const char all[] = "process.capabilities";
	const struct cs_json *object = cs__tighten_get(t, all);
	cs_auto(strv) allowed = CS_STRV_INIT;

	if (cs__tighten_want(t, object, all, CS_JSON_OBJECT) < 0 || add_allowed(t, &allowed) < 0)
		return -1;
	/* an exec without any has the container's, which were tightened when it was created */
	if (!object && t->what == CS__TIGHTEN_PROCESS)
		return 0;
	for (size_t i = 0; i < CS_ARRAY_LEN(sets); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s.%s", all, sets[i]);
		if (!object && cs__tighten_put(t, path, cs_json_new_array()) < 0)
			return -1;
		if (intersect_set(t, path, &allowed) < 0)
			return -1;
	}
	return 0;
}

/* --- privileges and root ---------------------------------------------------------------- */

static int put_true(const struct cs__tighten *t, const char *path)
{
	bool on = false;

	if (cs_json_get_bool(cs__tighten_get(t, path), &on) == 0 && on)
		return 0;
	return cs__tighten_put(t, path, cs_json_new_bool(true));
}

/* The label of an exec is the container's: `docker exec --privileged` asks for none. */
static int keep_label(const struct cs__tighten *t, const char *path)
{
	const char *own = cs_json_string(cs_json_get(t->config, path));
	const char *asked = cs_json_string(cs__tighten_get(t, path));

	if (!own || !*own || (asked && strcmp(asked, own) == 0))
		return 0;
	return cs__tighten_put(t, path, cs_json_new_string(own));
}

static int confine_privileges(const struct cs__tighten *t)
{
	if (put_true(t, "process.noNewPrivileges") < 0)
		return -1;
	if (t->what != CS__TIGHTEN_PROCESS)
		return 0;
	return keep_label(t, "process.apparmorProfile") < 0 ? -1 : keep_label(t, "process.selinuxLabel");
}

static int confine_root(const struct cs__tighten *t)
{
	if (cs__tighten_want(t, cs__tighten_get(t, "root"), "root", CS_JSON_OBJECT) < 0)
		return -1;
	return put_true(t, "root.readonly");
}

/* --- namespaces ---------------------------------------------------------------------------- */

/* What ns(7) calls it below /proc/PID/ns. */
static const char *file_of(enum cs_namespace ns)
{
	switch (ns) {
	case CS_NS_MOUNT:
		return "mnt";
	case CS_NS_NETWORK:
		return "net";
	default:
		return cs_namespace_word(ns);
	}
}

/* Is what is there the namespace that the host's first process has, or we? */
static bool is_hosts(const struct stat *there, enum cs_namespace ns)
{
	static const char *const whose[] = { "1", "self" };
	struct stat hosts;

	for (size_t i = 0; i < CS_ARRAY_LEN(whose); i++) {
		char name[64];

		snprintf(name, sizeof(name), "/proc/%s/ns/%s", whose[i], file_of(ns));
		if (stat(name, &hosts) == 0 && hosts.st_dev == there->st_dev && hosts.st_ino == there->st_ino)
			return true;
	}
	return false;
}

/* A row that joins the host's own becomes a new namespace; of which kind a row is, is its own word. */
static int leave_hosts(const struct cs__tighten *t, struct cs_json *row)
{
	const char *type = cs_json_string(cs_json_member(row, "type"));
	const struct cs_json *path = cs_json_member(row, "path");
	enum cs_namespace ns = type ? cs_namespace_by_word(type) : CS_NAMESPACES;
	struct stat there;

	if (!type)
		return cs_fail(t->err, CS_INVALID, 0, "linux.namespaces: each must have a type");
	if (cs_json_kind(path) == CS_JSON_NULL || ns == CS_NAMESPACES)
		return 0;
	if (!cs_json_string(path))
		return cs_fail(t->err, CS_INVALID, 0, "linux.namespaces: path must be a string");
	/* engines look a relative one up from another directory than we, and what cannot be looked at may be anything then */
	if (cs_json_string(path)[0] != '/' || stat(cs_json_string(path), &there) < 0)
		return cs_fail(t->err, CS_INVALID, 0, "linux.namespaces: %s: '%.80s' is no absolute path to a namespace", type,
			       cs_json_string(path));
	if (!is_hosts(&there, ns))
		return 0;
	cs__tighten_note(t, "linux.namespaces: %s: a new one, not the host's", type);
	return cs_json_remove(row, "path", t->err);
}

static int add_namespace(const struct cs__tighten *t, enum cs_namespace ns)
{
	cs_autojson struct cs_json *row = cs_json_new_object();

	if (cs_json_put(row, "type", cs_json_new_string(cs_namespace_word(ns))) < 0)
		return cs_fail(t->err, CS_LIMIT, ENOMEM, "linux.namespaces");
	cs__tighten_note(t, "linux.namespaces: %s added", cs_namespace_word(ns));
	return cs_json_append(t->root, "linux.namespaces", cs_take_ptr(&row), t->err);
}

static int confine_namespaces(const struct cs__tighten *t)
{
	static const enum cs_namespace wanted[] = {
		CS_NS_PID, CS_NS_IPC, CS_NS_UTS, CS_NS_MOUNT, CS_NS_NETWORK, CS_NS_CGROUP,
	};
	struct cs_json *rows = cs__tighten_get(t, "linux.namespaces"), *row;

	if (cs__tighten_want(t, rows, "linux.namespaces", CS_JSON_ARRAY) < 0)
		return -1;
	cs_json_each(row, rows)
		if (leave_hosts(t, row) < 0)
			return -1;
	for (size_t i = 0; i < CS_ARRAY_LEN(wanted); i++)
		if (!cs_spec_namespace(t->root, wanted[i]) && add_namespace(t, wanted[i]) < 0)
			return -1;
	return 0;
}

/* --- hidden and read-only paths ---------------------------------------------------------------- */

static int unite(const struct cs__tighten *t, const char *path, const char *const *ours)
{
	if (cs__tighten_want(t, cs__tighten_get(t, path), path, CS_JSON_ARRAY) < 0)
		return -1;
	/* a container in the host's own mount namespace would hide them from the host: engines refuse that */
	if (!cs_spec_namespace(t->root, CS_NS_MOUNT))
		return 0;
	for (; *ours; ours++) {
		size_t before = cs_json_count(cs__tighten_get(t, path));

		if (cs_json_append_unique(t->root, path, *ours, t->err) < 0)
			return -1;
		if (cs_json_count(cs__tighten_get(t, path)) != before)
			cs__tighten_note(t, "%s: and %s", path, *ours);
	}
	return 0;
}

static int confine_masked(const struct cs__tighten *t)
{
	return unite(t, "linux.maskedPaths", cs_masked_paths);
}

static int confine_readonly(const struct cs__tighten *t)
{
	return unite(t, "linux.readonlyPaths", cs_readonly_paths) < 0 ? -1 : cs__tighten_mounts(t);
}

static const struct {
	enum cs_confine word;
	bool for_process; /* of exec too */
	int (*rule)(const struct cs__tighten *t);
} rules[] = {
	{ CS_CONFINE_CAPABILITIES, true, confine_capabilities },
	{ CS_CONFINE_PRIVILEGES, true, confine_privileges },
	{ CS_CONFINE_ROOT, false, confine_root },
	{ CS_CONFINE_NAMESPACES, false, confine_namespaces },
	{ CS_CONFINE_MASKED, false, confine_masked },
	{ CS_CONFINE_READONLY, false, confine_readonly },
};

int cs__tighten_rights(const struct cs__tighten *t)
{
	/* a config.json without a process is one that is never started */
	bool has_process = t->what == CS__TIGHTEN_PROCESS || cs__tighten_get(t, "process");

	if (t->what == CS__TIGHTEN_CONFIG &&
	    cs__tighten_want(t, cs__tighten_get(t, "process"), "process", CS_JSON_OBJECT) < 0)
		return -1;
	for (size_t i = 0; i < CS_ARRAY_LEN(rules); i++) {
		if (!(t->confine & (1u << rules[i].word)) || (rules[i].for_process && !has_process) ||
		    (!rules[i].for_process && t->what != CS__TIGHTEN_CONFIG))
			continue;
		if (rules[i].rule(t) < 0)
			return -1;
	}
	return 0;
}
