/* What a run stands on: engine, record, guardian, namespace, bundle. Each thing is on record before it is made. */
#include "shim/task/job_int.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/files/hostroot.h"
#include "shim/files/resolve.h"
#include "shim/sys/mount.h"
#include "shim/sys/reaper.h"
#include "shim/task/cache.h"

/* What a start may spend on the records of dead runs. */
#define GC_BUDGET_NS (50 * CS_NSEC_PER_MSEC)
/* The run's own files: config.json, skeleton, the engine's state and log. */
#define PRIVATE_BYTES (64 << 20)
#define PRIVATE_INODES 16384
/* The upper layer of a root that only needs mount points. */
#define POINTS_BYTES (1 << 20)

static int choose_id(struct job *job, struct cs_err *err)
{
	int r = cs_result_choose_id(job->result, job->s->id);

	return r < 0 ? cs_fail(err, CS_IO, -r, "random id") : 0;
}

static int find_engine(struct job *job, struct cs_err *err)
{
	if (geteuid() != 0)
		return cs_fail(err, CS_DENIED, 0, "caisson needs root (rootless runs are not supported yet): use sudo");
	if (cs_job_find_engine(job->s, job->plan->config, &job->engine, err) < 0)
		return -1;
	snprintf(job->result->engine_name, sizeof(job->result->engine_name), "%s", job->engine.kind->name);
	snprintf(job->result->engine_version, sizeof(job->result->engine_version), "%s", job->engine.version);
	if (job->s->systemd_cgroup && access("/run/systemd/system", F_OK) < 0)
		return cs_fail(err, CS_UNSUPPORTED, 0, "--systemd-cgroup: systemd does not run on this host");
	return 0;
}

int cs__job_find_cgroups(struct job *job, struct cs_err *err)
{
	if (cs_cgroup_host_read(&job->host, err) < 0)
		return -1;
	if (job->host.layout == CS_CGROUP_NONE)
		return cs_fail(err, CS_UNSUPPORTED, 0, "no cgroup file system is mounted: mount one at /sys/fs/cgroup");
	return 0;
}

static void name_places(struct job *job)
{
	struct job_places *p = &job->places;
	const char *id = job->result->id;

	snprintf(p->private, sizeof(p->private), "%s", job->s->state_dir);
	snprintf(p->bundle, sizeof(p->bundle), "%s/bundle", p->private);
	snprintf(p->rootfs, sizeof(p->rootfs), "%s/bundle/rootfs", p->private);
	snprintf(p->pins, sizeof(p->pins), "%s/pins", p->private);
	snprintf(p->engine_root, sizeof(p->engine_root), "%s/engine", p->private);
	snprintf(p->log, sizeof(p->log), "%s/log.json", p->private);
	snprintf(p->pid_file, sizeof(p->pid_file), "%s/pid", p->private);
	snprintf(p->cell, sizeof(p->cell), CS_CGROUP_PARENT "/_engine-%s", id);
	/* systemd's names: systemd.unit(5), slice and scope below the root slice */
	if (job->s->systemd_cgroup)
		snprintf(p->cgroup, sizeof(p->cgroup), "/caisson.slice/caisson-%s.scope", id);
	else
		snprintf(p->cgroup, sizeof(p->cgroup), CS_CGROUP_PARENT "/%s", id);
}

static void note_facts(struct job *job)
{
	char text[64];
	cs_auto(buf) command = CS_BUF_INIT(1024);

	snprintf(text, sizeof(text), "%d", (int)getpid());
	cs_record_note(&job->record, "pid", text);
	snprintf(text, sizeof(text), "%lld", (long long)cs_clock_wall_ns());
	cs_record_note(&job->record, "started", text);
	cs_record_note(&job->record, "engine", job->engine.kind->name);
	for (size_t i = 0; i < job->plan->args->n && !command.failed; i++)
		cs_buf_addf(&command, "%s%.200s", i ? " " : "", job->plan->args->v[i]);
	cs_record_note(&job->record, "command", command.data ? command.data : "");
}

static void clean_up_behind_others(const struct job *job)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;
	struct cs_gc_counts counts;
	struct cs_err err = CS_ERR_INIT;

	if (cs_gc(job->s->state_dir, GC_BUDGET_NS, &counts, &leftovers, &err) < 0)
		cs_log_debug("gc: %s", err.text);
}

static int open_record(struct job *job, struct cs_err *err)
{
	clean_up_behind_others(job);
	return cs_record_open(job->s->state_dir, job->result->id, &job->host, &job->record, err);
}

/* A group of that name with processes in it belongs to a run on record elsewhere: clean-up must not reach it. */
static int refuse_foreign(const struct job *job, const char *path, struct cs_err *err)
{
	struct cs_err none = CS_ERR_INIT;
	struct cs_cgroup *cgroup;
	int empty;

	if (cs_cgroup_open(&job->host, path, &cgroup, &none) < 0)
		return 0;
	empty = cs_cgroup_is_empty(cgroup);
	cs_cgroup_free(cgroup);
	if (empty != 0)
		return 0;
	return cs_fail(err, CS_EXISTS, 0, "cgroup '%s' holds processes that are not on record in '%s': choose another --id, or end them first",
		       path, job->s->state_dir);
}

/* An id that somebody chose may be that of a session which is kept; of those that nobody chose none is met twice. */
static int refuse_taken(const struct job *job, struct cs_err *err)
{
	const char *id = job->s->id;

	if (!id || !cs_session_exists(job->record.runs_fd, id))
		return 0;
	return cs_fail(err, CS_EXISTS, 0, "a session '%s' is kept: choose another --id, or remove it with 'caisson rm %s'", id, id);
}

/* First of all steps, so that it is undone last: what is kept of a run is kept when nothing else is left. */
static int make_session(struct job *job, struct cs_err *err)
{
	if (!job->s->detach)
		return 0;
	if (cs_undo_push(&job->record, CS_UNDO_SESSION, job->result->id, &job->session_at, err) < 0)
		return -1;
	return cs_session_make(job->record.runs_fd, job->result->id, job->plan->args, job->s->expire_ns, &job->session, err);
}

static int make_record(struct job *job, struct cs_err *err)
{
	size_t at;

	if (cs_record_make(&job->record, err) < 0)
		return -1;
	note_facts(job);
	if (refuse_taken(job, err) < 0 || make_session(job, err) < 0)
		return -1;
	if (refuse_foreign(job, job->places.cell, err) < 0 || refuse_foreign(job, job->places.cgroup, err) < 0)
		return -1;
	/* played back from the end: no engine is left to make the container's group again */
	if (cs_undo_push(&job->record, CS_UNDO_CGROUP, job->places.cgroup, &at, err) < 0 ||
	    cs_undo_push(&job->record, CS_UNDO_CGROUP, job->places.cell, &at, err) < 0)
		return -1;
	return 0;
}

static int make_guardian(struct job *job, struct cs_err *err)
{
	struct cs_err no_cell = CS_ERR_INIT;
	int r;

	/* without a cgroup of its own it guards all the same, but against less */
	if (cs_cgroup_make_cell(&job->host, CS_CGROUP_GUARDIANS, CS_CGROUP_BY_PROCESS, &job->guardian_procs_fd, &no_cell) < 0)
		cs_log_debug("guardian: %s", no_cell.text);
	if (cs_guardian_start(&job->record, job->places.cgroup, job->guardian_procs_fd, -1, &job->guardian, err) < 0)
		return -1;
	r = cs__job_watch_guardian(job);
	return r < 0 ? cs_fail(err, CS_IO, -r, "watch the guardian") : 0;
}

static int make_namespace(struct job *job, struct cs_err *err)
{
	const char *private = job->places.private;

	if (cs_cgroup_make_cell(&job->host, job->places.cell, CS_CGROUP_BY_THREAD, &job->cell_procs_fd, err) < 0)
		return -1;
	/*
	 * Nobody waits while it moves in the slow way, and the engine, which has only that
	 * one for the container's init, finds the grace period over. Not before our own
	 * cell is made, for which we would wait.
	 */
	cs_guardian_move(&job->guardian);
	job->namespace_fd = cs_mount_open_namespace();
	if (job->namespace_fd < 0)
		return cs_fail(err, CS_IO, -job->namespace_fd, "own mount namespace");
	if (cs_mount_new_namespace(err) < 0)
		return -1;
	if (job->engine.kind->hide_unified && cs_mount_hide_unified(&job->host, private, err) < 0)
		return -1;
	/*
	 * 0711: with --userns the container's own root has to pass through it. A user namespace may not take flags
	 * away either (mount_namespaces(7), locked mounts), and runsc mounts the root again without these.
	 */
	if (cs_mount_tmpfs(private, PRIVATE_BYTES, PRIVATE_INODES, 0711, job->s->userns ? 0 : MS_NOSUID | MS_NODEV, err) < 0)
		return -1;
	return 0;
}

/* A sized tmpfs for the upper layer; the overlay takes the root's place. */
static int make_overlay_root(struct job *job, struct cs_err *err)
{
	char layers[300], upper[320], work[320];
	const char *paths[] = { layers, upper, work };
	cs_autofd int root_fd = -1;
	struct cs_err none = CS_ERR_INIT;
	/* for nothing but mount points when the root is not to be written */
	uint64_t bytes = job->s->writable_root_bytes ? job->s->writable_root_bytes : POINTS_BYTES;

	snprintf(layers, sizeof(layers), "%s/layers", job->places.private);
	snprintf(upper, sizeof(upper), "%s/upper", layers);
	snprintf(work, sizeof(work), "%s/work", layers);
	for (size_t i = 0; i < CS_ARRAY_LEN(paths); i++) {
		if (mkdir(paths[i], 0755) < 0)
			return cs_fail(err, CS_IO, errno, "overlay root: '%s'", paths[i]);
		if (i == 0 && cs_mount_tmpfs(layers, bytes, 0, 0755, MS_NOSUID | MS_NODEV, err) < 0)
			return cs_wrap(err, "overlay root");
	}
	/* the root's own directory is the program's to write; what is below keeps its owners */
	if (chown(upper, job->spec.uid, job->spec.gid) < 0)
		return cs_fail(err, CS_IO, errno, "overlay root: owner");
	if (cs_mount_overlay(job->places.rootfs, job->spec.lower, upper, work, err) < 0)
		return cs_wrap(err, "overlay root");
	root_fd = open(job->places.rootfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || cs_hostroot_add_directory(root_fd, NULL, 0, job->s->workdir, &none) < 0)
		cs_log_debug("--workdir: %s", root_fd < 0 ? strerror(errno) : none.text);
	return 0;
}

static int make_dirs(struct job *job, struct cs_err *err)
{
	const struct {
		const char *path;
		mode_t mode;
	} dirs[] = {
		{ job->places.bundle, 0755 },
		{ job->places.rootfs, 0755 },
		{ job->places.pins, 0711 },
		{ job->places.engine_root, 0711 },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(dirs); i++)
		if (mkdir(dirs[i].path, dirs[i].mode) < 0)
			return cs_fail(err, CS_IO, errno, "'%s'", dirs[i].path);
	return 0;
}

static int make_bundle(struct job *job, enum cs_start_kind *ret_kind, struct cs_err *err)
{
	char cgroups_path[CS_ID_MAX + 64];
	cs_autofd int cache_fd = cs_cache_open(job->s->cache_dir);
	const char *forbidden[] = { job->s->state_dir, job->s->cache_dir, NULL };
	struct cs_jobspec_plan plan = {
		.settings = job->s,
		.engine = &job->engine,
		.host = &job->host,
		.args = job->plan->args,
		.id = job->result->id,
		.cgroups_path = job->places.cgroup,
		.rootfs_dir = job->places.rootfs,
		.root_path = "rootfs",
		.pins_dir = job->places.pins,
		.cache_fd = cache_fd,
		.forbidden = forbidden,
	};

	if (job->s->systemd_cgroup) {
		snprintf(cgroups_path, sizeof(cgroups_path), "caisson.slice:caisson:%s", job->result->id);
		plan.cgroups_path = cgroups_path;
	}
	/* it costs time only, but time of every run */
	if (cache_fd < 0)
		cs_strv_addf(&job->result->warnings, "--cache-dir '%s' cannot be used, which makes every run slower: %s",
			     job->s->cache_dir, strerror(-cache_fd));
	if (make_dirs(job, err) < 0 || cs_jobspec_make(&plan, &job->spec, ret_kind, err) < 0)
		return -1;
	for (size_t i = 0; i < job->spec.warnings.n; i++)
		cs_strv_add(&job->result->warnings, job->spec.warnings.v[i]);
	if (job->spec.lower && make_overlay_root(job, err) < 0)
		return -1;
	return 0;
}

/* 126 and 127, before an engine is asked. */
int cs__job_resolve(const struct job *job, const struct cs_json *config, enum cs_start_kind *ret_kind, struct cs_err *err)
{
	switch (cs_resolve_command(config, job->places.bundle, err)) {
	case CS_RESOLVE_NOT_FOUND:
		*ret_kind = CS_START_NOT_FOUND;
		return -1;
	case CS_RESOLVE_NOT_EXECUTABLE:
		*ret_kind = CS_START_NOT_EXECUTABLE;
		return -1;
	case CS_RESOLVE_OK:
	case CS_RESOLVE_UNKNOWN:
		break;
	}
	return 0;
}

static int write_config(struct job *job, struct cs_err *err)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/config.json", job->places.bundle);
	return cs_json_write_file(job->spec.config, CS_JSON_INDENTED, AT_FDCWD, path, 0600, err);
}

/* --- streams ----------------------------------------------------------------------- */

static int make_file_sink(const struct job *job, enum cs_stream which, const char *file, struct cs_sink **ret,
			  struct cs_err *err)
{
	const char *flag = which == CS_STREAM_OUT ? "--stdout" : "--stderr";
	mode_t own = umask(job->callers_umask);
	int r = cs_sink_new_file(file, ret, err);

	umask(own);
	if (r < 0 && err->errnum == ENXIO)
		return cs_wrap(err, "%s: a FIFO that nobody reads", flag);
	return r < 0 ? cs_wrap(err, "%s", flag) : 0;
}

static int make_sink(const struct job *job, enum cs_stream which, struct cs_sink **ret,
		     struct cs_err *err)
{
	static const enum cs_capture captures[] = {
		[CS_KEEP_HEAD] = CS_CAPTURE_HEAD,
		[CS_KEEP_TAIL] = CS_CAPTURE_TAIL,
		[CS_KEEP_BOTH] = CS_CAPTURE_BOTH,
	};
	const char *file = which == CS_STREAM_OUT ? job->s->stdout_file : job->s->stderr_file;

	if (job->s->detach)
		return cs_sink_new_fd(which == CS_STREAM_OUT ? job->session.stdout_fd : job->session.stderr_fd, ret, err);
	if (file)
		return make_file_sink(job, which, file, ret, err);
	if (job->s->capture != CS_KEEP_NONE)
		return cs_sink_new_capture(captures[job->s->capture], job->s->capture_limit_bytes, ret, err);
	if (job->s->format == CS_FORMAT_JSON)
		return cs_sink_new_null(ret, err);
	return cs_sink_new_fd(which == CS_STREAM_OUT ? STDOUT_FILENO : STDERR_FILENO, ret, err);
}

/* Before the run's file system covers the state directory: a file may lie there, and paths mean what the caller means. */
int cs__job_make_sinks(struct job *job, struct cs_err *err)
{
	for (size_t i = 0; i < CS_STREAMS; i++)
		if (make_sink(job, (enum cs_stream)i, &job->sinks[i], err) < 0)
			return -1;
	/* a sink has a descriptor of its own */
	cs_close_fd(&job->session.stdout_fd);
	cs_close_fd(&job->session.stderr_fd);
	return 0;
}

int cs__job_make_streams(struct job *job, bool hold, struct cs_err *err)
{
	const struct cs_settings *s = job->s;
	struct cs_streams_plan plan = {
		.interactive = s->interactive,
		.hold = hold,
		.terminal = s->tty,
		.watch_readers = s->on_sink_gone == CS_SINK_GONE_CANCEL && !s->detach && !(s->stdout_file && s->stderr_file),
		.mark_cap = s->on_output_limit == CS_AT_OUTPUT_DISCARD && s->format == CS_FORMAT_TEXT,
		.mark_rate = s->format == CS_FORMAT_TEXT,
		.uid = job->spec.uid,
		.gid = job->spec.gid,
		.drain = {
			[CS_STREAM_OUT] = { .cap_bytes = s->stdout_limit_bytes },
			[CS_STREAM_ERR] = { .cap_bytes = s->stderr_limit_bytes },
		},
	};

	for (size_t i = 0; i < CS_STREAMS; i++) {
		plan.drain[i].rate_bytes_per_s = s->output_rate_bytes;
		plan.drain[i].burst_bytes = s->output_burst_bytes;
	}
	for (size_t i = 0; i < CS_STREAMS; i++)
		plan.sinks_consume[i] = cs_take_ptr(&job->sinks[i]);
	return cs_streams_open(job->loop, &plan, cs__job_on_streams, job, &job->streams, err);
}

int cs__job_wait_foreground(const struct job *job, struct cs_err *err)
{
	return job->s->tty && job->s->interactive ? cs_terminal_wait_foreground(err) : 0;
}

int cs__job_make_terminal(struct job *job, const char *dir, struct cs_err *err)
{
	return job->s->tty ? cs_terminal_new(job->loop, dir, &job->terminal, err) : 0;
}

/* --- the walk ------------------------------------------------------------------------- */

int cs__job_make_loop(struct job *job, struct cs_err *err)
{
	int r;

	job->loop = cs_loop_new();
	if (!job->loop)
		return cs_fail(err, CS_IO, errno, "event loop");
	r = cs_reaper_become();
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "subreaper");
	return cs__job_watch_early(job, err);
}

static int make_trace(struct job *job, struct cs_err *err)
{
	if (!job->engine.kind->trace_session)
		return 0;
	return cs_trace_new(job->loop, job->places.private, &job->trace, err);
}

/* Each step with the kind of failure that it is unless it says so itself. */
int cs__job_setup(struct job *job)
{
	struct cs_err err = CS_ERR_INIT;
	enum cs_start_kind kind = CS_START_SETUP;
	int r;

	if (cs__job_wait_foreground(job, &err) < 0) {
		kind = CS_START_USAGE;
		goto failed;
	}
	if (choose_id(job, &err) < 0 || cs__job_make_loop(job, &err) < 0)
		goto failed;
	kind = CS_START_USAGE;
	if (find_engine(job, &err) < 0)
		goto failed;
	name_places(job);
	kind = CS_START_SETUP;
	/* the guardian before all that it guards: the record too outlives us */
	if (cs__job_find_cgroups(job, &err) < 0 || open_record(job, &err) < 0 || make_guardian(job, &err) < 0 ||
	    make_record(job, &err) < 0 || cs__job_serve(job, &err) < 0)
		goto failed;
	kind = CS_START_USAGE;
	if (cs__job_make_sinks(job, &err) < 0)
		goto failed;
	kind = CS_START_SETUP;
	if (make_namespace(job, &err) < 0)
		goto failed;
	if (make_bundle(job, &kind, &err) < 0 || cs__job_resolve(job, job->spec.config, &kind, &err) < 0)
		goto failed;
	kind = CS_START_SETUP;
	r = cs_jobspec_put_init(&job->spec, &err);
	if (r == 0)
		r = write_config(job, &err);
	if (r == 0)
		r = make_trace(job, &err);
	if (r < 0)
		goto failed;
	if (cs__job_make_streams(job, false, &err) < 0)
		goto failed;
	if (cs__job_make_terminal(job, job->places.private, &err) < 0)
		goto failed;
	return 0;
failed:
	cs__job_fail(job, kind, &err);
	return -1;
}
