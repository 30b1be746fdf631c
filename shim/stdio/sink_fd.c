#include "shim/stdio/sink_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/stdio/own.h"

/* Fits behind POLLOUT of a terminal that somebody else opened (tty_poll wants 256 bytes free). */
#define TTY_PIECE_BYTES 128
/* One message of a socket that keeps borders. */
#define MESSAGE_BYTES 4096
/* Linux, admin-guide/devices.txt */
#define DEV_NULL makedev(1, 3)

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) != 0;
}

static ssize_t write_fd(struct cs_sink *sink, const void *data, size_t len)
{
	ssize_t n;

	if (sink->asks && !is_ready(sink->fd))
		return -EAGAIN;
	n = write(sink->fd, data, CS_MIN(len, sink->piece_max));
	return n < 0 ? -errno : n;
}

static ssize_t write_socket(struct cs_sink *sink, const void *data, size_t len)
{
	ssize_t n = send(sink->fd, data, CS_MIN(len, sink->piece_max), MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? -errno : n;
}

static ssize_t splice_fd(struct cs_sink *sink, int pipe_fd, size_t len)
{
	return cs__splice(pipe_fd, sink->fd, NULL, len);
}

/* SPLICE_F_NONBLOCK is about pipes: into a terminal or a socket splice waits as the description says, so they copy. */
static const struct cs_sink_ops pipe_ops = { "pipe", write_fd, splice_fd, true };
static const struct cs_sink_ops file_ops = { "file", write_fd, splice_fd, false };
static const struct cs_sink_ops device_ops = { "device", write_fd, splice_fd, false };
static const struct cs_sink_ops tty_ops = { "terminal", write_fd, NULL, false };
static const struct cs_sink_ops socket_ops = { "socket", write_socket, NULL, false };

/* Replaces sink->fd by a description of our own, or makes the sink careful. */
static void own_description(struct cs_sink *sink, size_t careful_bytes)
{
	int own = cs__own_open(sink->fd, O_WRONLY);

	if (own < 0) {
		sink->asks = true;
		sink->piece_max = careful_bytes;
		return;
	}
	cs_close_fd(&sink->fd);
	sink->fd = own;
}

static void become_character_device(struct cs_sink *sink, dev_t device)
{
	if (!isatty(sink->fd)) {
		/* a device opened anew may start something anew: stay with the description, ask before writing */
		sink->ops = &device_ops;
		sink->asks = true;
		sink->copies = device != DEV_NULL;
		return;
	}
	sink->ops = &tty_ops;
	own_description(sink, TTY_PIECE_BYTES);
}

static void become_socket(struct cs_sink *sink)
{
	int type = SOCK_STREAM;
	socklen_t size = sizeof(type);

	sink->ops = &socket_ops;
	if (getsockopt(sink->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type != SOCK_STREAM)
		sink->piece_max = MESSAGE_BYTES;
}

static int become(struct cs_sink *sink)
{
	struct stat st;
	int flags = fcntl(sink->fd, F_GETFL);

	if (flags < 0 || fstat(sink->fd, &st) < 0)
		return -errno;
	sink->piece_max = SSIZE_MAX;
	switch (st.st_mode & S_IFMT) {
	case S_IFIFO:
		sink->ops = &pipe_ops;
		own_description(sink, PIPE_BUF);
		break;
	case S_IFSOCK:
		become_socket(sink);
		break;
	case S_IFCHR:
		become_character_device(sink, st.st_rdev);
		break;
	case S_IFREG:
	case S_IFBLK:
		sink->ops = &file_ops;
		sink->copies = flags & O_APPEND; /* EINVAL, splice(2) */
		break;
	default:
		sink->ops = &device_ops;
		sink->copies = true;
		sink->asks = true;
	}
	/* poll(2) waits for ever for room on an end that cannot be written; write(2) says EBADF */
	if ((flags & O_ACCMODE) == O_RDONLY)
		sink->asks = false;
	return 0;
}

int cs__sink_wrap_consume(int fd, struct cs_sink **ret, struct cs_err *err)
{
	struct cs_sink *sink = calloc(1, sizeof(*sink));
	int r;

	if (!sink) {
		cs_close_fd(&fd);
		return cs_fail(err, CS_IO, ENOMEM, "make a sink");
	}
	sink->fd = fd;
	r = become(sink);
	if (r < 0) {
		cs_sink_free(sink);
		return cs_fail(err, CS_IO, -r, "look at descriptor %d", fd);
	}
	*ret = sink;
	return 0;
}

int cs_sink_new_fd(int fd, struct cs_sink **ret, struct cs_err *err)
{
	int copy = cs_fd_dup(fd, STDERR_FILENO + 1);

	if (copy < 0)
		return cs_fail(err, CS_IO, -copy, "duplicate descriptor %d", fd);
	return cs__sink_wrap_consume(copy, ret, err);
}
