/*
 * Holding back the news of a process's end: its parent does not hear of it
 * (SIGCHLD, wait(2)) before the hold is released.
 *
 * For who relays a process's output and must have delivered the last of it by
 * the time its parent, who does not wait for us, stops reading. The holder is the
 * process's tracer (ptrace(2), PTRACE_SEIZE), of which the kernel says: a tracer is told first,
 * and the parent once the tracer has waited for it. Signals stop the process for
 * the moment it takes to let them through; nothing else of it is looked at
 * or touched. A holder that dies lets go.
 *
 * What it costs: nobody else can trace the process meanwhile (strace -p), and it
 * cannot make itself traced (PTRACE_TRACEME). Its children are not concerned.
 *
 *     r = cs_hold_new(loop, pid, &hold);          SIGCHLD must be blocked
 *     … its pidfd is readable: it has ended …
 *     r = cs_hold_release(hold, &raw_status);
 *     cs_hold_free(hold);
 */
#ifndef CS_SYS_HOLD_H
#define CS_SYS_HOLD_H

#include <sys/types.h>

#include "shim/sys/loop.h"

struct cs_hold; /* opaque */

/*
 * pid must not be a child of this process, and cannot vanish under us. Takes
 * part in the loop's signals: SIGCHLD is the hold's. Needs CAP_SYS_PTRACE for
 * this call only; what it does later is PTRACE_CONT, PTRACE_LISTEN and waitid(2). 0; -EPERM: traced
 * by somebody else, or not allowed; -ESRCH: it has ended; -errno.
 */
int cs_hold_new(struct cs_loop *loop, pid_t pid, struct cs_hold **ret);

/* The process has ended: its parent may know. *ret_status is its raw status. 0; -EAGAIN: it has not; -errno. */
int cs_hold_release(struct cs_hold *hold, int *ret_status);

/* Forgets it. One that lives goes on being held until this process ends. The loop must still be there. NULL allowed. */
void cs_hold_free(struct cs_hold *hold);

#endif
