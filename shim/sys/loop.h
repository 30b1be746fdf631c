/*
 * The event loop: one thread, one epoll set, one timerfd for the nearest
 * deadline (epoll(7), timerfd_create(2)).
 *
 * Events are named by slot and generation, so an event left over for a source
 * that was removed in the same round is dropped. Within a round sources run by
 * priority: reads and drains first, exits last, deferred calls after; output
 * is taken before an exit is seen. A callback may remove any source, itself
 * included. Callbacks must not block.
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

/* NULL with errno set. The loop owns its two descriptors only. */
struct cs_loop *cs_loop_new(void);
void cs_loop_free(struct cs_loop *loop); /* NULL allowed */

/*
 * Calls fn whenever one of events (EPOLLIN, EPOLLOUT; EPOLLERR and EPOLLHUP
 * always) is there. fd is borrowed: remove the source before closing it. The
 * same fd may have one source only. -EPERM for regular files (epoll_ctl(2)).
 */
int cs_loop_add_fd(struct cs_loop *loop, int fd, uint32_t events, enum cs_loop_prio prio,
		   cs_loop_fd_fn *fn, void *arg, struct cs_source *ret_source);

/* Other events for the same source; 0 keeps EPOLLERR and EPOLLHUP. */
int cs_loop_set_events(struct cs_loop *loop, struct cs_source source, uint32_t events);

/* Takes the fd out of epoll without forgetting it (level-triggered HUP with nothing to do about it) and back in. */
int cs_loop_set_enabled(struct cs_loop *loop, struct cs_source source, bool enabled);

/* Calls fn once at deadline (CLOCK_MONOTONIC, cs_clock_now_ns); CS_NEVER: unarmed. The source stays until removed. */
int cs_loop_add_timer(struct cs_loop *loop, int64_t deadline_ns, cs_loop_fn *fn, void *arg,
		      struct cs_source *ret_source);
int cs_loop_set_timer(struct cs_loop *loop, struct cs_source source, int64_t deadline_ns);

/* Calls fn once at the end of this round. */
int cs_loop_defer(struct cs_loop *loop, cs_loop_fn *fn, void *arg, struct cs_source *ret_source);

/* No-op on {0} and on stale handles; *source becomes {0}. */
void cs_loop_remove(struct cs_loop *loop, struct cs_source *source);

/* One round: waits until deadline (CS_NEVER: for ever) for something, and serves it. Number of callbacks or -errno. */
int cs_loop_turn(struct cs_loop *loop, int64_t deadline_ns);

/* Turns until cs_loop_quit. 0 or -errno. */
int cs_loop_run(struct cs_loop *loop);
void cs_loop_quit(struct cs_loop *loop);

#endif
