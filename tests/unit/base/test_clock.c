#include "shim/base/clock.h"

#include <time.h>

#include "tests/unit/unit.h"

START_TEST(clocks_go_forward)
{
	int64_t before = cs_clock_now_ns(), wall = cs_clock_wall_ns();

	ck_assert_int_gt(before, 0);
	for (int i = 0; i < 1000; i++) {
		int64_t now = cs_clock_now_ns();

		ck_assert_int_ge(now, before);
		before = now;
	}
	/* seconds since the epoch, as time(2) counts them */
	ck_assert_int_le(wall / CS_NSEC_PER_SEC, time(NULL) + 1);
	ck_assert_int_ge(wall / CS_NSEC_PER_SEC, time(NULL) - 60);
}
END_TEST

START_TEST(deadlines)
{
	int64_t now = cs_clock_now_ns();
	int64_t deadline = cs_clock_deadline_ns(3600 * CS_NSEC_PER_SEC);

	ck_assert_int_ge(deadline, now + 3600 * CS_NSEC_PER_SEC);
	ck_assert_int_le(deadline, cs_clock_now_ns() + 3600 * CS_NSEC_PER_SEC);
	ck_assert_int_le(cs_clock_left_ns(deadline), 3600 * CS_NSEC_PER_SEC);
	ck_assert_int_gt(cs_clock_left_ns(deadline), 3500 * CS_NSEC_PER_SEC);
	ck_assert_int_eq(cs_clock_left_ns(now - 1), 0);
	ck_assert_int_eq(cs_clock_left_ns(INT64_MIN), 0);
	ck_assert_int_eq(cs_clock_left_ns(cs_clock_deadline_ns(0)), 0);
}
END_TEST

START_TEST(never_stays_never)
{
	ck_assert_int_eq(cs_clock_deadline_ns(CS_NEVER), CS_NEVER);
	ck_assert_int_eq(cs_clock_deadline_ns(CS_NEVER - 1), CS_NEVER);
	ck_assert_int_eq(cs_clock_left_ns(CS_NEVER), CS_NEVER);
}
END_TEST

START_TEST(text_of_times)
{
	static const struct {
		int64_t wall_ns;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000000000Z" },
		{ 1, "1970-01-01T00:00:00.000000001Z" },
		{ INT64_C(1769862896123456789), "2026-01-31T12:34:56.123456789Z" },
		{ INT64_C(951782399999999999), "2000-02-28T23:59:59.999999999Z" },
		{ INT64_C(951782400) * CS_NSEC_PER_SEC, "2000-02-29T00:00:00.000000000Z" },
		{ -1, "1969-12-31T23:59:59.999999999Z" },
		{ -CS_NSEC_PER_SEC, "1969-12-31T23:59:59.000000000Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854775807Z" },
		{ INT64_MIN, "1677-09-21T00:12:43.145224192Z" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		char text[CS_CLOCK_TEXT];

		ck_assert_ptr_eq(cs_clock_rfc3339(rows[i].wall_ns, text), text);
		ck_assert_str_eq(text, rows[i].text);
	}
}
END_TEST

CS_UNIT_SUITE(clock, clocks_go_forward, deadlines, never_stays_never, text_of_times)
