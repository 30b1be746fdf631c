/*
 * The guardian: a forked process that outlives its supervisor by exactly as
 * long as it takes to clean up.
 *
 * It has its own session and, where that can be had, its own cgroup, so that
 * what kills the supervisor does not reach it; it holds nothing of the
 * caller's (stdio, working directory). It watches the supervisor by pidfd and
 * by the socket between them:
 *
 *   supervisor dies             → locks the record, plays it back, tidies, exits
 *   the deadline passes         → kills the run's cgroup: the supervisor is stopped or stuck
 *   cs_guardian_dismiss         → exits: the supervisor has removed everything itself
 *
 * Fork it before anything is made that it must undo, the record itself
 * included, and before the supervisor grows: its memory is what the supervisor
 * had touched by then.
 */
#ifndef CS_TASK_GUARDIAN_H
#define CS_TASK_GUARDIAN_H

#include <stdint.h>

#include "shim/base/err.h"
#include "shim/sys/pidref.h"
#include "shim/task/record.h"

struct cs_guardian {
	struct cs_pidref process;
	int socket; /* our end, CLOEXEC */
};

#define CS_GUARDIAN_INIT ((struct cs_guardian){ .process = CS_PIDREF_INIT, .socket = -1 })

/*
 * Forks. The record is open, and need not be made yet. cgroup_path is the run's group. In the child it never returns.
 * cell_procs_fd (or -1) is the way into CS_CGROUP_GUARDIANS, which the
 * child takes when cs_guardian_move says so. namespace_fd (or -1: we are still there) is the way
 * back into the host's mount namespace: the run's own would last, with all that
 * is mounted in it, for as long as its guardian.
 */
int cs_guardian_start(struct cs_record *record, const char *cgroup_path, int cell_procs_fd, int namespace_fd,
		      struct cs_guardian *ret, struct cs_err *err);

/*
 * Sends it into its group. By CS_CGROUP_BY_PROCESS that is slow: nobody waits for
 * it, but nobody on the host makes a cgroup meanwhile either. 0 or -errno.
 */
int cs_guardian_move(struct cs_guardian *guardian);

/* The moment (CLOCK_MONOTONIC) at which it kills the run by itself; CS_NEVER: none. */
int cs_guardian_arm(struct cs_guardian *guardian, int64_t deadline_ns);

/* Says that all is done, waits for its end and reaps it. NULL-safe for one that never started. */
void cs_guardian_dismiss(struct cs_guardian *guardian);

#endif
