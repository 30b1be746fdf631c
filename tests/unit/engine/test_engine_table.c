#include "shim/engine/engine.h"
#include "tests/unit/unit.h"

START_TEST(rows_are_complete)
{
	const struct cs_engine_kind *kind;
	size_t n = 0;

	for (; (kind = cs_engine_kind_at(n)); n++) {
		ck_assert_ptr_eq(cs_engine_kind_by_name(kind->name), kind);
		ck_assert_ptr_nonnull(kind->install);
		ck_assert_ptr_nonnull(kind->version_prefix);
		ck_assert_ptr_nonnull(kind->help_arg);
		ck_assert_uint_ge(kind->pids_factor, 1);
		ck_assert_uint_ge(kind->pids_min, 1);
		ck_assert(!kind->trace_session || kind->own_kernel);
	}
	ck_assert_uint_ge(n, 5);
	ck_assert_ptr_null(cs_engine_kind_by_name("nope"));
}
END_TEST

START_TEST(pids_limit_counts_the_sandbox)
{
	const struct cs_engine_kind *runsc = cs_engine_kind_by_name("runsc");

	ck_assert_uint_eq(cs_engine_pids_limit(cs_engine_kind_by_name("crun"), 64), 64);
	ck_assert_uint_eq(cs_engine_pids_limit(cs_engine_kind_by_name("runc"), 64), 64);
	ck_assert_uint_eq(cs_engine_pids_limit(runsc, 64), 64 + 16 * 64);
	ck_assert_uint_eq(cs_engine_pids_limit(runsc, UINT64_MAX), UINT64_MAX);
	/* too large to multiply is still a limit */
	ck_assert_uint_eq(cs_engine_pids_limit(runsc, UINT64_MAX - 1), INT64_MAX);
}
END_TEST

static void refused(const char *name, uint64_t memory_bytes, uint64_t pids, const char *text)
{
	struct cs_engine engine = { .kind = cs_engine_kind_by_name(name) };
	struct cs_err err = CS_ERR_INIT;

	ck_fails(cs_engine_check_limits(&engine, memory_bytes, pids, &err), err, text);
	ck_assert_int_eq(err.kind, CS_LIMIT);
}

static void taken(const char *name, uint64_t memory_bytes, uint64_t pids)
{
	struct cs_engine engine = { .kind = cs_engine_kind_by_name(name) };
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_engine_check_limits(&engine, memory_bytes, pids, &err), err);
}

START_TEST(F031_limits_below_the_minimum_are_refused)
{
	refused("runc", 2 << 20, 64, "memory limit 2m is below the minimum for runc: 16m");
	refused("runc", 64 << 20, 1, "pids limit 1 is below the minimum for runc: 8");
	refused("crun", 512 << 10, 64, "memory limit 512k is below the minimum for crun: 1m");
	refused("crun", 64 << 20, 0, "pids limit 0 is below the minimum for crun: 1");
	refused("runsc", 64 << 20, 3, "pids limit 3 is below the minimum for runsc: 4");
	refused("runsc", 32 << 20, 64, "below the minimum for runsc: 64m, of which its own part takes 16m");
	taken("runc", 16 << 20, 8);
	taken("crun", 1 << 20, 1);
	taken("runsc", 64 << 20, 4);
	taken("runc", UINT64_MAX, UINT64_MAX);
}
END_TEST

CS_UNIT_SUITE(engine_table, rows_are_complete, pids_limit_counts_the_sandbox,
	      F031_limits_below_the_minimum_are_refused)
