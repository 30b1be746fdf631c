/*
 * What a session's supervisor answers to `caisson exec` (rows of job_ctl.c,
 * which see for what a handler is).
 *
 *     exec-begin {timeoutNs?, escape} → name, places, engine …: all that the client needs; from here on
 *                                 the connection is the exec's leash
 *     exec-started {inside}     where the engine has a kernel of its own: the first process's number there
 *     exec-kill {signal}        → status, stragglers: likewise
 *     exec-end {}               its caisson has ended and removed everything
 */
#ifndef CS_TASK_EXEC_SESSION_H
#define CS_TASK_EXEC_SESSION_H

#include "shim/task/ctl.h"

struct job;

cs_ctl_fn cs__exec_begin, cs__exec_started, cs__exec_kill, cs__exec_end;

/* SIGKILL to the caissons of all live execs: what holds a session's end up for longer than it should. */
void cs__exec_end_callers(struct job *job);

#endif
