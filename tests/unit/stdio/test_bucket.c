#include "shim/stdio/bucket.h"
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

START_TEST(json_file_cost)
{
	uint64_t cost;

	ck_assert_uint_eq(cs_bucket_cost_json_file("abc", 3, 100, &cost), 3);
	ck_assert_uint_eq(cost, 3);
	ck_assert_uint_eq(cs_bucket_cost_json_file("y\ny\n", 4, 1000, &cost), 4);
	ck_assert_uint_eq(cost, 2 * (2 + 96));
	ck_assert_uint_eq(cs_bucket_cost_json_file("\001\033x", 3, 1000, &cost), 3);
	ck_assert_uint_eq(cost, 13);
	/* the longest beginning that can be paid */
	ck_assert_uint_eq(cs_bucket_cost_json_file("ab\ncd", 5, 98, &cost), 2);
	ck_assert_uint_eq(cost, 2);
	ck_assert_uint_eq(cs_bucket_cost_json_file("ab\ncd", 5, 99, &cost), 3);
	ck_assert_uint_eq(cs_bucket_cost_json_file("ab", 2, 0, &cost), 0);
	ck_assert_uint_eq(cost, 0);
}
END_TEST

CS_UNIT_SUITE(bucket, starts_full_and_refills, fractions_add_up, large_numbers, recovery,
	      json_file_cost)
