#include "shim/task/exec_int.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/clock.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/engine/engine_call.h"
#include "shim/sys/kin.h"

/* From giving its cgroup up to being dead: no time at all, but on a busy machine. */
#define EXIT_NS CS_NSEC_PER_SEC

/* --- the engine's exec ------------------------------------------------------------- */

static int call_exec(struct exec *exec, const char *internal_pid_file, struct cs_err *err)
{
	struct job *job = &exec->job;
	char process[340], cgroup[40];
	struct cs_engine_args args = {
		.root = job->places.engine_root,
		.log = job->places.log,
		.systemd_cgroup = exec->systemd_cgroup,
		.network_none = exec->network_none,
		.network_host = exec->network_host,
		.id = job->result->id,
		.process = process,
		.pid_file = job->places.pid_file,
		.detach = true,
	};
	struct cs_engine_call call = {
		.engine = &job->engine,
		.verb = CS_VERB_EXEC,
		.args = &args,
		.timeout_ns = cs_engine_timeout_ns(CS_VERB_EXEC, job->s->engine_timeout_ns),
		.stdio = cs_streams_child_fds(job->streams),
		.cancelled = &job->interrupted,
	};

	snprintf(process, sizeof(process), "%s/process.json", exec->dir);
	args.console_socket = job->terminal ? cs_terminal_socket(job->terminal) : NULL;
	if (job->engine.kind->exec_cgroup) {
		snprintf(cgroup, sizeof(cgroup), "/%s", exec->name);
		args.cgroup = cgroup;
	} else {
		args.internal_pid_file = internal_pid_file;
	}
	return cs_engine_call(job->loop, &call, NULL, err);
}

/* --- is it where it should be? ------------------------------------------------------- */

/*
 * crun puts a process into its caller's cgroup, and says nothing, where a
 * group is missing. Of one that is on its way out v1 no longer tells the
 * group: then what the group was charged with does, since it was new.
 */
static int verify_place(struct job *job, struct cs_err *err)
{
	uint64_t cpu_ns;
	int r = cs_cgroup_holds(job->cgroup, job->init.pid);

	if (r == 1)
		return 0;
	if (r < 0 && r != -ESRCH)
		return cs_fail(err, CS_LIMIT, -r, "the exec's cgroup cannot be read back");
	cpu_ns = cs_cgroup_cpu_ns(job->cgroup);
	if (cpu_ns != CS_NO_NUMBER && cpu_ns > 0 &&
	    cs_pidref_wait_dead(&job->init, cs_clock_deadline_ns(EXIT_NS)) == 0)
		return 0;
	cs_kin_kill(&job->init);
	return cs_fail(err, CS_LIMIT, 0, "the exec's process is not in the cgroup that was made for it, so that no limit holds for it: killed");
}

/* The number inside, told to the supervisor, who follows the tree from there. */
static int tell_inside(struct exec *exec, const char *internal_pid_file, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(64);
	struct cs_json *request;
	int r = cs_file_read(AT_FDCWD, internal_pid_file, &text);

	if (r == 0 && text.len > 0)
		text.data[strcspn(text.data, " \n\r\t")] = '\0';
	if (r < 0 || text.len == 0 || cs_parse_u64(text.data, &exec->inside) < 0 || exec->inside < 2)
		return cs_fail(err, CS_ENGINE, r < 0 ? -r : 0, "%s exec left no number of the process inside",
			       exec->job.engine.kind->name);
	request = cs_ctl_request("exec-started");
	if (cs_json_put(request, "inside", cs_json_new_u64(exec->inside)) < 0)
		cs_json_free_ptr(&request);
	return cs_ctl_call(&exec->ctl, request, cs_clock_deadline_ns(EXEC_ASK_NS), NULL, err);
}

static int verify(struct exec *exec, const char *internal_pid_file, struct cs_err *err)
{
	return exec->job.engine.kind->exec_cgroup ? verify_place(&exec->job, err) : tell_inside(exec, internal_pid_file, err);
}

/* --- the walk ---------------------------------------------------------------------------- */

/* The session ended under us. */
static void on_ctl(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct exec *exec = arg;

	cs_loop_remove(loop, &exec->ctl_source);
	cs__job_decide(&exec->job, CS_REASON_STOPPED, SIGKILL);
}

static int watch(struct exec *exec, struct cs_err *err)
{
	struct job *job = &exec->job;
	int r = cs_loop_add_fd(job->loop, exec->ctl.fd, EPOLLIN, CS_PRIO_SIGNAL, on_ctl, exec, &exec->ctl_source);

	return r < 0 ? cs_fail(err, CS_IO, -r, "watch the session") : 0;
}

/* The command has not begun, or what has is killed. */
static int fail_start(struct exec *exec, enum cs_start_kind kind, const struct cs_err *err)
{
	exec->job.result->started_wall_ns = 0;
	if (!cs__exec_session_ended(exec))
		cs__job_fail(&exec->job, kind, err);
	return -1;
}

static int fail_call(struct exec *exec, const struct cs_err *err)
{
	exec->job.result->started_wall_ns = 0;
	return exec->job.interrupted || cs__exec_session_ended(exec) ? -1 : cs__job_fail_call(&exec->job, err);
}

static int start(struct exec *exec)
{
	struct job *job = &exec->job;
	struct cs_err err = CS_ERR_INIT;
	char inside[340];
	int64_t now = cs_clock_now_ns();

	if (job->interrupted)
		return -1;
	snprintf(inside, sizeof(inside), "%s/inside", exec->dir);
	/* it runs before the engine's call returns: its time counts from here */
	job->start_ns = now;
	job->result->setup_ns = now - job->result->began_ns;
	job->result->started_wall_ns = cs_clock_wall_ns();
	if (call_exec(exec, inside, &err) < 0 || cs__job_hold_init(job, "exec", &err) < 0)
		return fail_call(exec, &err);
	cs_streams_close_child_ends(job->streams);
	if (cs__job_receive_terminal(job, &err) < 0)
		return fail_call(exec, &err);
	if (verify(exec, inside, &err) < 0)
		return fail_start(exec, CS_START_LIMIT, &err);
	if (cs__job_attach_terminal(job, &err) < 0 || cs_streams_begin(job->streams, &err) < 0 || cs__job_start_limits(job, &err) < 0 || watch(exec, &err) < 0) {
		cs__job_fail(job, CS_START_SETUP, &err);
		return -1;
	}
	job->started = true;
	return cs__job_watch_init(job);
}

static void release(struct exec *exec)
{
	cs_loop_remove(exec->job.loop, &exec->ctl_source);
	cs_ctl_client_release(&exec->ctl);
	cs_cgroup_free(exec->session_group);
	cs_exec_process_release(&exec->process);
	cs_strv_release(&exec->env);
	cs__job_release(&exec->job);
}

void cs_exec_run(const struct cs_exec_plan *plan, struct cs_result *result)
{
	struct exec exec = { .job = JOB_INIT, .plan = plan, .ctl = CS_CTL_CLIENT_INIT };
	struct job *job = &exec.job;

	job->ways = &cs__exec_ways;
	job->s = &plan->tree->values;
	job->result = result;
	result->began_ns = cs_clock_now_ns();
	cs__job_note_limits(job->s, result);
	job->callers_umask = umask(022);
	if (cs__exec_setup(&exec) == 0 && start(&exec) == 0)
		cs__job_live(job);
	cs__job_end(job);
	release(&exec);
	umask(job->callers_umask);
}
