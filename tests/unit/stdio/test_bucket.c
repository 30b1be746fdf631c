#include "shim/stdio/bucket.h"

#include <string.h>

#include "shim/base/clock.h"
#include "tests/unit/unit.h"

#define SEC CS_NSEC_PER_SEC

START_TEST(starts_full_and_refills)
{
	struct cs_bucket b;

	cs_bucket_init(&b, 10, 100, 5 * SEC);
	ck_assert_uint_eq(cs_bucket_level(&b, 5 * SEC), 100);
	cs_bucket_take(&b, 100);
	ck_assert_uint_eq(cs_bucket_level(&b, 5 * SEC), 0);
	ck_assert_uint_eq(cs_bucket_level(&b, 6 * SEC), 10);
	ck_assert_uint_eq(cs_bucket_level(&b, 4 * SEC), 10);
	ck_assert_uint_eq(cs_bucket_level(&b, 1000 * SEC), 100);
	cs_bucket_take(&b, 1000);
	ck_assert_uint_eq(cs_bucket_level(&b, 1000 * SEC), 0);
}
END_TEST

START_TEST(fractions_add_up)
{
	struct cs_bucket b;

	cs_bucket_init(&b, 3, 1000, 0);
	cs_bucket_take(&b, 1000);
	for (int64_t t = 0; t <= 100 * SEC; t += SEC / 1000)
		cs_bucket_level(&b, t);
	ck_assert_uint_eq(cs_bucket_level(&b, 100 * SEC), 300);
}
END_TEST

START_TEST(large_numbers)
{
	struct cs_bucket b;

	cs_bucket_init(&b, UINT64_MAX - 1, UINT64_MAX, 0);
	cs_bucket_take(&b, UINT64_MAX);
	ck_assert_uint_eq(cs_bucket_level(&b, INT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(recovery)
{
	struct cs_bucket b;

	cs_bucket_init(&b, 10, 100, 0);
	cs_bucket_take(&b, 100);
	ck_assert(!cs_bucket_has_recovered(&b, SEC - 1));
	ck_assert(cs_bucket_has_recovered(&b, SEC));
	cs_bucket_init(&b, 1000, 5, 0); /* a burst smaller than a second's worth */
	cs_bucket_take(&b, 5);
	ck_assert(!cs_bucket_has_recovered(&b, SEC / 1000));
	ck_assert(cs_bucket_has_recovered(&b, SEC / 200));
	cs_bucket_init(&b, 0, 5, 0);
	cs_bucket_take(&b, 5);
	ck_assert(!cs_bucket_has_recovered(&b, INT64_MAX));
}
END_TEST

START_TEST(debts_are_paid_first)
{
	struct cs_bucket b;

	cs_bucket_init(&b, 10, 100, 0);
	cs_bucket_owe(&b, 130, 0);
	ck_assert_uint_eq(cs_bucket_level(&b, 0), 0);
	ck_assert_uint_eq(cs_bucket_level(&b, 3 * SEC), 0);
	ck_assert_uint_eq(cs_bucket_level(&b, 4 * SEC), 10);
	/* within what there is it is a take */
	cs_bucket_owe(&b, 4, 4 * SEC);
	ck_assert_uint_eq(cs_bucket_level(&b, 4 * SEC), 6);
	/* debts add up, and one that can never be paid stays */
	cs_bucket_owe(&b, 16, 4 * SEC);
	cs_bucket_owe(&b, 10, 4 * SEC);
	ck_assert_uint_eq(cs_bucket_level(&b, 6 * SEC), 0);
	ck_assert_uint_eq(cs_bucket_level(&b, 7 * SEC), 10);
	cs_bucket_owe(&b, UINT64_MAX, 7 * SEC);
	ck_assert_uint_eq(cs_bucket_level(&b, INT64_MAX), 0);
}
END_TEST

static uint64_t json_file_cost_of(const char *text)
{
	uint64_t cost;

	ck_assert_uint_eq(cs_bucket_cost_json_file(text, strlen(text), 100000, &cost), strlen(text));
	return cost;
}

START_TEST(json_file_cost)
{
	uint64_t cost;

	/* one for the first of each 128 bytes: lines that are cut */
	ck_assert_uint_eq(json_file_cost_of("abc"), 1 + 3);
	ck_assert_uint_eq(json_file_cost_of("y\ny\n"), 1 + 2 * (2 + 96));
	ck_assert_uint_eq(json_file_cost_of("\001\033x\177"), 1 + 19);
	ck_assert_uint_eq(json_file_cost_of("\"\\"), 1 + 4);
	ck_assert_uint_eq(json_file_cost_of("<>&"), 1 + 18);
	ck_assert_uint_eq(json_file_cost_of("\xc3\xa4\xf0\x9f\x98\x80"), 1 + 6);
	ck_assert_uint_eq(json_file_cost_of("\xe2\x80\xa8"), 1 + 6);
	ck_assert_uint_eq(json_file_cost_of("\xff\x80\xc3"), 1 + 18);
	/* the longest beginning that can be paid */
	ck_assert_uint_eq(cs_bucket_cost_json_file("ab\ncd", 5, 99, &cost), 2);
	ck_assert_uint_eq(cost, 3);
	ck_assert_uint_eq(cs_bucket_cost_json_file("ab\ncd", 5, 100, &cost), 3);
	ck_assert_uint_eq(cs_bucket_cost_json_file("ab", 2, 0, &cost), 0);
	ck_assert_uint_eq(cost, 0);
}
END_TEST

START_TEST(json_file_cost_of_long_lines)
{
	char line[4096];
	uint64_t cost;

	memset(line, 'x', sizeof(line));
	ck_assert_uint_eq(cs_bucket_cost_json_file(line, sizeof(line), 100000, &cost), sizeof(line));
	ck_assert_uint_eq(cost, sizeof(line) + sizeof(line) / 128);
}
END_TEST

CS_UNIT_SUITE(bucket, starts_full_and_refills, fractions_add_up, large_numbers, recovery,
	      debts_are_paid_first, json_file_cost, json_file_cost_of_long_lines)
