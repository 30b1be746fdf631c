/*
 * The two halves of a drain: drain.c, what callers ask; drain_pump.c, how
 * bytes move. For shim/stdio only.
 */
#ifndef CS_STDIO_DRAIN_INT_H
#define CS_STDIO_DRAIN_INT_H

#include "shim/stdio/drain.h"
#include "shim/stdio/sink_int.h"

#define CS_DRAIN_BUF_BYTES (64 * 1024)
#define CS_DRAIN_NOTE_BYTES 257 /* text, "\n", NUL */

/* Bytes that the sink has not taken yet. */
struct cs_drain_piece {
	size_t off, len; /* len counts from 0, not from off */
};

struct cs_drain {
	struct cs_loop *loop;
	struct cs_sink *sink;
	cs_drain_fn *fn;
	void *arg;

	int source_fd;               /* -1 after EOF */
	bool is_terminal;            /* the source is a pseudoterminal's master */
	int null_fd;                 /* where dropped bytes go; -1: they are read instead */
	struct cs_source source;     /* EPOLLIN of source_fd, enabled while we want to read */
	struct cs_source sink_ready; /* EPOLLOUT of the sink, from the first time it was full on */
	struct cs_source kick;       /* a timer: pump from the loop soon */

	struct cs_drain_counts counts;
	int64_t progress_ns;

	/* pacing: see pause_ns in drain_pump.c */
	size_t pipe_bytes;
	uint64_t paced_bytes; /* seen when the last turn ended */
	int64_t paced_ns;     /* when that was */
	bool paused;          /* kick ends it */

	/* the cap: bytes that count against it, delivered or lost to a broken sink */
	uint64_t cap_bytes, charged_bytes;
	bool cap_hit;

	bool dropping; /* inside a stretch that the bucket did not pay for */
	struct cs_bucket own_bucket;
	struct cs_bucket *bucket; /* NULL: there is no rate */
	cs_bucket_cost_fn *cost;

	bool hold, hold_reads;
	bool eof;
	bool stopping;
	uint64_t stop_left; /* what was in the source when cs_drain_stop came */
	bool abandoned;     /* flush was given up */
	bool blocked;       /* the sink said EAGAIN */
	bool done;

	unsigned events; /* 1 << enum cs_drain_event: happened, not reported yet */
	bool reporting;
	bool dead; /* freed from its own callback */

	struct cs_drain_piece in_flight; /* of buf; on hold: the engine's words */
	struct cs_drain_piece note;
	char note_text[CS_DRAIN_NOTE_BYTES];
	char buf[CS_DRAIN_BUF_BYTES]; /* last: its pages are touched only when data is copied */
};

static inline bool cs__drain_sink_is_gone(const struct cs_drain *drain)
{
	return drain->counts.sink_broken || drain->abandoned;
}

/* Moves what can be moved, sets what the loop watches, reports. May free the drain (from its callback). */
void cs__drain_pump(struct cs_drain *drain, uint32_t epoll_events);

/* Tries to write what is in flight, and the note behind it. */
void cs__drain_flush(struct cs_drain *drain);

/* Forgets what is in flight, as dropped. */
void cs__drain_drop_in_flight(struct cs_drain *drain);

/* On hold: reads all there is, keeps the last CS_DRAIN_BUF_BYTES of it. -errno, or 0 for EOF, or 1. */
int cs__drain_remember_words(struct cs_drain *drain);

/* Bytes that can be read of the source now; of a terminal's, at least one when there are any. */
size_t cs__drain_queued(const struct cs_drain *drain);

#endif
