/*
 * Signals as events: blocked first thing in main, read from a signalfd; the
 * mask found at start is what children get back (signalfd(2)).
 */
#ifndef CS_SYS_SIGNALS_H
#define CS_SYS_SIGNALS_H

#include <signal.h>

#include "shim/sys/loop.h"

struct cs_signals;

/*
 * Blocks everything but the faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
 * SIGABRT, SIGSYS), ignores SIGPIPE in place of blocking it, and puts SIGCHLD
 * back to its default: one that our parent had ignored would make the kernel
 * reap our children unseen. *ret_old is the mask before. 0 or -errno.
 */
int cs_signals_block(sigset_t *ret_old);

/*
 * Calls fn from the loop (CS_PRIO_SIGNAL) for each signal of the set that
 * arrives; the set must be blocked. sender is its pid, 0 for the kernel. fn
 * may free the signals. What we were started with as ignored is left out
 * (cs_signals_open). loop and arg are borrowed. The caller's; NULL with errno.
 */
typedef void cs_signals_fn(struct cs_loop *loop, int signal, pid_t sender, void *arg);
struct cs_signals *cs_signals_new(struct cs_loop *loop, const sigset_t *set, cs_signals_fn *fn,
				  void *arg);

/*
 * A signalfd(2) of the set, CLOEXEC and non-blocking, the caller's, or -errno.
 * Signals that are ignored are left out: whoever started us has said so, as
 * nohup(1) does of SIGHUP and a shell of SIGINT and SIGQUIT for what it runs in the
 * background; blocked as they are, they would be queued all the same.
 */
int cs_signals_open(const sigset_t *set);

/* NULL allowed. What has arrived unseen stays pending. */
void cs_signals_free(struct cs_signals *signals);

#endif
