#include "shim/task/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/stdio/console.h"
#include "shim/stdio/feed.h"

/* How much of an engine's words is kept before start. */
#define WORDS_MAX (32 * 1024)

static const char *const names[] = { [CS_STREAM_OUT] = "stdout", [CS_STREAM_ERR] = "stderr" };

struct stream {
	struct cs_streams *owner;
	enum cs_stream which;
	int read_fd; /* until the drain takes it */
	struct cs_sink *sink; /* until the drain takes it */
	struct cs_source collector;
	struct cs_buf words;
	struct cs_drain *drain;
	struct cs_drain_config config;
	bool marked;
	struct cs_source reader_watch;
	int reader_fd;
	bool reader_gone;
};

struct cs_streams {
	struct cs_loop *loop;
	cs_streams_fn *fn;
	void *arg;
	bool mark_cap, mark_rate;
	bool interactive;
	bool terminal;
	bool hurry;
	int master_fd, size_fd; /* until begin */
	struct cs_console *console;
	int child_fds[3];
	int feed_fd; /* write end of the container's stdin until begin */
	struct cs_feed *feed;
	struct stream streams[CS_STREAMS];
};

/* --- before start: the engine's words ------------------------------------------- */

static void collect(struct cs_loop *loop, int fd, uint32_t events, void *arg)
{
	struct stream *stream = arg;
	char chunk[4096];
	ssize_t n = 0;

	(void)events;
	for (int i = 0; i < 64 && (n = read(fd, chunk, sizeof(chunk))) > 0; i++)
		cs_buf_add(&stream->words, chunk,
			   CS_MIN((size_t)n, stream->words.max - stream->words.len));
	if (n == 0) /* EOF stays readable for ever */
		cs_loop_remove(loop, &stream->collector);
}

/* --- making ------------------------------------------------------------------------ */

/*
 * A pipe can be opened again by whoever holds it (/dev/stdout): by the run's
 * user, and by any that a program of root's turns into. Nobody else gets at it.
 */
static int give(int fd, const struct cs_streams_plan *plan)
{
	return fchown(fd, plan->uid, plan->gid) < 0 ? -1 : fchmod(fd, 0666);
}

static int open_stream(struct cs_streams *s, enum cs_stream which,
		       const struct cs_streams_plan *plan, struct cs_err *err)
{
	struct stream *stream = &s->streams[which];
	int fds[2], r = cs_fd_pipe(fds, 0);

	if (r < 0)
		return cs_fail(err, CS_IO, -r, "pipe for %s", names[which]);
	stream->read_fd = fds[0];
	s->child_fds[which + 1] = fds[1];
	stream->config = plan->drain[which];
	if (give(fds[1], plan) < 0)
		return cs_fail(err, CS_IO, errno, "pipe for %s: owner", names[which]);
	r = cs_fd_set_nonblock(stream->read_fd, true);
	if (r == 0 && !plan->hold)
		r = cs_loop_add_fd(s->loop, stream->read_fd, EPOLLIN, CS_PRIO_IO, collect, stream,
				   &stream->collector);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "pipe for %s", names[which]);
	return 0;
}

static int open_stdin(struct cs_streams *s, const struct cs_streams_plan *plan, struct cs_err *err)
{
	int fds[2], r;

	if (!plan->interactive || plan->terminal) {
		s->child_fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return s->child_fds[0] < 0 ? cs_fail(err, CS_IO, errno, "/dev/null") : 0;
	}
	r = cs_fd_pipe(fds, 0);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "pipe for stdin");
	s->child_fds[0] = fds[0];
	s->feed_fd = fds[1];
	if (give(fds[0], plan) < 0)
		return cs_fail(err, CS_IO, errno, "pipe for stdin: owner");
	return 0;
}

static void reader_gone(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events CS_UNUSED,
			void *arg)
{
	struct stream *stream = arg;
	struct cs_streams *s = stream->owner;

	stream->reader_gone = true;
	if (s->streams[CS_STREAM_OUT].reader_gone && (s->terminal || s->streams[CS_STREAM_ERR].reader_gone))
		s->fn(CS_STREAMS_READER_GONE, s->arg);
}

static void watch_reader(struct cs_streams *s, enum cs_stream which)
{
	struct stream *stream = &s->streams[which];
	int fd = which == CS_STREAM_OUT ? STDOUT_FILENO : STDERR_FILENO;
	int r = cs_drain_watch_reader(s->loop, fd, reader_gone, stream, &stream->reader_watch,
				      &stream->reader_fd);

	if (r < 0) /* neither pipe nor socket: it has no reader that could go */
		cs_log_debug("%s: its reader is not watched: %s", names[which], strerror(-r));
}

int cs_streams_open(struct cs_loop *loop, const struct cs_streams_plan *plan, cs_streams_fn *fn,
		    void *arg, struct cs_streams **ret, struct cs_err *err)
{
	struct cs_streams *s = calloc(1, sizeof(*s));

	if (!s) {
		for (size_t i = 0; i < CS_STREAMS; i++)
			cs_sink_free(plan->sinks_consume[i]);
		return cs_fail(err, CS_LIMIT, ENOMEM, "streams");
	}
	*s = (struct cs_streams){ .loop = loop, .fn = fn, .arg = arg, .mark_cap = plan->mark_cap,
				  .mark_rate = plan->mark_rate, .interactive = plan->interactive, .terminal = plan->terminal,
				  .child_fds = { -1, -1, -1 }, .feed_fd = -1, .master_fd = -1, .size_fd = -1 };
	for (size_t i = 0; i < CS_STREAMS; i++)
		s->streams[i] = (struct stream){ .owner = s, .which = (enum cs_stream)i, .read_fd = -1,
						 .reader_fd = -1, .sink = plan->sinks_consume[i],
						 .words = CS_BUF_INIT(WORDS_MAX) };
	if (open_stdin(s, plan, err) < 0 || open_stream(s, CS_STREAM_OUT, plan, err) < 0 ||
	    open_stream(s, CS_STREAM_ERR, plan, err) < 0) {
		cs_streams_free(s);
		return -1;
	}
	if (plan->watch_readers) {
		watch_reader(s, CS_STREAM_OUT);
		if (!plan->terminal)
			watch_reader(s, CS_STREAM_ERR);
	}
	*ret = s;
	return 0;
}

void cs_streams_free(struct cs_streams *s)
{
	if (!s)
		return;
	cs_feed_free(s->feed);
	cs_close_fd(&s->feed_fd);
	cs_close_fd(&s->master_fd);
	cs_streams_close_child_ends(s);
	for (size_t i = 0; i < CS_STREAMS; i++) {
		struct stream *stream = &s->streams[i];

		cs_loop_remove(s->loop, &stream->reader_watch);
		cs_close_fd(&stream->reader_fd);
		cs_loop_remove(s->loop, &stream->collector);
		cs_close_fd(&stream->read_fd);
		cs_drain_free(stream->drain);
		cs_sink_free(stream->sink);
		cs_buf_release(&stream->words);
	}
	cs_console_free(s->console);
	free(s);
}

const int *cs_streams_child_fds(const struct cs_streams *s)
{
	return s->child_fds;
}

void cs_streams_close_child_ends(struct cs_streams *s)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(s->child_fds); i++)
		cs_close_fd(&s->child_fds[i]);
}

void cs_streams_engine_words(struct cs_streams *s, struct cs_buf *out)
{
	for (size_t i = 0; i < CS_STREAMS; i++) {
		struct stream *stream = &s->streams[i];

		if (stream->read_fd >= 0)
			collect(s->loop, stream->read_fd, EPOLLIN, stream);
		if (stream->words.len > 0)
			cs_buf_add(out, stream->words.data, CS_MIN(stream->words.len, out->max - out->len));
	}
}

void cs_streams_forget_words(struct cs_streams *s)
{
	for (size_t i = 0; i < CS_STREAMS; i++)
		cs_buf_reset(&s->streams[i].words);
}

/* --- the program's -------------------------------------------------------------------- */

/* A line of ours in a log whose size is bounded counts as the program's do. */
static void charge(const struct cs_drain_config *config, const char *text)
{
	uint64_t cost = strlen(text);

	if (config->cost)
		config->cost(text, strlen(text), UINT64_MAX, &cost);
	cs_bucket_owe(config->bucket, cost, cs_clock_now_ns());
}

/* Says it where stderr goes; beside a terminal, which has no other stream, where its output does. */
static void note(struct stream *stream, const char *text)
{
	struct cs_streams *s = stream->owner;
	struct cs_drain *to = s->streams[s->terminal ? CS_STREAM_OUT : CS_STREAM_ERR].drain;
	char line[200];

	if (!to)
		return;
	/* nobody makes of a newline what a terminal wants: its output has been processed by then */
	snprintf(line, sizeof(line), s->terminal ? "\r\ncaisson: %s\r\n" : "caisson: %s\n", text);
	if (stream->config.bucket)
		charge(&stream->config, line);
	cs_drain_note(to, line);
}

/* Once. */
static void mark_cap(struct stream *stream)
{
	char text[128];

	if (!stream->owner->mark_cap || stream->marked)
		return;
	stream->marked = true;
	snprintf(text, sizeof(text), "%s limit of %" PRIu64 " bytes reached, further output discarded",
		 names[stream->which], stream->config.cap_bytes);
	note(stream, text);
}

/* For every dropped stretch; the bucket keeps them a second apart. */
static void mark_rate(struct stream *stream)
{
	char text[128];

	if (!stream->owner->mark_rate)
		return;
	snprintf(text, sizeof(text), "%s passes %" PRIu64 " bytes a second, what is above is discarded",
		 names[stream->which], stream->config.rate_bytes_per_s);
	note(stream, text);
}

static void on_drain(struct cs_drain *drain CS_UNUSED, enum cs_drain_event event, int errnum, void *arg)
{
	struct stream *stream = arg;
	struct cs_streams *s = stream->owner;

	switch (event) {
	case CS_DRAIN_CAP:
		mark_cap(stream);
		s->fn(CS_STREAMS_CAP, s->arg);
		break;
	case CS_DRAIN_RATE_DROP:
		mark_rate(stream);
		break;
	case CS_DRAIN_SINK_BROKEN:
		cs_log_debug("%s: %s: what follows is dropped", names[stream->which], strerror(errnum));
		break;
	case CS_DRAIN_EOF:
	case CS_DRAIN_DONE:
		break; /* finish looks for itself */
	}
}

void cs_streams_give_terminal(struct cs_streams *s, int master_fd_consume, int size_fd)
{
	s->master_fd = master_fd_consume;
	s->size_fd = size_fd;
}

void cs_streams_follow_size(struct cs_streams *s)
{
	if (s && s->console)
		cs_console_follow_size(s->console);
}

void cs_streams_hang_up(struct cs_streams *s)
{
	cs_feed_free(cs_take_ptr(&s->feed));
	if (s->console)
		cs_console_hang_up(s->console);
}

/* The pipes stay the engine's, whatever it still has to say; nobody is told. */
static int begin_terminal(struct cs_streams *s, struct cs_err *err)
{
	struct cs_console_config config = { .input_fd = s->interactive ? STDIN_FILENO : -1, .size_fd = s->size_fd };
	struct stream *stream = &s->streams[CS_STREAM_OUT];
	int output_fd;

	if (cs_console_new(s->loop, cs_take_fd(&s->master_fd), &config, &s->console, err) < 0 ||
	    cs_console_output(s->console, &output_fd, err) < 0 ||
	    cs_drain_new(s->loop, output_fd, cs_take_ptr(&stream->sink), &stream->config, on_drain, stream,
			 &stream->drain, err) < 0)
		return cs_wrap(err, "terminal");
	return 0;
}

int cs_streams_begin(struct cs_streams *s, struct cs_err *err)
{
	if (s->terminal)
		return begin_terminal(s, err);
	for (size_t i = 0; i < CS_STREAMS; i++) {
		struct stream *stream = &s->streams[i];

		cs_loop_remove(s->loop, &stream->collector);
		if (cs_drain_new(s->loop, cs_take_fd(&stream->read_fd), cs_take_ptr(&stream->sink),
				 &stream->config, on_drain, stream, &stream->drain, err) < 0)
			return cs_wrap(err, "%s", names[i]);
	}
	if (s->interactive &&
	    cs_feed_new(s->loop, STDIN_FILENO, cs_take_fd(&s->feed_fd), &s->feed, err) < 0)
		return cs_wrap(err, "stdin");
	return 0;
}

int64_t cs_streams_last_byte_ns(const struct cs_streams *s)
{
	int64_t last = 0;

	for (size_t i = 0; i < CS_STREAMS; i++) {
		struct cs_drain_counts counts;

		if (!s->streams[i].drain)
			continue;
		cs_drain_counts(s->streams[i].drain, &counts);
		last = CS_MAX(last, counts.last_read_ns);
	}
	return last;
}

/* Turns of the loop that one look is worth: one who writes on is not caught up with. */
#define CATCH_UP_TURNS 16

void cs_streams_catch_up(struct cs_streams *s)
{
	for (unsigned i = 0; i < CATCH_UP_TURNS; i++) {
		bool more = false;

		/* to ask makes a terminal bring up what it has not brought up yet */
		for (size_t k = 0; k < CS_STREAMS; k++) {
			struct cs_drain *drain = s->streams[k].drain;

			more = more || (drain && !cs_drain_at_eof(drain) && !cs_drain_is_idle(drain) &&
					!cs_drain_is_blocked(drain));
		}
		if (!more || cs_loop_turn(s->loop, 0) <= 0)
			return;
	}
}

/* --- the two waits ----------------------------------------------------------------------- */

struct waiting {
	int64_t began_ns, drain_timeout_ns, flush_timeout_ns;
	bool stopped[CS_STREAMS];
};

/*
 * Does what is due for one stream. Returns the moment to look again, CS_NEVER
 * when it is done.
 */
static int64_t attend(struct stream *stream, struct waiting *w, bool *ret_held)
{
	struct cs_drain *drain = stream->drain;
	int64_t now = cs_clock_now_ns(), quiet_since, stuck_since, next = CS_NEVER;
	struct cs_drain_counts counts;

	if (!drain || cs_drain_is_done(drain))
		return CS_NEVER;
	cs_drain_counts(drain, &counts);
	quiet_since = CS_MAX(counts.last_read_ns, w->began_ns);
	if (!w->stopped[stream->which] && !cs_drain_at_eof(drain) && cs_drain_is_idle(drain)) {
		if (now - quiet_since >= w->drain_timeout_ns) {
			*ret_held = true;
			w->stopped[stream->which] = true;
			cs_drain_stop(drain);
		} else {
			next = quiet_since + w->drain_timeout_ns;
		}
	}
	if (cs_drain_is_blocked(drain)) {
		stuck_since = CS_MAX(cs_drain_last_progress_ns(drain), w->began_ns);
		if (now - stuck_since >= w->flush_timeout_ns)
			cs_drain_flush_give_up(drain);
		else
			next = CS_MIN(next, stuck_since + w->flush_timeout_ns);
	}
	/* a look a second even when nothing is due: no state of a drain may hold the end for ever */
	return CS_MIN(next, now + CS_NSEC_PER_SEC);
}

void cs_streams_finish(struct cs_streams *s, int64_t drain_timeout_ns, int64_t flush_timeout_ns,
		       bool *ret_held)
{
	struct waiting w = { .began_ns = cs_clock_now_ns(), .drain_timeout_ns = drain_timeout_ns,
			     .flush_timeout_ns = flush_timeout_ns };

	*ret_held = false;
	cs_streams_hang_up(s);
	for (;;) {
		int64_t next = CS_NEVER;

		if (s->hurry)
			w.drain_timeout_ns = w.flush_timeout_ns = 0;
		for (size_t i = 0; i < CS_STREAMS; i++)
			next = CS_MIN(next, attend(&s->streams[i], &w, ret_held));
		if (next == CS_NEVER)
			return;
		cs_loop_turn(s->loop, next);
	}
}

void cs_streams_hurry(struct cs_streams *s)
{
	if (s)
		s->hurry = true;
}

struct cs_drain *cs_streams_drain(const struct cs_streams *s, enum cs_stream which)
{
	return s->streams[which].drain;
}
