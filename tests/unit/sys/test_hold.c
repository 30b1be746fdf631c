#include "shim/sys/hold.h"

#include <signal.h>

#include "shim/base/fd.h"
#include "tests/unit/sys/children.h"

/*
 * A holder in a process of its own, beside the one that is held: it says "h"
 * when it holds and turns its loop until the other has ended; then it waits for a word, and releases.
 */
static int holder(pid_t pid, int say, int hear)
{
	struct cs_loop *loop = cs_loop_new();
	struct cs_pidref process = CS_PIDREF_INIT;
	struct cs_hold *hold = NULL;
	sigset_t all;
	int status = -1;
	char word;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (!loop || cs_pidref_open(pid, &process) < 0)
		return 1;
	if (cs_hold_new(loop, pid, &hold) < 0)
		return 2;
	if (write(say, "h", 1) != 1)
		return 3;
	while (!cs_pidref_is_dead(&process))
		cs_loop_turn(loop, cs_clock_deadline_ns(CS_NSEC_PER_MSEC));
	if (write(say, "d", 1) != 1 || read(hear, &word, 1) != 1)
		return 4;
	if (cs_hold_release(hold, &status) != 0)
		return 5;
	cs_hold_free(hold);
	return status == (9 << 8) || status == SIGKILL ? 0 : 6;
}

struct stage {
	struct cs_pidref held, holder;
	int said[2], told[2];
};

static void hear(struct stage *s, char word)
{
	char said;

	ck_assert_int_eq((int)read(s->said[0], &said, 1), 1);
	ck_assert_int_eq(said, word);
}

/* held must not end by itself before it is told to. */
static void begin(struct stage *s)
{
	int r;

	ck_assert_int_eq(cs_fd_pipe(s->said, 0), 0);
	ck_assert_int_eq(cs_fd_pipe(s->told, 0), 0);
	r = cs_spawn_fork(&s->holder);
	if (r == 0)
		_exit(holder(s->held.pid, s->said[1], s->told[0]));
	ck_assert_int_eq(r, 1);
	hear(s, 'h');
}

static void release(struct stage *s)
{
	ck_assert_int_eq((int)write(s->told[1], "x", 1), 1);
	ck_assert_int_eq(finish(&s->holder), 0);
	for (int i = 0; i < 2; i++) {
		close(s->said[i]);
		close(s->told[i]);
	}
}

static void on_usr1(int signal CS_UNUSED)
{
	_exit(9);
}

/* Ends with 9 at SIGUSR1. */
static struct cs_pidref program(void)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	sigset_t usr1, before;
	int r;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &before);
	r = cs_spawn_fork(&child);
	if (r == 0) {
		signal(SIGUSR1, on_usr1);
		sigprocmask(SIG_UNBLOCK, &usr1, NULL);
		for (;;)
			pause();
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	ck_assert_int_eq(r, 1);
	return child;
}

START_TEST(parent_hears_of_the_end_when_it_is_released)
{
	struct stage s = { .held = program() };
	int status;

	begin(&s);
	ck_assert_int_eq(cs_pidref_kill(&s.held, SIGUSR1), 0);
	hear(&s, 'd');
	ck_assert_int_eq(waitpid(s.held.pid, &status, WNOHANG), 0);
	release(&s);
	ck_assert_int_eq(finish(&s.held), 9 << 8);
}
END_TEST

START_TEST(sigkill_is_held_too)
{
	struct stage s = { .held = program() };
	int status;

	begin(&s);
	ck_assert_int_eq(cs_pidref_kill(&s.held, SIGKILL), 0);
	hear(&s, 'd');
	ck_assert_int_eq(waitpid(s.held.pid, &status, WNOHANG), 0);
	release(&s);
	ck_assert_int_eq(finish(&s.held), SIGKILL);
}
END_TEST

START_TEST(stops_and_goes_on_as_ever)
{
	struct stage s = { .held = program() };
	int status;

	begin(&s);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(cs_pidref_kill(&s.held, i == 1 ? SIGTSTP : SIGSTOP), 0);
		ck_assert_int_eq(waitpid(s.held.pid, &status, WUNTRACED), s.held.pid);
		ck_assert(WIFSTOPPED(status));
		ck_assert_int_eq(cs_pidref_kill(&s.held, SIGCONT), 0);
		ck_assert_int_eq(waitpid(s.held.pid, &status, WCONTINUED), s.held.pid);
		ck_assert(WIFCONTINUED(status));
	}
	ck_assert_int_eq(cs_pidref_kill(&s.held, SIGUSR1), 0);
	hear(&s, 'd');
	release(&s);
	ck_assert_int_eq(finish(&s.held), 9 << 8);
}
END_TEST

START_TEST(a_holder_that_dies_lets_go)
{
	struct stage s = { .held = program() };

	begin(&s);
	ck_assert_int_eq(cs_pidref_kill(&s.held, SIGUSR1), 0);
	hear(&s, 'd');
	ck_assert_int_eq(cs_pidref_kill(&s.holder, SIGKILL), 0);
	ck_assert_int_eq(finish(&s.holder), SIGKILL);
	ck_assert_int_eq(finish(&s.held), 9 << 8);
	for (int i = 0; i < 2; i++) {
		close(s.said[i]);
		close(s.told[i]);
	}
}
END_TEST

START_TEST(nobody_is_held_twice)
{
	struct stage s = { .held = program() };
	struct cs_loop *loop = cs_loop_new();
	struct cs_hold *hold;

	begin(&s);
	ck_assert_int_eq(cs_hold_new(loop, s.held.pid, &hold), -EPERM);
	cs_loop_free(loop);
	ck_assert_int_eq(cs_pidref_kill(&s.held, SIGKILL), 0);
	hear(&s, 'd');
	release(&s);
	ck_assert_int_eq(finish(&s.held), SIGKILL);
}
END_TEST

CS_UNIT_SUITE(hold, parent_hears_of_the_end_when_it_is_released, sigkill_is_held_too, stops_and_goes_on_as_ever,
	      a_holder_that_dies_lets_go, nobody_is_held_twice)
