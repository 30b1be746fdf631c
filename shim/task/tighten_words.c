/* Flags of update and exec as the JSON that they stand for, and an update kept for later. */
#include <errno.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/resources.h"
#include "shim/base/parse.h"
#include "shim/task/tighten.h"

/* --- update ----------------------------------------------------------------------------- */

enum form { FORM_BYTES, FORM_SIGNED, FORM_UNSIGNED, FORM_TEXT };

/* As runc(8) names them; other engines know some of these and no other. */
static const struct {
	const char *name, *path;
	enum form form;
} update_flags[] = {
	{ "blkio-weight", "blockIO.weight", FORM_UNSIGNED },
	{ "cpu-period", "cpu.period", FORM_UNSIGNED },
	{ "cpu-quota", "cpu.quota", FORM_SIGNED },
	{ "cpu-burst", "cpu.burst", FORM_UNSIGNED },
	{ "cpu-share", "cpu.shares", FORM_UNSIGNED },
	{ "cpu-shares", "cpu.shares", FORM_UNSIGNED },
	{ "cpu-rt-period", "cpu.realtimePeriod", FORM_UNSIGNED },
	{ "cpu-rt-runtime", "cpu.realtimeRuntime", FORM_SIGNED },
	{ "cpu-idle", "cpu.idle", FORM_SIGNED },
	{ "cpuset-cpus", "cpu.cpus", FORM_TEXT },
	{ "cpuset-mems", "cpu.mems", FORM_TEXT },
	{ "kernel-memory", "memory.kernel", FORM_BYTES },
	{ "kernel-memory-tcp", "memory.kernelTCP", FORM_BYTES },
	{ "memory", "memory.limit", FORM_BYTES },
	{ "memory-reservation", "memory.reservation", FORM_BYTES },
	{ "memory-swap", "memory.swap", FORM_BYTES },
	{ "pids-limit", "pids.limit", FORM_SIGNED },
};

/* The value as config.json has it; NULL for a wrong one (*ret_wrong) or when memory ran out. */
static struct cs_json *value_of(enum form form, const char *text, bool *ret_wrong)
{
	int64_t number;
	uint64_t bytes;

	*ret_wrong = false;
	switch (form) {
	case FORM_TEXT:
		return cs_json_new_string(text);
	case FORM_UNSIGNED:
		if (cs_parse_u64(text, &bytes) == 0)
			return cs_json_new_u64(bytes);
		break;
	case FORM_BYTES:
		if (text[0] != '-' && cs_parse_size(text, &bytes) == 0)
			return cs_json_new_u64(bytes);
		if (cs_parse_i64(text, &number) == 0)
			return cs_json_new_i64(number);
		break;
	case FORM_SIGNED:
		if (cs_parse_i64(text, &number) == 0)
			return cs_json_new_i64(number);
		break;
	}
	*ret_wrong = true;
	return NULL;
}

int cs_tighten_update_flag(struct cs_json *resources, const char *name, const char *value, struct cs_err *err)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(update_flags); i++) {
		struct cs_json *json;
		bool wrong;

		if (strcmp(update_flags[i].name, name) != 0)
			continue;
		json = value_of(update_flags[i].form, value, &wrong);
		if (wrong)
			return cs_fail(err, CS_INVALID, 0, "--%s: '%.64s' is no such value", name, value);
		return cs_json_set(resources, update_flags[i].path, json, err) < 0 ? -1 : 1;
	}
	return 0;
}

/* Is the value one that leaves what is in force as it is? */
static bool says_nothing(const struct cs_json *value, const char *path)
{
	int64_t number;

	if (cs_json_kind(value) == CS_JSON_NULL)
		return true;
	if (cs_json_get_i64(value, &number) < 0 || number != 0)
		return false;
	if (strcmp(path, "cpu.period") == 0)
		return true;
	for (enum cs_resource i = 0; i < CS_RESOURCES; i++) {
		const struct cs_resource_row *row = cs_resource_row(i);

		if (strcmp(row->path + strlen("linux.resources."), path) == 0)
			return row->zero_unlimited;
	}
	return false;
}

/* One object of two levels: resources.memory and the like; what is deeper (lists of devices) is taken whole. */
static int merge_object(struct cs_json *into, const char *name, const struct cs_json *object, struct cs_err *err)
{
	struct cs_json *target = cs_json_member(into, name);
	const struct cs_json *value;
	const char *key;

	if (cs_json_kind(target) != CS_JSON_OBJECT) {
		if (cs_json_set(into, name, cs_json_new_object(), err) < 0)
			return -1;
		target = cs_json_member(into, name);
	}
	cs_json_each_member(key, value, object) {
		char path[64];
		size_t at = cs_json_find(target, key);
		int r;

		snprintf(path, sizeof(path), "%.20s.%.40s", name, key);
		if (says_nothing(value, path))
			continue;
		r = at < cs_json_count(target) ? cs_json_replace_at(target, at, cs_json_copy(value)) :
						 cs_json_put(target, key, cs_json_copy(value));
		if (r < 0)
			return cs_fail(err, CS_LIMIT, -r, "linux.resources.%s", path);
	}
	return 0;
}

int cs_tighten_merge(struct cs_json *config, const struct cs_json *resources, struct cs_err *err)
{
	struct cs_json *target = cs_json_get(config, "linux.resources");
	const struct cs_json *value;
	const char *key;

	if (cs_json_kind(target) != CS_JSON_OBJECT) {
		if (cs_json_set(config, "linux.resources", cs_json_new_object(), err) < 0)
			return -1;
		target = cs_json_get(config, "linux.resources");
	}
	cs_json_each_member(key, value, resources) {
		size_t at = cs_json_find(target, key);
		int r = 0;

		if (cs_json_kind(value) == CS_JSON_OBJECT) {
			if (merge_object(target, key, value, err) < 0)
				return -1;
			continue;
		}
		if (cs_json_kind(value) != CS_JSON_NULL)
			r = at < cs_json_count(target) ? cs_json_replace_at(target, at, cs_json_copy(value)) :
							 cs_json_put(target, key, cs_json_copy(value));
		if (r < 0)
			return cs_fail(err, CS_LIMIT, -r, "linux.resources.%.40s", key);
	}
	return 0;
}

/* --- exec ---------------------------------------------------------------------------------- */

static int put_user(struct cs_json *process, const char *user, struct cs_err *err)
{
	const char *colon = strchr(user, ':');
	cs_autofree char *uid_text = strndup(user, (size_t)(strchrnul(user, ':') - user));
	uint32_t uid, gid;

	if (!uid_text)
		return cs_fail(err, CS_LIMIT, ENOMEM, "--user");
	if (cs_parse_u32(uid_text, &uid) < 0 || (colon && cs_parse_u32(colon + 1, &gid) < 0))
		return cs_fail(err, CS_INVALID, 0, "--user: '%.64s': numbers are wanted, UID[:GID]", user);
	if (cs_json_set_u64(process, "user.uid", uid, err) < 0)
		return -1;
	return colon ? cs_json_set_u64(process, "user.gid", gid, err) : 0;
}

static int put_gids(struct cs_json *process, const struct cs_strv *gids, struct cs_err *err)
{
	for (size_t i = 0; i < gids->n; i++) {
		uint32_t gid;

		if (cs_parse_u32(gids->v[i], &gid) < 0)
			return cs_fail(err, CS_INVALID, 0, "--additional-gids: '%.64s' is no number", gids->v[i]);
		if (cs_json_append(process, "user.additionalGids", cs_json_new_u64(gid), err) < 0)
			return -1;
	}
	return 0;
}

static int put_caps(struct cs_json *process, const struct cs_strv *caps, struct cs_err *err)
{
	static const char *const sets[] = { "capabilities.bounding", "capabilities.effective",
					    "capabilities.permitted" };

	for (size_t i = 0; i < caps->n; i++)
		for (size_t set = 0; set < CS_ARRAY_LEN(sets); set++)
			if (cs_json_append_unique(process, sets[set], caps->v[i], err) < 0)
				return -1;
	return 0;
}

static int put_texts(struct cs_json *process, const struct cs_tighten_exec *flags, struct cs_err *err)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{ "cwd", flags->cwd },
		{ "apparmorProfile", flags->apparmor },
		{ "selinuxLabel", flags->process_label },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++)
		if (texts[i].text && cs_json_set_string(process, texts[i].key, texts[i].text, err) < 0)
			return -1;
	return 0;
}

static int apply_flags(struct cs_json *process, const struct cs_tighten_exec *flags, struct cs_err *err)
{
	if (cs_json_set_strv(process, "args", flags->args, err) < 0 ||
	    cs_json_set_bool(process, "terminal", flags->terminal, err) < 0 ||
	    put_texts(process, flags, err) < 0)
		return -1;
	for (size_t i = 0; flags->env && i < flags->env->n; i++)
		if (cs_json_append(process, "env", cs_json_new_string(flags->env->v[i]), err) < 0)
			return -1;
	if (flags->no_new_privileges_given &&
	    cs_json_set_bool(process, "noNewPrivileges", flags->no_new_privileges, err) < 0)
		return -1;
	if ((flags->user && put_user(process, flags->user, err) < 0) ||
	    (flags->gids && put_gids(process, flags->gids, err) < 0))
		return -1;
	return flags->cap ? put_caps(process, flags->cap, err) : 0;
}

int cs_tighten_exec_process(const struct cs_json *config, const struct cs_tighten_exec *flags,
			    struct cs_json **ret_process, struct cs_err *err)
{
	const struct cs_json *own = cs_json_member(config, "process");
	cs_autojson struct cs_json *process = cs_json_copy(own);

	if (cs_json_kind(own) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "config.json: has no process that the exec could begin with");
	if (!process)
		return cs_fail(err, CS_LIMIT, ENOMEM, "process");
	if (apply_flags(process, flags, err) < 0)
		return -1;
	*ret_process = cs_take_ptr(&process);
	return 0;
}
