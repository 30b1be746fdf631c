#include "shim/stdio/drain_int.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/sys/pty.h"

/*
 * The source's pipe is made one of these sizes, the first that the kernel
 * grants: the more it holds, the fewer turns a gigabyte takes, and turns are what a drain
 * costs (contrib/bench/README.md has numbers). A slot is 40 bytes of kernel memory
 * until it is used; the pages in it are charged to the program that wrote them.
 */
static const int source_pipe_bytes[] = { 1024 * 1024, 256 * 1024 };

/*
 * A pseudoterminal has two queues, of which FIONREAD counts the one of 4 KiB;
 * both together were seen to hold 16.5 KiB, and by their limits (drivers/tty: pty.c, tty_buffer.c)
 * hold no more than twice that.
 */
#define TERMINAL_COUNTED_BYTES (4 * 1024)
#define TERMINAL_MAX_BYTES (32 * 1024)

static void on_source(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events, void *arg)
{
	cs__drain_pump(arg, events);
}

static void on_kick(struct cs_loop *loop CS_UNUSED, void *arg)
{
	struct cs_drain *drain = arg;

	if (!drain->hold)
		cs__drain_pump(drain, 0);
}

/* Lets the loop go on with it: what a caller asks for is never answered from inside the call. */
static void kick(struct cs_drain *drain)
{
	cs_loop_set_timer(drain->loop, drain->kick, 0);
}

/* Returns what the pipe holds. */
static size_t enlarge_pipe(int fd)
{
	int r;

	/* best effort: pipe-max-size, pipe-user-pages-soft and -hard may say no (pipe(7)) */
	for (size_t i = 0; i < CS_ARRAY_LEN(source_pipe_bytes); i++)
		if (fcntl(fd, F_GETPIPE_SZ) >= source_pipe_bytes[i] ||
		    fcntl(fd, F_SETPIPE_SZ, source_pipe_bytes[i]) >= 0)
			break;
	r = fcntl(fd, F_GETPIPE_SZ);
	return r > 0 ? (size_t)r : PIPE_BUF;
}

static int prepare_source(struct cs_drain *drain, struct cs_err *err)
{
	int fd = drain->source_fd, r;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return cs_fail(err, CS_IO, errno, "look at the stream's descriptor %d", fd);
	drain->is_terminal = cs_pty_is_master(fd);
	if (!S_ISFIFO(st.st_mode) && !drain->is_terminal)
		return cs_fail(err, CS_INVALID, 0, "the stream's descriptor %d is not a pipe, nor a terminal's master", fd);
	r = cs_fd_set_nonblock(fd, true);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "make the stream's descriptor nonblocking");
	drain->pipe_bytes = drain->is_terminal ? TERMINAL_COUNTED_BYTES : enlarge_pipe(fd);
	/* without it dropped bytes are read, which is dearer and otherwise the same; splice(2) needs a pipe on one side */
	if (!drain->is_terminal)
		drain->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return 0;
}

static int start_watching(struct cs_drain *drain, struct cs_err *err)
{
	int r = cs_loop_add_timer(drain->loop, CS_NEVER, on_kick, drain, &drain->kick);

	if (r == 0)
		r = cs_loop_add_fd(drain->loop, drain->source_fd, EPOLLIN, CS_PRIO_IO, on_source,
				   drain, &drain->source);
	if (r == 0 && drain->hold && !drain->hold_reads)
		r = cs_loop_set_enabled(drain->loop, drain->source, false);
	return r < 0 ? cs_fail(err, CS_IO, -r, "watch the stream") : 0;
}

int cs_drain_new(struct cs_loop *loop, int source_fd_consume, struct cs_sink *sink_consume,
		 const struct cs_drain_config *config, cs_drain_fn *fn, void *arg,
		 struct cs_drain **ret, struct cs_err *err)
{
	struct cs_drain *drain = malloc(sizeof(*drain));
	int64_t now_ns = cs_clock_now_ns();

	if (!drain) {
		cs_close_fd(&source_fd_consume);
		cs_sink_free(sink_consume);
		return cs_fail(err, CS_IO, ENOMEM, "make a drain");
	}
	memset(drain, 0, offsetof(struct cs_drain, buf));
	drain->loop = loop;
	drain->sink = sink_consume;
	drain->source_fd = source_fd_consume;
	drain->fn = fn;
	drain->arg = arg;
	drain->progress_ns = drain->paced_ns = now_ns;
	drain->cap_bytes = config->cap_bytes;
	drain->hold = config->hold;
	drain->hold_reads = config->hold_reads;
	drain->bucket = config->bucket;
	if (!drain->bucket && config->rate_bytes_per_s != UINT64_MAX) {
		drain->bucket = &drain->own_bucket;
		cs_bucket_init(drain->bucket, config->rate_bytes_per_s,
			       config->burst_bytes ? config->burst_bytes : config->rate_bytes_per_s,
			       now_ns);
	}
	drain->cost = drain->bucket ? config->cost : NULL;
	drain->null_fd = -1;

	if (prepare_source(drain, err) < 0 || start_watching(drain, err) < 0) {
		cs_drain_free(drain);
		return -1;
	}
	*ret = drain;
	return 0;
}

void cs_drain_free(struct cs_drain *drain)
{
	if (!drain)
		return;
	if (drain->reporting) {
		drain->dead = true;
		return;
	}
	cs_loop_remove(drain->loop, &drain->source);
	cs_loop_remove(drain->loop, &drain->sink_ready);
	cs_loop_remove(drain->loop, &drain->kick);
	cs_close_fd(&drain->source_fd);
	cs_close_fd(&drain->null_fd);
	cs_sink_free(drain->sink);
	free(drain);
}

int cs_drain_release_hold(struct cs_drain *drain)
{
	int r;

	if (!drain->hold)
		return 0;
	r = cs_loop_set_enabled(drain->loop, drain->source, true);
	if (r < 0)
		return r;
	drain->hold = false;
	drain->in_flight = (struct cs_drain_piece){ 0 }; /* untaken words */
	drain->progress_ns = cs_clock_now_ns();
	kick(drain); /* for a note that waits */
	return 0;
}

/* Moves what the source holds now to out, and leaves there what does not fit. */
static int read_into(const struct cs_drain *drain, struct cs_buf *out)
{
	size_t left = CS_MIN(cs__drain_queued(drain), out->max - out->len);

	while (left > 0) {
		char piece[4096];
		ssize_t n = read(drain->source_fd, piece, CS_MIN(sizeof(piece), left));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 || errno == EAGAIN ? 0 : -errno;
		r = cs_buf_add(out, piece, (size_t)n);
		if (r < 0)
			return r;
		left -= (size_t)n;
	}
	return 0;
}

int cs_drain_take_pending(struct cs_drain *drain, struct cs_buf *out)
{
	size_t len;
	int r;

	if (!drain->hold)
		return -EINVAL;
	if (!drain->hold_reads)
		return read_into(drain, out);
	r = cs__drain_remember_words(drain);
	if (r < 0)
		return r;
	len = CS_MIN(drain->in_flight.len, out->max - out->len);
	r = cs_buf_add(out, drain->buf + drain->in_flight.len - len, len);
	drain->in_flight = (struct cs_drain_piece){ 0 };
	return r;
}

void cs_drain_stop(struct cs_drain *drain)
{
	if (drain->stopping || drain->eof)
		return;
	drain->stopping = true;
	if (drain->hold) {
		drain->hold = false;
		drain->in_flight = (struct cs_drain_piece){ 0 };
	} else {
		drain->stop_left = cs__drain_queued(drain);
		/* more may be on its way to the queue that is counted */
		if (drain->is_terminal && drain->stop_left > 0)
			drain->stop_left = TERMINAL_MAX_BYTES;
	}
	kick(drain);
}

void cs_drain_flush_give_up(struct cs_drain *drain)
{
	if (drain->done || drain->abandoned)
		return;
	cs_drain_stop(drain);
	if (!drain->counts.sink_broken &&
	    (drain->in_flight.off < drain->in_flight.len || drain->stop_left > 0))
		drain->counts.sink_stalled = true;
	cs__drain_drop_in_flight(drain);
	drain->abandoned = true;
	drain->blocked = false;
	kick(drain);
}

bool cs_drain_is_idle(const struct cs_drain *drain)
{
	struct pollfd p = { .fd = drain->source_fd, .events = POLLIN };

	return drain->source_fd >= 0 && poll(&p, 1, 0) == 0;
}

bool cs_drain_is_blocked(const struct cs_drain *drain)
{
	return drain->blocked;
}

bool cs_drain_at_eof(const struct cs_drain *drain)
{
	return drain->eof;
}

bool cs_drain_is_done(const struct cs_drain *drain)
{
	return drain->done;
}

int64_t cs_drain_last_progress_ns(const struct cs_drain *drain)
{
	return drain->progress_ns;
}

void cs_drain_counts(const struct cs_drain *drain, struct cs_drain_counts *ret)
{
	*ret = drain->counts;
}

void cs_drain_note(struct cs_drain *drain, const char *text)
{
	size_t len = strlen(text);

	if (cs__drain_sink_is_gone(drain) || drain->note.off < drain->note.len || len == 0)
		return;
	len = CS_MIN(len, sizeof(drain->note_text) - 2);
	memcpy(drain->note_text, text, len);
	if (drain->note_text[len - 1] != '\n')
		drain->note_text[len++] = '\n';
	drain->note = (struct cs_drain_piece){ .len = len };
	if (drain->done) {
		/* no round will come back for the rest */
		cs__drain_flush(drain);
		drain->note = (struct cs_drain_piece){ 0 };
		drain->blocked = false;
		drain->events = 0;
		return;
	}
	if (!drain->hold)
		kick(drain);
}

struct cs_sink *cs_drain_sink(const struct cs_drain *drain)
{
	return drain->sink;
}
