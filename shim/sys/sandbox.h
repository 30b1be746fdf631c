/*
 * What caisson's own helpers give up (prctl(2), setrlimit(2), core(5)).
 */
#ifndef CS_SYS_SANDBOX_H
#define CS_SYS_SANDBOX_H

#include "shim/base/err.h"

/*
 * no_new_privs, and core dumps off, for processes that hold others' bytes:
 * PR_SET_DUMPABLE 0, which also keeps the core pattern's helper from running
 * and others of our user from tracing us, and RLIMIT_CORE 0 for what we exec.
 * For good; all of it before the first such byte. /proc/self then belongs to root.
 */
int cs_sandbox_harden_self(struct cs_err *err);

#endif
