#include "shim/sys/ptykeep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "tests/unit/unit.h"

static tcflag_t local_flags(int fd)
{
	struct termios now;

	ck_assert_int_eq(tcgetattr(fd, &now), 0);
	return now.c_lflag;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = CS_NSEC_PER_MSEC }, NULL);
}

START_TEST(enter_and_leave)
{
	cs_autofd int master = -1, slave = -1;
	struct cs_ptykeep keep = CS_PTYKEEP_INIT;
	tcflag_t before;

	cs_ptykeep_leave(&keep);
	cs_ptykeep_enter_again(&keep);
	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	before = local_flags(slave);
	ck_assert_int_eq(cs_ptykeep_enter(slave, &keep), 0);
	ck_assert_int_eq(local_flags(slave) & (ICANON | ECHO), 0);
	cs_ptykeep_leave(&keep);
	ck_assert_int_eq(local_flags(slave), before);
	ck_assert_int_eq(keep.fd, -1);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(what_is_no_terminal)
{
	cs_autofd int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct cs_ptykeep keep = CS_PTYKEEP_INIT;

	ck_assert_int_eq(cs_ptykeep_enter(null_fd, &keep), -ENOTTY);
	ck_assert_int_eq(keep.fd, -1);
}
END_TEST

START_TEST(again_after_a_shell_was_there)
{
	cs_autofd int master = -1, slave = -1;
	struct cs_ptykeep keep = CS_PTYKEEP_INIT;
	struct termios shells;

	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	ck_assert_int_eq(tcgetattr(slave, &shells), 0);
	ck_assert_int_eq(cs_ptykeep_enter(slave, &keep), 0);
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &shells), 0);
	cs_ptykeep_enter_again(&keep);
	ck_assert_int_eq(local_flags(slave) & ICANON, 0);
	cs_ptykeep_leave(&keep);
	ck_assert_int_eq(local_flags(slave), shells.c_lflag);
}
END_TEST

START_TEST(killed_in_raw_mode)
{
	cs_autofd int master = -1, slave = -1, dead_end = -1;
	tcflag_t before;
	int ready[2], status;
	char byte;
	pid_t child;

	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	before = local_flags(slave);
	ck_assert_int_eq(cs_fd_pipe(ready, 0), 0);
	child = fork();
	if (child == 0) {
		struct cs_ptykeep keep = CS_PTYKEEP_INIT;

		close(ready[0]);
		if (cs_ptykeep_enter(slave, &keep) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	cs_close_fd(&ready[1]);
	dead_end = ready[0];
	ck_assert_int_eq(read(dead_end, &byte, 1), 1);
	ck_assert_int_eq(local_flags(slave) & ICANON, 0);
	/* nothing of the supervisor's is open in the keeper: its end of the pipe goes with it */
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(read(dead_end, &byte, 1), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	/* tcase timeout bounds it */
	while (local_flags(slave) != before)
		nap();
}
END_TEST

CS_UNIT_SUITE(ptykeep, enter_and_leave, what_is_no_terminal, again_after_a_shell_was_there, killed_in_raw_mode)
