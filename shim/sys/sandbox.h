/*
 * What caisson's own helpers give up (prctl(2), setrlimit(2), core(5),
 * capabilities(7), seccomp(2)).
 */
#ifndef CS_SYS_SANDBOX_H
#define CS_SYS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/err.h"

/*
 * no_new_privs, and core dumps off, for processes that hold others' bytes:
 * PR_SET_DUMPABLE 0, which also keeps the core pattern's helper from running
 * and others of our user from tracing us, and RLIMIT_CORE 0 for what we exec.
 * For good; all of it before the first such byte. /proc/self then belongs to root.
 */
int cs_sandbox_harden_self(struct cs_err *err);

/*
 * Gives up every capability in every set but `keep` (n of them), for good
 * (capabilities(7)). What the process may not have in the first place it does not get.
 */
int cs_sandbox_keep_capabilities(const int *keep, size_t n, struct cs_err *err);

/* A call of the allow-list. */
struct cs_sandbox_call {
	const char *name;
	bool has_arg0;  /* allowed only with this as its first argument */
	uint64_t arg0;
};

/*
 * From here on only the named system calls are answered, all others with
 * EPERM, for good, for this process and what it forks (seccomp(2)). Names that
 * this architecture or libseccomp does not know are passed over. Needs
 * no_new_privs (cs_sandbox_harden_self). CS_UNSUPPORTED where the kernel has no filters.
 */
int cs_sandbox_filter(const struct cs_sandbox_call *calls, size_t n, struct cs_err *err);

#endif
