/*
 * Orphans: as a subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)) we become the
 * parent of what engines leave behind. Children that somebody holds as a
 * pidref are reaped through it only; the sweep takes the others, one by one,
 * by a peek (waitid WNOWAIT), a look-up and a reap of that pid. It must not run
 * while an engine's create or exec is in flight, so that the pid in a pid file
 * stays what it was.
 */
#ifndef CS_SYS_REAPER_H
#define CS_SYS_REAPER_H

#include <stddef.h>

#include "shim/sys/pidref.h"

/* Makes us the subreaper; children do not inherit it. 0 or -errno. */
int cs_reaper_become(void);

/*
 * Reaps every dead child that is not in `known`. Number reaped or -errno.
 * Never blocks. Without CONFIG_PROC_CHILDREN, those that died after a known one
 * wait until that has been reaped: sweep again then.
 */
int cs_reaper_sweep(const pid_t *known, size_t n);

#endif
