/*
 * The capped drain: a container's stream → a sink, under a cap, with exact
 * counters, in fixed memory (contract section 5).
 *
 * A drain owns the read end of the container's pipe and watches it on the
 * loop. Memory is a pipe's (splice(2)) or one ring of 64 KiB, whatever passes.
 * Bytes are *seen* when they leave the source, *kept* when the sink took them,
 * *dropped* when they were read and will not be delivered; seen = kept +
 * dropped + what is in flight, and at the end in flight is 0.
 *
 * At the cap exactly cap bytes are delivered. Under CS_AT_CAP_STOP the drain
 * reports CS_DRAIN_CAP once and then discards; under CS_AT_CAP_DISCARD it reports
 * and goes on discarding (splice to /dev/null, no copy). A broken sink (EPIPE,
 * ENOSPC, EIO …) turns into drops and one CS_DRAIN_SINK_BROKEN; the source is always
 * drained to its end.
 */
#ifndef CS_STDIO_DRAIN_H
#define CS_STDIO_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/err.h"
#include "shim/stdio/sink.h"
#include "shim/sys/loop.h"

struct cs_drain; /* opaque */

struct cs_drain_config {
	uint64_t cap_bytes;         /* UINT64_MAX: none */
	uint64_t rate_bytes_per_s;  /* token bucket: UINT64_MAX: none */
	uint64_t burst_bytes;
	bool hold;                  /* starts without reading: see cs_drain_release_hold */
};

enum cs_drain_event {
	CS_DRAIN_CAP,         /* the byte past the cap was offered; once */
	CS_DRAIN_RATE_DROP,   /* a dropped stretch began; once a stretch */
	CS_DRAIN_SINK_BROKEN, /* errnum says why; once */
	CS_DRAIN_EOF,         /* the last holder of the write end is gone and all is read */
	CS_DRAIN_DONE,        /* EOF or cs_drain_stop, and nothing is in flight any more */
};

/* From the loop, never from inside a cs_drain_* call. errnum is 0 or what broke the sink. */
typedef void cs_drain_fn(struct cs_drain *drain, enum cs_drain_event event, int errnum, void *arg);

struct cs_drain_counts {
	uint64_t seen_bytes, kept_bytes, dropped_bytes;
	bool truncated;     /* something was dropped because of cap or rate */
	bool sink_broken;
	bool sink_stalled;  /* dropped in cs_drain_flush_give_up */
	int sink_errnum;
	int64_t last_read_ns; /* monotonic time of the last byte seen; 0: none */
};

/*
 * source_fd: read end of a pipe that is ours alone (set O_NONBLOCK here), owned
 * by the drain from here on, also on failure. The sink is taken over too.
 */
int cs_drain_new(struct cs_loop *loop, int source_fd_consume, struct cs_sink *sink_consume,
		 const struct cs_drain_config *config, cs_drain_fn *fn, void *arg,
		 struct cs_drain **ret, struct cs_err *err);
void cs_drain_free(struct cs_drain *drain); /* NULL allowed */

/* Begins to read and deliver, for a drain made with hold. */
int cs_drain_release_hold(struct cs_drain *drain);

/* Reads what is in the source right now into out (up to its max) without delivering or counting it: the engine's words before start. */
int cs_drain_take_pending(struct cs_drain *drain, struct cs_buf *out);

/*
 * The writer's side is over for us: reads what is there now, then reads no
 * more; what was read is still flushed. DONE follows when flushed.
 */
void cs_drain_stop(struct cs_drain *drain);

/* Nothing in the source at this moment, and no EOF: true when a read would block. */
bool cs_drain_is_idle(const struct cs_drain *drain);
bool cs_drain_at_eof(const struct cs_drain *drain);
bool cs_drain_is_done(const struct cs_drain *drain);
/* Monotonic time of the last byte that the sink took (or of the start): for the flush deadline. */
int64_t cs_drain_last_progress_ns(const struct cs_drain *drain);

/* Drops what is in flight, sink_stalled becomes true, DONE follows. */
void cs_drain_flush_give_up(struct cs_drain *drain);

void cs_drain_counts(const struct cs_drain *drain, struct cs_drain_counts *ret);

/* A line of our own to the sink (markers), outside of cap and counts; best effort, never blocks. */
void cs_drain_note(struct cs_drain *drain, const char *text);

/* The sink, for cs_sink_captured. Borrowed. */
struct cs_sink *cs_drain_sink(const struct cs_drain *drain);

/*
 * A source of "the reader is gone" for a descriptor that we write to: calls
 * fn once when fd is a pipe or socket whose other end is closed (POLLERR,
 * POLLHUP; poll(2)). -ENOTSUP for other kinds of files.
 */
typedef void cs_drain_gone_fn(void *arg);
int cs_drain_watch_reader(struct cs_loop *loop, int fd, cs_drain_gone_fn *fn, void *arg,
			  struct cs_source *ret_source, int *ret_watch_fd);

#endif
