/*
 * One look at the processes inside a sandbox, by what the engine's `ps` prints,
 * and whose they are: for execs whose tree the trace session does not tell
 * for sure. Pure; the text comes from a kernel that the guest may have taken over.
 */
#ifndef CS_TASK_EXEC_LOOK_H
#define CS_TASK_EXEC_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/err.h"
#include "shim/base/strv.h"
#include "shim/engine/trace_tree.h"

#define CS_EXEC_LOOK_MAX 4096

struct cs_exec_look {
	struct cs_exec_seen {
		uint32_t pid, parent;
		bool ours;
	} v[CS_EXEC_LOOK_MAX];
	size_t n;
};

/* Reads the JSON of `ps`: an array of objects with pid and ppid. CS_INVALID, CS_ENGINE; CS_LIMIT for more than there is room for. */
int cs_exec_look_read(const char *text, size_t len, struct cs_exec_look *ret, struct cs_err *err);

/* Marks root, what `known` says is of it, and everything that has such a parent. How many these are. */
size_t cs_exec_look_mark(struct cs_exec_look *look, const struct cs_trace_tree *known, uint32_t root);

/* The same processes in both, whatever order they are printed in. */
bool cs_exec_look_same(const struct cs_exec_look *a, const struct cs_exec_look *b);

/* A line for each child of init (1) of which `known` tells nothing: it may be an orphan of anybody. */
void cs_exec_look_stragglers(const struct cs_exec_look *look, const struct cs_trace_tree *known, struct cs_strv *ret);

#endif
