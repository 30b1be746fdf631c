#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/sys/loop.h"
#include "tests/unit/unit.h"

/* Callbacks write one letter each here, so that a test can tell their order. */
struct trace {
	char letters[64];
	size_t n;
	struct cs_source source, other;
	struct trace *shared; /* where to write, when not here */
	char letter;
};

static void note(struct trace *trace)
{
	struct trace *to = trace->shared ? trace->shared : trace;

	ck_assert_uint_lt(to->n, sizeof(to->letters) - 1);
	to->letters[to->n++] = trace->letter;
}

static void note_fd(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events CS_UNUSED,
		    void *arg)
{
	note(arg);
}

static void note_call(struct cs_loop *loop CS_UNUSED, void *arg)
{
	note(arg);
}

static int ready_fd(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* A moment that makes a hang a failure and nothing else. */
static int64_t patience(void)
{
	return cs_clock_deadline_ns(20 * CS_NSEC_PER_SEC);
}

static void remove_other_fd(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED,
			    void *arg)
{
	struct trace *trace = arg;

	note(trace);
	cs_loop_remove(loop, &trace->other);
}

START_TEST(event_of_a_source_removed_in_the_round_is_dropped)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' }, b = { .letter = 'b', .shared = &a };
	cs_autofd int one = ready_fd(), two = ready_fd();

	/* each removes the other: exactly one of them runs */
	b.shared = &a;
	ck_assert_int_eq(
		cs_loop_add_fd(loop, one, EPOLLIN, CS_PRIO_IO, remove_other_fd, &a, &b.other), 0);
	ck_assert_int_eq(
		cs_loop_add_fd(loop, two, EPOLLIN, CS_PRIO_IO, remove_other_fd, &b, &a.other), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_uint_eq(a.n, 1);
	cs_loop_free(loop);
}
END_TEST

static void replace_other_fd(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED,
			     void *arg)
{
	struct trace *trace = arg;
	static struct trace stranger = { .letter = 'x' };
	struct cs_source source;

	note(trace);
	stranger.shared = trace;
	cs_loop_remove(loop, &trace->other);
	/* enough new tenants that one of them gets the slot that was given back */
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(cs_loop_add_fd(loop, eventfd(0, EFD_CLOEXEC), EPOLLIN,
						CS_PRIO_EXIT, note_fd, &stranger, &source),
				 0);
}

START_TEST(new_tenant_of_a_slot_gets_no_old_event)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	cs_autofd int one = ready_fd(), two = ready_fd();

	ck_assert_int_eq(cs_loop_add_fd(loop, two, EPOLLIN, CS_PRIO_EXIT, note_fd, &a, &a.other),
			 0);
	ck_assert_int_eq(
		cs_loop_add_fd(loop, one, EPOLLIN, CS_PRIO_IO, replace_other_fd, &a, &a.source), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_str_eq(a.letters, "a");
	cs_loop_free(loop);
}
END_TEST

START_TEST(round_goes_by_priority)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace out = { 0 };
	struct trace t[] = { { .letter = 'e' },
			     { .letter = 's' },
			     { .letter = 'i' },
			     { .letter = 't' },
			     { .letter = 'd' } };
	cs_autofd int one = ready_fd(), two = ready_fd(), three = ready_fd();

	for (size_t i = 0; i < CS_ARRAY_LEN(t); i++)
		t[i].shared = &out;
	ck_assert_int_eq(cs_loop_defer(loop, note_call, &t[4], NULL), 0);
	ck_assert_int_eq(
		cs_loop_add_fd(loop, one, EPOLLIN, CS_PRIO_EXIT, note_fd, &t[0], &t[0].source), 0);
	ck_assert_int_eq(
		cs_loop_add_fd(loop, two, EPOLLIN, CS_PRIO_SIGNAL, note_fd, &t[1], &t[1].source),
		0);
	ck_assert_int_eq(
		cs_loop_add_fd(loop, three, EPOLLIN, CS_PRIO_IO, note_fd, &t[2], &t[2].source), 0);
	ck_assert_int_eq(cs_loop_add_timer(loop, 1, note_call, &t[3], &t[3].source), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 5);
	ck_assert_str_eq(out.letters, "itsed");
	cs_loop_free(loop);
}
END_TEST

START_TEST(timers_run_by_deadline_then_age)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace out = { 0 };
	static const struct {
		char letter;
		int64_t after_ns;
	} rows[] = { { 'd', 4000000 }, { 'b', 2000000 }, { 'a', 1000000 }, { 'c', 2000000 } };
	struct trace t[CS_ARRAY_LEN(rows)];
	int64_t base = cs_clock_now_ns();

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		t[i] = (struct trace){ .letter = rows[i].letter, .shared = &out };
		ck_assert_int_eq(cs_loop_add_timer(loop, base + rows[i].after_ns, note_call, &t[i],
						   &t[i].source),
				 0);
	}
	while (out.n < CS_ARRAY_LEN(rows))
		ck_assert_int_gt(cs_loop_turn(loop, patience()), 0);
	ck_assert_str_eq(out.letters, "abcd");
	ck_assert_int_ge(cs_clock_now_ns(), base + 4000000);
	/* once each */
	ck_assert_int_eq(cs_loop_turn(loop, cs_clock_deadline_ns(CS_NSEC_PER_MSEC)), 0);
	cs_loop_free(loop);
}
END_TEST

static void rearm(struct cs_loop *loop, void *arg)
{
	struct trace *trace = arg;

	note(trace);
	ck_assert_int_eq(cs_loop_set_timer(loop, trace->source, 0), 0);
}

START_TEST(timer_armed_in_the_past_by_itself_does_not_hold_the_round)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' }, b = { .letter = 'b', .shared = &a };

	ck_assert_int_eq(cs_loop_add_timer(loop, 1, rearm, &a, &a.source), 0);
	ck_assert_int_eq(cs_loop_add_timer(loop, 2, note_call, &b, &b.source), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 2);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_str_eq(a.letters, "aba");
	cs_loop_free(loop);
}
END_TEST

static void postpone(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct trace *trace = arg;

	ck_assert_int_eq(cs_loop_set_timer(loop, trace->source, CS_NEVER), 0);
}

START_TEST(input_of_the_round_postpones_a_due_timer)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace idle = { .letter = 'i' };
	cs_autofd int fd = ready_fd();

	ck_assert_int_eq(cs_loop_add_timer(loop, 1, note_call, &idle, &idle.source), 0);
	ck_assert_int_eq(
		cs_loop_add_fd(loop, fd, EPOLLIN, CS_PRIO_IO, postpone, &idle, &idle.other), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_uint_eq(idle.n, 0);
	cs_loop_free(loop);
}
END_TEST

/* A round that ends at once, with the timerfd set for what was then the nearest deadline. */
static void turn_with_event(struct cs_loop *loop)
{
	struct trace event = { .letter = 'e' };
	cs_autofd int fd = ready_fd();

	ck_assert_int_eq(
		cs_loop_add_fd(loop, fd, EPOLLIN, CS_PRIO_IO, note_fd, &event, &event.source), 0);
	ck_assert_int_gt(cs_loop_turn(loop, patience()), 0);
	ck_assert_uint_eq(event.n, 1);
	cs_loop_remove(loop, &event.source);
}

START_TEST(deadline_that_moves_away_fires_late_not_early)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	int64_t soon = cs_clock_deadline_ns(20 * CS_NSEC_PER_MSEC),
		due = soon + 5 * CS_NSEC_PER_MSEC;

	ck_assert_int_eq(cs_loop_add_timer(loop, soon, note_call, &a, &a.source), 0);
	turn_with_event(loop);
	ck_assert_int_eq(cs_loop_set_timer(loop, a.source, due), 0);
	/* the wake-up for `soon` is no reason to come back with nothing */
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_int_ge(cs_clock_now_ns(), due);
	cs_loop_free(loop);
}
END_TEST

START_TEST(deadline_that_comes_nearer_is_kept)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	int64_t start = cs_clock_now_ns();

	ck_assert_int_eq(
		cs_loop_add_timer(loop, start + 15 * CS_NSEC_PER_SEC, note_call, &a, &a.source), 0);
	turn_with_event(loop);
	ck_assert_int_eq(cs_loop_set_timer(loop, a.source, start + CS_NSEC_PER_MSEC), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_int_lt(cs_clock_now_ns(), start + 10 * CS_NSEC_PER_SEC);
	cs_loop_free(loop);
}
END_TEST

START_TEST(turn_ends_at_its_deadline)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	int64_t deadline = cs_clock_deadline_ns(3 * CS_NSEC_PER_MSEC);

	ck_assert_int_eq(cs_loop_add_timer(loop, cs_clock_deadline_ns(3600 * CS_NSEC_PER_SEC),
					   note_call, &a, &a.source),
			 0);
	ck_assert_int_eq(cs_loop_turn(loop, deadline), 0);
	ck_assert_int_ge(cs_clock_now_ns(), deadline);
	ck_assert_int_eq(cs_loop_turn(loop, 0), 0);
	cs_loop_free(loop);
}
END_TEST

START_TEST(hangup_of_a_disabled_source_does_not_spin)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	cs_autofd int reader = -1;
	int fds[2];

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	reader = fds[0];
	close(fds[1]);
	ck_assert_int_eq(cs_loop_add_fd(loop, reader, 0, CS_PRIO_IO, note_fd, &a, &a.source), 0);
	/* EPOLLHUP comes without being asked for */
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_int_eq(cs_loop_set_enabled(loop, a.source, false), 0);
	ck_assert_int_eq(cs_loop_set_enabled(loop, a.source, false), 0);
	ck_assert_int_eq(cs_loop_turn(loop, cs_clock_deadline_ns(2 * CS_NSEC_PER_MSEC)), 0);
	ck_assert_uint_eq(a.n, 2);
	/* events set while out of epoll hold once it is back */
	ck_assert_int_eq(cs_loop_set_events(loop, a.source, EPOLLIN), 0);
	ck_assert_int_eq(cs_loop_set_enabled(loop, a.source, true), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	cs_loop_remove(loop, &a.source);
	cs_loop_free(loop);
}
END_TEST

static void lose_interest(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED,
			  void *arg)
{
	struct trace *trace = arg;

	ck_assert_int_eq(cs_loop_set_events(loop, trace->other, 0), 0);
}

START_TEST(interest_lost_in_the_round_drops_the_event)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	cs_autofd int one = ready_fd(), two = ready_fd();

	ck_assert_int_eq(cs_loop_add_fd(loop, two, EPOLLIN, CS_PRIO_EXIT, note_fd, &a, &a.other),
			 0);
	ck_assert_int_eq(
		cs_loop_add_fd(loop, one, EPOLLIN, CS_PRIO_IO, lose_interest, &a, &a.source), 0);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	ck_assert_uint_eq(a.n, 0);
	cs_loop_free(loop);
}
END_TEST

static void defer_again(struct cs_loop *loop, void *arg)
{
	note(arg);
	ck_assert_int_eq(cs_loop_defer(loop, note_call, arg, NULL), 0);
}

START_TEST(deferred_call_of_a_deferred_call_is_next_round)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	struct cs_source removed;

	ck_assert_int_eq(cs_loop_defer(loop, defer_again, &a, &a.source), 0);
	ck_assert_int_eq(cs_loop_defer(loop, note_call, &a, &removed), 0);
	cs_loop_remove(loop, &removed);
	ck_assert_int_eq(cs_loop_turn(loop, CS_NEVER), 1);
	ck_assert_int_eq(cs_loop_turn(loop, CS_NEVER), 1);
	/* it ran: the handle is stale and harmless */
	cs_loop_remove(loop, &a.source);
	ck_assert_int_eq(cs_loop_turn(loop, 0), 0);
	cs_loop_free(loop);
}
END_TEST

START_TEST(stale_handles_are_harmless)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };
	struct cs_source none = { 0 }, copy;
	cs_autofd int fd = ready_fd();

	cs_loop_remove(loop, &none);
	ck_assert_int_eq(cs_loop_set_timer(loop, none, 0), -ENOENT);
	ck_assert_int_eq(cs_loop_add_fd(loop, fd, EPOLLIN, CS_PRIO_IO, note_fd, &a, &a.source), 0);
	copy = a.source;
	cs_loop_remove(loop, &a.source);
	ck_assert_uint_eq(a.source.generation, 0);
	ck_assert_int_eq(cs_loop_set_events(loop, copy, EPOLLOUT), -ENOENT);
	ck_assert_int_eq(cs_loop_set_enabled(loop, copy, true), -ENOENT);
	/* the fd is free for another source, which the stale handle does not touch */
	ck_assert_int_eq(cs_loop_add_fd(loop, fd, EPOLLIN, CS_PRIO_IO, note_fd, &a, &a.source), 0);
	cs_loop_remove(loop, &copy);
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 1);
	cs_loop_free(loop);
}
END_TEST

START_TEST(add_reports_what_epoll_says)
{
	struct cs_loop *loop = cs_loop_new();
	struct cs_source source = { 0 }, second = { 0 };
	cs_autofd int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = ready_fd();

	ck_assert_int_eq(cs_loop_add_fd(loop, file, EPOLLIN, CS_PRIO_IO, note_fd, NULL, &source),
			 -EPERM);
	ck_assert_int_eq(cs_loop_add_fd(loop, -1, EPOLLIN, CS_PRIO_IO, note_fd, NULL, &source),
			 -EBADF);
	ck_assert_uint_eq(source.generation, 0);
	ck_assert_int_eq(cs_loop_add_fd(loop, fd, EPOLLIN, CS_PRIO_IO, note_fd, NULL, &source), 0);
	ck_assert_int_eq(cs_loop_add_fd(loop, fd, EPOLLIN, CS_PRIO_IO, note_fd, NULL, &second),
			 -EEXIST);
	cs_loop_free(loop);
}
END_TEST

static void count_fd(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events CS_UNUSED,
		     void *arg)
{
	++*(int *)arg;
}

START_TEST(one_round_takes_all_that_is_ready)
{
	struct cs_loop *loop = cs_loop_new();
	struct cs_source sources[200];
	int fds[200], seen[200] = { 0 };

	for (int i = 0; i < 200; i++) {
		fds[i] = ready_fd();
		ck_assert_int_eq(cs_loop_add_fd(loop, fds[i], EPOLLIN, i % CS_PRIOS, count_fd,
						&seen[i], &sources[i]),
				 0);
	}
	ck_assert_int_eq(cs_loop_turn(loop, patience()), 200);
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(seen[i], 1);
		cs_loop_remove(loop, &sources[i]);
		close(fds[i]);
	}
	ck_assert_int_eq(cs_loop_turn(loop, 0), 0);
	cs_loop_free(loop);
}
END_TEST

static void quit(struct cs_loop *loop, void *arg)
{
	note(arg);
	cs_loop_quit(loop);
}

START_TEST(run_ends_after_the_round_of_quit)
{
	struct cs_loop *loop = cs_loop_new();
	struct trace a = { .letter = 'a' };

	ck_assert_int_eq(cs_loop_add_timer(loop, 1, quit, &a, &a.source), 0);
	ck_assert_int_eq(cs_loop_defer(loop, note_call, &a, NULL), 0);
	ck_assert_int_eq(cs_loop_run(loop), 0);
	ck_assert_uint_eq(a.n, 2);
	cs_loop_quit(loop);
	ck_assert_int_eq(cs_loop_run(loop), 0);
	cs_loop_free(loop);
}
END_TEST

CS_UNIT_SUITE(loop, event_of_a_source_removed_in_the_round_is_dropped,
	      new_tenant_of_a_slot_gets_no_old_event, round_goes_by_priority,
	      timers_run_by_deadline_then_age,
	      timer_armed_in_the_past_by_itself_does_not_hold_the_round,
	      input_of_the_round_postpones_a_due_timer,
	      deadline_that_moves_away_fires_late_not_early, deadline_that_comes_nearer_is_kept,
	      turn_ends_at_its_deadline, hangup_of_a_disabled_source_does_not_spin,
	      interest_lost_in_the_round_drops_the_event,
	      deferred_call_of_a_deferred_call_is_next_round, stale_handles_are_harmless,
	      add_reports_what_epoll_says, one_round_takes_all_that_is_ready,
	      run_ends_after_the_round_of_quit)
