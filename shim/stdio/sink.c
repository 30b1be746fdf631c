#include "shim/stdio/sink_int.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shim/base/fd.h"

ssize_t cs__sink_write(struct cs_sink *sink, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = sink->ops->write(sink, data, len);
	} while (n == -EINTR);
	if (n == -EWOULDBLOCK)
		return -EAGAIN;
	/* a device that takes nothing and says nothing would be asked for ever */
	return n == 0 ? -EIO : n;
}

ssize_t cs__sink_splice(struct cs_sink *sink, int pipe_fd, size_t len)
{
	ssize_t n;

	if (!cs__sink_can_splice(sink))
		return -EOPNOTSUPP;
	n = sink->ops->splice(sink, pipe_fd, len);
	if (n >= 0 || n == -EAGAIN)
		return n;
	/*
	 * EINVAL: this file cannot. Anything else may be the source's fault as
	 * well as the sink's; a write tells which, so go on with copies.
	 */
	sink->copies = true;
	return -EOPNOTSUPP;
}

ssize_t cs__splice(int pipe_fd, int fd, off_t *offset, size_t len)
{
	ssize_t n;

	do {
		n = splice(pipe_fd, NULL, fd, offset, len, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void cs_sink_free(struct cs_sink *sink)
{
	if (!sink)
		return;
	cs_close_fd(&sink->fd);
	free(sink);
}
