#include "shim/stdio/drain_int.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shim/base/log.h"

/*
 * Every splice takes a whole slot of the sink's pipe, however short the piece:
 * less than this is copied, and the kernel packs it.
 */
#define SPLICE_MIN_BYTES 4096

/* Pieces moved in one callback, so that a fast writer leaves the loop time for the others. */
#define STEPS_A_CALL 16

/* A stream is let run for at most that long, and only when at least this much should come meanwhile. */
#define PAUSE_MAX_NS CS_NSEC_PER_MSEC
#define PAUSE_WORTH_BYTES (16 * 1024)

/* When the kernel has no memory to watch a descriptor, look again after that long. */
#define RETRY_NS (100 * CS_NSEC_PER_MSEC)

enum step {
	STEP_MORE, /* something moved */
	STEP_DRY,  /* the source has nothing (more) for us now */
	STEP_FULL, /* the sink takes nothing now */
};

/* --- small facts ----------------------------------------------------------- */

static short poll_source(const struct cs_drain *drain)
{
	struct pollfd p = { .fd = drain->source_fd, .events = POLLIN };

	return drain->source_fd >= 0 && poll(&p, 1, 0) > 0 ? p.revents : 0;
}

size_t cs__drain_queued(const struct cs_drain *drain)
{
	int n = 0;

	/* what was written to a terminal waits in a queue before the one that is counted, and poll waits until it is moved on */
	if (drain->is_terminal && !(poll_source(drain) & POLLIN))
		return 0;
	return drain->source_fd >= 0 && ioctl(drain->source_fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

static bool looks_ended(const struct cs_drain *drain)
{
	short events = poll_source(drain);

	return !(events & POLLIN) && events & (POLLHUP | POLLERR);
}

/*
 * All write ends are closed and everything is read (pipe(7), pty(7), poll(2)).
 * The kernel looks for data first and for writers then: only a second look,
 * when no writer is left, tells that the last one wrote nothing in between.
 */
static bool source_has_ended(const struct cs_drain *drain)
{
	return looks_ended(drain) && looks_ended(drain);
}

/* Nothing that is read from here on goes to the sink, so a full one need not be waited for. */
static bool discards(const struct cs_drain *drain)
{
	return drain->charged_bytes == drain->cap_bytes || cs__drain_sink_is_gone(drain);
}

static bool has_in_flight(const struct cs_drain *drain)
{
	return drain->in_flight.off < drain->in_flight.len;
}

static bool has_note(const struct cs_drain *drain)
{
	return drain->note.off < drain->note.len;
}

static void raise_event(struct cs_drain *drain, enum cs_drain_event event)
{
	drain->events |= 1U << event;
}

/* --- accounting ------------------------------------------------------------ */

static void count_seen(struct cs_drain *drain, size_t n, int64_t now_ns)
{
	drain->counts.seen_bytes += n;
	drain->counts.last_read_ns = now_ns;
	if (drain->stopping)
		drain->stop_left -= CS_MIN(n, drain->stop_left);
}

static void count_kept(struct cs_drain *drain, size_t n, int64_t now_ns)
{
	drain->counts.kept_bytes += n;
	drain->progress_ns = now_ns;
}

void cs__drain_drop_in_flight(struct cs_drain *drain)
{
	drain->counts.dropped_bytes += drain->in_flight.len - drain->in_flight.off;
	drain->in_flight = drain->note = (struct cs_drain_piece){ 0 };
}

static void break_sink(struct cs_drain *drain, int errnum)
{
	drain->counts.sink_broken = true;
	drain->counts.sink_errnum = errnum;
	drain->blocked = false;
	cs__drain_drop_in_flight(drain);
	raise_event(drain, CS_DRAIN_SINK_BROKEN);
}

static void begin_dropped_stretch(struct cs_drain *drain)
{
	drain->dropping = true;
	drain->counts.truncated = true;
	raise_event(drain, CS_DRAIN_RATE_DROP);
}

/* --- out ------------------------------------------------------------------- */

/* Writes as much of a piece as the sink takes. Bytes written, blocked or broken is set when not all was. */
static size_t write_piece(struct cs_drain *drain, const char *data, struct cs_drain_piece *piece)
{
	size_t before = piece->off;

	while (piece->off < piece->len) {
		ssize_t n = cs__sink_write(drain->sink, data + piece->off, piece->len - piece->off);

		if (n == -EAGAIN) {
			drain->blocked = true;
			return piece->off - before;
		}
		if (n < 0) {
			size_t written = piece->off - before;

			break_sink(drain, (int)-n);
			return written;
		}
		piece->off += (size_t)n;
	}
	before = piece->len - before;
	*piece = (struct cs_drain_piece){ 0 };
	return before;
}

void cs__drain_flush(struct cs_drain *drain)
{
	size_t n;

	drain->blocked = false;
	if (has_in_flight(drain)) {
		n = write_piece(drain, drain->buf, &drain->in_flight);
		if (n > 0)
			count_kept(drain, n, cs_clock_now_ns());
	}
	if (has_note(drain) && !drain->blocked)
		write_piece(drain, drain->note_text, &drain->note);
}

/* --- in -------------------------------------------------------------------- */

/* Reads up to len bytes; 0 when there was nothing. */
static size_t read_source(struct cs_drain *drain, char *to, size_t len)
{
	ssize_t n;

	do {
		n = read(drain->source_fd, to, len);
	} while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

/* Takes up to len bytes out of the source and lets go of them. */
static enum step discard(struct cs_drain *drain, size_t len, int64_t now_ns, size_t *ret_n)
{
	char scratch[4096]; /* buf may hold the last bytes before the cap */
	ssize_t n = -EBADF;

	if (drain->null_fd >= 0)
		n = cs__splice(drain->source_fd, drain->null_fd, NULL, len);
	if (n < 0 && n != -EAGAIN)
		n = (ssize_t)read_source(drain, scratch, CS_MIN(len, sizeof(scratch)));
	*ret_n = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		return STEP_DRY;
	count_seen(drain, (size_t)n, now_ns);
	drain->counts.dropped_bytes += (size_t)n;
	return STEP_MORE;
}

/* How many of len bytes the bucket lets pass; 0: none. A cost function speaks later, when it sees them. */
static size_t rate_allows(struct cs_drain *drain, size_t len, int64_t now_ns)
{
	uint64_t level = cs_bucket_level(drain->bucket, now_ns);

	if (drain->dropping) {
		if (!cs_bucket_has_recovered(drain->bucket, now_ns))
			return 0;
		drain->dropping = false;
	}
	if (drain->cost && level > 0)
		return len;
	if (len > level)
		begin_dropped_stretch(drain);
	return (size_t)CS_MIN(len, level);
}

static void charge(struct cs_drain *drain, size_t n, uint64_t cost)
{
	drain->charged_bytes += n;
	if (drain->bucket)
		cs_bucket_take(drain->bucket, cost);
}

static enum step deliver_splice(struct cs_drain *drain, size_t len, int64_t now_ns)
{
	ssize_t n = cs__sink_splice(drain->sink, drain->source_fd, len);

	if (n > 0) {
		count_seen(drain, (size_t)n, now_ns);
		count_kept(drain, (size_t)n, now_ns);
		charge(drain, (size_t)n, (uint64_t)n);
		if ((size_t)n == len || !drain->sink->ops->short_is_full)
			return STEP_MORE;
	}
	if (n > 0 || n == -EAGAIN) {
		/* there was more to read, so it is the sink */
		drain->blocked = true;
		return STEP_FULL;
	}
	return n == 0 ? STEP_DRY : STEP_MORE; /* -EOPNOTSUPP: copies from now on */
}

static enum step deliver_copy(struct cs_drain *drain, size_t len, int64_t now_ns)
{
	size_t n, pays;
	uint64_t cost;

	assert(!has_in_flight(drain));
	n = read_source(drain, drain->buf, CS_MIN(len, sizeof(drain->buf)));
	if (n == 0)
		return STEP_DRY;
	pays = n;
	cost = n;
	if (drain->cost) {
		pays = drain->cost(drain->buf, n, cs_bucket_level(drain->bucket, now_ns), &cost);
		if (pays < n)
			begin_dropped_stretch(drain);
	}
	count_seen(drain, n, now_ns);
	charge(drain, pays, cost);
	drain->counts.dropped_bytes += n - pays;
	drain->in_flight = (struct cs_drain_piece){ .len = pays };
	cs__drain_flush(drain);
	return drain->blocked ? STEP_FULL : STEP_MORE;
}

/* Looks at what the source holds, and decides where the next piece goes. */
static enum step step(struct cs_drain *drain, bool hung_up)
{
	size_t queued = cs__drain_queued(drain);
	int64_t now_ns;
	size_t len, n;
	enum step result;

	if (drain->stopping)
		queued = CS_MIN(queued, drain->stop_left);
	if (queued == 0) {
		drain->stop_left = 0; /* whoever else read it, it is not there */
		if ((hung_up || drain->stopping) && source_has_ended(drain)) {
			drain->eof = true;
			raise_event(drain, CS_DRAIN_EOF);
		}
		return STEP_DRY;
	}
	now_ns = cs_clock_now_ns();

	if (drain->charged_bytes == drain->cap_bytes) {
		drain->counts.truncated = true;
		if (!drain->cap_hit)
			raise_event(drain, CS_DRAIN_CAP);
		drain->cap_hit = true;
		return discard(drain, queued, now_ns, &n);
	}
	len = (size_t)CS_MIN(queued, drain->cap_bytes - drain->charged_bytes);
	if (cs__drain_sink_is_gone(drain)) {
		/* still charged: a program whose reader is gone must not escape its cap */
		result = discard(drain, len, now_ns, &n);
		drain->charged_bytes += n;
		return result;
	}
	if (drain->bucket) {
		len = rate_allows(drain, len, now_ns);
		if (len == 0)
			return discard(drain, queued, now_ns, &n);
	}
	if (!drain->cost && !drain->is_terminal && len >= SPLICE_MIN_BYTES && cs__sink_can_splice(drain->sink))
		return deliver_splice(drain, len, now_ns);
	return deliver_copy(drain, len, now_ns);
}

/* --- what the loop watches ------------------------------------------------- */

static void on_sink_ready(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED,
			  uint32_t events CS_UNUSED, void *arg)
{
	cs__drain_pump(arg, 0);
}

static int watch_sink(struct cs_drain *drain, bool on)
{
	if (drain->sink_ready.generation != 0)
		return cs_loop_set_enabled(drain->loop, drain->sink_ready, on);
	if (!on)
		return 0;
	return cs_loop_add_fd(drain->loop, drain->sink->fd, EPOLLOUT, CS_PRIO_IO, on_sink_ready,
			      drain, &drain->sink_ready);
}

/*
 * How long to leave a fast writer alone after its source was found empty; 0:
 * look whenever something is there. poll(2) knows no low-water mark for pipes:
 * a writer of 4 KiB pieces would wake us for each, and a turn costs more than
 * the splice in it. So, as network drivers do it, look again when the pipe should be half
 * full at the rate of the last turn. A rate that was held down by a full pipe
 * is too low an estimate, and corrects itself by half a turn later. Slow
 * streams, and what follows after silence, are never held up.
 */
static int64_t pause_ns(struct cs_drain *drain)
{
	int64_t now_ns = cs_clock_now_ns();
	int64_t turn_ns = now_ns - drain->paced_ns;
	uint64_t moved = drain->counts.seen_bytes - drain->paced_bytes;
	int64_t pause;

	drain->paced_ns = now_ns;
	drain->paced_bytes = drain->counts.seen_bytes;
	if (moved == 0 || turn_ns <= 0 || turn_ns > CS_NSEC_PER_SEC)
		return 0;
	pause = (int64_t)((double)turn_ns * (double)(drain->pipe_bytes / 2) / (double)moved);
	pause = CS_MIN(pause, PAUSE_MAX_NS);
	return (double)pause / (double)turn_ns * (double)moved >= PAUSE_WORTH_BYTES ? pause : 0;
}

static void close_source(struct cs_drain *drain)
{
	cs_loop_remove(drain->loop, &drain->source);
	cs_close_fd(&drain->source_fd);
}

/* Sets the watches as the state says, and finds out whether that was the end. */
static void settle(struct cs_drain *drain, bool was_blocked, bool may_pause)
{
	int64_t pause = 0;
	bool dry;
	int r;

	if (drain->blocked && !was_blocked)
		drain->progress_ns = CS_MAX(drain->progress_ns, cs_clock_now_ns());
	r = watch_sink(drain, drain->blocked);
	if (r < 0 && drain->blocked)
		break_sink(drain,
			   -r); /* a sink that cannot be waited for would be waited for in vain */
	if (drain->eof)
		close_source(drain);

	dry = drain->eof || (drain->stopping && drain->stop_left == 0);
	if (dry && !has_in_flight(drain) && !has_note(drain) && !drain->done) {
		drain->done = true;
		raise_event(drain, CS_DRAIN_DONE);
	}
	if (drain->eof)
		return;
	if (may_pause && !dry && !drain->blocked)
		pause = pause_ns(drain);
	drain->paused = pause > 0;
	if (drain->paused)
		cs_loop_set_timer(drain->loop, drain->kick, cs_clock_deadline_ns(pause));
	/* a hang-up is reported whatever is asked for, so not wanting to read means not watching */
	r = cs_loop_set_enabled(drain->loop, drain->source,
				!dry && !drain->paused && (!drain->blocked || discards(drain)));
	if (r < 0) {
		cs_log_debug("watch a stream: %s", strerror(-r));
		cs_loop_set_timer(drain->loop, drain->kick, cs_clock_deadline_ns(RETRY_NS));
	}
}

static void report(struct cs_drain *drain)
{
	drain->reporting = true;
	while (drain->events && !drain->dead) {
		enum cs_drain_event event = (enum cs_drain_event)(ffs((int)drain->events) - 1);

		drain->events &= ~(1U << event);
		if (drain->fn)
			drain->fn(drain, event,
				  event == CS_DRAIN_SINK_BROKEN ? drain->counts.sink_errnum : 0,
				  drain->arg);
	}
	drain->reporting = false;
	if (drain->dead)
		cs_drain_free(drain);
}

int cs__drain_remember_words(struct cs_drain *drain)
{
	struct cs_drain_piece *words = &drain->in_flight;
	size_t left = cs__drain_queued(drain);

	/* no more than there was at first: this must end, whatever the writer does */
	do {
		ssize_t n;

		if (words->len == sizeof(drain->buf)) {
			words->len /= 2;
			memmove(drain->buf, drain->buf + words->len, words->len);
		}
		n = read(drain->source_fd, drain->buf + words->len,
			 sizeof(drain->buf) - words->len);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno == EAGAIN ? 1 : -errno;
		if (n > 0) {
			words->len += (size_t)n;
			left -= CS_MIN((size_t)n, left);
		}
	} while (left > 0);
	return 1;
}

void cs__drain_pump(struct cs_drain *drain, uint32_t epoll_events)
{
	bool was_blocked = drain->blocked;
	enum step result = STEP_MORE;

	if (drain->hold) {
		/* at its end there is nothing to watch until the hold is released */
		if (cs__drain_remember_words(drain) <= 0)
			cs_loop_set_enabled(drain->loop, drain->source, false);
		return;
	}
	for (int i = 0; i < STEPS_A_CALL && result == STEP_MORE && !drain->done; i++) {
		cs__drain_flush(drain);
		if (drain->eof || (drain->blocked && !discards(drain)))
			break;
		result = step(drain, epoll_events & EPOLLHUP);
		if (drain->events)
			break; /* the caller may want to act before more is moved */
	}
	settle(drain, was_blocked, result == STEP_DRY && !(epoll_events & EPOLLHUP));
	report(drain);
}
