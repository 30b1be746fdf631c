#include "shim/task/exec_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/spec_check.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/files/user.h"
#include "shim/sys/path.h"
#include "shim/task/jobspec.h"
#include "shim/task/rlimits.h"

void cs_exec_process_release(struct cs_exec_process *process)
{
	cs_json_free_ptr(&process->config);
}

/* --- who ------------------------------------------------------------------------ */

/* The id that the host sees (config-linux.md, "User namespace mappings"). */
static int host_id(const struct cs_json *config, const char *mappings, uint32_t id, uint32_t *ret, struct cs_err *err)
{
	const struct cs_json *list = cs_json_get(config, mappings), *row;

	*ret = id;
	if (cs_json_count(list) == 0)
		return 0;
	cs_json_each(row, list) {
		uint64_t inside, outside, size;

		if (cs_json_get_u64(cs_json_member(row, "containerID"), &inside) < 0 ||
		    cs_json_get_u64(cs_json_member(row, "hostID"), &outside) < 0 ||
		    cs_json_get_u64(cs_json_member(row, "size"), &size) < 0 || id < inside || id - inside >= size)
			continue;
		*ret = (uint32_t)(outside + (id - inside));
		return 0;
	}
	return cs_fail(err, CS_INVALID, 0, "--user: the session's user namespace has no %u", id);
}

static int lay_user(const struct cs_exec_process_plan *plan, struct cs_exec_process *out, struct cs_err *err)
{
	uint64_t uid = 0, gid = 0;

	if (cs_settings_given(plan->tree, "user")) {
		uid_t given_uid;
		gid_t given_gid;

		if (cs_user_parse(plan->tree->values.user, plan->root_fd, &given_uid, &given_gid, err) < 0)
			return cs_wrap(err, "--user");
		/* other groups were the session's user's */
		if (cs_json_set_u64(out->config, "process.user.uid", given_uid, err) < 0 ||
		    cs_json_set_u64(out->config, "process.user.gid", given_gid, err) < 0 ||
		    (cs_json_get(out->config, "process.user.additionalGids") &&
		     cs_json_remove(out->config, "process.user.additionalGids", err) < 0))
			return -1;
	}
	cs_json_get_u64(cs_json_get(out->config, "process.user.uid"), &uid);
	cs_json_get_u64(cs_json_get(out->config, "process.user.gid"), &gid);
	return host_id(plan->config, "linux.uidMappings", (uint32_t)uid, &out->uid, err) < 0 ||
			       host_id(plan->config, "linux.gidMappings", (uint32_t)gid, &out->gid, err) < 0
		       ? -1 : 0;
}

/* --- limits of each process --------------------------------------------------------- */

static int put_rlimit(struct cs_json *config, const struct cs_spec_rlimit *limit, struct cs_err *err)
{
	struct cs_json *list = cs_json_get(config, "process.rlimits"), *row = cs_json_new_object();
	size_t at = 0;
	int r;

	r = cs_json_put(row, "type", cs_json_new_string(limit->type));
	r |= cs_json_put(row, "hard", cs_json_new_u64(limit->hard));
	r |= cs_json_put(row, "soft", cs_json_new_u64(limit->soft));
	if (r < 0) {
		cs_json_free(row);
		return cs_fail(err, CS_LIMIT, ENOMEM, "rlimits");
	}
	for (; at < cs_json_count(list); at++) {
		const char *type = cs_json_string(cs_json_member(cs_json_at(list, at), "type"));

		if (type && strcmp(type, limit->type) == 0)
			return cs_json_replace_at(list, at, row) < 0 ? cs_fail(err, CS_LIMIT, ENOMEM, "rlimits") : 0;
	}
	return cs_json_append(config, "process.rlimits", row, err);
}

static int lay_rlimits(const struct cs_settings *s, struct cs_json *config, struct cs_err *err)
{
	struct cs_rlimits given;

	if (cs_rlimits_given(&s->ulimits, &given, err) < 0)
		return -1;
	if (s->cpu_time_ns != CS_NEVER) {
		uint64_t seconds = cs_rlimits_cpu_seconds(s->cpu_time_ns);

		if (put_rlimit(config, &(struct cs_spec_rlimit){ "RLIMIT_CPU", seconds, seconds }, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < given.n; i++)
		if (put_rlimit(config, &given.v[i], err) < 0)
			return -1;
	return 0;
}

/* --- where and with what --------------------------------------------------------------- */

static int lay_env(const struct cs_exec_process_plan *plan, struct cs_json *config, struct cs_err *err)
{
	cs_auto(strv) env = CS_STRV_INIT;
	const struct cs_json *own = cs_json_get(config, "process.env");

	if (own && cs_json_get_strv(own, &env) < 0)
		return cs_fail(err, CS_INVALID, 0, "the session's process.env is no list of strings");
	if (plan->tree->values.tty && !cs_strv_env_get(&env, "TERM") && cs_strv_add(&env, "TERM=" CS_JOBSPEC_TERM) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "environment");
	for (size_t i = 0; i < plan->env->n; i++) {
		const char *text = plan->env->v[i], *equals = strchr(text, '=');
		cs_autofree char *key = strndup(text, (size_t)(equals - text));

		if (!key || cs_strv_env_set(&env, key, equals + 1) < 0)
			return cs_fail(err, CS_LIMIT, ENOMEM, "environment");
	}
	if (cs_jobspec_check_text(plan->args, &env, err) < 0)
		return -1;
	return cs_json_set_strv(config, "process.env", &env, err);
}

static int lay_cwd(const struct cs_exec_process_plan *plan, struct cs_json *config, struct cs_err *err)
{
	const char *cwd = plan->tree->values.workdir;

	if (!cs_settings_given(plan->tree, "workdir"))
		return 0;
	if (cs_spec_check_cwd(cwd, err) < 0)
		return cs_wrap(err, "--workdir");
	return cs_json_set_string(config, "process.cwd", cwd, err);
}

/* The session's own says nothing of this one: it may have a terminal where the session has none, and the other way round. */
static int lay_terminal(const struct cs_exec_process_plan *plan, struct cs_json *config, struct cs_err *err)
{
	if (cs_json_get(config, "process.consoleSize") && cs_json_remove(config, "process.consoleSize", err) < 0)
		return -1;
	return cs_json_set_bool(config, "process.terminal", plan->tree->values.tty, err);
}

int cs_exec_process_make(const struct cs_exec_process_plan *plan, struct cs_exec_process *ret, struct cs_err *err)
{
	struct cs_exec_process out = { .config = cs_json_copy(plan->config) };

	if (!out.config) {
		cs_fail(err, CS_LIMIT, ENOMEM, "process of the exec");
	} else if (!cs_json_member(out.config, "process")) {
		cs_fail(err, CS_INVALID, 0, "the session's config.json has no process");
	} else if (lay_terminal(plan, out.config, err) == 0 &&
		   cs_json_set_strv(out.config, "process.args", plan->args, err) == 0 && lay_user(plan, &out, err) == 0 &&
		   lay_cwd(plan, out.config, err) == 0 && lay_env(plan, out.config, err) == 0 &&
		   lay_rlimits(&plan->tree->values, out.config, err) == 0) {
		*ret = out;
		return 0;
	}
	cs_exec_process_release(&out);
	return -1;
}

/* --- links ---------------------------------------------------------------------------------- */

int cs_exec_process_check_cwd(int root_fd, const char *cwd, struct cs_err *err)
{
	cs_autofd int fd = cs_path_open_in_root(root_fd, cwd, O_PATH | O_DIRECTORY, 0);
	struct statfs fs;

	/* magic links are refused by openat2; "self" leads nowhere for us, who are in no such procfs */
	if (fd == -ELOOP)
		return cs_fail(err, CS_DENIED, 0, "--workdir: '%.200s' leads to a descriptor or through too many links", cwd);
	if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type != PROC_SUPER_MAGIC)
		return 0;
	if (fd >= 0)
		return cs_fail(err, CS_DENIED, 0, "--workdir: '%.200s' leads into procfs", cwd);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
		return cs_fail(err, CS_NOT_FOUND, 0, "--workdir: '%.200s' leads to no directory inside", cwd);
	return cs_fail(err, cs_err_kind_of_errno(-fd), -fd, "--workdir: '%.200s'", cwd);
}
