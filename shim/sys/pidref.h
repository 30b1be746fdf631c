/*
 * A process as pid and pidfd in one value, so that a signal never reaches a
 * stranger who got the number later (pidfd_open(2), pidfd_send_signal(2)).
 *
 * Owns the descriptor; pid is for messages, files and comparison only. The
 * descriptor may be watched: readable once the process is dead.
 */
#ifndef CS_SYS_PIDREF_H
#define CS_SYS_PIDREF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/attr.h"

struct cs_pidref {
	pid_t pid; /* 0 when empty */
	int fd;    /* owned; -1 when empty */
};

#define CS_PIDREF_INIT { .pid = 0, .fd = -1 }

/* Closes the descriptor and empties the value; no-op on an empty one. Neither kills nor reaps. Keeps errno. */
void cs_pidref_release(struct cs_pidref *ref);

/*
 * Of a process that cannot vanish under us (a child, reaped by nobody else; a
 * zombie will do). ret is the caller's. 0, -ESRCH, -EINVAL for pid <= 0 and for
 * a thread that is no leader, -EMFILE.
 */
int cs_pidref_open(pid_t pid, struct cs_pidref *ret);

/* Sends it, 0 only asks. 0; -ESRCH once it is dead and reaped, and for an empty value. A zombie takes signals and 0 is returned. */
int cs_pidref_kill(const struct cs_pidref *ref, int signal);

/*
 * Whether it has executed a file of that name (at most 15 bytes of it count:
 * proc(5), comm) and takes the signal by then: blocks or catches it. Until a
 * process 1 does, the kernel drops the signal (pid_namespaces(7)). False where
 * that cannot be read.
 */
bool cs_pidref_takes(const struct cs_pidref *ref, const char *name, int signal);

/* Dead, reaped or not: the pidfd is readable. Never blocks. False for an empty value. */
bool cs_pidref_is_dead(const struct cs_pidref *ref);

/* Blocks until dead or the deadline (CS_NEVER allowed). 0, -ETIMEDOUT, -ESRCH for an empty value, -errno. Does not reap. */
int cs_pidref_wait_dead(const struct cs_pidref *ref, int64_t deadline_ns);

/*
 * Reaps a child by its pidfd (waitid(2), P_PIDFD): *ret_status is the raw
 * status as waitpid(2) gives it, core dump bit included. Also for orphans that
 * came to us as the subreaper. -EAGAIN while it lives, -ECHILD when it is not
 * ours or reaped already. Never blocks; the value stays until released.
 */
int cs_pidref_reap(const struct cs_pidref *ref, int *ret_status);

/*
 * How a process that is not our child ended (Linux 6.15, PIDFD_GET_INFO with
 * PIDFD_INFO_EXIT): *ret_status is the raw status. Known once its parent has reaped it, which a
 * watched descriptor tells by EPOLLHUP. -EAGAIN before; -EOPNOTSUPP: the
 * kernel cannot say, and never will. Never blocks.
 */
int cs_pidref_status(const struct cs_pidref *ref, int *ret_status);

#endif
