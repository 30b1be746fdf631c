/*
 * A process as pid and pidfd in one value, so that a signal never reaches a
 * stranger who got the number later (pidfd_open(2), pidfd_send_signal(2)).
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

void cs_pidref_release(struct cs_pidref *ref);

/* Of a process that cannot vanish under us (a child, reaped by nobody else; a zombie will do). 0 or -errno. */
int cs_pidref_open(pid_t pid, struct cs_pidref *ret);

/* 0; -ESRCH once it is dead and reaped. A zombie takes signals and 0 is returned. */
int cs_pidref_kill(const struct cs_pidref *ref, int signal);

/* Dead, reaped or not: the pidfd is readable. Never blocks. */
bool cs_pidref_is_dead(const struct cs_pidref *ref);

/* Blocks until dead or the deadline. 0, -ETIMEDOUT, -errno. */
int cs_pidref_wait_dead(const struct cs_pidref *ref, int64_t deadline_ns);

/* Reaps a child by its pidfd: raw status as waitpid(2) gives it. -EAGAIN while it lives, -ECHILD when it is not ours. */
int cs_pidref_reap(const struct cs_pidref *ref, int *ret_status);

#endif
