/*
 * What a drain sees of a sink, and what a kind of sink has to bring. For
 * shim/stdio only.
 */
#ifndef CS_STDIO_SINK_INT_H
#define CS_STDIO_SINK_INT_H

#include "shim/stdio/sink.h"

struct cs_sink_ops {
	const char *name;

	/*
	 * Takes at least one of len (> 0) bytes and returns how many; -EAGAIN:
	 * none now, EPOLLOUT of fd tells when; any other -errno: broken.
	 */
	ssize_t (*write)(struct cs_sink *sink, const void *data, size_t len);

	/* The same out of a pipe that holds len bytes or more. NULL: cannot. */
	ssize_t (*splice)(struct cs_sink *sink, int pipe_fd, size_t len);

	bool short_is_full; /* a splice that moved less says that the next would be -EAGAIN */
};

/* Kinds that need more put this first. */
struct cs_sink {
	const struct cs_sink_ops *ops;
	int fd;           /* ours */
	bool copies;      /* splice is not for this file (any more) */
	bool asks;        /* the description may block: poll(2) before every write */
	size_t piece_max; /* bytes of one write */
};

ssize_t cs__sink_write(struct cs_sink *sink, const void *data, size_t len);

/* -EOPNOTSUPP where data must be copied; remembered after the first other failure, which the next write explains. */
ssize_t cs__sink_splice(struct cs_sink *sink, int pipe_fd, size_t len);

static inline bool cs__sink_can_splice(const struct cs_sink *sink)
{
	return sink->ops->splice && !sink->copies;
}

/* splice(2) that never blocks; bytes or -errno. */
ssize_t cs__splice(int pipe_fd, int fd, off_t *offset, size_t len);

/* Gives a descriptor to a new sink of its kind; consumed, also on failure. */
int cs__sink_wrap_consume(int fd, struct cs_sink **ret, struct cs_err *err);

#endif
