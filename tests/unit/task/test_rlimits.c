#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/task/rlimits.h"
#include "tests/unit/unit.h"

static const struct cs_spec_rlimit *find(const struct cs_rlimits *limits, const char *type)
{
	for (size_t i = 0; i < limits->n; i++)
		if (strcmp(limits->v[i].type, type) == 0)
			return &limits->v[i];
	return NULL;
}

static int make(const char *ulimit, struct cs_rlimits *ret, struct cs_err *err)
{
	cs_auto(strv) given = CS_STRV_INIT;
	struct cs_rlimits_plan plan = { .fsize_bytes = 1 << 20, .cpu_time_ns = 1500 * CS_NSEC_PER_MSEC,
					.ulimits = &given };

	if (ulimit)
		cs_strv_add(&given, ulimit);
	return cs_rlimits_make(&plan, ret, err);
}

START_TEST(F035_defaults_break_no_honest_program)
{
	struct cs_rlimits limits;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(make(NULL, &limits, &err), err);
	ck_assert_uint_le(find(&limits, "RLIMIT_NOFILE")->soft, 1024);
	ck_assert_uint_eq(find(&limits, "RLIMIT_CORE")->hard, 1);
	ck_assert_ptr_null(find(&limits, "RLIMIT_AS"));
	ck_assert_ptr_null(find(&limits, "RLIMIT_NPROC"));
	/* above the CPU time limit, so that the cgroup's is reached first */
	ck_assert_uint_gt(find(&limits, "RLIMIT_CPU")->soft, 2);
}
END_TEST

START_TEST(a_caller_replaces_a_default)
{
	struct cs_rlimits limits;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(make("nofile=64:128", &limits, &err), err);
	ck_assert_uint_eq(find(&limits, "RLIMIT_NOFILE")->soft, 64);
	ck_assert_uint_eq(find(&limits, "RLIMIT_NOFILE")->hard, 128);
	ck_ok(make("fsize=1m", &limits, &err), err);
	ck_assert_uint_eq(find(&limits, "RLIMIT_FSIZE")->soft, 1 << 20);
}
END_TEST

START_TEST(wrong_ones_are_named)
{
	static const char *const wrong[] = { "files=3", "nofile", "nofile=x", "nofile=5:4", "nofile=1:2:3" };
	struct cs_rlimits limits;

	for (size_t i = 0; i < CS_ARRAY_LEN(wrong); i++) {
		struct cs_err err = CS_ERR_INIT;

		ck_fails(make(wrong[i], &limits, &err), err, "--ulimit");
	}
}
END_TEST

START_TEST(what_is_in_force_is_read_back)
{
	struct rlimit own;
	struct cs_rlimits limits = { .n = 1 };
	struct cs_err err = CS_ERR_INIT;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &own), 0);
	limits.v[0] = (struct cs_spec_rlimit){ "RLIMIT_NOFILE", own.rlim_cur, own.rlim_max };
	ck_ok(cs_rlimits_verify(&limits, getpid(), &err), err);
	limits.v[0].soft++;
	ck_fails(cs_rlimits_verify(&limits, getpid(), &err), err, "RLIMIT_NOFILE is");
}
END_TEST

CS_UNIT_SUITE(rlimits, F035_defaults_break_no_honest_program, a_caller_replaces_a_default,
	      wrong_ones_are_named, what_is_in_force_is_read_back)
