/* What the tests of spawn, pidref and reaper share: small children and waits that cannot hang. */
#ifndef CS_TESTS_UNIT_SYS_CHILDREN_H
#define CS_TESTS_UNIT_SYS_CHILDREN_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/sys/spawn.h"
#include "tests/unit/unit.h"

/* An argv from literals. */
#define ARGV(...) ((char *const *)(const char *const[]){ __VA_ARGS__, NULL })

/* A moment that makes a hang a failure and nothing else. */
static inline int64_t patience(void)
{
	return cs_clock_deadline_ns(20 * CS_NSEC_PER_SEC);
}

/* Waits for its end and reaps it: the raw status. */
static inline int finish(struct cs_pidref *child)
{
	int status = -1;

	ck_assert_int_eq(cs_pidref_wait_dead(child, patience()), 0);
	ck_assert_int_eq(cs_pidref_reap(child, &status), 0);
	cs_pidref_release(child);
	return status;
}

/* A fork that ends with `code` at once. */
static inline struct cs_pidref exiting_child(int code)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	int r = cs_spawn_fork(&child);

	if (r == 0)
		_exit(code);
	ck_assert_int_eq(r, 1);
	return child;
}

/* A fork that waits for a signal. */
static inline struct cs_pidref waiting_child(void)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	int r;

	signal(SIGTERM, SIG_DFL); /* libcheck has a handler for it */
	r = cs_spawn_fork(&child);
	while (r == 0)
		pause();
	ck_assert_int_eq(r, 1);
	return child;
}

static inline void assert_no_children(void)
{
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	ck_assert_int_eq(errno, ECHILD);
}

/* Waits until fd is readable or at its end. */
static inline void wait_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	ck_assert_int_eq(poll(&pfd, 1, 20000), 1);
}

#endif
