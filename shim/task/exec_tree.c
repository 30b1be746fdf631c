#include "shim/task/exec_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/engine/engine_call.h"
#include "shim/engine/trace_tree.h"
#include "shim/task/exec_look.h"
#include "shim/task/job_int.h"

#define END_NS (10 * CS_NSEC_PER_SEC)
/* How long the packets of ends are waited for before the next look; and for how many looks nothing may come of it. */
#define ROUND_NS (10 * CS_NSEC_PER_MSEC)
#define IDLE_ROUNDS 3
#define LIVE_MAX 256

void cs_exec_tree_begin(struct cs_exec_tree *tree, const struct job *job, bool kill_container)
{
	*tree = (struct cs_exec_tree){
		.dropped = job->trace ? cs_trace_dropped(job->trace) : 0,
		.kill_container = kill_container,
	};
}

/* --- engine calls ----------------------------------------------------------------------- */

/* No longer than the engine may take, nor than is left. */
static int64_t timeout_ns(const struct job *job, enum cs_verb verb, int64_t deadline_ns)
{
	/* 0 would be the default */
	return CS_MAX(CS_MIN(cs_engine_timeout_ns(verb, job->s->engine_timeout_ns), cs_clock_left_ns(deadline_ns)), 1);
}

static int signal_one(struct job *job, uint32_t process, int signal, int64_t deadline_ns, struct cs_err *err)
{
	char number[16], pid[16];
	struct cs_engine_args args = cs__job_engine_args(job);
	struct cs_engine_call call = { .engine = &job->engine, .verb = CS_VERB_KILL, .args = &args,
				       .timeout_ns = timeout_ns(job, CS_VERB_KILL, deadline_ns),
				       .cancelled = &job->interrupted };

	snprintf(number, sizeof(number), "%d", signal);
	snprintf(pid, sizeof(pid), "%u", process);
	args.signal = number;
	args.pid = pid;
	return cs_engine_call(job->loop, &call, NULL, err);
}

int cs_exec_tree_signal(const struct cs_exec_tree *tree, struct job *job, int signal, struct cs_err *err)
{
	if (tree->root == 0)
		return cs_fail(err, CS_STATE, 0, "the process inside is not known");
	return signal_one(job, tree->root, signal, CS_NEVER, err);
}

/* --- what the trace session knows ---------------------------------------------------------- */

static bool is_known(const struct cs_exec_tree *tree, const struct job *job)
{
	return cs_trace_is_connected(job->trace) && cs_trace_dropped(job->trace) == tree->dropped &&
	       cs_trace_tree_is_whole(cs_trace_processes(job->trace));
}

static bool root_ended(const struct cs_exec_tree *tree, const struct job *job)
{
	int status;

	return cs_trace_tree_status(cs_trace_processes(job->trace), tree->root, &status) == 0;
}

int cs_exec_tree_status(const struct cs_exec_tree *tree, struct job *job, int *ret_status)
{
	if (!job->trace)
		return -ENODATA;
	cs_trace_pump(job->trace);
	return cs_trace_tree_status(cs_trace_processes(job->trace), tree->root, ret_status);
}

static bool none_lives(const struct cs_exec_tree *tree, const struct job *job)
{
	cs_trace_pump(job->trace);
	return root_ended(tree, job) && cs_trace_tree_live(cs_trace_processes(job->trace), tree->root, NULL, 0) == 0;
}

/* Whom packets tell of is killed, the first process first. How many were there to be killed. */
static size_t kill_known(const struct cs_exec_tree *tree, struct job *job, int64_t deadline_ns)
{
	uint32_t live[LIVE_MAX + 1];
	size_t n = 0, killed = 0;

	if (!root_ended(tree, job))
		live[n++] = tree->root;
	n += CS_MIN(cs_trace_tree_live(cs_trace_processes(job->trace), tree->root, live + n, LIVE_MAX), (size_t)LIVE_MAX);
	for (size_t i = 0; i < n && !job->interrupted && cs_clock_left_ns(deadline_ns) > 0; i++) {
		struct cs_err err = CS_ERR_INIT;

		if (signal_one(job, live[i], SIGKILL, deadline_ns, &err) == 0)
			killed++;
		else
			cs_log_debug("exec: %s", err.text); /* gone by itself, mostly */
	}
	return killed;
}

/* --- what ps knows ---------------------------------------------------------------------------- */

static int take_look(struct job *job, struct cs_exec_look *look, int64_t deadline_ns, struct cs_err *err)
{
	struct cs_engine_args args = cs__job_engine_args(job);
	struct cs_engine_call call = { .engine = &job->engine, .verb = CS_VERB_PS, .args = &args,
				       .timeout_ns = timeout_ns(job, CS_VERB_PS, deadline_ns),
				       .cancelled = &job->interrupted };
	struct cs_engine_result result = { 0 };
	int r = cs_engine_call(job->loop, &call, &result, err);

	if (r == 0)
		r = cs_exec_look_read(result.output.data ? result.output.data : "", result.output.len, look, err);
	cs_engine_result_release(&result);
	return r;
}

static void end_by_looks(const struct cs_exec_tree *tree, struct job *job, int64_t deadline_ns, struct cs_strv *ret_stragglers)
{
	cs_autofree struct cs_exec_look *looks = calloc(2, sizeof(*looks));
	const struct cs_trace_tree *known = cs_trace_processes(job->trace);
	struct cs_err err = CS_ERR_INIT;
	bool agreed = false;
	size_t at = 0;

	if (looks)
		looks[1].n = SIZE_MAX; /* agrees with nothing */
	for (; looks && !agreed && !job->interrupted && cs_clock_left_ns(deadline_ns) > 0; at = 1 - at) {
		struct cs_exec_look *look = &looks[at];

		if (take_look(job, look, deadline_ns, &err) < 0)
			break;
		if (cs_exec_look_mark(look, known, tree->root) == 0) {
			agreed = cs_exec_look_same(look, &looks[1 - at]);
			if (agreed)
				cs_exec_look_stragglers(look, known, ret_stragglers);
			continue;
		}
		for (size_t i = 0; i < look->n && !job->interrupted && cs_clock_left_ns(deadline_ns) > 0; i++)
			if (look->v[i].ours && signal_one(job, look->v[i].pid, SIGKILL, deadline_ns, &err) < 0)
				cs_err_clear(&err);
	}
	if (!agreed && !job->interrupted)
		cs_strv_addf(ret_stragglers, "what is left of this exec cannot be told%s%s", err.text[0] ? ": " : "", err.text);
}

/* --- the end -------------------------------------------------------------------------------------- */

void cs_exec_tree_end(const struct cs_exec_tree *tree, struct job *job, struct cs_strv *ret_stragglers)
{
	int64_t deadline = cs_clock_deadline_ns(END_NS);
	int idle = 0;

	if (tree->root == 0) /* the engine did not get so far as to name one */
		return;
	while (idle < IDLE_ROUNDS && is_known(tree, job) && !job->interrupted && cs_clock_left_ns(deadline) > 0) {
		if (none_lives(tree, job))
			return;
		/* the packets of ends that have been come by the loop */
		cs_loop_turn(job->loop, cs_clock_deadline_ns(ROUND_NS));
		if (none_lives(tree, job))
			return;
		idle = kill_known(tree, job, deadline) > 0 ? 0 : idle + 1;
	}
	if (!job->interrupted)
		end_by_looks(tree, job, deadline, ret_stragglers);
}
