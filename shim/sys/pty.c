#include "shim/sys/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/base/fd.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* /dev/ptmx and the ptmx of every devpts (Linux, admin-guide/devices.txt) */
#define DEV_PTMX makedev(5, 2)

int cs_pty_open_peer(int master_fd)
{
	int fd = ioctl(master_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int cs_pty_open(int *ret_master_fd, int *ret_slave_fd)
{
	cs_autofd int master_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int unlocked = 0, slave_fd;

	if (master_fd < 0 || ioctl(master_fd, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	slave_fd = cs_pty_open_peer(master_fd);
	if (slave_fd < 0)
		return slave_fd;
	*ret_master_fd = cs_take_fd(&master_fd);
	*ret_slave_fd = slave_fd;
	return 0;
}

bool cs_pty_is_master(int fd)
{
	struct stat st;
	unsigned number;
	int flags = fcntl(fd, F_GETFL);

	/* the device too: the number of the ioctl may mean something else to another driver */
	return flags >= 0 && (flags & O_ACCMODE) == O_RDWR && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == DEV_PTMX && ioctl(fd, TIOCGPTN, &number) == 0;
}

int cs_pty_make_controlling(int slave_fd)
{
	return ioctl(slave_fd, TIOCSCTTY, 0) < 0 ? -errno : 0;
}

void cs_pty_drop_controlling(int slave_fd)
{
	/* SIGHUP comes to the foreground, which is us at most */
	ioctl(slave_fd, TIOCNOTTY);
}

/* --- size -------------------------------------------------------------------- */

static int get_size(int fd, struct winsize *ret)
{
	return ioctl(fd, TIOCGWINSZ, ret) < 0 ? -errno : 0;
}

static bool is_size(const struct winsize *size)
{
	return size->ws_row != 0 || size->ws_col != 0;
}

bool cs_pty_get_size(int fd, unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size;

	if (get_size(fd, &size) < 0 || !is_size(&size))
		return false;
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
	return true;
}

int cs_pty_copy_size(int from_fd, int to_fd)
{
	struct winsize size;
	int r = get_size(from_fd, &size);

	if (r < 0 || !is_size(&size))
		return r;
	return ioctl(to_fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

/* --- modes ------------------------------------------------------------------- */

int cs_pty_make_raw(int fd)
{
	struct cs_pty_mode mode;
	int r = cs_pty_mode_read(fd, &mode);

	return r < 0 ? r : cs_pty_mode_enter(fd, &mode);
}

char cs_pty_eof_char(int master_fd)
{
	struct termios now;

	/* on a master this is about the other end (pty(7)); 0 is _POSIX_VDISABLE */
	return tcgetattr(master_fd, &now) < 0 ? '\0' : (char)now.c_cc[VEOF];
}

int cs_pty_mode_read(int fd, struct cs_pty_mode *ret)
{
	/* compared and sent as bytes */
	memset(ret, 0, sizeof(*ret));
	if (tcgetattr(fd, &ret->saved) < 0)
		return -errno;
	ret->raw = ret->saved;
	cfmakeraw(&ret->raw);
	return 0;
}

int cs_pty_mode_enter(int fd, const struct cs_pty_mode *mode)
{
	return tcsetattr(fd, TCSANOW, &mode->raw) < 0 ? -errno : 0;
}

int cs_pty_mode_leave(int fd, const struct cs_pty_mode *mode)
{
	struct termios now;

	if (tcgetattr(fd, &now) < 0)
		return -errno;
	if (now.c_iflag != mode->raw.c_iflag || now.c_oflag != mode->raw.c_oflag ||
	    now.c_lflag != mode->raw.c_lflag)
		return 0;
	return tcsetattr(fd, TCSANOW, &mode->saved) < 0 ? -errno : 0;
}

bool cs_pty_in_foreground(int fd)
{
	pid_t group = tcgetpgrp(fd);

	/* ENOTTY: not our controlling terminal, so job control (tty_check_change in the kernel) is not about us */
	return group < 0 || group == getpgrp();
}
