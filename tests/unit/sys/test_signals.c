#include "shim/sys/signals.h"

#include "shim/base/fd.h"
#include "tests/unit/sys/children.h"

struct seen {
	int signals[8];
	pid_t senders[8];
	size_t n;
	struct cs_signals *free_me;
};

static void note(struct cs_loop *loop CS_UNUSED, int signal, pid_t sender, void *arg)
{
	struct seen *seen = arg;

	ck_assert_uint_lt(seen->n, CS_ARRAY_LEN(seen->signals));
	seen->signals[seen->n] = signal;
	seen->senders[seen->n++] = sender;
	cs_signals_free(seen->free_me);
}

START_TEST(arrive_as_events_one_by_one)
{
	struct cs_loop *loop = cs_loop_new();
	struct cs_signals *signals;
	struct seen seen = { 0 };
	sigset_t old, set;

	ck_assert_int_eq(cs_signals_block(&old), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signals = cs_signals_new(loop, &set, note, &seen);
	ck_assert_ptr_nonnull(signals);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGINT);
	kill(getpid(), SIGUSR1); /* not of the set: pending, no event */
	while (seen.n < 2)
		ck_assert_int_gt(cs_loop_turn(loop, patience()), 0);
	ck_assert_int_eq(cs_loop_turn(loop, 0), 0);
	ck_assert_int_eq(seen.signals[0] + seen.signals[1], SIGTERM + SIGINT);
	ck_assert_int_eq(seen.senders[0], getpid());
	cs_signals_free(signals);
	cs_loop_free(loop);
}
END_TEST

START_TEST(callback_may_free)
{
	struct cs_loop *loop = cs_loop_new();
	struct seen seen = { 0 };
	sigset_t old, set;

	ck_assert_int_eq(cs_signals_block(&old), 0);
	sigfillset(&set);
	seen.free_me = cs_signals_new(loop, &set, note, &seen);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR2);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_int_eq(cs_loop_turn(loop, 0), 0);
	ck_assert_uint_eq(seen.n, 1);
	cs_loop_free(loop);
}
END_TEST

START_TEST(what_was_ignored_at_the_start_stays_ignored)
{
	struct cs_loop *loop = cs_loop_new();
	struct cs_signals *signals;
	struct seen seen = { 0 };
	sigset_t old, set;

	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	ck_assert_int_eq(cs_signals_block(&old), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	signals = cs_signals_new(loop, &set, note, &seen);
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGINT);
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_int_eq(seen.signals[0], SIGTERM);
	ck_assert_int_eq(cs_loop_turn(loop, 0), 0);
	cs_signals_free(signals);
	cs_loop_free(loop);
}
END_TEST

START_TEST(block_leaves_faults_and_gives_the_old_mask)
{
	sigset_t before, old, now;
	int fds[2];

	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGCHLD, SIG_IGN);
	ck_assert_int_eq(cs_signals_block(&old), 0);
	ck_assert_int_eq(sigismember(&old, SIGUSR2), 1);
	ck_assert_int_eq(sigismember(&old, SIGTERM), 0);
	sigprocmask(SIG_SETMASK, NULL, &now);
	ck_assert_int_eq(sigismember(&now, SIGTERM), 1);
	ck_assert_int_eq(sigismember(&now, SIGCHLD), 1);
	ck_assert_int_eq(sigismember(&now, SIGSEGV), 0);
	ck_assert_int_eq(sigismember(&now, SIGABRT), 0);

	/* a pipe without a reader is an errno */
	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	close(fds[0]);
	ck_assert_int_eq(cs_fd_write_all(fds[1], "x", 1), -EPIPE);
	close(fds[1]);
	sigpending(&now);
	ck_assert_int_eq(sigismember(&now, SIGPIPE), 0);

	/* and children wait for us, though SIGCHLD was ignored */
	struct cs_pidref child = exiting_child(5);
	ck_assert_int_eq(finish(&child), 5 << 8);
}
END_TEST

CS_UNIT_SUITE(signals, arrive_as_events_one_by_one, callback_may_free,
	      what_was_ignored_at_the_start_stays_ignored, block_leaves_faults_and_gives_the_old_mask)
