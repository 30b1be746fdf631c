#include "shim/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"

/* How long a pipe that somebody gave for a file may say nothing. */
#define GIVEN_PATIENCE_MS 10000

int cs_file_read_fd(int fd, struct cs_buf *buf)
{
	char chunk[4096];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		r = cs_buf_add(buf, chunk, (size_t)n);
		if (r < 0)
			return r == -ENOSPC ? -EFBIG : r;
	}
}

int cs_file_read(int dirfd, const char *path, struct cs_buf *buf)
{
	/* O_NONBLOCK: a FIFO in the place of the file must not hold us */
	cs_autofd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : cs_file_read_fd(fd, buf);
}

int cs_file_read_given(const char *path, struct cs_buf *buf)
{
	cs_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int r = cs_file_read_fd(fd, buf);

		if (r != -EAGAIN)
			return r;
		r = poll(&p, 1, GIVEN_PATIENCE_MS);
		if (r == 0)
			return -ETIMEDOUT;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

int cs_file_put(int dirfd, const char *path, const char *text)
{
	cs_autofd int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* An O_EXCL file beside path; its name is written to `name`. */
static int open_beside(int dirfd, const char *path, mode_t mode, char *name, size_t size)
{
	for (unsigned i = 0; i < 100; i++) {
		int fd;

		if (snprintf(name, size, "%s.%d.%u", path, (int)getpid(), i) >= (int)size)
			return -ENAMETOOLONG;
		fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    mode);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

int cs_file_write_atomic(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
			 bool durable)
{
	char name[4096];
	cs_autofd int fd = open_beside(dirfd, path, mode, name, sizeof(name));
	int r;

	if (fd < 0)
		return fd;
	r = cs_fd_write_all(fd, data, len);
	if (r == 0 && durable && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dirfd, name, dirfd, path) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dirfd, name, 0);
	return r;
}

/* mkdir says EEXIST of anything that has the name. */
static int check_directory(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int cs_file_mkdirs(const char *path, mode_t mode)
{
	char part[4096];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return -errno;
		part[i] = path[i];
	}
	return check_directory(path);
}
