/*
 * Runs one verb of an engine: under a deadline, with its output drained while
 * it runs (capped: head and tail are kept), its whole process group dead if
 * the deadline passes. Blocks, but serves `loop` meanwhile, so that drains,
 * the trace socket and cancels go on.
 *
 *     struct cs_engine_call call = { .engine = &engine, .verb = CS_VERB_START, .args = &args };
 *     if (cs_engine_call(loop, &call, NULL, err) < 0) …
 *
 * It must not know what a container is: what a failed create may have half
 * made is the caller's to remove.
 */
#ifndef CS_ENGINE_ENGINE_CALL_H
#define CS_ENGINE_ENGINE_CALL_H

#include "shim/base/buf.h"
#include "shim/base/clock.h"
#include "shim/engine/engine_argv.h"
#include "shim/sys/loop.h"
#include "shim/sys/pidref.h"
#include "shim/sys/spawn.h"

#define CS_ENGINE_OUTPUT_MAX (64 * 1024)

/* What a call may take: create, which sets up what all others only look at, three times as long. */
#define CS_ENGINE_TIMEOUT_NS (10 * CS_NSEC_PER_SEC)
int64_t cs_engine_timeout_ns(enum cs_verb verb, int64_t base_ns);

struct cs_engine_call {
	const struct cs_engine *engine;
	enum cs_verb verb;
	const struct cs_engine_args *args;
	int64_t timeout_ns;          /* 0: cs_engine_timeout_ns of CS_ENGINE_TIMEOUT_NS */
	const int *stdio;            /* three descriptors for create and exec, borrowed; NULL: null, captured, captured */
	const int *cgroup_procs_fds; /* cells that the engine is born into, see cs_spawn */
	size_t n_cgroup_procs_fds;
	const bool *cancelled;       /* looked at after each turn of the loop: true ends the call; NULL: never */
};

struct cs_engine_result {
	int status;            /* raw wait status of the engine */
	bool timed_out;
	struct cs_buf output;  /* stdout when captured */
	struct cs_buf errors;  /* stderr when captured */
};
/* {0} allowed. */
void cs_engine_result_release(struct cs_engine_result *result);

/*
 * 0 when the engine exited with 0. Else -1: CS_TIMEOUT; CS_STATE when cancelled;
 * CS_ENGINE with the engine's own message (from what this call added to --log,
 * else from stderr, else its status), as "crun create: MESSAGE"; or what
 * cs_engine_argv and cs_spawn say when it could not be executed.
 *
 * ret (may be NULL) is filled in every case in which the engine ran; to be
 * released by the caller. It may be taken as {0} before the call.
 *
 * Blocks until the engine itself ended; something that it left behind and
 * that holds its output open is not waited for. After a failure no process of its
 * group is left, but what it moved to other groups and sessions on purpose;
 * after a success the group stays, since runsc's gofer lives in it. It gets an
 * environment of a few names (PATH, HOME, …), so nothing of ours changes what it does.
 */
int cs_engine_call(struct cs_loop *loop, const struct cs_engine_call *call,
		   struct cs_engine_result *ret, struct cs_err *err);

/*
 * Holds the process that a create or exec wrote to its pid file. Its parent, the engine, has ended, and
 * we are the subreaper (cs_reaper_become), so it is our child, dead or alive; what is not
 * is a stale file's or a stranger, and CS_ENGINE. `call` names it in errors: "crun create".
 */
int cs_engine_hold_process(const char *call, const char *pid_file, struct cs_pidref *ret, struct cs_err *err);

#endif
