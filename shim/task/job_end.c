/*
 * The end: everything of the run is killed, what happened is read off while
 * the cgroup is still there, the reason is found, all is undone. Neither the
 * kill nor the undoing waits for a reader; only the last step does.
 */
#include "shim/task/exec_session.h"
#include "shim/task/job_int.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/sys/reaper.h"

/* What a kill and the removal behind it may take before the rest is left to gc. */
#define KILL_NS (2 * CS_NSEC_PER_SEC)
#define UNDO_NS (2 * CS_NSEC_PER_SEC)

/* --- what happened --------------------------------------------------------------------- */

static void kill_rest(struct job *job)
{
	int64_t deadline = cs_clock_deadline_ns(KILL_NS);

	if (job->ways->kill_rest)
		job->ways->kill_rest(job);
	if (job->cgroup)
		cs_cgroup_kill(job->cgroup, deadline);
	if (job->init.fd >= 0 && !job->init_reaped) {
		if (!job->cgroup) /* created, but in no group of ours */
			cs_pidref_kill(&job->init, SIGKILL);
		if (job->execs && cs_pidref_wait_dead(&job->init, cs_clock_deadline_ns(KILL_NS / 2)) < 0)
			cs__exec_end_callers(job);
		if (cs_pidref_wait_dead(&job->init, deadline) == 0 &&
		    cs_pidref_reap(&job->init, &job->raw_status) == 0)
			job->init_reaped = true;
	}
}

/* --- the reason --------------------------------------------------------------------------- */

/* How the program itself ended, as far as it can be known. */
enum known { KNOWN, AMBIGUOUS, SANDBOX_DIED, UNKNOWN };

static enum known program_status(struct job *job, int *ret_status)
{
	if (!job->init_reaped)
		return UNKNOWN;
	*ret_status = job->raw_status;
	if (!job->engine.kind->status_is_shell_code)
		return KNOWN;
	if (job->told) {
		*ret_status = job->told_status;
		return KNOWN;
	}
	if (job->trace) {
		cs_trace_pump(job->trace);
		if (cs_trace_init_status(job->trace, job->result->id, ret_status) == 0)
			return KNOWN;
		/* the sandbox told us of other things but not of its init's end: it did not get that far */
		if (WIFSIGNALED(job->raw_status) ||
		    (cs_trace_is_connected(job->trace) && cs_trace_dropped(job->trace) == 0))
			return SANDBOX_DIED;
	}
	return WIFSIGNALED(job->raw_status) ? SANDBOX_DIED : AMBIGUOUS;
}

/* The program was ended by what we did, not by itself before it. */
static bool died_of_verdict(const struct job *job, enum known known, int status)
{
	if (job->verdict.graceful || known != KNOWN)
		return true;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static bool oom_killed(const struct job *job, enum known known, int status)
{
	const struct cs_cgroup_usage *u = &job->result->usage;

	if (u->oom_kills == CS_NO_NUMBER || u->oom_kills == 0)
		return false;
	return known == SANDBOX_DIED || (known == KNOWN && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void find_reason(struct job *job)
{
	struct cs_result *r = job->result;
	int status = 0;
	enum known known = program_status(job, &status);

	if (known == KNOWN || known == AMBIGUOUS)
		r->end = cs_exit_of_status(status);
	/* what we or the kernel kill is the sandbox, and the program with it */
	if (known == SANDBOX_DIED && (job->verdict.decided || oom_killed(job, known, status)))
		r->end = (struct cs_exit){ .code = -1, .signal = SIGKILL };
	if (job->verdict.decided && died_of_verdict(job, known, status)) {
		r->reason = job->verdict.reason;
		r->cause = job->verdict.cause;
		return;
	}
	if (oom_killed(job, known, status)) {
		r->reason = CS_REASON_OOM;
		return;
	}
	switch (known) {
	case UNKNOWN:
		r->reason = CS_REASON_UNKNOWN;
		return;
	case SANDBOX_DIED:
		r->reason = CS_REASON_SANDBOX_FAILED;
		return;
	case AMBIGUOUS:
		cs_strv_addf(&r->warnings, "ambiguous-status: %s does not tell a code above 128 from a signal",
			     r->engine_name);
		break;
	case KNOWN:
		break;
	}
	if (r->end.signal > 0 && r->end.signal <= 64 && (job->signals_sent & UINT64_C(1) << (r->end.signal - 1))) {
		r->reason = CS_REASON_STOPPED;
		r->cause = r->end.signal;
		return;
	}
	if (r->end.signal == SIGSYS)
		r->reason = CS_REASON_SECCOMP;
	else
		r->reason = r->end.signal >= 0 ? CS_REASON_SIGNALED : CS_REASON_EXITED;
}

static void conclude(struct job *job)
{
	struct cs_result *r = job->result;

	/* what failed when the program ran already: its end is our doing */
	if (r->reason == CS_REASON_START_FAILED)
		return;
	if (job->started) {
		find_reason(job);
		return;
	}
	/* an error on the way is the cause, unless somebody had cancelled by then */
	if (job->verdict.decided && !r->error[0]) {
		r->reason = job->verdict.reason;
		r->cause = job->verdict.cause;
	}
}

/* --- undoing ---------------------------------------------------------------------------------- */

void cs__job_undo_run(struct job *job)
{
	if (job->record.runs_fd < 0)
		return;
	cs_cgroup_free(cs_take_ptr(&job->cgroup));
	if (job->record.dir_fd >= 0)
		cs_undo_replay(&job->record, cs_clock_deadline_ns(UNDO_NS), &job->result->leftovers);
	cs_loop_remove(job->loop, &job->guardian_source);
	cs_guardian_dismiss(&job->guardian);
	cs_record_tidy(&job->record);
	/* the end of their connections is what clients wait for: now nothing is left, of their execs neither */
	job->ended = true;
	cs_ctl_free(cs_take_ptr(&job->ctl));
}

static void read_stream(struct cs_streams *streams, enum cs_stream which,
			struct cs_result_stream *ret, struct cs_strv *warnings, bool capture)
{
	static const char *const names[] = { "stdout", "stderr" };
	struct cs_drain *drain = cs_streams_drain(streams, which);

	if (!drain)
		return;
	cs_drain_counts(drain, &ret->counts);
	if (ret->counts.sink_broken)
		cs_strv_addf(warnings, "%s-lost: the reader or file failed (%s), what came after is dropped",
			     names[which], strerror(ret->counts.sink_errnum));
	if (capture)
		ret->captured = cs_sink_captured(cs_drain_sink(drain), &ret->bytes, &ret->gap_bytes,
						 &ret->gap_at) == 0;
}

static void finish_streams(struct job *job)
{
	struct cs_result *r = job->result;
	bool capture = job->s->capture != CS_KEEP_NONE;

	if (!job->streams)
		return;
	if (job->started)
		cs_streams_finish(job->streams, job->s->drain_timeout_ns, job->s->flush_timeout_ns, &r->stdio_held);
	/* what is said from here on is ours, in a mode where lines end as usual */
	cs_terminal_free(cs_take_ptr(&job->terminal));
	r->stdio_held |= job->held;
	read_stream(job->streams, CS_STREAM_OUT, &r->stdout_stream, &r->warnings, capture);
	read_stream(job->streams, CS_STREAM_ERR, &r->stderr_stream, &r->warnings, capture);
}

/* What is kept of a detached run is its last word: everything else is removed before, and its record after. */
static void end_session(struct job *job)
{
	struct cs_err err = CS_ERR_INIT;

	cs_cgroup_free(cs_take_ptr(&job->cgroup));
	cs_undo_replay_behind(&job->record, job->session_at, cs_clock_deadline_ns(UNDO_NS), &job->result->leftovers);
	/* clients are answered meanwhile, and have nothing to end any more */
	job->ended = true;
	finish_streams(job);
	if (!job->started || job->forget)
		return;
	if (cs_session_keep(&job->session, job->result, job->s->expire_ns, &err) < 0)
		cs_log_error("%s", err.text);
	/* the lock on it goes with the descriptor */
	cs_session_release(&job->session);
}

void cs__job_end(struct job *job)
{
	struct cs_result *r = job->result;
	bool detached = job->session.dir_fd >= 0;
	int swept;

	if (job->started && job->init_gone)
		r->wall_ns = cs_clock_now_ns() - job->start_ns;
	kill_rest(job);
	if (job->started && r->wall_ns == 0)
		r->wall_ns = cs_clock_now_ns() - job->start_ns;
	r->finished_wall_ns = cs_clock_wall_ns();
	cs_limits_free(cs_take_ptr(&job->limits));
	cs__job_unwatch_container(job);
	cs_result_read_usage(r, job->cgroup, &job->base_usage);
	conclude(job);
	if (detached)
		end_session(job);
	job->ways->undo(job);
	swept = cs_reaper_sweep(NULL, 0);
	if (swept > 0)
		cs_log_debug("%d orphans of the engine reaped", swept);
	job->ended = true;
	if (!detached)
		finish_streams(job);
}
