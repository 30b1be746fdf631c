/*
 * Signals as events: blocked first thing in main, read from a signalfd; the
 * mask found at start is what children get back (signalfd(2)).
 */
#ifndef CS_SYS_SIGNALS_H
#define CS_SYS_SIGNALS_H

#include <signal.h>

#include "shim/sys/loop.h"

struct cs_signals;

/* Blocks everything but the faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS) and ignores SIGPIPE; *ret_old is the mask before. 0 or -errno. */
int cs_signals_block(sigset_t *ret_old);

/* Calls fn from the loop for each signal of the set that arrives (the set must be blocked). NULL with errno. */
typedef void cs_signals_fn(struct cs_loop *loop, int signal, pid_t sender, void *arg);
struct cs_signals *cs_signals_new(struct cs_loop *loop, const sigset_t *set, cs_signals_fn *fn,
				  void *arg);
void cs_signals_free(struct cs_signals *signals); /* NULL allowed */

#endif
