/*
 * A process and all that hangs on it, for where no cgroup holds them together.
 * Whoever has lost his parent is not found: a cgroup is the better net.
 */
#ifndef CS_SYS_KIN_H
#define CS_SYS_KIN_H

#include "shim/sys/pidref.h"

/*
 * SIGKILL to root, which must not have been reaped, and to its descendants.
 * Each is stopped before its children are listed (/proc/PID/task/TID/children,
 * proc(5)), so that none is born unseen, and none reaped, so that no number is
 * a stranger's. At most some hundred; without CONFIG_PROC_CHILDREN root alone.
 * How many were killed. Blocks for no longer than it takes to read procfs.
 */
size_t cs_kin_kill(const struct cs_pidref *root);

#endif
