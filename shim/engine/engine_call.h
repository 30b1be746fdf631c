/*
 * Runs one verb of an engine: under a deadline, with its output drained while
 * it runs (capped: head and tail are kept), its whole process group dead if
 * the deadline passes. Blocks, but serves `loop` meanwhile, so that drains,
 * the trace socket and cancels go on.
 */
#ifndef CS_ENGINE_ENGINE_CALL_H
#define CS_ENGINE_ENGINE_CALL_H

#include "shim/base/buf.h"
#include "shim/engine/engine_argv.h"
#include "shim/sys/loop.h"
#include "shim/sys/spawn.h"

#define CS_ENGINE_OUTPUT_MAX (64 * 1024)

struct cs_engine_call {
	const struct cs_engine *engine;
	enum cs_verb verb;
	const struct cs_engine_args *args;
	int64_t timeout_ns;          /* 0: the verb's own (create 30 s, start 10 s, others 10 s) */
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
void cs_engine_result_release(struct cs_engine_result *result);

/*
 * 0 when the engine exited with 0. Else -1: CS_TIMEOUT, CS_STATE when cancelled,
 * CS_ENGINE with the engine's own message (from --log, else from stderr), or
 * what kept it from being executed. ret (may be NULL) is filled in every case
 * in which the engine ran. No process of the group is left, but what it
 * moved to other groups and sessions on purpose.
 */
int cs_engine_call(struct cs_loop *loop, const struct cs_engine_call *call,
		   struct cs_engine_result *ret, struct cs_err *err);

#endif
