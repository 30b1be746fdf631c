#include "shim/sys/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "tests/unit/unit.h"

static void open_pair(int *ret_master, int *ret_slave)
{
	ck_assert_int_eq(cs_pty_open(ret_master, ret_slave), 0);
}

static void set_size(int fd, unsigned short rows, unsigned short columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };

	ck_assert_int_eq(ioctl(fd, TIOCSWINSZ, &size), 0);
}

START_TEST(a_pair)
{
	cs_autofd int master = -1, slave = -1, peer = -1;
	char got[16];

	open_pair(&master, &slave);
	ck_assert_int_eq(fcntl(master, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(slave, F_GETFD), FD_CLOEXEC);
	ck_assert(isatty(slave));
	peer = cs_pty_open_peer(master);
	ck_assert_int_ge(peer, 0);
	ck_assert_int_eq(fcntl(peer, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(write(peer, "hi\n", 3), 3);
	ck_assert_int_eq(read(master, got, sizeof(got)), 4); /* ONLCR */
	ck_assert_mem_eq(got, "hi\r\n", 4);
	/* nobody's controlling terminal became this */
	ck_assert_int_lt(tcgetpgrp(slave), 0);
}
END_TEST

START_TEST(what_is_a_master)
{
	cs_autofd int master = -1, slave = -1, null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), path_fd = -1;
	int pipe[2];

	open_pair(&master, &slave);
	ck_assert(cs_pty_is_master(master));
	ck_assert(!cs_pty_is_master(slave));
	ck_assert(!cs_pty_is_master(null_fd));
	ck_assert(!cs_pty_is_master(-1));
	path_fd = open("/dev/ptmx", O_PATH | O_CLOEXEC);
	ck_assert(!cs_pty_is_master(path_fd));
	ck_assert_int_eq(cs_fd_pipe(pipe, 0), 0);
	ck_assert(!cs_pty_is_master(pipe[0]));
	cs_close_fd(&pipe[0]);
	cs_close_fd(&pipe[1]);
	ck_assert_int_eq(cs_pty_open_peer(null_fd), -ENOTTY);
}
END_TEST

START_TEST(sizes)
{
	cs_autofd int outer_master = -1, outer = -1, master = -1, slave = -1;
	struct winsize size;
	unsigned rows, columns;

	open_pair(&outer_master, &outer);
	open_pair(&master, &slave);
	ck_assert(!cs_pty_get_size(slave, &rows, &columns));
	set_size(slave, 24, 80);
	/* nothing set is nothing to copy */
	ck_assert_int_eq(cs_pty_copy_size(outer, master), 0);
	ck_assert(cs_pty_get_size(slave, &rows, &columns));
	ck_assert_uint_eq(rows * 1000 + columns, 24080);
	set_size(outer_master, 50, 132);
	ck_assert_int_eq(cs_pty_copy_size(outer, master), 0);
	ck_assert_int_eq(ioctl(slave, TIOCGWINSZ, &size), 0);
	ck_assert_int_eq(size.ws_row, 50);
	ck_assert_int_eq(size.ws_col, 132);
	ck_assert_int_eq(cs_pty_copy_size(-1, master), -EBADF);
	ck_assert(!cs_pty_get_size(-1, &rows, &columns));
}
END_TEST

START_TEST(raw_mode_and_back)
{
	cs_autofd int master = -1, slave = -1;
	struct cs_pty_mode mode;
	struct termios before, now;

	open_pair(&master, &slave);
	ck_assert_int_eq(tcgetattr(slave, &before), 0);
	ck_assert_int_eq(cs_pty_mode_read(slave, &mode), 0);
	ck_assert_int_eq(tcgetattr(slave, &now), 0);
	ck_assert_int_eq(now.c_lflag, before.c_lflag);
	ck_assert_int_eq(cs_pty_mode_enter(slave, &mode), 0);
	ck_assert_int_eq(tcgetattr(slave, &now), 0);
	ck_assert_int_eq(now.c_lflag & (ICANON | ECHO | ISIG | IEXTEN), 0);
	ck_assert_int_eq(now.c_oflag & OPOST, 0);
	ck_assert_int_eq(now.c_iflag & (ICRNL | IXON), 0);
	ck_assert_int_eq(cs_pty_mode_leave(slave, &mode), 0);
	ck_assert_int_eq(tcgetattr(slave, &now), 0);
	ck_assert_int_eq(now.c_lflag, before.c_lflag);
	ck_assert_int_eq(now.c_oflag, before.c_oflag);
	ck_assert_int_eq(now.c_iflag, before.c_iflag);
}
END_TEST

START_TEST(a_mode_of_somebody_else_stays)
{
	cs_autofd int master = -1, slave = -1;
	struct cs_pty_mode mode;
	struct termios now;

	open_pair(&master, &slave);
	ck_assert_int_eq(cs_pty_mode_read(slave, &mode), 0);
	ck_assert_int_eq(cs_pty_mode_enter(slave, &mode), 0);
	/* a shell that edits its line */
	ck_assert_int_eq(tcgetattr(slave, &now), 0);
	now.c_lflag |= ISIG;
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &now), 0);
	ck_assert_int_eq(cs_pty_mode_leave(slave, &mode), 0);
	ck_assert_int_eq(tcgetattr(slave, &now), 0);
	ck_assert_int_eq(now.c_lflag & (ISIG | ICANON), ISIG);
	ck_assert_int_eq(cs_pty_mode_read(master, &mode), 0); /* of a pair both ends are a terminal */
	cs_close_fd(&slave);
	slave = open("/dev/null", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(cs_pty_mode_read(slave, &mode), -ENOTTY);
	ck_assert_int_eq(cs_pty_make_raw(slave), -ENOTTY);
	ck_assert_int_eq(cs_pty_mode_leave(slave, &mode), -ENOTTY);
}
END_TEST

START_TEST(leaving_does_not_wait_for_a_stopped_terminal)
{
	cs_autofd int master = -1, slave = -1;
	struct cs_pty_mode mode;

	open_pair(&master, &slave);
	ck_assert_int_eq(cs_pty_mode_read(slave, &mode), 0);
	ck_assert_int_eq(cs_pty_mode_enter(slave, &mode), 0);
	ck_assert_int_eq(write(slave, "unread", 6), 6);
	ck_assert_int_eq(tcflow(slave, TCOOFF), 0);
	ck_assert_int_eq(cs_pty_mode_leave(slave, &mode), 0);
}
END_TEST

START_TEST(end_of_input)
{
	cs_autofd int master = -1, slave = -1;
	struct termios now;

	open_pair(&master, &slave);
	ck_assert_int_eq(cs_pty_eof_char(master), 4);
	ck_assert_int_eq(tcgetattr(slave, &now), 0);
	now.c_cc[VEOF] = 26;
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &now), 0);
	ck_assert_int_eq(cs_pty_eof_char(master), 26);
	now.c_cc[VEOF] = _POSIX_VDISABLE;
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &now), 0);
	ck_assert_int_eq(cs_pty_eof_char(master), 0);
	ck_assert_int_eq(cs_pty_eof_char(-1), 0);
}
END_TEST

/* In a child that leads a session: SIGWINCH comes for a size set on the master. */
static int await_winch(int master, int slave)
{
	sigset_t set;
	struct timespec wait = { .tv_sec = 10 };

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || setsid() < 0 || cs_pty_make_controlling(slave) < 0 ||
	    !cs_pty_in_foreground(slave))
		return 1;
	set_size(master, 7, 9);
	return sigtimedwait(&set, NULL, &wait) == SIGWINCH ? 0 : 2;
}

/* … and a process of the same session in another group is in the background. */
static int look_from_background(int slave)
{
	pid_t child;
	int status;

	if (setsid() < 0 || cs_pty_make_controlling(slave) < 0)
		return 1;
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		_exit(cs_pty_in_foreground(slave) ? 2 : 0);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static int in_child(int (*fn)(int master, int slave), int master, int slave)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(fn(master, slave));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int background(int master CS_UNUSED, int slave)
{
	return look_from_background(slave);
}

START_TEST(controlling)
{
	cs_autofd int master = -1, slave = -1;

	open_pair(&master, &slave);
	ck_assert(cs_pty_in_foreground(slave)); /* not ours at all */
	ck_assert_int_eq(in_child(await_winch, master, slave), 0);
	cs_close_fd(&master);
	cs_close_fd(&slave);
	open_pair(&master, &slave);
	ck_assert_int_eq(in_child(background, master, slave), 0);
}
END_TEST

CS_UNIT_SUITE(pty, a_pair, what_is_a_master, sizes, raw_mode_and_back, a_mode_of_somebody_else_stays,
	      leaving_does_not_wait_for_a_stopped_terminal, end_of_input, controlling)
