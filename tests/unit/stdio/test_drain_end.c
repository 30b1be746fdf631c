/* The two waits at the end of a run, and the hold at its start. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/stdio/drain.h"
#include "tests/unit/stdio/plumbing.h"

START_TEST(somebody_else_holds_the_pipe)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	int leftover;

	plumbing_init(&p, -1, &config);
	leftover = cs_fd_dup(p.program, 3);
	program_says(&p, "ok\n");
	program_ends(&p);
	ck_assert(!cs_drain_is_idle(p.drain));
	settle(&p);
	ck_assert(cs_drain_is_idle(p.drain));
	ck_assert(!cs_drain_at_eof(p.drain));
	ck_assert_int_eq(p.events[CS_DRAIN_DONE], 0);

	ck_assert_int_eq(write(leftover, "late", 4), 4);
	cs_drain_stop(p.drain);
	ck_assert_int_eq(p.events[CS_DRAIN_DONE], 0); /* from the loop only */
	ck_assert_int_eq(write(leftover, "too late", 8), 8);
	run_to_done(&p, &out);
	ck_assert_str_eq(out.data, "ok\nlate");
	ck_counts(&p, 7, 7, 0);
	ck_assert(!cs_drain_at_eof(p.drain));
	ck_assert_int_eq(p.events[CS_DRAIN_EOF], 0);
	ck_assert_int_eq(cs_loop_turn(p.loop, cs_clock_deadline_ns(CS_NSEC_PER_MSEC)), 0);
	cs_close_fd(&leftover);
	plumbing_release(&p);
}
END_TEST

START_TEST(stop_finds_the_end)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	plumbing_init(&p, -1, &config);
	program_says(&p, "all of it");
	program_ends(&p);
	cs_drain_stop(p.drain);
	run_to_done(&p, &out);
	ck_assert(cs_drain_at_eof(p.drain));
	ck_assert(!cs_drain_is_idle(p.drain));
	ck_assert_str_eq(out.data, "all of it");
	cs_drain_stop(p.drain);
	cs_drain_flush_give_up(p.drain);
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_DONE], 1);
	ck_assert(!counts_of(&p).sink_stalled);
	plumbing_release(&p);
}
END_TEST

/* Fills source, buffer and sink. */
static size_t choke(struct plumbing *p)
{
	size_t written = 0, more;

	do {
		more = fill_pipe(p->program);
		written += more;
		settle(p);
	} while (more > 0);
	return written;
}

START_TEST(stalled_sink_is_given_up)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	int64_t before = cs_clock_now_ns(), progress;
	uint64_t kept;
	size_t written;

	plumbing_init(&p, -1, &config);
	written = choke(&p);
	program_ends(&p);
	kept = counts_of(&p).kept_bytes;
	progress = cs_drain_last_progress_ns(p.drain);
	ck_assert(progress >= before && progress <= cs_clock_now_ns());
	ck_assert(cs_drain_is_blocked(p.drain));
	settle(&p);
	ck_assert(cs_drain_last_progress_ns(p.drain) == progress);

	cs_drain_flush_give_up(p.drain);
	while (!p.events[CS_DRAIN_DONE])
		ck_assert_int_gt(cs_loop_turn(p.loop, cs_clock_deadline_ns(CS_NSEC_PER_SEC)), 0);
	ck_counts(&p, written, kept, written - kept);
	ck_assert(counts_of(&p).sink_stalled);
	ck_assert(!counts_of(&p).sink_broken);
	ck_assert(!counts_of(&p).truncated);
	ck_assert(cs_drain_at_eof(p.drain));
	plumbing_release(&p);
}
END_TEST

START_TEST(stalled_sink_of_copies_is_given_up)
{
	/* with a cost function bytes are copied, so some are in flight */
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	uint64_t kept;
	size_t written;

	config.rate_bytes_per_s = config.burst_bytes = 1 << 30;
	config.cost = cs_bucket_cost_json_file;
	plumbing_init(&p, -1, &config);
	written = choke(&p);
	kept = counts_of(&p).kept_bytes;
	ck_assert_uint_gt(counts_of(&p).seen_bytes, kept);
	cs_drain_flush_give_up(p.drain);
	while (!p.events[CS_DRAIN_DONE])
		ck_assert_int_gt(cs_loop_turn(p.loop, cs_clock_deadline_ns(CS_NSEC_PER_SEC)), 0);
	ck_counts(&p, written, kept, written - kept);
	ck_assert(counts_of(&p).sink_stalled);
	ck_assert(!cs_drain_at_eof(p.drain)); /* the program is still there */
	plumbing_release(&p);
}
END_TEST

START_TEST(progress_starts_when_the_wait_does)
{
	/* the sink is not blamed for the time when there was nothing for it */
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	int64_t later;

	plumbing_init(&p, -1, &config);
	program_says(&p, "early");
	settle(&p); /* 20 ms of silence */
	later = cs_clock_now_ns();
	ck_assert(cs_drain_last_progress_ns(p.drain) < later);
	choke(&p);
	ck_assert(cs_drain_last_progress_ns(p.drain) >= later);
	plumbing_release(&p);
}
END_TEST

START_TEST(cap_does_not_wait_for_the_sink)
{
	/* once the cap's bytes are read, the program is not held up by a reader who is */
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct plumbing p;
	size_t written = 0;

	config.cap_bytes = 70000; /* more than the sink's pipe, less than that and the buffer */
	config.rate_bytes_per_s = config.burst_bytes = 1 << 30;
	config.cost = cs_bucket_cost_json_file;
	plumbing_init(&p, -1, &config);
	for (int i = 0; i < 10; i++) {
		written += fill_pipe(p.program);
		settle(&p);
	}
	ck_assert_uint_gt(written, 1 << 20);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 1);
	ck_assert(cs_drain_is_blocked(p.drain));
	program_ends(&p);
	run_to_done(&p, &out);
	ck_counts(&p, written, 70000, written - 70000);
	ck_assert_uint_eq(out.len, 70000);
	plumbing_release(&p);
}
END_TEST

START_TEST(hold_keeps_the_engines_words_apart)
{
	cs_auto(buf) words = CS_BUF_INIT(4096);
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	config.hold = true;
	plumbing_init(&p, -1, &config);
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), 0);
	ck_assert_uint_eq(words.len, 0);
	program_says(&p, "engine: warning\n");
	settle(&p);
	ck_counts(&p, 0, 0, 0);
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), 0);
	ck_assert_str_eq(words.data, "engine: warning\n");
	cs_drain_note(p.drain, "a note");
	settle(&p);
	ck_assert_int_eq(cs_drain_release_hold(p.drain), 0);
	settle(&p);
	reader_reads(&p, &out);
	ck_assert_str_eq(out.data, "a note\n");
	cs_buf_reset(&out);
	ck_assert_int_eq(cs_drain_release_hold(p.drain), 0);
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), -EINVAL);
	program_says(&p, "program");
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_str_eq(out.data, "program");
	ck_counts(&p, 7, 7, 0);
	plumbing_release(&p);
}
END_TEST

START_TEST(hold_loses_nothing)
{
	/* what is not taken is the program's */
	cs_auto(buf) words = CS_BUF_INIT(6);
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	config.hold = true;
	plumbing_init(&p, -1, &config);
	program_says(&p, "engine|program");
	program_ends(&p);
	ck_assert_int_eq(cs_loop_turn(p.loop, cs_clock_deadline_ns(CS_NSEC_PER_MSEC)), 0);
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), 0);
	ck_assert_str_eq(words.data, "engine");
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), 0);
	ck_assert_int_eq(cs_drain_release_hold(p.drain), 0);
	run_to_done(&p, &out);
	ck_assert_str_eq(out.data, "|program");
	plumbing_release(&p);
}
END_TEST

START_TEST(hold_that_reads_never_fills)
{
	/* an engine that writes a megabyte to stderr must come to its end (F029) */
	cs_auto(buf) words = CS_BUF_INIT(16);
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	size_t written = 0;

	config.hold = config.hold_reads = true;
	plumbing_init(&p, -1, &config);
	while (written < 4 << 20) {
		written += fill_pipe(p.program);
		settle(&p);
	}
	program_says(&p, "the last words\n");
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), 0);
	ck_assert_uint_eq(words.len, 16);
	ck_assert_mem_eq(words.data, "\0the last words\n", 16);
	cs_buf_reset(&words);
	program_says(&p, "more");
	settle(&p);
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), 0);
	ck_assert_str_eq(words.data, "more");
	program_says(&p, "untaken words are forgotten");
	settle(&p);
	ck_assert_int_eq(cs_drain_release_hold(p.drain), 0);
	program_says(&p, "program");
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_str_eq(out.data, "program");
	ck_counts(&p, 7, 7, 0);
	plumbing_release(&p);
}
END_TEST

START_TEST(hold_sees_the_engine_end)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	cs_auto(buf) words = CS_BUF_INIT(4096);
	struct plumbing p;

	config.hold = config.hold_reads = true;
	plumbing_init(&p, -1, &config);
	program_says(&p, "no such bundle");
	program_ends(&p);
	settle(&p); /* and does not spin on the hang-up */
	ck_assert_int_eq(cs_drain_take_pending(p.drain, &words), 0);
	ck_assert_str_eq(words.data, "no such bundle");
	cs_drain_stop(p.drain);
	run_to_done(&p, NULL);
	ck_counts(&p, 0, 0, 0);
	plumbing_release(&p);
}
END_TEST

CS_UNIT_SUITE(drain_end, somebody_else_holds_the_pipe, stop_finds_the_end, stalled_sink_is_given_up,
	      stalled_sink_of_copies_is_given_up, progress_starts_when_the_wait_does,
	      cap_does_not_wait_for_the_sink, hold_keeps_the_engines_words_apart,
	      hold_loses_nothing, hold_that_reads_never_fills, hold_sees_the_engine_end)
