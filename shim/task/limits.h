/*
 * The limits that caisson itself keeps while a run lives: wall time, CPU time
 * of the whole cgroup, time without output. One timer each; what a limit does is the
 * caller's.
 */
#ifndef CS_TASK_LIMITS_H
#define CS_TASK_LIMITS_H

#include <stdint.h>

#include "shim/base/err.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/loop.h"
#include "shim/task/exit.h"
#include "shim/task/streams.h"

struct cs_limits_plan {
	int64_t start_ns;                /* CLOCK_MONOTONIC: what wall and idle time count from */
	int64_t timeout_ns;              /* CS_NEVER: none; the same below */
	int64_t cpu_time_ns;
	int64_t idle_timeout_ns;
	uint64_t cpu_base_ns;            /* CPU time of the group before start */
	uint64_t millicpus;              /* quota, UINT64_MAX: none */
	const struct cs_cgroup *cgroup;  /* borrowed for the life of the limits */
	const struct cs_streams *streams; /* borrowed likewise */
};

struct cs_limits; /* opaque */

/* Called from the loop, once for each limit that is reached. */
typedef void cs_limits_fn(enum cs_reason reason, void *arg);

int cs_limits_new(struct cs_loop *loop, const struct cs_limits_plan *plan, cs_limits_fn *fn,
		  void *arg, struct cs_limits **ret, struct cs_err *err);
void cs_limits_free(struct cs_limits *limits); /* NULL allowed */

#endif
