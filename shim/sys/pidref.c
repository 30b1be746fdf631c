#include "shim/sys/pidref.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"

/* <sys/pidfd.h> and these names came with glibc 2.36; the calls are older. */
static int pidfd_open_raw(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int pidfd_send_signal_raw(int fd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}

/* A line of /proc/PID/status (proc(5)): its value, or NULL. */
static const char *status_line(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : NULL;
}

bool cs_pidref_takes(const struct cs_pidref *ref, const char *name, int signal)
{
	static const char *const sets[] = { "\nSigBlk:\t", "\nSigCgt:\t" };
	cs_auto(buf) text = CS_BUF_INIT(16 * 1024);
	char path[40], first[40];
	uint64_t taken = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)ref->pid);
	snprintf(first, sizeof(first), "Name:\t%.15s\n", name);
	if (ref->fd < 0 || cs_file_read(AT_FDCWD, path, &text) < 0 || text.len == 0 ||
	    strncmp(text.data, first, strlen(first)) != 0)
		return false;
	for (size_t i = 0; i < CS_ARRAY_LEN(sets); i++) {
		const char *value = status_line(text.data, sets[i]);

		taken |= value ? strtoull(value, NULL, 16) : 0;
	}
	/* a number that was given to another meanwhile */
	return (taken & UINT64_C(1) << (signal - 1)) != 0 && !cs_pidref_is_dead(ref);
}

/* struct pidfd_info of <linux/pidfd.h> as of Linux 6.15; larger ones keep this part */
struct pidfd_info_raw {
	uint64_t mask; /* in: what is asked; out: what is there */
	uint64_t cgroupid;
	uint32_t ids[11];
	int32_t exit_code;
	uint32_t coredump_mask, spare;
};
_Static_assert(sizeof(struct pidfd_info_raw) == 72, "the kernel looks at the size");

#define PIDFD_INFO_EXIT_BIT (UINT64_C(1) << 3)
#define PIDFD_GET_INFO_RAW _IOWR(0xff, 11, struct pidfd_info_raw)

void cs_pidref_release(struct cs_pidref *ref)
{
	cs_close_fd(&ref->fd);
	ref->pid = 0;
}

int cs_pidref_open(pid_t pid, struct cs_pidref *ret)
{
	int fd;

	if (pid <= 0)
		return -EINVAL;
	fd = pidfd_open_raw(pid); /* CLOEXEC always */
	if (fd < 0)
		return -errno;
	*ret = (struct cs_pidref){ .pid = pid, .fd = fd };
	return 0;
}

int cs_pidref_kill(const struct cs_pidref *ref, int signal)
{
	if (ref->fd < 0)
		return -ESRCH;
	return pidfd_send_signal_raw(ref->fd, signal) < 0 ? -errno : 0;
}

int cs_pidref_wait_dead(const struct cs_pidref *ref, int64_t deadline_ns)
{
	return ref->fd < 0 ? -ESRCH : cs_fd_wait_readable(ref->fd, deadline_ns);
}

bool cs_pidref_is_dead(const struct cs_pidref *ref)
{
	return cs_pidref_wait_dead(ref, 0) == 0;
}

/* The status word that waitpid(2) would have given, from what waitid(2) gives in parts. */
static int raw_status(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_DUMPED:
		return info->si_status | 0x80;
	default:
		return info->si_status;
	}
}

int cs_pidref_reap(const struct cs_pidref *ref, int *ret_status)
{
	siginfo_t info = { 0 };
	int r;

	if (ref->fd < 0)
		return -ECHILD;
	do
		r = waitid(P_PIDFD, (id_t)ref->fd, &info, WEXITED | WNOHANG);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	if (info.si_pid == 0)
		return -EAGAIN;
	*ret_status = raw_status(&info);
	return 0;
}

int cs_pidref_status(const struct cs_pidref *ref, int *ret_status)
{
	struct pidfd_info_raw info = { .mask = PIDFD_INFO_EXIT_BIT };
	struct pollfd pfd = { .fd = ref->fd, .events = POLLIN };

	if (ref->fd < 0)
		return -ESRCH;
	if (ioctl(ref->fd, PIDFD_GET_INFO_RAW, &info) == 0) {
		if (info.mask & PIDFD_INFO_EXIT_BIT) {
			*ret_status = info.exit_code;
			return 0;
		}
		/* reaped, and still nothing: Linux 6.13 and 6.14, which have the call only */
		if (poll(&pfd, 1, 0) > 0 && pfd.revents & POLLHUP)
			return -EOPNOTSUPP;
		return -EAGAIN;
	}
	/* ESRCH: 6.13 and 6.14 of a process that is reaped; else the call is unknown */
	return -EOPNOTSUPP;
}
