#include "shim/sys/pidref.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"

/* <sys/pidfd.h> and these names came with glibc 2.36; the calls are older. */
static int pidfd_open_raw(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int pidfd_send_signal_raw(int fd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}

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
	struct pollfd pfd = { .fd = ref->fd, .events = POLLIN };

	if (ref->fd < 0)
		return -ESRCH;
	for (;;) {
		int64_t left_ns = cs_clock_left_ns(deadline_ns);
		struct timespec ts = {
			.tv_sec = left_ns / CS_NSEC_PER_SEC,
			.tv_nsec = left_ns % CS_NSEC_PER_SEC,
		};
		int n = ppoll(&pfd, 1, left_ns == CS_NEVER ? NULL : &ts, NULL);

		if (n > 0)
			return 0;
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
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
