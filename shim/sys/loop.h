/*
 * The event loop: one thread, one epoll set, one timerfd for the nearest
 * deadline (epoll(7), timerfd_create(2)).
 *
 * Owns its two descriptors and the list of sources; the descriptors watched
 * are borrowed. Knows nothing of what is read from them.
 *
 * Events are named by slot and generation, so an event left over for a source
 * that was removed in the same round is dropped. Within a round sources run by
 * priority: reads and drains first, then timers that are due, signals, exits
 * last, deferred calls after; output is taken before an exit is seen. A
 * callback may add, change and remove any source, itself included. Callbacks
 * must not block, nor turn the same loop. A round allocates nothing.
 *
 *     struct cs_loop *loop = cs_loop_new();
 *     r = cs_loop_add_fd(loop, fd, EPOLLIN, CS_PRIO_IO, on_input, me, &me->input);
 *     r = cs_loop_run(loop);              // until a callback says cs_loop_quit
 *     cs_loop_remove(loop, &me->input);
 *     cs_loop_free(loop);
 *
 * After fork the child shares the epoll set: all it may do is cs_loop_free,
 * which leaves the parent's set alone.
 */
#ifndef CS_SYS_LOOP_H
#define CS_SYS_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "shim/base/clock.h"

struct cs_loop;

/* A handle by value; {0} is no source. Stale handles are harmless. */
struct cs_source {
	uint32_t slot, generation;
};

enum cs_loop_prio {
	CS_PRIO_IO,    /* sockets, drains */
	CS_PRIO_TIMER,
	CS_PRIO_SIGNAL,
	CS_PRIO_EXIT,  /* pidfds */
	CS_PRIOS
};

typedef void cs_loop_fd_fn(struct cs_loop *loop, int fd, uint32_t events, void *arg);
typedef void cs_loop_fn(struct cs_loop *loop, void *arg);

/* An empty loop, the caller's; NULL with errno set. */
struct cs_loop *cs_loop_new(void);

/* Closes the loop's own descriptors and forgets every source, no callback. Not from a callback. NULL allowed; keeps errno. */
void cs_loop_free(struct cs_loop *loop);

/*
 * Calls fn whenever one of events (EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP;
 * EPOLLERR and EPOLLHUP always) is there, level-triggered. fd is borrowed:
 * remove the source before closing it. The same fd may have one source only
 * (-EEXIST). -EPERM for regular files (epoll_ctl(2)), -ENOMEM, -ENOSPC.
 */
int cs_loop_add_fd(struct cs_loop *loop, int fd, uint32_t events, enum cs_loop_prio prio,
		   cs_loop_fd_fn *fn, void *arg, struct cs_source *ret_source);

/*
 * Other events for the same source, from now on: those of this round that are
 * no longer wanted are dropped. 0 keeps EPOLLERR and EPOLLHUP. -ENOENT for a
 * stale handle, as in the two functions below.
 */
int cs_loop_set_events(struct cs_loop *loop, struct cs_source source, uint32_t events);

/* Takes the fd out of epoll without forgetting it (level-triggered HUP with nothing to do about it) and back in. */
int cs_loop_set_enabled(struct cs_loop *loop, struct cs_source source, bool enabled);

/*
 * Calls fn once at deadline (CLOCK_MONOTONIC, cs_clock_now_ns); CS_NEVER:
 * unarmed. The source stays, unarmed, until removed. Timers run by deadline,
 * equal ones in the order they were armed; one armed by a timer's callback
 * runs in the next round at the earliest.
 */
int cs_loop_add_timer(struct cs_loop *loop, int64_t deadline_ns, cs_loop_fn *fn, void *arg,
		      struct cs_source *ret_source);
/* Arms it again, CS_NEVER disarms. Cheap enough for every read. -ENOENT for a stale handle. */
int cs_loop_set_timer(struct cs_loop *loop, struct cs_source source, int64_t deadline_ns);

/*
 * Calls fn once at the end of this round, or of the next when none is under
 * way or this one's deferred calls have begun; that round does not wait. The
 * source is gone when fn runs. ret_source may be NULL.
 */
int cs_loop_defer(struct cs_loop *loop, cs_loop_fn *fn, void *arg, struct cs_source *ret_source);

/* No-op on {0} and on stale handles; *source becomes {0}. Keeps errno. */
void cs_loop_remove(struct cs_loop *loop, struct cs_source *source);

/*
 * One round: waits until deadline (CS_NEVER: for ever; one that has passed: not
 * at all) for something, and serves it. Number of callbacks, 0 only when the
 * deadline has passed, or -errno.
 */
int cs_loop_turn(struct cs_loop *loop, int64_t deadline_ns);

/* Turns until cs_loop_quit, whose round is finished; at once when that was called before. 0 or -errno. */
int cs_loop_run(struct cs_loop *loop);
void cs_loop_quit(struct cs_loop *loop);

#endif
