/* What others may ask of a live run, over its control socket. A further request is a row of the table below. */
#include "shim/task/exec_session.h"
#include "shim/task/job_int.h"

#include <signal.h>
#include <unistd.h>

#include "shim/base/clock.h"

static const char *state_word(const struct job *job)
{
	if (job->verdict.decided || job->ended)
		return "ending";
	if (!job->started)
		return "starting";
	return job->paused ? "paused" : "running";
}

/* --- expiry ------------------------------------------------------------------------ */

/* Nobody was there for so long: given up. Whoever is there just now keeps it. */
static void on_expire(struct cs_loop *loop CS_UNUSED, void *arg)
{
	struct job *job = arg;

	if (job->users > 0)
		cs__job_use(job, 0);
	else
		cs__job_decide(job, CS_REASON_EXPIRED, 0);
}

int cs__job_watch_expiry(struct job *job)
{
	return cs_loop_add_timer(job->loop, cs_clock_deadline_ns(job->s->expire_ns), on_expire, job, &job->expire_timer);
}

void cs__job_use(struct job *job, int change)
{
	job->users += (unsigned)change;
	/* stale when there is no such timer, which is no harm */
	cs_loop_set_timer(job->loop, job->expire_timer, cs_clock_deadline_ns(job->s->expire_ns));
}

/* --- requests ------------------------------------------------------------------------ */

/* Who and what: for people and tests, and for whoever wants to know that the supervisor answers. */
static int do_hello(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED, struct cs_json *reply,
		    void *arg, struct cs_err *err)
{
	const struct job *job = arg;
	char started[CS_CLOCK_TEXT];
	int r = 0;

	r |= cs_json_put(reply, "id", cs_json_new_string(job->result->id));
	r |= cs_json_put(reply, "state", cs_json_new_string(state_word(job)));
	r |= cs_json_put(reply, "detached", cs_json_new_bool(job->s->detach));
	r |= cs_json_put(reply, "pid", cs_json_new_i64(getpid()));
	r |= cs_json_put(reply, "initPid", job->init.pid ? cs_json_new_i64(job->init.pid) : cs_json_new_null());
	r |= cs_json_put(reply, "engine", cs_json_new_string(job->engine.kind->name));
	r |= cs_json_put(reply, "cgroup", cs_json_new_string(job->places.cgroup));
	r |= cs_json_put(reply, "startedAt", job->result->started_wall_ns
						? cs_json_new_string(cs_clock_rfc3339(job->result->started_wall_ns, started))
						: cs_json_new_null());
	return r < 0 ? cs_fail(err, CS_LIMIT, 0, "reply") : 0;
}

int cs__job_read_number(const struct cs_json *request, const char *key, int64_t most, int64_t *ret, struct cs_err *err)
{
	const struct cs_json *member = cs_json_member(request, key);
	int64_t number;

	if (!member)
		return 0;
	if (cs_json_get_i64(member, &number) < 0 || number < 0 || number > most)
		return cs_fail(err, CS_INVALID, 0, "request: \"%s\" is no number from 0 to %lld", key, (long long)most);
	*ret = number;
	return 0;
}

/* The signal first, and SIGKILL for what is left after the patience. */
static int do_stop(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request, struct cs_json *reply CS_UNUSED,
		   void *arg, struct cs_err *err)
{
	struct job *job = arg;
	int64_t signal = job->s->stop_signal, patience_ns = CS_JOB_STOP_TIMEOUT_NS;

	if (cs__job_read_number(request, "signal", SIGRTMAX, &signal, err) < 0 ||
	    cs__job_read_number(request, "timeoutNs", INT64_MAX, &patience_ns, err) < 0)
		return -1;
	if (signal == 0)
		signal = job->s->stop_signal;
	cs__job_decide_patiently(job, CS_REASON_STOPPED, (int)signal, (int)signal, patience_ns);
	return 0;
}

int cs__job_require_running(const struct job *job, struct cs_err *err)
{
	if (job->verdict.decided || job->ended || job->init_gone)
		return cs_fail(err, CS_STATE, 0, "'%s' is ending", job->result->id);
	if (!job->started)
		return cs_fail(err, CS_STATE, 0, "'%s' is just starting", job->result->id);
	if (job->paused)
		return cs_fail(err, CS_STATE, 0, "'%s' is paused: 'caisson resume %s' first", job->result->id, job->result->id);
	return 0;
}

/* SIGKILL ends the run; any other signal is for the program's init, which does with it what it likes. */
static int do_kill(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request, struct cs_json *reply CS_UNUSED,
		   void *arg, struct cs_err *err)
{
	struct job *job = arg;
	int64_t signal = SIGKILL;

	if (cs__job_read_number(request, "signal", SIGRTMAX, &signal, err) < 0)
		return -1;
	if (signal == SIGKILL) {
		cs__job_decide_patiently(job, CS_REASON_STOPPED, SIGKILL, SIGKILL, 0);
		return 0;
	}
	cs__job_use(job, 0);
	if (cs__job_require_running(job, err) < 0)
		return -1;
	if (cs__job_signal(job, (int)signal, err) < 0)
		return cs_wrap(err, "'%s'", job->result->id);
	if (signal > 0)
		job->signals_sent |= UINT64_C(1) << (signal - 1);
	return 0;
}

static int do_rm(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED, struct cs_json *reply CS_UNUSED,
		 void *arg, struct cs_err *err CS_UNUSED)
{
	struct job *job = arg;

	job->forget = true;
	cs__job_decide_patiently(job, CS_REASON_STOPPED, SIGKILL, SIGKILL, 0);
	return 0;
}

static int do_pause(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED,
		    struct cs_json *reply CS_UNUSED, void *arg, struct cs_err *err)
{
	struct job *job = arg;

	cs__job_use(job, 0);
	if (cs__job_require_running(job, err) < 0)
		return -1;
	return cs__job_pause(job, true, err) < 0 ? cs_wrap(err, "'%s'", job->result->id) : 0;
}

static int do_resume(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED,
		     struct cs_json *reply CS_UNUSED, void *arg, struct cs_err *err)
{
	struct job *job = arg;

	cs__job_use(job, 0);
	if (!job->paused || job->verdict.decided)
		return cs_fail(err, CS_STATE, 0, "'%s' is not paused", job->result->id);
	return cs__job_pause(job, false, err) < 0 ? cs_wrap(err, "'%s'", job->result->id) : 0;
}

static void stop_waiting(void *state CS_UNUSED, void *arg)
{
	cs__job_use(arg, -1);
}

/* Answered at once: what is waited for is the end of the connection. */
static int do_wait(struct cs_ctl_peer *peer, const struct cs_json *request CS_UNUSED, struct cs_json *reply CS_UNUSED,
		   void *arg, struct cs_err *err CS_UNUSED)
{
	if (cs_ctl_peer_state(peer))
		return cs_fail(err, CS_STATE, 0, "this connection waits already");
	cs_ctl_peer_hold(peer, arg, stop_waiting);
	cs__job_use(arg, 1);
	return 0;
}

static const struct cs_ctl_op ops[] = {
	{ "hello", NULL, do_hello, false },
	{ "wait", NULL, do_wait, false },
	{ "stop", "signal|timeoutNs", do_stop, false },
	{ "rm", NULL, do_rm, false },
	/* where the init is a sandbox its engine passes the signal on; a freezer takes a moment */
	{ "kill", "signal", do_kill, true },
	{ "pause", NULL, do_pause, true },
	{ "resume", NULL, do_resume, true },
	{ "exec-begin", "timeoutNs|escape", cs__exec_begin, true },
	{ "exec-started", "inside", cs__exec_started, false },
	{ "exec-kill", "signal", cs__exec_kill, true },
	{ "exec-end", NULL, cs__exec_end, false },
};

int cs__job_serve(struct job *job, struct cs_err *err)
{
	return cs_ctl_open(job->loop, job->record.dir_fd, ops, CS_ARRAY_LEN(ops), job, &job->ctl, err);
}
