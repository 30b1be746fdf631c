#include "shim/stdio/sink_int.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The memfd holds the head at 0 and behind it a ring for the tail. What fits
 * into neither is read and forgotten.
 */
struct capture {
	struct cs_sink sink; /* first */
	uint64_t head_max, tail_max;
	uint64_t came; /* bytes since the start */
};

static struct capture *capture_of(struct cs_sink *sink)
{
	return (struct capture *)sink;
}

/* Where the next byte goes, and how many may follow it there; 0: nowhere. */
static uint64_t room(const struct capture *c, off_t *ret_at)
{
	uint64_t in_ring;

	if (c->came < c->head_max) {
		*ret_at = (off_t)c->came;
		return c->head_max - c->came;
	}
	if (c->tail_max == 0)
		return 0;
	in_ring = (c->came - c->head_max) % c->tail_max;
	*ret_at = (off_t)(c->head_max + in_ring);
	return c->tail_max - in_ring;
}

static ssize_t capture_write(struct cs_sink *sink, const void *data, size_t len)
{
	struct capture *c = capture_of(sink);
	off_t at;
	uint64_t fits = room(c, &at);
	ssize_t n = (ssize_t)len;

	if (fits > 0) {
		n = pwrite(sink->fd, data, CS_MIN(len, fits), at);
		if (n < 0)
			return -errno;
	}
	c->came += (uint64_t)n;
	return n;
}

static ssize_t capture_splice(struct cs_sink *sink, int pipe_fd, size_t len)
{
	struct capture *c = capture_of(sink);
	off_t at;
	uint64_t fits = room(c, &at);
	ssize_t n;

	if (fits == 0)
		return -EOPNOTSUPP; /* from here on bytes are read into the drain's buffer and forgotten */
	n = cs__splice(pipe_fd, sink->fd, &at, CS_MIN(len, fits));
	if (n > 0)
		c->came += (uint64_t)n;
	return n;
}

static const struct cs_sink_ops capture_ops = { "capture", capture_write, capture_splice, false };

int cs_sink_new_capture(enum cs_capture which, uint64_t limit_bytes, struct cs_sink **ret,
			struct cs_err *err)
{
	struct capture *c;

	if (limit_bytes > CS_CAPTURE_MAX_BYTES)
		return cs_fail(err, CS_LIMIT, 0, "a capture of %" PRIu64 " bytes: at most %" PRIu64,
			       limit_bytes, CS_CAPTURE_MAX_BYTES);
	c = calloc(1, sizeof(*c));
	if (!c)
		return cs_fail(err, CS_IO, ENOMEM, "make a capture");
	c->sink.ops = &capture_ops;
	if (which == CS_CAPTURE_TAIL)
		c->tail_max = limit_bytes;
	else if (which == CS_CAPTURE_BOTH)
		c->tail_max = limit_bytes / 2;
	c->head_max = limit_bytes - c->tail_max;
	c->sink.fd = memfd_create("caisson-capture", MFD_CLOEXEC);
	if (c->sink.fd < 0) {
		int errnum = errno;

		free(c);
		return cs_fail(err, CS_IO, errnum, "memfd_create");
	}
	*ret = &c->sink;
	return 0;
}

static int append(int fd, uint64_t at, uint64_t len, struct cs_buf *out)
{
	char piece[4096];

	while (len > 0) {
		ssize_t n = pread(fd, piece, CS_MIN(sizeof(piece), len), (off_t)at);
		int r;

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		r = cs_buf_add(out, piece, (size_t)n);
		if (r < 0)
			return r;
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

int cs_sink_captured(const struct cs_sink *sink, struct cs_buf *out, uint64_t *ret_gap_bytes,
		     uint64_t *ret_gap_at)
{
	const struct capture *c = (const struct capture *)sink;
	uint64_t head, behind, tail, oldest;
	int r;

	if (sink->ops != &capture_ops)
		return -EINVAL;
	head = CS_MIN(c->came, c->head_max);
	behind = c->came - head;
	tail = CS_MIN(behind, c->tail_max);
	/* the ring's oldest byte is where the next would go once it is full */
	oldest = tail < c->tail_max || tail == 0 ? 0 : behind % c->tail_max;

	r = append(sink->fd, 0, head, out);
	if (r == 0)
		r = append(sink->fd, c->head_max + oldest, tail - oldest, out);
	if (r == 0)
		r = append(sink->fd, c->head_max, oldest, out);
	if (r < 0)
		return r;
	*ret_gap_bytes = behind - tail;
	*ret_gap_at = head;
	return 0;
}
