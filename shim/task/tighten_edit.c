/* The tools of the rules: looking, putting, and what was changed. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/task/tighten_int.h"

#define UNIFIED "linux.resources.unified"

struct cs_json *cs__tighten_get(const struct cs__tighten *t, const char *path)
{
	struct cs_json *json = cs_json_get(t->root, path + t->strip);

	return cs_json_kind(json) == CS_JSON_NULL ? NULL : json;
}

struct cs_json *cs__tighten_unified(const struct cs__tighten *t, const char *key)
{
	struct cs_json *json = cs_json_member(cs__tighten_get(t, UNIFIED), key);

	return cs_json_kind(json) == CS_JSON_NULL ? NULL : json;
}

void cs__tighten_note(const struct cs__tighten *t, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (!t->changes)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cs_strv_add(t->changes, text); /* for the log: a line that memory lacks for is no failure */
}

/* "path: old -> new" */
static void note_values(const struct cs__tighten *t, const char *path, const struct cs_json *old,
			const struct cs_json *new)
{
	cs_auto(buf) before = CS_BUF_INIT(80), after = CS_BUF_INIT(80);
	struct cs_err ignored = CS_ERR_INIT;

	if (!t->changes)
		return;
	if (!old)
		cs_buf_adds(&before, "absent");
	else if (cs_json_write(old, CS_JSON_COMPACT, &before, &ignored) < 0)
		cs_buf_reset(&before);
	cs_err_clear(&ignored);
	if (cs_json_write(new, CS_JSON_COMPACT, &after, &ignored) < 0)
		cs_buf_reset(&after);
	cs__tighten_note(t, "%s: %s -> %s", path, before.len ? before.data : "...",
			 after.len ? after.data : "...");
}

int cs__tighten_put(const struct cs__tighten *t, const char *path, struct cs_json *value_consume)
{
	if (value_consume)
		note_values(t, path, cs__tighten_get(t, path), value_consume);
	return cs_json_set(t->root, path + t->strip, value_consume, t->err);
}

int cs__tighten_put_unified(const struct cs__tighten *t, const char *key, const char *text)
{
	struct cs_json *value = cs_json_new_string(text), *unified;
	char path[96];
	size_t at;
	int r;

	if (!cs__tighten_get(t, UNIFIED) &&
	    cs_json_set(t->root, &UNIFIED[t->strip], cs_json_new_object(), t->err) < 0) {
		cs_json_free(value);
		return -1;
	}
	unified = cs__tighten_get(t, UNIFIED);
	at = cs_json_find(unified, key);
	snprintf(path, sizeof(path), UNIFIED ".%s", key);
	if (value)
		note_values(t, path, cs_json_member(unified, key), value);
	r = at < cs_json_count(unified) ? cs_json_replace_at(unified, at, value) :
					  cs_json_put(unified, key, value);
	return r < 0 ? cs_fail(t->err, CS_LIMIT, -r, "%s", path) : 0;
}

int cs__tighten_want(const struct cs__tighten *t, const struct cs_json *json, const char *path,
		     enum cs_json_kind kind)
{
	if (!json || cs_json_kind(json) == kind)
		return 0;
	return cs_fail(t->err, CS_INVALID, 0, "%s: is %s where %s is needed", path,
		       cs_json_kind_word(cs_json_kind(json)), cs_json_kind_word(kind));
}

bool cs__tighten_always(const struct cs__tighten *t, const char *name)
{
	return t->settings->bound == CS_BOUND_ALWAYS ||
	       cs_opt_origin_of(&t->set, cs_opt_by_name(&t->set, name)) == CS_ORIGIN_ANNOTATION;
}

uint64_t cs__tighten_clamp(uint64_t value, uint64_t bound, uint64_t boundless, bool always)
{
	if (bound == CS_UNLIMITED)
		return value;
	if (boundless && value >= boundless)
		always = true;
	return value == CS_UNLIMITED || (always && value > bound) ? bound : value;
}

/* --- keys that only some engines would take for ours ----------------------------- */

/* One character of a key, folded as Go does when it looks for a field; 0 at the end. */
static unsigned char folded(const char **p)
{
	const unsigned char *s = (const unsigned char *)*p;

	if (s[0] == 0xc5 && s[1] == 0xbf) { /* U+017F, long s */
		*p += 2;
		return 's';
	}
	if (s[0] == 0xe2 && s[1] == 0x84 && s[2] == 0xaa) { /* U+212A, Kelvin */
		*p += 3;
		return 'k';
	}
	if (s[0])
		(*p)++;
	return s[0] >= 'A' && s[0] <= 'Z' ? (unsigned char)(s[0] | 0x20) : s[0];
}

static bool folds_to(const char *key, const char *part, size_t len)
{
	const char *end = part + len;

	while (part < end) {
		unsigned char want = folded(&part);

		if (folded(&key) != want)
			return false;
	}
	return *key == '\0';
}

static int check_key(const struct cs__tighten *t, const struct cs_json *object, const char *path,
		     const char *part, size_t len)
{
	const struct cs_json *child;
	const char *key;

	cs_json_each_member(key, child, object)
		if ((strlen(key) != len || memcmp(key, part, len) != 0) && folds_to(key, part, len))
			return cs_fail(t->err, CS_INVALID, 0,
				       "%s: the key '%.64s' is not '%.*s', yet engines written in Go take it for that",
				       path, key, (int)len, part);
	return 0;
}

/* Every part of a path, in all elements where an array stands on it ("process.rlimits.*.hard"). */
static int check_path(const struct cs__tighten *t, const struct cs_json *json, const char *path,
		      const char *rest)
{
	size_t len = strcspn(rest, ".");
	const struct cs_json *child;

	if (cs_json_kind(json) == CS_JSON_ARRAY && rest[0] == '*') {
		cs_json_each(child, json)
			if (check_path(t, child, path, rest + 2) < 0)
				return -1;
		return 0;
	}
	if (cs_json_kind(json) != CS_JSON_OBJECT)
		return 0;
	if (check_key(t, json, path, rest, len) < 0)
		return -1;
	if (rest[len] == '\0')
		return 0;

	char part[32] = "";
	if (len < sizeof(part))
		memcpy(part, rest, len);
	child = cs_json_member(json, part);
	return child ? check_path(t, child, path, rest + len + 1) : 0;
}

/* Everything that a rule reads or writes, but for maps with keys of their own (annotations, unified). */
static const char *const our_paths[] = {
	"annotations",
	"root.readonly",
	"mounts.*.type",
	"mounts.*.source",
	"mounts.*.options",
	"process.capabilities.bounding",
	"process.capabilities.effective",
	"process.capabilities.inheritable",
	"process.capabilities.permitted",
	"process.capabilities.ambient",
	"process.noNewPrivileges",
	"process.apparmorProfile",
	"process.selinuxLabel",
	"process.scheduler.policy",
	"process.rlimits.*.type",
	"process.rlimits.*.soft",
	"process.rlimits.*.hard",
	"linux.cgroupsPath",
	"linux.namespaces.*.type",
	"linux.namespaces.*.path",
	"linux.maskedPaths",
	"linux.readonlyPaths",
	"linux.seccomp.defaultAction",
	"linux.seccomp.defaultErrnoRet",
	"linux.seccomp.architectures",
	"linux.seccomp.syscalls.*.names",
	"linux.seccomp.syscalls.*.action",
	"linux.seccomp.syscalls.*.args.*.index",
	"linux.seccomp.syscalls.*.args.*.value",
	"linux.seccomp.syscalls.*.args.*.valueTwo",
	"linux.seccomp.syscalls.*.args.*.op",
	"linux.resources.unified",
	"linux.resources.devices.*.allow",
	"linux.resources.memory.limit",
	"linux.resources.memory.swap",
	"linux.resources.pids.limit",
	"linux.resources.cpu.quota",
	"linux.resources.cpu.period",
	"linux.resources.cpu.cpus",
	"linux.resources.cpu.realtimeRuntime",
	"linux.resources.cpu.realtimePeriod",
};

int cs__tighten_check_keys(const struct cs__tighten *t)
{
	static const char *const above[] = {
		[CS__TIGHTEN_CONFIG] = "",
		[CS__TIGHTEN_PROCESS] = "process.",
		[CS__TIGHTEN_RESOURCES] = "linux.resources.",
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(our_paths); i++)
		if (strncmp(our_paths[i], above[t->what], t->strip) == 0 &&
		    check_path(t, t->root, our_paths[i], our_paths[i] + t->strip) < 0)
			return -1;
	return 0;
}
