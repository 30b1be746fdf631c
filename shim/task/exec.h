/*
 * One more process in a live session, bounded like a run: from settings to
 * result record.
 *
 * The caller's process does the work, in the mount namespace of the session's
 * supervisor, as the subreaper that the engine's `exec --detach` leaves the
 * process to. The process and all that it starts are in a cgroup of their own
 * below the session's, so that limits, caps and cancels end them and nothing
 * else. Where the engine has a kernel of its own (runsc) they have no cgroup:
 * the supervisor knows them from the trace session and ends them one by one.
 *
 * The connection to the supervisor is the leash: when it breaks, the
 * supervisor ends what is left (exec_session.c).
 *
 * An exec has no gate between made and started: until its place is verified
 * its output stays in the pipes. What is left of it when its first process
 * ends is killed. Orphans inside belong to the session's init.
 */
#ifndef CS_TASK_EXEC_H
#define CS_TASK_EXEC_H

#include "shim/base/strv.h"
#include "shim/task/result.h"
#include "shim/task/settings.h"

struct cs_exec_plan {
	struct cs_settings_tree *tree; /* of scope CS_FOR_EXEC */
	const char *id;                /* of the session */
	const struct cs_strv *args;    /* the command */
};

/*
 * Runs it; one a process, with signals blocked (cs_signals_block). Always
 * fills the result, of which the id is the session's. Blocks until all is done.
 */
void cs_exec_run(const struct cs_exec_plan *plan, struct cs_result *result);

#endif
