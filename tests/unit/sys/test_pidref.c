#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shim/sys/pidref.h"
#include "tests/unit/sys/children.h"

START_TEST(status_is_what_waitpid_would_say)
{
	static const int codes[] = { 0, 1, 127, 255 };
	static const int signals[] = { SIGKILL, SIGTERM, SIGUSR1 };

	for (size_t i = 0; i < CS_ARRAY_LEN(codes); i++) {
		struct cs_pidref child = exiting_child(codes[i]);

		ck_assert_int_eq(finish(&child), codes[i] << 8);
	}
	for (size_t i = 0; i < CS_ARRAY_LEN(signals); i++) {
		struct cs_pidref child = waiting_child();

		ck_assert_int_eq(cs_pidref_kill(&child, signals[i]), 0);
		ck_assert_int_eq(finish(&child), signals[i]);
	}
	assert_no_children();
}
END_TEST

START_TEST(zombie_can_be_opened_and_takes_signals)
{
	struct cs_pidref child = exiting_child(3), again = CS_PIDREF_INIT;
	int status;

	ck_assert_int_eq(cs_pidref_wait_dead(&child, patience()), 0);
	ck_assert_int_eq(cs_pidref_open(child.pid, &again), 0);
	ck_assert(cs_pidref_is_dead(&again));
	ck_assert_int_eq(cs_pidref_kill(&again, SIGKILL), 0);
	ck_assert_int_eq(cs_pidref_reap(&again, &status), 0);
	ck_assert_int_eq(status, 3 << 8);

	ck_assert_int_eq(cs_pidref_kill(&child, SIGKILL), -ESRCH);
	ck_assert_int_eq(cs_pidref_reap(&child, &status), -ECHILD);
	ck_assert(cs_pidref_is_dead(&child));
	cs_pidref_release(&again);
	cs_pidref_release(&child);
}
END_TEST

START_TEST(living_child_is_neither_dead_nor_reaped)
{
	struct cs_pidref child = waiting_child();
	int64_t deadline = cs_clock_deadline_ns(2 * CS_NSEC_PER_MSEC);
	int status = 77;

	ck_assert(!cs_pidref_is_dead(&child));
	ck_assert_int_eq(cs_pidref_reap(&child, &status), -EAGAIN);
	ck_assert_int_eq(cs_pidref_wait_dead(&child, deadline), -ETIMEDOUT);
	ck_assert_int_ge(cs_clock_now_ns(), deadline);
	ck_assert_int_eq(cs_pidref_kill(&child, 0), 0);
	/* stopped is not dead */
	ck_assert_int_eq(cs_pidref_kill(&child, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(child.pid, NULL, WUNTRACED), child.pid);
	ck_assert_int_eq(cs_pidref_reap(&child, &status), -EAGAIN);
	ck_assert_int_eq(status, 77);
	ck_assert_int_eq(cs_pidref_kill(&child, SIGKILL), 0);
	ck_assert_int_eq(finish(&child), SIGKILL);
}
END_TEST

START_TEST(status_without_being_the_parent)
{
	static const int raw[] = { 0, 7 << 8, SIGKILL };

	for (size_t i = 0; i < CS_ARRAY_LEN(raw); i++) {
		struct cs_pidref child = raw[i] == SIGKILL ? waiting_child() : exiting_child(raw[i] >> 8);
		int status = -1, r;

		/* not yet, or never: kernels before 6.15 */
		r = cs_pidref_status(&child, &status);
		ck_assert(r == -EAGAIN || r == -EOPNOTSUPP);
		if (raw[i] == SIGKILL)
			ck_assert_int_eq(cs_pidref_kill(&child, SIGKILL), 0);
		ck_assert_int_eq(cs_pidref_wait_dead(&child, patience()), 0);
		ck_assert_int_eq(cs_pidref_status(&child, &status), r);
		ck_assert_int_eq(waitpid(child.pid, NULL, 0), child.pid);
		if (r == -EAGAIN) {
			ck_assert_int_eq(cs_pidref_status(&child, &status), 0);
			ck_assert_int_eq(status, raw[i]);
		}
		cs_pidref_release(&child);
	}
}
END_TEST

START_TEST(empty_value_names_nobody)
{
	struct cs_pidref none = CS_PIDREF_INIT;
	int status;

	ck_assert_int_eq(cs_pidref_kill(&none, SIGKILL), -ESRCH);
	ck_assert_int_eq(cs_pidref_reap(&none, &status), -ECHILD);
	ck_assert_int_eq(cs_pidref_status(&none, &status), -ESRCH);
	ck_assert_int_eq(cs_pidref_wait_dead(&none, CS_NEVER), -ESRCH);
	ck_assert(!cs_pidref_is_dead(&none));
	cs_pidref_release(&none);
	ck_assert_int_eq(cs_pidref_open(0, &none), -EINVAL);
	ck_assert_int_eq(cs_pidref_open(-1, &none), -EINVAL);
	ck_assert_int_eq(none.fd, -1);
}
END_TEST

START_TEST(descriptor_is_cloexec_and_released)
{
	struct cs_pidref child = exiting_child(0), copy;

	ck_assert_int_eq(fcntl(child.fd, F_GETFD), FD_CLOEXEC);
	copy = child;
	finish(&child);
	ck_assert_int_eq(child.fd, -1);
	ck_assert_int_eq(child.pid, 0);
	ck_assert_int_eq(fcntl(copy.fd, F_GETFD), -1);
}
END_TEST

/* A process that has that name and blocks SIGTERM, catches SIGUSR1. */
static void on_usr1(int signal CS_UNUSED)
{
}

START_TEST(what_a_process_takes)
{
	struct cs_pidref child;
	sigset_t term;
	int up[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(up, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		signal(SIGUSR1, on_usr1);
		prctl(PR_SET_NAME, "a-name-of-15-ch");
		if (write(up[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(cs_pidref_open(pid, &child), 0);
	ck_assert_int_eq(read(up[0], &byte, 1), 1);
	ck_assert(cs_pidref_takes(&child, "a-name-of-15-ch", SIGTERM));
	ck_assert(cs_pidref_takes(&child, "a-name-of-15-characters-or-more", SIGUSR1));
	ck_assert(!cs_pidref_takes(&child, "a-name-of-15-ch", SIGUSR2));
	ck_assert(!cs_pidref_takes(&child, "a-name", SIGTERM));
	ck_assert_int_eq(cs_pidref_kill(&child, SIGKILL), 0);
	ck_assert_int_eq(finish(&child), SIGKILL);
	ck_assert(!cs_pidref_takes(&child, "a-name-of-15-ch", SIGTERM));
	close(up[0]);
	close(up[1]);
}
END_TEST

CS_UNIT_SUITE(pidref, what_a_process_takes, status_is_what_waitpid_would_say, zombie_can_be_opened_and_takes_signals,
	      living_child_is_neither_dead_nor_reaped, status_without_being_the_parent, empty_value_names_nobody,
	      descriptor_is_cloexec_and_released)
