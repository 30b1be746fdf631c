/* What an exec stands on: the session, its mount namespace, a group below its own, a process. */
#include "shim/task/exec_int.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oci-spec/json_edit.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/mount.h"
#include "shim/task/verify.h"

/* How long after its limits the supervisor ends an exec whose caisson is stopped or stuck. */
#define GRACE_NS (2 * CS_NSEC_PER_SEC)

/* --- what the supervisor tells ------------------------------------------------------- */

static int take_text(const struct cs_json *reply, const char *key, char *ret, size_t size, struct cs_err *err)
{
	const char *text = cs_json_string(cs_json_get(reply, key));

	if (!text || snprintf(ret, size, "%s", text) >= (int)size)
		return cs_fail(err, CS_INVALID, 0, "the session's supervisor does not tell '%s': is it of another version?", key);
	return 0;
}

static int take_engine(struct job *job, const struct cs_json *reply, struct cs_err *err)
{
	struct cs_engine *engine = &job->engine;
	char kind[32], path[4096];

	if (take_text(reply, "engine.kind", kind, sizeof(kind), err) < 0 ||
	    take_text(reply, "engine.path", path, sizeof(path), err) < 0 ||
	    take_text(reply, "engine.version", engine->version, sizeof(engine->version), err) < 0)
		return -1;
	engine->kind = cs_engine_kind_by_name(kind);
	engine->path = strdup(path);
	if (!engine->kind || !engine->path || cs_json_get_strv(cs_json_get(reply, "engine.args"), &engine->global_args) < 0)
		return cs_fail(err, CS_INVALID, 0, "the session's engine '%s' is unknown here", kind);
	snprintf(job->result->engine_name, sizeof(job->result->engine_name), "%s", kind);
	snprintf(job->result->engine_version, sizeof(job->result->engine_version), "%s", engine->version);
	return 0;
}

static int take_session(struct exec *exec, const struct cs_json *reply, struct cs_err *err)
{
	struct job_places *p = &exec->job.places;
	int64_t init = 0;

	if (take_text(reply, "name", exec->name, sizeof(exec->name), err) < 0 ||
	    take_text(reply, "dir", exec->dir, sizeof(exec->dir), err) < 0 ||
	    take_text(reply, "bundle", p->bundle, sizeof(p->bundle), err) < 0 ||
	    take_text(reply, "engineRoot", p->engine_root, sizeof(p->engine_root), err) < 0 ||
	    take_text(reply, "cgroup", p->cgroup, sizeof(p->cgroup), err) < 0 || take_engine(&exec->job, reply, err) < 0)
		return -1;
	cs_json_get_i64(cs_json_member(reply, "initPid"), &init);
	exec->session_init = (pid_t)init;
	cs_json_get_bool(cs_json_member(reply, "systemdCgroup"), &exec->systemd_cgroup);
	cs_json_get_bool(cs_json_member(reply, "networkNone"), &exec->network_none);
	cs_json_get_bool(cs_json_member(reply, "networkHost"), &exec->network_host);
	snprintf(p->log, sizeof(p->log), "%s/log.json", exec->dir);
	snprintf(p->pid_file, sizeof(p->pid_file), "%s/pid", exec->dir);
	return 0;
}

/* The moment at which the supervisor acts in our place; none without a wall limit. */
static int put_deadline(struct cs_json *request, const struct cs_settings *s)
{
	int64_t ns = s->timeout_ns;

	if (__builtin_add_overflow(ns, s->stop_timeout_ns, &ns) || __builtin_add_overflow(ns, s->engine_timeout_ns, &ns) ||
	    __builtin_add_overflow(ns, GRACE_NS, &ns))
		return 0;
	return cs_json_put(request, "timeoutNs", cs_json_new_i64(ns));
}

static int begin(struct exec *exec, struct cs_err *err)
{
	const struct cs_settings *s = exec->job.s;
	cs_autojson struct cs_json *reply = NULL;
	struct cs_json *request;

	if (geteuid() != 0)
		return cs_fail(err, CS_DENIED, 0, "caisson needs root (rootless runs are not supported yet): use sudo");
	if (cs_ctl_connect(s->state_dir, exec->plan->id, EXEC_ASK_NS, &exec->ctl, err) < 0)
		return -1;
	request = cs_ctl_request("exec-begin");
	if (put_deadline(request, s) < 0 ||
	    cs_json_put(request, "escape", cs_json_new_string(s->exec_escape == CS_ESCAPE_KILL_CONTAINER ? CS_EXEC_ESCAPE_KILL
														 : CS_EXEC_ESCAPE_REPORT)) < 0)
		cs_json_free_ptr(&request);
	if (cs_ctl_call(&exec->ctl, request, cs_clock_deadline_ns(EXEC_KILL_NS), &reply, err) < 0)
		return -1;
	return take_session(exec, reply, err);
}

/* All that is left of the session is seen from its supervisor's mounts only. The pid is its own as long as the connection lives, so that is looked at last. */
static int enter(struct exec *exec, struct cs_err *err)
{
	char path[40];
	cs_autofd int fd = -1;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)exec->ctl.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "mount namespace of the session");
	/* nothing has been asked since the last answer: what can be read is the end */
	if (cs_fd_wait_readable(exec->ctl.fd, 0) != -ETIMEDOUT)
		return cs_fail(err, CS_STATE, 0, "'%s' ended meanwhile", exec->plan->id);
	r = cs_mount_enter_namespace(fd);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "enter the session's mount namespace") : 0;
}

/* --- limits ------------------------------------------------------------------------------ */

/* For an engine that starts no process in a group of its own. Its rlimits are the container's, whatever a process.json says (runsc of 2022 and 2026). */
static int refuse_limits(const struct exec *exec, struct cs_err *err)
{
	const struct cs_settings *s = exec->job.s;
	const char *engine = exec->job.engine.kind->name;
	const struct {
		const char *flag;
		bool asked;
	} rows[] = {
		{ "--memory", s->memory_bytes != CS_OPT_UNLIMITED },
		{ "--memory-swap", s->memory_swap_bytes != CS_OPT_UNLIMITED },
		{ "--pids-limit", s->pids != CS_OPT_UNLIMITED },
		{ "--cpus", s->millicpus != CS_OPT_UNLIMITED },
		{ "--cpu-time", s->cpu_time_ns != CS_NEVER },
		{ "--ulimit", s->ulimits.n > 0 },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++)
		if (rows[i].asked)
			return cs_fail(err, CS_UNSUPPORTED, 0, "%s: with %s the processes of an exec have no limits of their own, the session's hold for all: leave it out, or use runc or crun",
				       rows[i].flag, engine);
	return 0;
}

/* What cannot be written is found by reading back, with the limit's name. */
static void put_number(const struct cs_cgroup *group, enum cs_resource resource, uint64_t value)
{
	const struct cs_resource_row *row = cs_resource_row(resource);
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	cs_cgroup_write(group, row->v1_controller, cs_cgroup_is_v2(group) ? row->v2_file : row->v1_file, text);
}

static void put_cpu(const struct cs_cgroup *group, uint64_t millicpus)
{
	char text[64];
	unsigned long long quota = millicpus * (CS_CPU_PERIOD_US / 1000);

	if (cs_cgroup_is_v2(group)) {
		snprintf(text, sizeof(text), "%llu %d", quota, CS_CPU_PERIOD_US);
		cs_cgroup_write(group, "cpu", "cpu.max", text);
		return;
	}
	snprintf(text, sizeof(text), "%d", CS_CPU_PERIOD_US);
	cs_cgroup_write(group, "cpu", "cpu.cfs_period_us", text);
	snprintf(text, sizeof(text), "%llu", quota);
	cs_cgroup_write(group, "cpu", "cpu.cfs_quota_us", text);
}

static void put_limits(const struct cs_settings *s, const struct cs_cgroup *group)
{
	if (s->memory_bytes != CS_OPT_UNLIMITED)
		put_number(group, CS_RES_MEMORY, s->memory_bytes);
	if (s->memory_swap_bytes != CS_OPT_UNLIMITED) /* v2 counts swap alone */
		put_number(group, CS_RES_MEMORY_SWAP, s->memory_swap_bytes - (cs_cgroup_is_v2(group) ? s->memory_bytes : 0));
	if (s->pids != CS_OPT_UNLIMITED)
		put_number(group, CS_RES_PIDS, s->pids);
	if (s->millicpus != CS_OPT_UNLIMITED)
		put_cpu(group, s->millicpus);
}

static int verify_limits(struct exec *exec, struct cs_err *err)
{
	struct job *job = &exec->job;
	struct cs_verify_plan plan = {
		.engine = &job->engine,
		.settings = job->s,
		.spec = &job->spec,
		.cgroup = job->cgroup,
	};

	return cs_verify_limits(&plan, job->result, err);
}

static int make_group(struct exec *exec, struct cs_err *err)
{
	struct job *job = &exec->job;
	const struct cs_settings *s = job->s;
	struct cs_jobspec *spec = &job->spec;

	if (cs__job_find_cgroups(job, err) < 0 || cs_cgroup_open(&job->host, job->places.cgroup, &exec->session_group, err) < 0 ||
	    cs_cgroup_make_below(&job->host, exec->session_group, exec->name, &job->cgroup, err) < 0)
		return -1;
	spec->memory_bytes = s->memory_bytes;
	spec->memory_swap_bytes = s->memory_swap_bytes;
	spec->pids = s->pids;
	spec->millicpus = s->millicpus;
	put_limits(s, job->cgroup);
	return verify_limits(exec, err);
}

static int bound(struct exec *exec, struct cs_err *err)
{
	const struct cs_engine_kind *kind = exec->job.engine.kind;

	if (kind->exec_cgroup)
		return cs_engine_check_limits(&exec->job.engine, exec->job.s->memory_bytes, exec->job.s->pids, err) < 0 ? -1
														      : make_group(exec, err);
	if (!kind->inside_pids || !kind->trace_session)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s cannot keep the processes of an exec apart: nothing would bound them",
			       kind->name);
	return refuse_limits(exec, err);
}

/* --- the process --------------------------------------------------------------------------- */

/* The root as it is now, mounts and all; -1 where the engine shows it to nobody. */
static int open_root(const struct exec *exec)
{
	char path[40];

	if (exec->job.engine.kind->own_kernel || exec->session_init <= 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)exec->session_init);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int make_process(struct exec *exec, struct cs_err *err)
{
	struct job *job = &exec->job;
	cs_autojson struct cs_json *config = NULL;
	cs_autofd int root_fd = open_root(exec);
	struct cs_exec_process_plan plan = { .tree = exec->plan->tree, .args = exec->plan->args, .env = &exec->env, .root_fd = root_fd };
	char path[320];

	snprintf(path, sizeof(path), "%s/config.json", job->places.bundle);
	if (cs_json_read_file(AT_FDCWD, path, &config, err) < 0)
		return -1;
	plan.config = config;
	if (cs_exec_process_make(&plan, &exec->process, err) < 0 ||
	    (job->s->tty && cs_terminal_put_size(exec->process.config, err) < 0))
		return -1;
	if (root_fd >= 0 && cs_settings_given(exec->plan->tree, "workdir") &&
	    cs_exec_process_check_cwd(root_fd, job->s->workdir, err) < 0)
		return -1;
	job->spec.uid = exec->process.uid;
	job->spec.gid = exec->process.gid;
	snprintf(path, sizeof(path), "%s/process.json", exec->dir);
	return cs_json_write_file(cs_json_member(exec->process.config, "process"), CS_JSON_COMPACT, AT_FDCWD, path, 0600, err);
}

/* The live root with all its mounts in place of what config.json says of them. */
static int show_live_root(const struct exec *exec, struct cs_json *config, struct cs_err *err)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)exec->session_init);
	return cs_json_set_string(config, "root.path", path, err) < 0 || cs_json_remove(config, "mounts", err) < 0 ||
			       cs_json_remove(config, "linux.maskedPaths", err) < 0
		       ? -1 : 0;
}

/* Where nobody sees the live root, what lies in memory cannot be told any more: it was empty once. */
static int forget_memory(struct cs_json *config, struct cs_err *err)
{
	const struct cs_json *mounts = cs_json_member(config, "mounts");
	char path[40];

	for (size_t i = 0; i < cs_json_count(mounts); i++) {
		const char *type = cs_json_string(cs_json_member(cs_json_at(mounts, i), "type"));

		snprintf(path, sizeof(path), "mounts.%zu.type", i);
		if (type && strcmp(type, "tmpfs") == 0 && cs_json_set_string(config, path, "live", err) < 0)
			return -1;
	}
	return 0;
}

/* 126 and 127, before the engine is asked. */
static int resolve(struct exec *exec, enum cs_start_kind *ret_kind, struct cs_err *err)
{
	struct cs_json *config = exec->process.config;

	if ((exec->job.engine.kind->own_kernel ? forget_memory(config, err) : show_live_root(exec, config, err)) < 0)
		return -1;
	return cs__job_resolve(&exec->job, config, ret_kind, err);
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Each step with the kind of failure that it is unless it says so itself. */
int cs__exec_setup(struct exec *exec)
{
	struct job *job = &exec->job;
	struct cs_err err = CS_ERR_INIT;
	enum cs_start_kind kind = CS_START_SETUP;

	snprintf(job->result->id, sizeof(job->result->id), "%s", exec->plan->id);
	job->result->in_session = true;
	if (cs__job_wait_foreground(job, &err) < 0) {
		kind = CS_START_USAGE;
		goto failed;
	}
	if (cs__job_make_loop(job, &err) < 0)
		goto failed;
	kind = CS_START_USAGE;
	/* what the caller names by paths, as long as they mean what he means */
	if (cs_jobspec_add_env(job->s, &exec->env, &err) < 0 || begin(exec, &err) < 0 || cs__job_make_sinks(job, &err) < 0)
		goto failed;
	kind = CS_START_SETUP;
	if (enter(exec, &err) < 0)
		goto failed;
	kind = CS_START_LIMIT;
	if (bound(exec, &err) < 0)
		goto failed;
	kind = CS_START_USAGE;
	if (make_process(exec, &err) < 0 || resolve(exec, &kind, &err) < 0)
		goto failed;
	kind = CS_START_SETUP;
	/* a terminal keeps by itself what the program prints before it is verified; the pipes are the engine's then */
	if (cs__job_make_streams(job, !job->s->tty, &err) < 0 || cs__job_make_terminal(job, exec->dir, &err) < 0)
		goto failed;
	return 0;
failed:
	if (!cs__exec_session_ended(exec))
		cs__job_fail(job, kind, &err);
	return -1;
}
