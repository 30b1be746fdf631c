/*
 * What caisson's own helpers give up: capabilities, new privileges, system
 * calls (prctl(2), capabilities(7), seccomp_load(3)).
 */
#ifndef CS_SYS_SANDBOX_H
#define CS_SYS_SANDBOX_H

#include "shim/base/err.h"

/* no_new_privs, and core dumps off (PR_SET_DUMPABLE 0, RLIMIT_CORE 0): for processes that hold others' bytes. */
int cs_sandbox_harden_self(struct cs_err *err);

#endif
