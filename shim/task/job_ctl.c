/* What others may ask of a live run, over its control socket. A further request is a row of the table below. */
#include "shim/task/exec_session.h"
#include "shim/task/job_int.h"

#include <unistd.h>

#include "shim/base/clock.h"

static const char *state_word(const struct job *job)
{
	if (job->verdict.decided || job->ended)
		return "ending";
	return job->started ? "running" : "starting";
}

/* Who and what: for people and tests, and for whoever wants to know that the supervisor answers. */
static int do_hello(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED, struct cs_json *reply,
		    void *arg, struct cs_err *err)
{
	const struct job *job = arg;
	char started[CS_CLOCK_TEXT];
	int r = 0;

	r |= cs_json_put(reply, "id", cs_json_new_string(job->result->id));
	r |= cs_json_put(reply, "state", cs_json_new_string(state_word(job)));
	r |= cs_json_put(reply, "pid", cs_json_new_i64(getpid()));
	r |= cs_json_put(reply, "initPid", job->init.pid ? cs_json_new_i64(job->init.pid) : cs_json_new_null());
	r |= cs_json_put(reply, "engine", cs_json_new_string(job->engine.kind->name));
	r |= cs_json_put(reply, "cgroup", cs_json_new_string(job->places.cgroup));
	r |= cs_json_put(reply, "startedAt", job->result->started_wall_ns
						? cs_json_new_string(cs_clock_rfc3339(job->result->started_wall_ns, started))
						: cs_json_new_null());
	return r < 0 ? cs_fail(err, CS_LIMIT, 0, "reply") : 0;
}

static const struct cs_ctl_op ops[] = {
	{ "hello", NULL, do_hello, false },
	{ "exec-begin", "timeoutNs|escape", cs__exec_begin, true },
	{ "exec-started", "inside", cs__exec_started, false },
	{ "exec-kill", "signal", cs__exec_kill, true },
	{ "exec-end", NULL, cs__exec_end, false },
};

int cs__job_serve(struct job *job, struct cs_err *err)
{
	return cs_ctl_open(job->loop, job->record.dir_fd, ops, CS_ARRAY_LEN(ops), job, &job->ctl, err);
}
