/* What happens while a run lives: signals, limits, readers that go, OOM, the end of init. */
#include "shim/task/job_int.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/engine/engine_call.h"
#include "shim/files/init.h"

/* What a cancel without a signal is told as: outward codes above 64 (cs_exit_outward). */
#define CAUSE_READER_GONE 141
#define CAUSE_PARENT_GONE 129

/* After an event the counter is looked at again and again, each time after twice as long. */
#define OOM_FIRST_LOOK_NS (CS_NSEC_PER_MSEC / 2)
#define OOM_LAST_LOOK_NS (4 * CS_NSEC_PER_SEC)

/* How long a kill may block the loop; what lives longer is in state D and is left to the clean-up. */
#define KILL_NS (1 * CS_NSEC_PER_SEC)

/* The same for freezing. */
#define FREEZE_NS (500 * CS_NSEC_PER_MSEC)

/* How long after its start an init may take to be ready for signals. */
#define INIT_READY_NS (1 * CS_NSEC_PER_SEC)

void cs__job_kill(struct job *job)
{
	job->interrupted = true;
	if (job->verdict.reason == CS_REASON_STOPPED)
		job->verdict.cause = SIGKILL;
	if (job->cgroup)
		cs_cgroup_kill(job->cgroup, cs_clock_deadline_ns(KILL_NS));
}

static void on_kill_timer(struct cs_loop *loop CS_UNUSED, void *arg)
{
	cs__job_kill(arg);
}

/*
 * The init of --init passes on what it takes, but not what came before it was
 * ready, of which there is no event. A program of one's own is its own affair.
 */
static void await_init(const struct job *job, int signal)
{
	int64_t nap_ns = CS_NAP_NS, deadline_ns = job->start_ns + INIT_READY_NS;

	while (job->s->init && signal > 0 && !cs_pidref_takes(&job->init, CS_INIT_NAME, signal) &&
	       !cs_pidref_is_dead(&job->init) && cs_clock_left_ns(deadline_ns) > 0)
		cs_clock_nap(&nap_ns, deadline_ns);
}

/* By pidfd, or by the engine where our init is its sandbox. */
int cs__job_signal(struct job *job, int signal, struct cs_err *err)
{
	char number[16];
	struct cs_engine_args args = cs__job_engine_args(job);
	struct cs_engine_call call = { .engine = &job->engine, .verb = CS_VERB_KILL, .args = &args,
				       .timeout_ns = cs_engine_timeout_ns(CS_VERB_KILL, job->s->engine_timeout_ns),
				       .cancelled = &job->interrupted };

	if (!job->engine.kind->own_kernel) {
		int r;

		await_init(job, signal);
		r = cs_pidref_kill(&job->init, signal);
		return r < 0 ? cs_fail(err, CS_STATE, -r, "signal %d", signal) : 0;
	}
	snprintf(number, sizeof(number), "%d", signal);
	args.signal = number;
	return cs_engine_call(job->loop, &call, NULL, err);
}

/* What may be frozen hears no signal. */
void cs__job_send_stop(struct job *job)
{
	struct cs_err err = CS_ERR_INIT;

	job->verdict.stop_pending = false;
	if (job->paused && cs__job_pause(job, false, &err) < 0)
		cs_log_debug("stop signal: %s", err.text);
	cs_err_clear(&err);
	if (cs__job_signal(job, job->verdict.signal, &err) < 0)
		cs_log_debug("stop signal: %s", err.text);
}

int cs__job_pause(struct job *job, bool paused, struct cs_err *err)
{
	int r = cs_cgroup_freeze(job->cgroup, paused, cs_clock_deadline_ns(FREEZE_NS));

	if (r == -EOPNOTSUPP)
		return cs_fail(err, CS_UNSUPPORTED, 0, "this host has no cgroup freezer");
	/* half frozen is nothing that anybody asked for */
	if (r < 0 && paused)
		cs_cgroup_freeze(job->cgroup, false, cs_clock_now_ns());
	if (r == -ETIMEDOUT && paused)
		return cs_fail(err, CS_TIMEOUT, 0, "a process of it does not freeze (uninterruptible sleep, state D): it runs on");
	/* thawing: the request stands, a process in state D follows when it can */
	if (r < 0 && r != -ETIMEDOUT)
		return cs_fail(err, CS_IO, -r, paused ? "freeze" : "thaw");
	job->paused = paused;
	return 0;
}

/* In a gentle end that is under way: it may be hurried, not put off. */
static void hurry(struct job *job, int64_t kill_at_ns)
{
	if (!job->verdict.graceful || kill_at_ns >= job->verdict.kill_at_ns)
		return;
	job->verdict.kill_at_ns = kill_at_ns;
	cs_loop_set_timer(job->loop, job->kill_timer, kill_at_ns);
}

void cs__job_decide_patiently(struct job *job, enum cs_reason reason, int cause, int signal, int64_t patience_ns)
{
	int64_t kill_at_ns = cs_clock_deadline_ns(patience_ns);

	/* who has ended by itself was ended by nothing that comes after */
	if (job->init_gone || job->ended)
		return;
	if (job->verdict.decided) {
		hurry(job, kill_at_ns);
		return;
	}
	job->verdict = (struct job_verdict){ .decided = true, .reason = reason, .cause = cause };
	/* while the engine is at its start the program may run already: the signal goes out when that is done */
	if (job->start_ns == 0 || patience_ns == 0 ||
	    cs_loop_add_timer(job->loop, kill_at_ns, on_kill_timer, job, &job->kill_timer) < 0) {
		cs__job_kill(job);
		return;
	}
	job->verdict.graceful = true;
	job->verdict.signal = signal;
	job->verdict.kill_at_ns = kill_at_ns;
	job->verdict.stop_pending = true;
}

void cs__job_decide(struct job *job, enum cs_reason reason, int cause)
{
	/* a limit that is reached while the program may still end itself leaves it no more time than it gives */
	cs__job_decide_patiently(job, reason, cause, job->s->stop_signal, job->s->stop_timeout_ns);
}

/* --- from outside ------------------------------------------------------------------ */

/* True when all that a cancel can still end is the wait for readers. */
static bool leave_readers(struct job *job)
{
	if (job->ended)
		cs_streams_hurry(job->streams);
	return job->ended;
}

static void on_signal(struct cs_loop *loop CS_UNUSED, int signal, pid_t sender, void *arg)
{
	struct job *job = arg;

	cs_log_info("signal %d from process %d: the run is cancelled", signal, (int)sender);
	if (leave_readers(job))
		return;
	/* a second one is meant: no more patience */
	if (job->verdict.decided && job->verdict.graceful)
		cs__job_kill(job);
	cs__job_decide(job, CS_REASON_CANCELLED, signal);
}

static void on_parent(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct job *job = arg;

	cs_loop_remove(loop, &job->parent_source);
	if (!leave_readers(job))
		cs__job_decide(job, CS_REASON_CANCELLED, CAUSE_PARENT_GONE);
}

static int watch_parent(struct job *job)
{
	pid_t parent = getppid();
	int r = cs_pidref_open(parent, &job->parent);

	/* it may have gone between the two calls, and the number be a stranger's: the second look tells */
	if (r == -ESRCH || getppid() != parent) {
		cs__job_decide(job, CS_REASON_CANCELLED, CAUSE_PARENT_GONE);
		return 0;
	}
	if (r < 0)
		return r;
	return cs_loop_add_fd(job->loop, job->parent.fd, EPOLLIN, CS_PRIO_SIGNAL, on_parent, job,
			      &job->parent_source);
}

void cs_job_cancelling(sigset_t *ret)
{
	static const int cancelling[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	sigemptyset(ret);
	for (size_t i = 0; i < CS_ARRAY_LEN(cancelling); i++)
		sigaddset(ret, cancelling[i]);
}

int cs__job_watch_early(struct job *job, struct cs_err *err)
{
	sigset_t set;
	int r;

	cs_job_cancelling(&set);
	job->signals = cs_signals_new(job->loop, &set, on_signal, job);
	if (!job->signals)
		return cs_fail(err, CS_IO, errno, "watch for signals");
	r = job->s->die_with_parent ? watch_parent(job) : 0;
	return r < 0 ? cs_fail(err, CS_IO, -r, "watch the parent for --die-with-parent") : 0;
}

void cs__job_on_streams(enum cs_streams_event event, void *arg)
{
	struct job *job = arg;

	switch (event) {
	case CS_STREAMS_CAP:
		if (job->s->on_output_limit == CS_AT_OUTPUT_KILL)
			cs__job_decide(job, CS_REASON_OUTPUT_LIMIT, 0);
		break;
	case CS_STREAMS_READER_GONE:
		cs__job_decide(job, CS_REASON_CANCELLED, CAUSE_READER_GONE);
		break;
	}
}

/* --- the guardian -------------------------------------------------------------------- */

/* It should outlive us. Killed by somebody, it gets a successor, so that the run is never unguarded for long. */
static void on_guardian(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct job *job = arg;
	struct cs_err err = CS_ERR_INIT;
	int status;

	cs_loop_remove(loop, &job->guardian_source);
	cs_pidref_reap(&job->guardian.process, &status);
	cs_pidref_release(&job->guardian.process);
	cs_close_fd(&job->guardian.socket);
	cs_log_warn("the guardian of this run was killed: starting another");
	if (cs_guardian_start(&job->record, job->places.cgroup, job->guardian_procs_fd, job->namespace_fd,
			      &job->guardian, &err) < 0)
		cs_log_warn("no guardian: %s", err.text);
	else if (cs__job_watch_guardian(job) < 0)
		cs_log_warn("the new guardian cannot be watched");
	cs_guardian_move(&job->guardian);
	if (job->start_ns > 0)
		cs__job_arm_guardian(job);
}

int cs__job_watch_guardian(struct job *job)
{
	return cs_loop_add_fd(job->loop, job->guardian.process.fd, EPOLLIN, CS_PRIO_EXIT, on_guardian, job,
			      &job->guardian_source);
}

/* --- the container --------------------------------------------------------------------- */

static void on_init(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct job *job = arg;
	int r = cs_pidref_reap(&job->init, &job->raw_status);

	if (r == -EAGAIN)
		return;
	cs_loop_remove(loop, &job->init_source);
	/* without its status it is an end of which the how is unknown, never an exit with 0 */
	job->init_reaped = r == 0;
	job->init_gone = true;
}

/* --oom-group on cgroup v1, where the kernel ends one process only. */
static void look_for_oom(struct cs_loop *loop, void *arg)
{
	struct job *job = arg;
	uint64_t kills = cs_cgroup_oom_kills(job->cgroup);

	if (kills != UINT64_MAX && kills > 0) {
		cs__job_decide(job, CS_REASON_OOM, 0);
		return;
	}
	/* the event comes before the kill is counted, on a busy machine long before; and of some no kill comes */
	job->oom_look_ns *= 2;
	if (job->oom_look_ns <= OOM_LAST_LOOK_NS)
		cs_loop_set_timer(loop, job->oom_timer, cs_clock_deadline_ns(job->oom_look_ns));
}

static void on_oom(struct cs_loop *loop, int fd, uint32_t events CS_UNUSED, void *arg)
{
	struct job *job = arg;
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		cs_loop_remove(loop, &job->oom_source);
	job->oom_look_ns = OOM_FIRST_LOOK_NS;
	look_for_oom(loop, job);
}

static void watch_oom(struct job *job)
{
	uint32_t events;

	if (!job->s->oom_group || job->host.layout == CS_CGROUP_V2)
		return;
	if (cs_cgroup_oom_fd(job->cgroup, &job->oom_fd, &events) < 0 ||
	    cs_loop_add_fd(job->loop, job->oom_fd, events, CS_PRIO_IO, on_oom, job, &job->oom_source) < 0 ||
	    cs_loop_add_timer(job->loop, CS_NEVER, look_for_oom, job, &job->oom_timer) < 0)
		cs_strv_add(&job->result->warnings, "oom-group: OOM events cannot be watched");
}

int cs__job_watch_init(struct job *job)
{
	int r = cs_loop_add_fd(job->loop, job->init.fd, EPOLLIN, CS_PRIO_EXIT, on_init, job, &job->init_source);

	if (r < 0) {
		struct cs_err err = CS_ERR_INIT;

		cs_fail(&err, CS_IO, -r, "init process");
		cs__job_fail(job, CS_START_SETUP, &err);
		return -1;
	}
	watch_oom(job);
	return 0;
}

static void on_limit(enum cs_reason reason, void *arg)
{
	cs__job_decide(arg, reason, 0);
}

int cs__job_watch_limits(struct job *job, const struct cs_limits_plan *plan, struct cs_err *err)
{
	return cs_limits_new(job->loop, plan, on_limit, job, &job->limits, err);
}

void cs__job_unwatch_container(struct job *job)
{
	if (!job->loop)
		return;
	cs_loop_remove(job->loop, &job->init_source);
	cs_loop_remove(job->loop, &job->oom_source);
	cs_loop_remove(job->loop, &job->oom_timer);
	cs_loop_remove(job->loop, &job->kill_timer);
	cs_loop_remove(job->loop, &job->expire_timer);
}

void cs__job_unwatch(struct job *job)
{
	if (!job->loop)
		return;
	cs__job_unwatch_container(job);
	cs_loop_remove(job->loop, &job->parent_source);
	cs_loop_remove(job->loop, &job->guardian_source);
	cs_signals_free(job->signals);
	job->signals = NULL;
}
