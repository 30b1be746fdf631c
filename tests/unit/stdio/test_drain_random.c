/*
 * Random programs, caps, rates, readers and ends. What must hold in all of
 * them: the reader got a beginning of what was written, of exactly min(cap,
 * written) bytes unless something else dropped; seen = kept + dropped; kept is
 * what the reader got. CS_TEST_SEED repeats a run, CS_TEST_ROUNDS makes it longer.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/parse.h"
#include "shim/stdio/drain.h"
#include "tests/unit/stdio/plumbing.h"

#define WRITTEN_MAX 400000

static uint64_t state;

/* xorshift64* */
static uint64_t draw(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * UINT64_C(2685821657736338717) % below;
}

/* Small, middle and large, each as often. */
static size_t draw_size(size_t max)
{
	static const size_t scales[] = { 2, 100, 5000, 70000, WRITTEN_MAX };
	size_t scale = scales[draw(CS_ARRAY_LEN(scales))];

	return draw(CS_MIN(scale, max) + 1);
}

struct run {
	struct plumbing p;
	struct cs_drain_config config;
	int64_t program_left; /* bytes still to write */
	uint64_t written;
	struct cs_buf out;
};

static void program_turn(struct run *run)
{
	static char data[WRITTEN_MAX];
	size_t len = draw_size((size_t)run->program_left);
	ssize_t n;

	fill_pattern(data, len, run->written);
	n = write(run->p.program, data, len);
	if (n < 0) {
		ck_assert_int_eq(errno, EAGAIN);
		return;
	}
	run->written += (uint64_t)n;
	run->program_left -= n;
}

static void reader_turn(struct run *run)
{
	char data[5000];
	ssize_t n =
		run->p.reader < 0 ? 0 : read(run->p.reader, data, 1 + draw_size(sizeof(data) - 1));

	if (n > 0)
		ck_assert_int_eq(cs_buf_add(&run->out, data, (size_t)n), 0);
}

static void check(struct run *run, bool whole)
{
	struct cs_drain_counts c = counts_of(&run->p);
	uint64_t cap = run->config.cap_bytes;

	ck_assert_uint_eq(c.seen_bytes, run->written);
	ck_assert_uint_eq(c.kept_bytes + c.dropped_bytes, c.seen_bytes);
	ck_assert_int_eq(run->p.events[CS_DRAIN_DONE], 1);
	if (run->config.rate_bytes_per_s == UINT64_MAX)
		ck_assert_int_eq(run->p.events[CS_DRAIN_CAP], run->written > cap);
	if (run->p.reader < 0)
		return;
	ck_assert_uint_eq(run->out.len, c.kept_bytes);
	if (run->config.rate_bytes_per_s != UINT64_MAX)
		return;
	if (whole)
		ck_assert_uint_eq(c.kept_bytes, CS_MIN(run->written, cap));
	ck_pattern(run->out.data, run->out.len, 0);
}

static void one_run(void)
{
	struct run run = { .out = CS_BUF_INIT(WRITTEN_MAX), .config = CS_DRAIN_CONFIG_INIT };
	size_t total = draw_size(WRITTEN_MAX);
	bool whole = true, gone = draw(8) == 0, give_up = draw(8) == 0;

	run.program_left = (int64_t)total;
	if (draw(2))
		run.config.cap_bytes = draw(4) ? draw_size(WRITTEN_MAX) : total;
	if (draw(4) == 0) {
		run.config.rate_bytes_per_s = draw(1000000);
		run.config.burst_bytes = draw_size(WRITTEN_MAX);
		run.config.cost = draw(2) ? cs_bucket_cost_json_file : NULL;
	}
	plumbing_init(&run.p, -1, &run.config);

	while (run.program_left > 0) {
		uint64_t what = draw(16);

		if (what < 6)
			program_turn(&run);
		else if (what < 10)
			reader_turn(&run);
		else
			ck_assert_int_ge(cs_loop_turn(run.p.loop, 0), 0);
		if (what == 15 && gone && draw(50) == 0) {
			cs_close_fd(&run.p.reader);
			whole = false;
		}
	}
	program_ends(&run.p);
	if (draw(4) == 0)
		cs_drain_stop(run.p.drain);
	if (give_up) {
		cs_drain_flush_give_up(run.p.drain);
		whole = false;
	}
	run_to_done(&run.p, &run.out);
	check(&run, whole);
	plumbing_release(&run.p);
	cs_buf_release(&run.out);
}

START_TEST(random_runs)
{
	const char *seed = getenv("CS_TEST_SEED"), *rounds = getenv("CS_TEST_ROUNDS");
	uint64_t n = 300;

	state = (uint64_t)cs_clock_now_ns() | 1;
	if (seed)
		ck_assert_int_eq(cs_parse_u64(seed, &state), 0);
	if (rounds)
		ck_assert_int_eq(cs_parse_u64(rounds, &n), 0);
	printf("# CS_TEST_SEED=%" PRIu64 "\n", state);
	fflush(stdout);
	for (uint64_t i = 0; i < n; i++)
		one_run();
}
END_TEST

CS_UNIT_SUITE(drain_random, random_runs)
