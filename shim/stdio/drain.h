/*
 * The capped drain: a container's stream → a sink, under a cap, with exact
 * counters, in fixed memory.
 *
 * A drain owns the read end of the container's pipe, or the master of its
 * terminal (console.h), and watches it on the loop. Memory is a pipe's
 * (splice(2)) or one buffer of 64 KiB, whatever passes; there are no lines. Bytes are *seen* when they leave the source,
 * *kept* when the sink took them, *dropped* when they were seen and will not be
 * delivered; seen = kept + dropped + what is in flight, and at DONE nothing is
 * in flight.
 *
 * At the cap exactly cap bytes are delivered. When a byte past it is offered,
 * the drain reports CS_DRAIN_CAP once and from then on discards (splice to
 * /dev/null, no copy): whether to kill the program or to let it go on is the
 * caller's decision. A broken sink (EPIPE, ENOSPC, EIO …) turns into drops and
 * one CS_DRAIN_SINK_BROKEN. The source is always drained to its end.
 *
 * A sink that is slow stops the reading, so the program waits in its write:
 * nothing grows. How long to wait for whom at the end is the caller's to say,
 * once the container's init has ended (two waits, `--drain-timeout` and
 * `--flush-timeout`):
 *
 *     cs_drain_is_idle, and so for drain-timeout
 *             → somebody else holds the pipe: cs_drain_stop
 *     cs_drain_is_blocked, and nothing taken since cs_drain_last_progress_ns + flush-timeout
 *             → cs_drain_flush_give_up
 *     cs_drain_is_done
 *             → cs_drain_counts, cs_drain_free
 *
 * A drain must not know of containers, engines or reasons. Not thread-safe; no
 * call blocks (a sink that is a regular file waits for its disk).
 */
#ifndef CS_STDIO_DRAIN_H
#define CS_STDIO_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"
#include "shim/stdio/bucket.h"
#include "shim/stdio/sink.h"
#include "shim/sys/loop.h"

struct cs_drain; /* opaque */

struct cs_drain_config {
	uint64_t cap_bytes;        /* UINT64_MAX: none; 0: nothing passes */
	uint64_t rate_bytes_per_s; /* token bucket; UINT64_MAX: none */
	uint64_t burst_bytes;      /* 0: what a second brings */
	struct cs_bucket *bucket;  /* in place of one of its own (rate and burst are not looked at): borrowed, must
	                            * outlive the drain, may be another drain's too; NULL */
	cs_bucket_cost_fn *
		cost; /* what a byte takes from the bucket; NULL: 1. Data is copied then, not spliced */
	bool hold; /* starts without delivering: see cs_drain_release_hold */
	bool hold_reads; /* while on hold reads on and remembers the last 64 KiB for cs_drain_take_pending:
	                            * for a create, whose words are all the engine's; without it the writer waits */
};

#define CS_DRAIN_CONFIG_INIT \
	((struct cs_drain_config){ .cap_bytes = UINT64_MAX, .rate_bytes_per_s = UINT64_MAX })

enum cs_drain_event {
	CS_DRAIN_CAP,         /* the byte past the cap was offered; once */
	CS_DRAIN_RATE_DROP,   /* a dropped stretch began; once a stretch */
	CS_DRAIN_SINK_BROKEN, /* errnum says why; once */
	CS_DRAIN_EOF,         /* the last holder of the write end is gone and all is read; once */
	CS_DRAIN_DONE,        /* EOF or cs_drain_stop, and nothing is in flight any more; once */
};

/*
 * From the loop, never from inside a cs_drain_* call. May call all of them,
 * cs_drain_free too. errnum is 0 or what broke the sink.
 */
typedef void cs_drain_fn(struct cs_drain *drain, enum cs_drain_event event, int errnum, void *arg);

struct cs_drain_counts {
	uint64_t seen_bytes, kept_bytes, dropped_bytes;
	bool truncated; /* something was dropped because of cap or rate */
	bool sink_broken;
	bool sink_stalled;    /* dropped in cs_drain_flush_give_up */
	int sink_errnum;      /* what broke it, or 0 */
	int64_t last_read_ns; /* monotonic time of the last byte seen; 0: none */
};

/*
 * source_fd: the read end of a pipe whose description is ours alone (it becomes
 * O_NONBLOCK, and the pipe is made larger where the kernel allows), or such a
 * pseudoterminal's master: its data is always copied, and its end is when nobody has the other
 * side open any more (EIO, pty(7)). Owned by the drain from here
 * on, and so is the sink, also on failure. fn may be NULL. Begins to read in
 * the loop's next round. CS_INVALID when source_fd is neither, CS_IO.
 */
int cs_drain_new(struct cs_loop *loop, int source_fd_consume, struct cs_sink *sink_consume,
		 const struct cs_drain_config *config, cs_drain_fn *fn, void *arg,
		 struct cs_drain **ret, struct cs_err *err);

/* Closes the source: who writes on gets EPIPE. The loop must still be there. */
void cs_drain_free(struct cs_drain *drain); /* NULL allowed */

/*
 * Begins to read and deliver, for a drain made with hold; else nothing
 * happens. What came meanwhile and was not taken by cs_drain_take_pending is
 * delivered as any other byte, or forgotten with hold_reads. 0 or -errno.
 */
int cs_drain_release_hold(struct cs_drain *drain);

/*
 * Moves what came while on hold into out (up to its max) without delivering
 * or counting it: the engine's words before start. With hold_reads the last
 * ones when not all fit, and the rest is forgotten; else the first ones, and the rest stays. 0 or
 * -errno; -EINVAL when the drain is not on hold.
 */
int cs_drain_take_pending(struct cs_drain *drain, struct cs_buf *out);

/*
 * The writer's side is over for us: reads what is there now (of a terminal, whose
 * queues cannot be measured, no more than they hold), then reads no
 * more; what was read is still flushed. DONE follows when flushed. A drain on
 * hold delivers nothing and is done.
 */
void cs_drain_stop(struct cs_drain *drain);

/* Nothing in the source at this moment, and no EOF: true when a read would block. */
bool cs_drain_is_idle(const struct cs_drain *drain);

/* The sink takes nothing at this moment, and there is something for it. */
bool cs_drain_is_blocked(const struct cs_drain *drain);

bool cs_drain_at_eof(const struct cs_drain *drain);
bool cs_drain_is_done(const struct cs_drain *drain);

/*
 * Monotonic time since when the sink has taken nothing: of the last byte that
 * it took, or, where there was nothing for it after that, of the moment when
 * it was first found to be blocked. For the flush deadline.
 */
int64_t cs_drain_last_progress_ns(const struct cs_drain *drain);

/*
 * No more waiting for the sink: what is in flight is dropped, and so is what
 * the source holds now; then as cs_drain_stop. sink_stalled becomes true when
 * there was anything. DONE follows.
 */
void cs_drain_flush_give_up(struct cs_drain *drain);

void cs_drain_counts(const struct cs_drain *drain, struct cs_drain_counts *ret);

/*
 * A line of our own to the sink (markers), outside of cap and counts, behind
 * what was read before; "\n" is added. Best effort, never blocks: at most 255
 * bytes, and nothing when one is still waiting or the sink is broken.
 */
void cs_drain_note(struct cs_drain *drain, const char *text);

/* The sink, for cs_sink_captured. Borrowed. */
struct cs_sink *cs_drain_sink(const struct cs_drain *drain);

/*
 * A source of "the reader is gone" for a descriptor that we write to: calls fn
 * once when fd is a pipe or socket whose other end is closed (POLLERR,
 * POLLHUP; poll(2)), also when it is already. Works on a duplicate, since one
 * descriptor may stand in the epoll set once only: cs_loop_remove(ret_source)
 * first, then close ret_watch_fd, which are both the caller's. fn's events say what came.
 * -ENOTSUP for other kinds of files and for ends that are not written to.
 */
int cs_drain_watch_reader(struct cs_loop *loop, int fd, cs_loop_fd_fn *fn, void *arg,
			  struct cs_source *ret_source, int *ret_watch_fd);

#endif
