#include "shim/stdio/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/stdio/own.h"
#include "shim/stdio/sink_int.h"
#include "shim/sys/pty.h"

#define FEED_BUF_BYTES (16 * 1024)
#define SPLICE_BYTES (64 * 1024)
/* Pieces in one callback, so that a fast caller leaves the loop time for the others. */
#define STEPS_A_CALL 16

enum step {
	STEP_MORE, /* something moved */
	STEP_DRY,  /* the caller has nothing now */
	STEP_FULL, /* the container's side has no room now */
	STEP_END,  /* the caller will have nothing more */
	STEP_GONE, /* the container's side takes nothing more */
};

struct cs_feed {
	struct cs_loop *loop;
	int from_fd, to_fd; /* both ours; -1 at the end */
	struct cs_source from, to;
	bool polls; /* from_fd can be waited for */

	/* to_fd is a pseudoterminal's master, where an end has to be typed: see type_end */
	bool to_terminal;
	bool types_end;
	bool in_line; /* what went there does not end with a newline */
	bool ended;   /* what is in buf is the last of it */

	/* Reads into buf: bytes, 0 for the end, -errno. NULL: splice. */
	ssize_t (*read)(struct cs_feed *feed);

	uint64_t fed_bytes;
	size_t off, len; /* of buf; len counts from 0 */
	char buf[FEED_BUF_BYTES];
};

static ssize_t read_fd(struct cs_feed *feed)
{
	ssize_t n = read(feed->from_fd, feed->buf, sizeof(feed->buf));

	return n < 0 ? -errno : n;
}

/* For descriptions that may block: others may read from them too, so ask each time. */
static ssize_t read_when_ready(struct cs_feed *feed)
{
	struct pollfd p = { .fd = feed->from_fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0 ? -EAGAIN : read_fd(feed);
}

static ssize_t read_socket(struct cs_feed *feed)
{
	ssize_t n = recv(feed->from_fd, feed->buf, sizeof(feed->buf), MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

/* --- moving ---------------------------------------------------------------- */

static enum step step_splice(struct cs_feed *feed)
{
	ssize_t n = cs__splice(feed->from_fd, feed->to_fd, NULL, SPLICE_BYTES);
	int queued = 0;

	if (n > 0) {
		feed->fed_bytes += (uint64_t)n;
		return STEP_MORE;
	}
	if (n == 0)
		return STEP_END;
	if (n == -EAGAIN) {
		/* one of the two; which? */
		if (ioctl(feed->from_fd, FIONREAD, &queued) == 0 && queued > 0)
			return STEP_FULL;
		return STEP_DRY;
	}
	if (n != -EINVAL)
		return STEP_END;
	feed->read = read_when_ready; /* a pipe that cannot be spliced from */
	return STEP_MORE;
}

static enum step step_write(struct cs_feed *feed)
{
	ssize_t n = write(feed->to_fd, feed->buf + feed->off, feed->len - feed->off);

	if (n < 0 && errno != EINTR)
		return errno == EAGAIN ? STEP_FULL : STEP_GONE;
	if (n > 0) {
		feed->in_line = feed->buf[feed->off + (size_t)n - 1] != '\n';
		feed->fed_bytes += (uint64_t)n;
		feed->off += (size_t)n;
	}
	if (feed->off == feed->len)
		feed->off = feed->len = 0;
	return STEP_MORE;
}

static enum step step(struct cs_feed *feed)
{
	ssize_t n;

	if (feed->off < feed->len)
		return step_write(feed);
	if (feed->ended)
		return STEP_GONE;
	if (!feed->read)
		return step_splice(feed);
	n = feed->read(feed);
	if (n == -EINTR)
		return STEP_MORE;
	if (n == -EAGAIN)
		return STEP_DRY;
	if (n <= 0)
		return STEP_END;
	feed->len = (size_t)n;
	return STEP_MORE;
}

/*
 * A terminal knows no end of input, but a character for it: at the start of a
 * line the reader gets 0 bytes for it, elsewhere what stands in the line so
 * far, and 0 for a second one (termios(3), VEOF). False where there is none to type.
 */
static bool type_end(struct cs_feed *feed)
{
	char eof = feed->types_end ? cs_pty_eof_char(feed->to_fd) : '\0';

	if (eof == '\0')
		return false;
	cs_loop_remove(feed->loop, &feed->from);
	feed->polls = false;
	feed->ended = true;
	feed->buf[0] = feed->buf[1] = eof;
	feed->len = feed->in_line ? 2 : 1;
	return true;
}

static void finish(struct cs_feed *feed)
{
	cs_loop_remove(feed->loop, &feed->from);
	cs_loop_remove(feed->loop, &feed->to);
	cs_close_fd(&feed->to_fd);
	cs_close_fd(&feed->from_fd);
	feed->off = feed->len = 0;
}

/* What cannot be waited for on the caller's side is driven by the room on the other. */
static int watch(struct cs_feed *feed, bool full)
{
	bool wants_room = full || !feed->polls;
	int r = cs_loop_set_events(feed->loop, feed->to, wants_room ? EPOLLOUT : 0);

	/* a hang-up is reported whatever is asked for: while full, do not watch at all */
	if (r == 0 && feed->polls)
		r = cs_loop_set_enabled(feed->loop, feed->from, !full);
	return r;
}

static void pump(struct cs_feed *feed)
{
	enum step result = STEP_MORE;

	for (int i = 0; i < STEPS_A_CALL && result == STEP_MORE; i++) {
		result = step(feed);
		if (result == STEP_END)
			result = type_end(feed) ? STEP_MORE : STEP_GONE;
	}
	if (result == STEP_GONE || watch(feed, result == STEP_FULL || feed->off < feed->len) < 0)
		finish(feed);
}

static void on_from(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events CS_UNUSED,
		    void *arg)
{
	pump(arg);
}

static void on_to(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events, void *arg)
{
	struct cs_feed *feed = arg;

	/* nobody reads any more (poll(2)); of a terminal, nobody has it open */
	if (events & (EPOLLERR | EPOLLHUP))
		finish(feed);
	else
		pump(feed);
}

/* --- life ------------------------------------------------------------------ */

/* Finds the way to read from_fd without blocking; makes feed->from_fd. */
static int open_from(struct cs_feed *feed, int from_fd)
{
	struct stat st;
	int flags = fcntl(from_fd, F_GETFL);

	if (flags < 0 || fstat(from_fd, &st) < 0)
		return -errno;
	feed->read = read_when_ready;
	if (S_ISFIFO(st.st_mode)) {
		feed->read = feed->to_terminal ? read_when_ready : NULL;
	} else if (S_ISSOCK(st.st_mode)) {
		feed->read = read_socket;
	} else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode)) {
		feed->read = read_fd;
	} else if (S_ISCHR(st.st_mode) && isatty(from_fd)) {
		feed->from_fd = cs__own_open(from_fd, O_RDONLY);
		if (feed->from_fd >= 0)
			feed->read = read_fd;
	}
	/* a duplicate, since a descriptor may stand in the epoll set once only */
	if (feed->from_fd < 0)
		feed->from_fd = cs_fd_dup(from_fd, STDERR_FILENO + 1);
	return feed->from_fd < 0 ? feed->from_fd : 0;
}

static int start(struct cs_feed *feed)
{
	int r = cs_loop_add_fd(feed->loop, feed->from_fd, EPOLLIN, CS_PRIO_IO, on_from, feed,
			       &feed->from);

	feed->polls = r == 0;
	if (r < 0 && r != -EPERM)
		return r;
	return cs_loop_add_fd(feed->loop, feed->to_fd, feed->polls ? 0 : EPOLLOUT, CS_PRIO_IO,
			      on_to, feed, &feed->to);
}

int cs_feed_new(struct cs_loop *loop, int from_fd, int to_fd_consume, struct cs_feed **ret,
		struct cs_err *err)
{
	struct cs_feed *feed = malloc(sizeof(*feed));
	int r;

	if (!feed) {
		cs_close_fd(&to_fd_consume);
		return cs_fail(err, CS_IO, ENOMEM, "feed stdin");
	}
	memset(feed, 0, offsetof(struct cs_feed, buf));
	feed->loop = loop;
	feed->from_fd = -1;
	feed->to_fd = to_fd_consume;
	feed->to_terminal = cs_pty_is_master(to_fd_consume);
	/* whoever sits at a terminal types it himself */
	feed->types_end = feed->to_terminal && !isatty(from_fd);

	r = cs_fd_set_nonblock(feed->to_fd, true);
	if (r == 0)
		r = open_from(feed, from_fd);
	if (r == 0)
		r = start(feed);
	if (r < 0) {
		cs_feed_free(feed);
		return cs_fail(err, CS_IO, -r, "feed stdin from descriptor %d", from_fd);
	}
	*ret = feed;
	return 0;
}

void cs_feed_free(struct cs_feed *feed)
{
	if (!feed)
		return;
	finish(feed);
	free(feed);
}

bool cs_feed_is_done(const struct cs_feed *feed)
{
	return feed->to_fd < 0;
}

uint64_t cs_feed_bytes(const struct cs_feed *feed)
{
	return feed->fed_bytes;
}
