/*
 * Resource limits of each process (getrlimit(2)): names, what a run gets, what
 * is in force.
 */
#ifndef CS_TASK_RLIMITS_H
#define CS_TASK_RLIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "oci-spec/spec_new.h"
#include "shim/base/err.h"
#include "shim/base/strv.h"

#define CS_RLIMITS_MAX 16

/* A limit for each resource at most; types point at static texts. */
struct cs_rlimits {
	struct cs_spec_rlimit v[CS_RLIMITS_MAX];
	size_t n;
};

struct cs_rlimits_plan {
	uint64_t fsize_bytes;         /* CS_UNLIMITED: none */
	int64_t cpu_time_ns;          /* CS_NEVER: none; a second belt, in whole seconds above */
	const struct cs_strv *ulimits; /* NAME=SOFT[:HARD], over the defaults */
};

/*
 * The defaults (NOFILE 1024, CORE 1, STACK 8m soft, MEMLOCK 64k), never above
 * our own hard limits, then the caller's. A caller's limit above our own hard one
 * without CAP_SYS_RESOURCE is CS_LIMIT and named, since no engine could set it.
 */
int cs_rlimits_make(const struct cs_rlimits_plan *plan, struct cs_rlimits *ret, struct cs_err *err);

/* Those of ulimits alone, without defaults; the same errors. */
int cs_rlimits_given(const struct cs_strv *ulimits, struct cs_rlimits *ret, struct cs_err *err);

/* In whole seconds, and above the group's own limit: for the second belt. */
uint64_t cs_rlimits_cpu_seconds(int64_t cpu_time_ns);

/*
 * The same as bounds for limits that somebody else chose: a caller's limit
 * above our own is no error, since nothing is raised by it. Without `defaults`
 * only what the caller names is bounded.
 */
int cs_rlimits_bounds(const struct cs_rlimits_plan *plan, bool defaults, struct cs_rlimits *ret,
		      struct cs_err *err);

/* Compares with what the process has (/proc/PID/limits). CS_LIMIT names the first that differs. */
int cs_rlimits_verify(const struct cs_rlimits *limits, pid_t pid, struct cs_err *err);

/* Is the resource ("RLIMIT_AS") among them? */
bool cs_rlimits_has(const struct cs_rlimits *limits, const char *type);

#endif
