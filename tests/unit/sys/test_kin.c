#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/sys/kin.h"
#include "tests/unit/unit.h"

/* A chain of three; the write end of the pipe is open as long as one of them lives. */
static pid_t make_family(int write_fd)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 2; i++)
			if (fork() > 0)
				break;
		if (write(write_fd, "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	return pid;
}

START_TEST(descendants_are_killed_too)
{
	struct cs_pidref root = CS_PIDREF_INIT;
	int fds[2], status;
	char bytes[8];
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = make_family(fds[1]);
	ck_assert_int_gt(pid, 0);
	close(fds[1]);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(read(fds[0], bytes, 1), 1);
	ck_assert_int_eq(cs_pidref_open(pid, &root), 0);
	/* without CONFIG_PROC_CHILDREN nobody but the root is found, and the two others stay */
	if (access("/proc/thread-self/children", R_OK) == 0) {
		ck_assert_uint_eq(cs_kin_kill(&root), 3);
		ck_assert_int_eq(read(fds[0], bytes, 1), 0); /* nobody holds it any more */
	} else {
		ck_assert_uint_eq(cs_kin_kill(&root), 1);
	}
	ck_assert_int_eq(cs_pidref_wait_dead(&root, cs_clock_deadline_ns(5 * CS_NSEC_PER_SEC)), 0);
	ck_assert_int_eq(cs_pidref_reap(&root, &status), 0);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cs_pidref_release(&root);
	close(fds[0]);
}
END_TEST

CS_UNIT_SUITE(kin, descendants_are_killed_too)
