/*
 * The processes of an exec where they have no cgroup: inside a sandbox with a
 * kernel of its own. The supervisor knows them from the trace session and ends
 * them by the engine's `kill --pid`, one by one, until none lives.
 *
 * Where packets were lost `ps` is asked as well, until two looks agree; what
 * may be of the exec and cannot be told is a straggler.
 */
#ifndef CS_TASK_EXEC_TREE_H
#define CS_TASK_EXEC_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/err.h"
#include "shim/base/strv.h"

struct job;

struct cs_exec_tree {
	uint32_t root;           /* number of the first process inside; 0: not known (yet) */
	uint64_t dropped;        /* packets lost before it began */
	bool kill_container;     /* stragglers end the session */
};

/* kill_container: who may have escaped the end ends the session. */
void cs_exec_tree_begin(struct cs_exec_tree *tree, const struct job *job, bool kill_container);

/* The first process alone. Turns the loop. */
int cs_exec_tree_signal(const struct cs_exec_tree *tree, struct job *job, int signal, struct cs_err *err);

/* SIGKILL to all, until none lives; for some seconds at most. Turns the loop. Stragglers are lines for people. */
void cs_exec_tree_end(const struct cs_exec_tree *tree, struct job *job, struct cs_strv *ret_stragglers);

/* Raw wait status of the first process: 0, -ENODATA. */
int cs_exec_tree_status(const struct cs_exec_tree *tree, struct job *job, int *ret_status);

#endif
