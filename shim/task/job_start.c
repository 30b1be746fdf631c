/* create, verify, start: user code never runs under a limit that was not read back. */
#include "shim/task/job_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/engine/engine_call.h"
#include "shim/engine/engine_log.h"
#include "shim/sys/pty.h"
#include "shim/task/verify.h"

/* How long past the wall limit the guardian waits for a supervisor before it acts itself. */
#define GUARDIAN_GRACE_NS (2 * CS_NSEC_PER_SEC)

struct cs_engine_args cs__job_engine_args(const struct job *job)
{
	return (struct cs_engine_args){
		.root = job->places.engine_root,
		.log = job->places.log,
		.systemd_cgroup = job->s->systemd_cgroup,
		.network_none = strcmp(job->s->network, "none") == 0,
		.network_host = strcmp(job->s->network, "host") == 0,
		.trace_config = job->trace ? cs_trace_config_path(job->trace) : NULL,
		.id = job->result->id,
	};
}

/* The engine's own words about a failure: its log, else what it wrote to the streams. */
static void keep_engine_message(struct job *job)
{
	cs_auto(buf) log = CS_BUF_INIT(CS_ENGINE_OUTPUT_MAX);
	cs_auto(buf) message = CS_BUF_INIT(CS_ERR_TEXT_MAX - 1);

	/* a log above the bound is read as far as it goes */
	if (cs_file_read(AT_FDCWD, job->places.log, &log) == -EFBIG)
		log.failed = false;
	if (!log.data || cs_engine_log_message(log.data, log.len, &message) < 0) {
		cs_buf_reset(&log);
		cs_streams_engine_words(job->streams, &log);
		if (!log.data || cs_engine_log_message(log.data, log.len, &message) < 0)
			return;
	}
	snprintf(job->result->engine_message, sizeof(job->result->engine_message), "%s", message.data);
}

static enum cs_start_kind kind_of(const struct job *job, const struct cs_err *err)
{
	if (err->kind == CS_TIMEOUT)
		return CS_START_ENGINE_TIMEOUT;
	switch (cs_engine_log_blame(job->result->engine_message)) {
	case CS_BLAME_NOT_FOUND:
		return CS_START_NOT_FOUND;
	case CS_BLAME_NOT_EXECUTABLE:
		return CS_START_NOT_EXECUTABLE;
	case CS_BLAME_NONE:
		break;
	}
	return CS_START_ENGINE;
}

int cs__job_fail_call(struct job *job, const struct cs_err *err)
{
	keep_engine_message(job);
	cs__job_fail(job, kind_of(job, err), err);
	return -1;
}

/* --- create ---------------------------------------------------------------------- */

static int call_create(struct job *job, struct cs_err *err)
{
	struct cs_engine_args args = cs__job_engine_args(job);
	struct cs_engine_call call = {
		.engine = &job->engine,
		.verb = CS_VERB_CREATE,
		.args = &args,
		.timeout_ns = cs_engine_timeout_ns(CS_VERB_CREATE, job->s->engine_timeout_ns),
		.stdio = cs_streams_child_fds(job->streams),
		.cgroup_procs_fds = &job->cell_procs_fd,
		.n_cgroup_procs_fds = 1,
		.cancelled = &job->interrupted,
	};

	args.bundle = job->places.bundle;
	args.pid_file = job->places.pid_file;
	args.console_socket = job->terminal ? cs_terminal_socket(job->terminal) : NULL;
	return cs_engine_call(job->loop, &call, NULL, err);
}

int cs__job_hold_init(struct job *job, const char *verb, struct cs_err *err)
{
	char call[64];

	snprintf(call, sizeof(call), "%s %s", job->engine.kind->name, verb);
	return cs_engine_hold_process(call, job->places.pid_file, &job->init, err);
}

/* The engine has sent it by now, or is about to: its create has ended. */
int cs__job_receive_terminal(struct job *job, struct cs_err *err)
{
	int master_fd;

	if (!job->terminal)
		return 0;
	if (cs_terminal_receive(job->terminal, cs_clock_deadline_ns(job->s->engine_timeout_ns), &job->interrupted,
				&master_fd, err) < 0)
		return -1;
	/* a detached run takes the size over and lets go of the terminal that it is of */
	if (job->s->detach)
		cs_pty_copy_size(cs_terminal_size_fd(), master_fd);
	cs_streams_give_terminal(job->streams, master_fd, job->s->detach ? -1 : cs_terminal_size_fd());
	return 0;
}

int cs__job_attach_terminal(struct job *job, struct cs_err *err)
{
	return job->terminal ? cs_terminal_attach(job->terminal, job->s->interactive, job->streams, err) : 0;
}

static int open_cgroup(struct job *job, struct cs_err *err)
{
	if (job->s->systemd_cgroup)
		return cs_cgroup_open_of_pid(&job->host, job->init.pid, &job->cgroup, err);
	return cs_cgroup_open(&job->host, job->places.cgroup, &job->cgroup, err);
}

static int verify(struct job *job, struct cs_err *err)
{
	struct cs_verify_plan plan = {
		.engine = &job->engine,
		.settings = job->s,
		.spec = &job->spec,
		.cgroup = job->cgroup,
		.init = job->init.pid,
	};

	return cs_verify(&plan, job->result, err);
}

int cs__job_create(struct job *job)
{
	struct cs_err err = CS_ERR_INIT;

	if (job->interrupted)
		return -1;
	if (call_create(job, &err) < 0)
		return job->interrupted ? -1 : cs__job_fail_call(job, &err);
	cs_streams_close_child_ends(job->streams);
	if (cs__job_hold_init(job, "create", &err) < 0)
		return cs__job_fail_call(job, &err);
	if (cs__job_receive_terminal(job, &err) < 0)
		return job->interrupted ? -1 : cs__job_fail_call(job, &err);
	if (open_cgroup(job, &err) < 0 || verify(job, &err) < 0) {
		/* an init that is dead already takes its cgroup with it: that is the engine's failure */
		bool dead = cs_pidref_is_dead(&job->init);

		if (dead)
			keep_engine_message(job);
		cs__job_fail(job, dead ? CS_START_ENGINE : CS_START_LIMIT, &err);
		return -1;
	}
	return 0;
}

/* --- start ------------------------------------------------------------------------- */

static int call_start(struct job *job, struct cs_err *err)
{
	struct cs_engine_args args = cs__job_engine_args(job);
	struct cs_engine_call call = {
		.engine = &job->engine,
		.verb = CS_VERB_START,
		.args = &args,
		.timeout_ns = cs_engine_timeout_ns(CS_VERB_START, job->s->engine_timeout_ns),
		.cgroup_procs_fds = &job->cell_procs_fd,
		.n_cgroup_procs_fds = 1,
		.cancelled = &job->interrupted,
	};

	return cs_engine_call(job->loop, &call, NULL, err);
}

void cs__job_arm_guardian(struct job *job)
{
	int64_t deadline;

	if (__builtin_add_overflow(job->start_ns, job->s->timeout_ns, &deadline) ||
	    __builtin_add_overflow(deadline, job->s->stop_timeout_ns + GUARDIAN_GRACE_NS, &deadline))
		return;
	cs_guardian_arm(&job->guardian, deadline);
}

int cs__job_start_limits(struct job *job, struct cs_err *err)
{
	struct cs_limits_plan plan = {
		.start_ns = job->start_ns,
		.timeout_ns = job->s->timeout_ns,
		.cpu_time_ns = job->s->cpu_time_ns,
		.idle_timeout_ns = job->s->idle_timeout_ns,
		.cpu_base_ns = job->base_usage.cpu_total_ns,
		.millicpus = job->spec.millicpus,
		.cgroup = job->cgroup,
		.streams = job->streams,
	};

	if (plan.cpu_base_ns == UINT64_MAX)
		plan.cpu_base_ns = 0;
	return cs__job_watch_limits(job, &plan, err);
}

/* Of a detached run: whoever asked for it hears of it, or is not there any more. */
static int tell_started(struct job *job)
{
	struct cs_err err = CS_ERR_INIT;
	int r;

	if (!job->s->detach)
		return 0;
	r = cs__job_watch_expiry(job);
	if (r < 0) {
		job->forget = true;
		cs_fail(&err, CS_IO, -r, "--expire");
		cs__job_fail(job, CS_START_SETUP, &err);
		return -1;
	}
	if (job->plan->on_started(job->result->id, job->plan->arg) < 0) {
		job->forget = true;
		cs__job_decide(job, CS_REASON_CANCELLED, SIGHUP);
	}
	return 0;
}

int cs__job_start(struct job *job)
{
	struct cs_err err = CS_ERR_INIT;
	int64_t now = cs_clock_now_ns();

	if (job->interrupted)
		return -1;
	if (cs__job_watch_init(job) < 0)
		return -1;
	job->start_ns = now;
	/* what the engine used to set the container up is not the program's */
	cs_cgroup_usage(job->cgroup, &job->base_usage);
	job->result->setup_ns = now - job->result->began_ns - job->result->queue_ns;
	if (cs__job_attach_terminal(job, &err) < 0 || cs_streams_begin(job->streams, &err) < 0 ||
	    cs__job_start_limits(job, &err) < 0) {
		cs__job_fail(job, CS_START_SETUP, &err);
		return -1;
	}
	cs__job_arm_guardian(job);
	job->result->started_wall_ns = cs_clock_wall_ns();
	if (call_start(job, &err) < 0 && !job->interrupted) {
		job->result->started_wall_ns = 0;
		return cs__job_fail_call(job, &err);
	}
	job->started = true;
	return tell_started(job);
}
