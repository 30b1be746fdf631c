/* How an exec ended, and what is left to do away with. */
#include "shim/task/exec_int.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define UNDO_NS (2 * CS_NSEC_PER_SEC)

/* Rounds of the loop in which output and end that are there already are taken in. */
#define SETTLE_ROUNDS 64

/* --- the tree, where it has no cgroup --------------------------------------------------- */

static struct cs_json *kill_request(int signal)
{
	struct cs_json *request = cs_ctl_request("exec-kill");
	int r = cs_json_put(request, "signal", cs_json_new_i64(signal));

	if (r < 0)
		cs_json_free_ptr(&request);
	return request;
}

/* The answer to a stop signal that came too late is not the answer to what is asked next. */
static void take_owed(struct exec *exec, int64_t deadline_ns)
{
	char byte;

	if (!exec->owed || cs_fd_wait_readable(exec->ctl.fd, deadline_ns) < 0)
		return;
	/* the end of the connection stays to be read */
	if (recv(exec->ctl.fd, &byte, sizeof(byte), MSG_DONTWAIT) != 0)
		exec->owed = false;
}

/* The connection is the leash: when it breaks the supervisor ends the tree, as soon as it can. */
static void leave_to_supervisor(struct exec *exec, const struct cs_err *why)
{
	cs_strv_addf(&exec->job.result->leftovers, "processes of exec %s: %s", exec->name, why->text);
	cs_loop_remove(exec->job.loop, &exec->ctl_source);
	cs_ctl_client_release(&exec->ctl);
}

/* Ends the tree, or what of it is left, and learns the first process's raw status. */
static void kill_tree(struct exec *exec)
{
	struct job *job = &exec->job;
	cs_autojson struct cs_json *reply = NULL;
	const struct cs_json *straggler;
	struct cs_err err = CS_ERR_INIT;
	int64_t status, deadline_ns = cs_clock_deadline_ns(EXEC_KILL_NS);

	take_owed(exec, deadline_ns);
	if (cs_ctl_call(&exec->ctl, kill_request(SIGKILL), deadline_ns, &reply, &err) < 0) {
		cs_log_debug("end of the exec's tree: %s", err.text);
		if (err.kind == CS_TIMEOUT)
			leave_to_supervisor(exec, &err);
		return;
	}
	if (cs_json_get_i64(cs_json_member(reply, "status"), &status) == 0) {
		job->told = true;
		job->told_status = (int)status;
	}
	cs_json_each(straggler, cs_json_member(reply, "stragglers"))
		if (cs_json_string(straggler))
			cs_strv_addf(&job->result->warnings, "stragglers: %s", cs_json_string(straggler));
}

static void send_stop(struct job *job)
{
	struct exec *exec = exec_of(job);
	struct cs_err err = CS_ERR_INIT;
	/* neither readers nor limits are served meanwhile, and patience ends when it ends */
	int64_t deadline_ns = CS_MIN(cs_clock_deadline_ns(EXEC_ASK_NS), job->verdict.kill_at_ns);

	job->verdict.stop_pending = false;
	if (job->cgroup) {
		cs_pidref_kill(&job->init, job->s->stop_signal);
	} else if (cs_ctl_call(&exec->ctl, kill_request(job->s->stop_signal), deadline_ns, NULL, &err) < 0) {
		exec->owed = err.kind == CS_TIMEOUT;
		cs_log_debug("stop signal: %s", err.text);
	}
}

/* --- before the end is looked at ------------------------------------------------------------ */

/*
 * A session whose init has ended kills all its processes; until they are
 * reaped, by us too, its supervisor does not hear of that. An init that has
 * given its program up is on its way out.
 */
static bool session_ends(struct exec *exec)
{
	cs_autojson struct cs_json *reply = NULL;
	struct cs_err err = CS_ERR_INIT;
	const char *state;
	char path[40], target[8];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)exec->session_init);
	if (readlink(path, target, sizeof(target)) < 0)
		return true;
	if (cs_ctl_call(&exec->ctl, cs_ctl_request("hello"), cs_clock_deadline_ns(EXEC_ASK_NS), &reply, &err) < 0)
		return err.kind == CS_STATE;
	state = cs_json_string(cs_json_member(reply, "state"));
	return state && strcmp(state, "ending") == 0;
}

bool cs__exec_session_ended(struct exec *exec)
{
	if (!exec->name[0] || exec->ctl.fd < 0 || !session_ends(exec))
		return false;
	cs__job_decide_patiently(&exec->job, CS_REASON_STOPPED, SIGKILL, SIGKILL, 0);
	return true;
}

/* Does somebody else still hold a stream? What is there already is taken in first. */
static bool streams_are_held(struct job *job)
{
	cs_streams_hang_up(job->streams); /* we do ourselves, until then */
	for (int i = 0; i < SETTLE_ROUNDS && cs_loop_turn(job->loop, 0) > 0; i++)
		;
	for (int i = 0; i < CS_STREAMS; i++) {
		const struct cs_drain *drain = cs_streams_drain(job->streams, (enum cs_stream)i);

		if (drain && !cs_drain_is_done(drain) && !cs_drain_at_eof(drain))
			return true;
	}
	return false;
}

/* A session's end is SIGKILL to all that is in it, or no word of them any more. */
static bool may_be_the_sessions_end(const struct job *job)
{
	if (!job->cgroup)
		return !job->told;
	return job->init_reaped && WIFSIGNALED(job->raw_status) && WTERMSIG(job->raw_status) == SIGKILL;
}

static void kill_rest(struct job *job)
{
	struct exec *exec = exec_of(job);
	bool by_itself = job->init_gone && !job->verdict.decided;

	if (by_itself && job->streams)
		job->held = streams_are_held(job);
	if (exec->ctl.fd < 0)
		return;
	/* a process may be there though its start failed: the engine's call was ended half way */
	if (job->start_ns > 0 && !job->cgroup)
		kill_tree(exec);
	if (by_itself && may_be_the_sessions_end(job) && session_ends(exec))
		job->verdict = (struct job_verdict){ .decided = true, .reason = CS_REASON_STOPPED, .cause = SIGKILL };
	/* the sandbox took it along, and what stands for it out here makes up a code of its own */
	if (job->started && !job->cgroup && !job->told && job->verdict.reason == CS_REASON_STOPPED) {
		job->told = true;
		job->told_status = SIGKILL;
	}
}

/* --- undoing ---------------------------------------------------------------------------------- */

static void undo(struct job *job)
{
	struct exec *exec = exec_of(job);
	struct cs_err err = CS_ERR_INIT;
	char path[sizeof(job->places.cgroup) + sizeof(exec->name) + 1];
	pid_t holder = 0;
	int r = 0;

	if (job->cgroup) {
		snprintf(path, sizeof(path), "%s", cs_cgroup_path(job->cgroup));
		cs_cgroup_free(cs_take_ptr(&job->cgroup));
		r = cs_cgroup_remove(&job->host, path, cs_clock_deadline_ns(UNDO_NS), &holder);
	}
	/* what could not be removed is left to the supervisor, who tries again at the connection's end */
	if (r < 0)
		cs_strv_addf(&job->result->leftovers, "cgroup %s: %s, process %d", path, strerror(-r), (int)holder);
	cs_loop_remove(job->loop, &exec->ctl_source);
	if (r == 0 && exec->ctl.fd >= 0 && exec->name[0] && cs_ctl_tell(&exec->ctl, cs_ctl_request("exec-end"), &err) < 0)
		cs_log_debug("end of the exec: %s", err.text);
	cs_ctl_client_release(&exec->ctl);
}

const struct job_ways cs__exec_ways = {
	.send_stop = send_stop,
	.kill_rest = kill_rest,
	.undo = undo,
};
