#include "shim/sys/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "shim/base/attr.h"

enum kind { FREE, FD, TIMER, DEFERRED };

#define NONE UINT32_MAX        /* no slot: the end of a list */
#define TIMERFD_KEY UINT64_MAX /* data.u64 of the timerfd; no slot gets that far */
#define SLOTS_FIRST 16
#define SLOTS_MAX (UINT32_C(1) << 20)

struct slot {
	uint32_t generation; /* counts the slot's tenants; never 0 */
	uint32_t prev, next; /* in the list of armed timers, of deferred calls, of free slots */
	enum kind kind;
	void *arg;
	union {
		struct {
			cs_loop_fd_fn *fn;
			int fd;
			uint32_t events;
			enum cs_loop_prio prio;
			bool enabled;
		} io;
		struct {
			cs_loop_fn *fn;
			int64_t deadline_ns;
			uint64_t order; /* when it was armed or deferred, to tell this round's */
		} call;
	} u;
};

struct list {
	uint32_t first, last;
};

struct cs_loop {
	int epoll_fd, timer_fd;
	int64_t armed_ns; /* what the timerfd is set to, CS_NEVER when it is not */
	bool quit, in_turn;
	uint64_t order;

	struct slot *slots;
	struct epoll_event
		*events; /* as long as slots, and one for the timerfd: a round takes all there is */
	uint32_t n_slots;
	struct list free, timers, deferred;
};

/* --- slots and lists ----------------------------------------------------- */

/* Puts a slot behind `after`; NONE: in front of all. */
static void list_insert(struct cs_loop *loop, struct list *list, uint32_t at, uint32_t after)
{
	struct slot *slot = &loop->slots[at];

	slot->prev = after;
	slot->next = after == NONE ? list->first : loop->slots[after].next;
	*(slot->prev == NONE ? &list->first : &loop->slots[slot->prev].next) = at;
	*(slot->next == NONE ? &list->last : &loop->slots[slot->next].prev) = at;
}

static void list_remove(struct cs_loop *loop, struct list *list, uint32_t at)
{
	struct slot *slot = &loop->slots[at];

	*(slot->prev == NONE ? &list->first : &loop->slots[slot->prev].next) = slot->next;
	*(slot->next == NONE ? &list->last : &loop->slots[slot->next].prev) = slot->prev;
	slot->prev = slot->next = NONE;
}

static int grow(struct cs_loop *loop)
{
	uint32_t n = loop->n_slots ? loop->n_slots * 2 : SLOTS_FIRST;
	struct epoll_event *events;
	struct slot *slots;

	if (n > SLOTS_MAX)
		return -ENOSPC;
	events = realloc(loop->events, (n + 1) * sizeof(*events));
	if (!events)
		return -ENOMEM;
	loop->events = events;
	slots = realloc(loop->slots, n * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	loop->slots = slots;

	for (uint32_t i = loop->n_slots; i < n; i++) {
		slots[i] = (struct slot){ .generation = 1, .kind = FREE };
		list_insert(loop, &loop->free, i, loop->free.last);
	}
	loop->n_slots = n;
	return 0;
}

/* Takes a free slot for a new tenant. Its number or -errno. */
static int64_t slot_take(struct cs_loop *loop, enum kind kind, void *arg)
{
	uint32_t at;
	int r;

	if (loop->free.first == NONE) {
		r = grow(loop);
		if (r < 0)
			return r;
	}
	at = loop->free.first;
	list_remove(loop, &loop->free, at);
	loop->slots[at].kind = kind;
	loop->slots[at].arg = arg;
	memset(&loop->slots[at].u, 0, sizeof(loop->slots[at].u));
	return at;
}

/* Ends a tenancy: every handle and event that names it is stale from here on. */
static void slot_give_back(struct cs_loop *loop, uint32_t at)
{
	struct slot *slot = &loop->slots[at];

	slot->kind = FREE;
	if (++slot->generation == 0)
		slot->generation = 1;
	/* behind the others: a number comes back as late as can be */
	list_insert(loop, &loop->free, at, loop->free.last);
}

static struct slot *slot_find(struct cs_loop *loop, struct cs_source source)
{
	struct slot *slot;

	if (source.generation == 0 || source.slot >= loop->n_slots)
		return NULL;
	slot = &loop->slots[source.slot];
	return slot->kind != FREE && slot->generation == source.generation ? slot : NULL;
}

static struct cs_source source_of(const struct cs_loop *loop, uint32_t at)
{
	return (struct cs_source){ .slot = at, .generation = loop->slots[at].generation };
}

static uint64_t key_of(struct cs_source source)
{
	return (uint64_t)source.slot << 32 | source.generation;
}

static struct cs_source source_of_key(uint64_t key)
{
	return (struct cs_source){ .slot = key >> 32, .generation = (uint32_t)key };
}

/* --- life ------------------------------------------------------------------ */

struct cs_loop *cs_loop_new(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = TIMERFD_KEY };
	struct cs_loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop)
		return NULL;
	loop->armed_ns = CS_NEVER;
	loop->free = loop->timers = loop->deferred = (struct list){ NONE, NONE };
	loop->timer_fd = -1;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		goto fail;
	loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer_fd < 0)
		goto fail;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &event) < 0)
		goto fail;
	r = grow(loop);
	if (r < 0) {
		errno = -r;
		goto fail;
	}
	return loop;
fail:
	cs_loop_free(loop);
	return NULL;
}

void cs_loop_free(struct cs_loop *loop)
{
	int saved = errno;

	if (!loop)
		return;
	assert(!loop->in_turn);
	/* No EPOLL_CTL_DEL: the set may be shared with the process that forked us. */
	cs_close_fd(&loop->timer_fd);
	cs_close_fd(&loop->epoll_fd);
	free(loop->events);
	free(loop->slots);
	free(loop);
	errno = saved;
}

/* --- descriptors ----------------------------------------------------------- */

static int control(struct cs_loop *loop, int op, uint32_t at)
{
	struct slot *slot = &loop->slots[at];
	struct epoll_event event = {
		.events = slot->u.io.events,
		.data.u64 = key_of(source_of(loop, at)),
	};

	return epoll_ctl(loop->epoll_fd, op, slot->u.io.fd, &event) < 0 ? -errno : 0;
}

int cs_loop_add_fd(struct cs_loop *loop, int fd, uint32_t events, enum cs_loop_prio prio,
		   cs_loop_fd_fn *fn, void *arg, struct cs_source *ret_source)
{
	int64_t at;
	struct slot *slot;
	int r;

	assert((unsigned)prio < CS_PRIOS);
	at = slot_take(loop, FD, arg);
	if (at < 0)
		return (int)at;
	slot = &loop->slots[at];
	slot->u.io.fn = fn;
	slot->u.io.fd = fd;
	slot->u.io.events = events;
	slot->u.io.prio = prio;
	slot->u.io.enabled = true;
	r = control(loop, EPOLL_CTL_ADD, (uint32_t)at);
	if (r < 0) {
		slot_give_back(loop, (uint32_t)at);
		return r;
	}
	*ret_source = source_of(loop, (uint32_t)at);
	return 0;
}

int cs_loop_set_events(struct cs_loop *loop, struct cs_source source, uint32_t events)
{
	struct slot *slot = slot_find(loop, source);
	uint32_t before;
	int r;

	if (!slot || slot->kind != FD)
		return -ENOENT;
	if (slot->u.io.events == events)
		return 0;
	before = slot->u.io.events;
	slot->u.io.events = events;
	r = slot->u.io.enabled ? control(loop, EPOLL_CTL_MOD, source.slot) : 0;
	if (r < 0)
		slot->u.io.events = before;
	return r;
}

int cs_loop_set_enabled(struct cs_loop *loop, struct cs_source source, bool enabled)
{
	struct slot *slot = slot_find(loop, source);
	int r;

	if (!slot || slot->kind != FD)
		return -ENOENT;
	if (slot->u.io.enabled == enabled)
		return 0;
	r = control(loop, enabled ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, source.slot);
	if (r == 0)
		slot->u.io.enabled = enabled;
	return r;
}

/* --- timers and deferred calls --------------------------------------------- */

/* Nearest first; of equal deadlines the one armed first. Most are armed last and due last, so look from the end. */
static void timer_arm(struct cs_loop *loop, uint32_t at, int64_t deadline_ns)
{
	uint32_t after = loop->timers.last;

	loop->slots[at].u.call.deadline_ns = deadline_ns;
	loop->slots[at].u.call.order = ++loop->order;
	if (deadline_ns == CS_NEVER)
		return;
	while (after != NONE && loop->slots[after].u.call.deadline_ns > deadline_ns)
		after = loop->slots[after].prev;
	list_insert(loop, &loop->timers, at, after);
}

static void timer_disarm(struct cs_loop *loop, uint32_t at)
{
	if (loop->slots[at].u.call.deadline_ns == CS_NEVER)
		return;
	list_remove(loop, &loop->timers, at);
	loop->slots[at].u.call.deadline_ns = CS_NEVER;
}

int cs_loop_add_timer(struct cs_loop *loop, int64_t deadline_ns, cs_loop_fn *fn, void *arg,
		      struct cs_source *ret_source)
{
	int64_t at = slot_take(loop, TIMER, arg);

	if (at < 0)
		return (int)at;
	loop->slots[at].u.call.fn = fn;
	timer_arm(loop, (uint32_t)at, deadline_ns);
	*ret_source = source_of(loop, (uint32_t)at);
	return 0;
}

int cs_loop_set_timer(struct cs_loop *loop, struct cs_source source, int64_t deadline_ns)
{
	struct slot *slot = slot_find(loop, source);

	if (!slot || slot->kind != TIMER)
		return -ENOENT;
	timer_disarm(loop, source.slot);
	timer_arm(loop, source.slot, deadline_ns);
	return 0;
}

int cs_loop_defer(struct cs_loop *loop, cs_loop_fn *fn, void *arg, struct cs_source *ret_source)
{
	int64_t at = slot_take(loop, DEFERRED, arg);

	if (at < 0)
		return (int)at;
	loop->slots[at].u.call.fn = fn;
	loop->slots[at].u.call.order = ++loop->order;
	list_insert(loop, &loop->deferred, (uint32_t)at, loop->deferred.last);
	if (ret_source)
		*ret_source = source_of(loop, (uint32_t)at);
	return 0;
}

void cs_loop_remove(struct cs_loop *loop, struct cs_source *source)
{
	struct cs_source gone = *source;
	struct slot *slot = slot_find(loop, gone);
	int saved = errno;

	*source = (struct cs_source){ 0 };
	if (!slot)
		return;
	if (slot->kind == FD && slot->u.io.enabled)
		control(loop, EPOLL_CTL_DEL, gone.slot);
	else if (slot->kind == TIMER)
		timer_disarm(loop, gone.slot);
	else if (slot->kind == DEFERRED)
		list_remove(loop, &loop->deferred, gone.slot);
	slot_give_back(loop, gone.slot);
	errno = saved;
}

/* --- a round --------------------------------------------------------------- */

/*
 * Sets the timerfd for a wake-up. One that is set for an earlier moment stays:
 * a deadline that moves away with every byte read then costs a round without a
 * callback now and then, and not a system call each time.
 */
static int arm(struct cs_loop *loop, int64_t wake_ns)
{
	struct itimerspec spec = {
		.it_value = { .tv_sec = wake_ns / CS_NSEC_PER_SEC,
			      .tv_nsec = wake_ns % CS_NSEC_PER_SEC },
	};

	if (loop->armed_ns <= wake_ns)
		return 0;
	if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0)
		return -errno;
	loop->armed_ns = wake_ns;
	return 0;
}

/* Waits for events, a due timer or the deadline. Number of events or -errno. */
static int gather(struct cs_loop *loop, int64_t deadline_ns)
{
	int n, r;

	do {
		int64_t wake_ns = deadline_ns;
		int timeout_ms = -1;

		if (loop->timers.first != NONE)
			wake_ns =
				CS_MIN(wake_ns, loop->slots[loop->timers.first].u.call.deadline_ns);
		if (loop->deferred.first != NONE || cs_clock_left_ns(wake_ns) == 0) {
			timeout_ms = 0;
		} else if (wake_ns != CS_NEVER) {
			r = arm(loop, wake_ns);
			if (r < 0)
				return r;
		}
		n = epoll_wait(loop->epoll_fd, loop->events, (int)loop->n_slots + 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int serve_fds(struct cs_loop *loop, int n, enum cs_loop_prio prio)
{
	int calls = 0;

	for (int i = 0; i < n; i++) {
		struct epoll_event event = loop->events[i];
		struct slot *slot;

		if (event.data.u64 == TIMERFD_KEY)
			continue;
		slot = slot_find(loop, source_of_key(event.data.u64));
		if (!slot || slot->kind != FD || slot->u.io.prio != prio || !slot->u.io.enabled)
			continue;
		/* another callback of this round may have lost interest in some */
		event.events &= slot->u.io.events | EPOLLERR | EPOLLHUP;
		if (event.events == 0)
			continue;
		slot->u.io.fn(loop, slot->u.io.fd, event.events, slot->arg);
		calls++;
	}
	return calls;
}

/* The first timer that is due and was not armed by one of this round's timers; NONE. */
static uint32_t timer_due(const struct cs_loop *loop, int64_t now_ns, uint64_t order)
{
	uint32_t at = loop->timers.first;

	for (; at != NONE && loop->slots[at].u.call.deadline_ns <= now_ns;
	     at = loop->slots[at].next)
		if (loop->slots[at].u.call.order <= order)
			return at;
	return NONE;
}

static int serve_timers(struct cs_loop *loop)
{
	uint64_t order = loop->order;
	int64_t now_ns;
	uint32_t at;
	int calls = 0;

	if (loop->timers.first == NONE)
		return 0;
	now_ns = cs_clock_now_ns();
	while ((at = timer_due(loop, now_ns, order)) != NONE) {
		timer_disarm(loop, at);
		loop->slots[at].u.call.fn(loop, loop->slots[at].arg);
		calls++;
	}
	return calls;
}

/* Those that a deferred call defers wait for the next round. */
static int serve_deferred(struct cs_loop *loop)
{
	uint64_t order = loop->order;
	uint32_t at;
	int calls = 0;

	while ((at = loop->deferred.first) != NONE && loop->slots[at].u.call.order <= order) {
		cs_loop_fn *fn = loop->slots[at].u.call.fn;
		void *arg = loop->slots[at].arg;

		list_remove(loop, &loop->deferred, at);
		slot_give_back(loop, at);
		fn(loop, arg);
		calls++;
	}
	return calls;
}

static void acknowledge_timerfd(struct cs_loop *loop, int n)
{
	uint64_t expirations;

	for (int i = 0; i < n; i++) {
		if (loop->events[i].data.u64 != TIMERFD_KEY)
			continue;
		if (read(loop->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
			loop->armed_ns = CS_NEVER;
	}
}

static int serve(struct cs_loop *loop, int n)
{
	int calls = 0;

	acknowledge_timerfd(loop, n);
	for (enum cs_loop_prio prio = 0; prio < CS_PRIOS; prio++) {
		calls += serve_fds(loop, n, prio);
		if (prio == CS_PRIO_TIMER)
			calls += serve_timers(loop);
	}
	return calls + serve_deferred(loop);
}

int cs_loop_turn(struct cs_loop *loop, int64_t deadline_ns)
{
	int r;

	assert(!loop->in_turn);
	loop->in_turn = true;
	do {
		r = gather(loop, deadline_ns);
		if (r >= 0)
			r = serve(loop, r);
	} while (r == 0 && cs_clock_left_ns(deadline_ns) > 0);
	loop->in_turn = false;
	return r;
}

int cs_loop_run(struct cs_loop *loop)
{
	int r = 0;

	while (!loop->quit && r >= 0)
		r = cs_loop_turn(loop, CS_NEVER);
	loop->quit = false;
	return r < 0 ? r : 0;
}

void cs_loop_quit(struct cs_loop *loop)
{
	loop->quit = true;
}
