/*
 * The frame of every unit test program: a table of suites, run by libcheck.
 *
 * CK_TAP_LOG_FILE_NAME and the other CK_* variables work as libcheck says.
 */
#ifndef CS_TESTS_UNIT_H
#define CS_TESTS_UNIT_H

#include <check.h>
#include <stddef.h>

#include "shim/base/attr.h"

typedef Suite *cs_unit_suite(void);

/* Runs all suites; the exit status of main. */
int cs_unit_main(cs_unit_suite *const suites[], size_t n);

/* A suite with one case that holds the given tests. */
#define CS_UNIT_SUITE(name, ...) \
	Suite *suite_##name(void); \
	Suite *suite_##name(void) \
	{ \
		const TTest *const tests[] = { __VA_ARGS__ }; \
		Suite *suite = suite_create(#name); \
		TCase *cases = tcase_create(#name); \
		tcase_set_timeout(cases, 60); \
		for (size_t i = 0; i < CS_ARRAY_LEN(tests); i++) \
			tcase_add_test(cases, tests[i]); \
		suite_add_tcase(suite, cases); \
		return suite; \
	}

/* 0 from a function that takes &err, with its text when not. */
#define ck_ok(call, err) ck_assert_msg((call) >= 0, "%s: %s", #call, (err).text)

/* An error whose text contains `part`. */
#define ck_fails(call, err, part) \
	do { \
		ck_assert_msg((call) < 0, "%s did not fail", #call); \
		ck_assert_msg(strstr((err).text, part) != NULL, "'%s' lacks '%s'", (err).text, part); \
	} while (0)

#endif
