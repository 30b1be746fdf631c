#include "shim/base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/parse.h"

void cs_free_ptr(void *ptr_to_ptr)
{
	int saved = errno;
	void **p = ptr_to_ptr;

	free(*p);
	*p = NULL;
	errno = saved;
}

void cs_close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

int cs_fd_pipe(int fds[static 2], int flags)
{
	return pipe2(fds, O_CLOEXEC | flags) < 0 ? -errno : 0;
}

int cs_fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int cs_fd_set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}

int cs_fd_dup(int fd, int lowest)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, lowest);

	return copy < 0 ? -errno : copy;
}

int cs_fd_fill_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int opened;

		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* 0, 1 and 2 are the only ones that are not CLOEXEC */
		opened = open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
		if (opened < 0)
			return -errno;
		if (opened != fd) {
			cs_close_fd(&opened);
			return -EBADF;
		}
	}
	return 0;
}

int cs_fd_wait_readable(int fd, int64_t deadline_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		struct timespec ts;
		int n = ppoll(&p, 1, cs_clock_left(deadline_ns, &ts), NULL);

		if (n > 0)
			return 0;
		if (n == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

int cs_fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t cs_fd_read_all(int fd, void *data, size_t len)
{
	char *p = data;
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, p + done, len - done);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* The lowest of the kept that is not below `from`, or -1. */
static int next_kept(const int *keep, size_t n, int from)
{
	int next = -1;

	for (size_t i = 0; i < n; i++)
		if (keep[i] >= from && (next < 0 || keep[i] < next))
			next = keep[i];
	return next;
}

void cs_fd_close_all_but(const int *keep, size_t n)
{
	int from = 0, next;

	while ((next = next_kept(keep, n, from)) >= 0) {
		if (next > from && syscall(SYS_close_range, (unsigned)from, (unsigned)next - 1, 0) < 0)
			for (int fd = from; fd < next; fd++)
				close(fd);
		from = next + 1;
	}
	closefrom(from);
}

static int cloexec_walk(int lowest)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		uint32_t fd;

		if (cs_parse_u32(entry->d_name, &fd) == 0 && fd >= (uint32_t)lowest)
			r = cs_fd_set_cloexec((int)fd, true);
	}
	closedir(dir);
	return r;
}

int cs_fd_cloexec_from(int lowest)
{
	if (syscall(SYS_close_range, (unsigned)lowest, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
		return 0;
	/* Linux < 5.11 has no CLOSE_RANGE_CLOEXEC, < 5.9 no close_range */
	return cloexec_walk(lowest);
}

void cs_fd_close_except(int lowest, const int *keep, size_t n)
{
	int highest = lowest - 1;

	for (size_t i = 0; i < n; i++)
		highest = CS_MAX(highest, keep[i]);
	for (int fd = lowest; fd <= highest; fd++) {
		bool kept = false;

		for (size_t i = 0; i < n; i++)
			kept = kept || keep[i] == fd;
		if (!kept)
			close(fd);
	}
	closefrom(highest + 1);
}
