#include "shim/base/parse.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/clock.h"
#include "tests/unit/unit.h"

/* A text and what becomes of it: 0 and a value, or an error and the value untouched. */
struct row {
	const char *text;
	int r;
	uint64_t value;
};

#define UNTOUCHED 4711

#define check_rows(rows, type, parse) \
	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) { \
		type got = UNTOUCHED; \
		int r = parse(rows[i].text, &got); \
		uint64_t want = rows[i].r == 0 ? rows[i].value : UNTOUCHED; \
		ck_assert_msg(r == rows[i].r, "'%s': %d, not %d", rows[i].text, r, rows[i].r); \
		ck_assert_msg((uint64_t)got == want, "'%s': %llu, not %llu", rows[i].text, \
			      (unsigned long long)got, (unsigned long long)want); \
	}

START_TEST(numbers_are_strict)
{
	static const struct row u64[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "\xd9\xa3", -EINVAL, 0 },
	};
	static const struct row u32[] = {
		{ "4294967295", 0, UINT32_MAX },
		{ "4294967296", -ERANGE, 0 },
		{ "x", -EINVAL, 0 },
	};
	static const struct row i64[] = {
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "-9223372036854775808", 0, (uint64_t)INT64_MIN },
		{ "-9223372036854775809", -ERANGE, 0 },
		{ "-0", 0, 0 },
		{ "-1", 0, (uint64_t)-1 },
		{ "--1", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
	};

	check_rows(u64, uint64_t, cs_parse_u64);
	check_rows(u32, uint32_t, cs_parse_u32);
	check_rows(i64, int64_t, cs_parse_i64);
}
END_TEST

START_TEST(sizes_have_units)
{
	static const struct row rows[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "4096b", 0, 4096 },
		{ "64k", 0, 65536 },
		{ "64K", 0, 65536 },
		{ "64kb", 0, 65536 },
		{ "512KiB", 0, 524288 },
		{ "1m", 0, 1 << 20 },
		{ "1.5G", 0, UINT64_C(1610612736) },
		{ "0.5k", 0, 512 },
		{ "0.0001k", 0, 0 },
		{ "1.99999999999999999999999999k", 0, 2047 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "8388607t", 0, UINT64_C(8388607) << 40 },
		{ "8388608t", -ERANGE, 0 },
		{ "99999999999999999999t", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "m", -EINVAL, 0 },
		{ ".5m", -EINVAL, 0 },
		{ "1.m", -EINVAL, 0 },
		{ "1.2.3m", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1.5b", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1 m", -EINVAL, 0 },
		{ "1mm", -EINVAL, 0 },
		{ "1bb", -EINVAL, 0 },
		{ "1bib", -EINVAL, 0 },
		{ "1mi", -EINVAL, 0 },
		{ "1p", -EINVAL, 0 },
		{ "1,5m", -EINVAL, 0 },
	};

	check_rows(rows, uint64_t, cs_parse_size);
}
END_TEST

START_TEST(durations_have_units)
{
	static const struct row rows[] = {
		{ "10", 0, 10 * CS_NSEC_PER_SEC },
		{ "0", 0, 0 },
		{ "0.3", 0, 300 * CS_NSEC_PER_MSEC },
		{ "500ms", 0, 500 * CS_NSEC_PER_MSEC },
		{ "7us", 0, 7000 },
		{ "9ns", 0, 9 },
		{ "1m30s", 0, 90 * CS_NSEC_PER_SEC },
		{ "1.5h", 0, 5400 * CS_NSEC_PER_SEC },
		{ "1d2h3m4s5ms6us7ns", 0, INT64_C(93784005006007) },
		{ "1.9999999999", 0, 1999999999 },
		{ "106751d", 0, INT64_C(106751) * 86400 * CS_NSEC_PER_SEC },
		{ "106752d", -ERANGE, 0 },
		{ "9223372036854775806ns", 0, INT64_MAX - 1 },
		{ "9223372036854775807ns", -ERANGE, 0 }, /* that is CS_NEVER */
		{ "106751d106751h999999999999999s", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1m30", -EINVAL, 0 },
		{ "30s1m", -EINVAL, 0 },
		{ "1s1s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ ".5", -EINVAL, 0 },
		{ "1.2.3", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1y", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
	};

	check_rows(rows, int64_t, cs_parse_duration);
}
END_TEST

START_TEST(cpus)
{
	static const struct row rows[] = {
		{ "1", 0, 1000 },          { "0.5", 0, 500 },
		{ "1.25", 0, 1250 },       { "0.01", 0, 10 },
		{ "0.0109", 0, 10 },       { "0", -ERANGE, 0 },
		{ "0.009", -ERANGE, 0 },   { "1000000", 0, 1000000000 },
		{ "1000001", -ERANGE, 0 }, { "99999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },        { "1.", -EINVAL, 0 },
		{ "1c", -EINVAL, 0 },      { "-1", -EINVAL, 0 },
	};

	check_rows(rows, uint64_t, cs_parse_cpus);
}
END_TEST

START_TEST(signals)
{
	const struct row rows[] = {
		{ "TERM", 0, SIGTERM },
		{ "SIGTERM", 0, SIGTERM },
		{ "term", 0, SIGTERM },
		{ "sigKill", 0, SIGKILL },
		{ "15", 0, SIGTERM },
		{ "IO", 0, SIGIO },
		{ "POLL", 0, SIGIO },
		{ "CHLD", 0, SIGCHLD },
		{ "CLD", 0, SIGCHLD },
		{ "IOT", 0, SIGABRT },
		{ "RTMIN", 0, (uint64_t)SIGRTMIN },
		{ "SIGRTMIN+3", 0, (uint64_t)SIGRTMIN + 3 },
		{ "RTMAX", 0, (uint64_t)SIGRTMAX },
		{ "RTMAX-1", 0, (uint64_t)SIGRTMAX - 1 },
		{ "64", 0, 64 },
		{ "RTMIN+31", -ERANGE, 0 },
		{ "RTMAX-31", -ERANGE, 0 },
		{ "0", -ERANGE, 0 },
		{ "65", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "SIG", -EINVAL, 0 },
		{ "15x", -EINVAL, 0 },
		{ "-9", -EINVAL, 0 },
		{ "RTMIN+", -EINVAL, 0 },
		{ "RTMIN-1", -EINVAL, 0 },
		{ "RTMAX+1", -EINVAL, 0 },
		{ "TERMINATE", -EINVAL, 0 },
	};

	check_rows(rows, int, cs_parse_signal);
}
END_TEST

START_TEST(signal_names_read_back)
{
	int named = 0;

	for (int signal = -1; signal <= 70; signal++) {
		const char *name = cs_signal_name(signal);
		int got = 0;

		if (!name)
			continue;
		named++;
		ck_assert_msg(cs_parse_signal(name, &got) == 0, "%s", name);
		ck_assert_int_eq(got, signal);
	}
	/* 1 to 31: Linux has no gap there */
	ck_assert_int_eq(named, 31);
}
END_TEST

START_TEST(ids)
{
	char longest[CS_ID_MAX + 2];

	memset(longest, 'a', sizeof(longest));
	longest[CS_ID_MAX] = '\0';
	ck_assert(cs_id_valid(longest));
	longest[CS_ID_MAX] = 'a';
	longest[CS_ID_MAX + 1] = '\0';
	ck_assert(!cs_id_valid(longest));
	ck_assert(cs_id_valid("a"));
	ck_assert(cs_id_valid("web-1_x.y"));
	ck_assert(cs_id_valid("0"));
	ck_assert(!cs_id_valid(""));
	ck_assert(!cs_id_valid("."));
	ck_assert(!cs_id_valid(".."));
	ck_assert(!cs_id_valid(".hidden"));
	ck_assert(!cs_id_valid("-flag"));
	ck_assert(!cs_id_valid("a/b"));
	ck_assert(!cs_id_valid("a b"));
	ck_assert(!cs_id_valid("a\n"));
	ck_assert(!cs_id_valid("\xc3\xa9"));
}
END_TEST

START_TEST(booleans)
{
	bool value = false;

	ck_assert_int_eq(cs_parse_bool("on", &value), 0);
	ck_assert(value);
	ck_assert_int_eq(cs_parse_bool("TRUE", &value), -EINVAL);
	ck_assert_int_eq(cs_parse_bool("", &value), -EINVAL);
	ck_assert(value);
	ck_assert_int_eq(cs_parse_bool("0", &value), 0);
	ck_assert(!value);
}
END_TEST

START_TEST(texts_read_back)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} sizes[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ 1000, "1000" },
		{ 1024, "1k" },
		{ 1536, "1536" },
		{ 64 << 20, "64m" },
		{ UINT64_C(3) << 40, "3t" },
		{ UINT64_C(2048) << 40, "2048t" },
		{ INT64_MAX, "9223372036854775807" },
	};
	static const struct {
		int64_t ns;
		const char *text;
	} durations[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 500 * CS_NSEC_PER_MSEC, "500ms" },
		{ 90 * CS_NSEC_PER_SEC, "1m30s" },
		{ INT64_C(93784005006007), "1d2h3m4s5ms6us7ns" },
		{ INT64_MAX - 1, "106751d23h47m16s854ms775us806ns" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(sizes); i++) {
		char text[CS_SIZE_TEXT];
		uint64_t back;

		ck_assert_str_eq(cs_size_text(sizes[i].bytes, text), sizes[i].text);
		ck_assert_int_eq(cs_parse_size(text, &back), 0);
		ck_assert_uint_eq(back, sizes[i].bytes);
	}
	for (size_t i = 0; i < CS_ARRAY_LEN(durations); i++) {
		char text[CS_DURATION_TEXT];
		int64_t back;

		ck_assert_str_eq(cs_duration_text(durations[i].ns, text), durations[i].text);
		ck_assert_int_eq(cs_parse_duration(text, &back), 0);
		ck_assert_int_eq(back, durations[i].ns);
	}
}
END_TEST

START_TEST(lists_of_cpus)
{
	static const struct {
		const char *inner, *outer;
		bool within;
	} rows[] = {
		{ "0", "0", true },
		{ "1-2,5", "0-3,5-6", true },
		{ "0-3", "0-1,2-3", true },
		{ "0-3", "0,2-3", false },
		{ "4", "0-3", false },
		{ "", "0-3", false },
		{ "0", "", false },
		{ "0,", "0-3", false },
		{ ",0", "0-3", false },
		{ "0,,1", "0-3", false },
		{ "1-", "0-3", false },
		{ "-1", "0-3", false },
		{ "2-1", "0-3", false },
		{ "0\n", "0-3", false },
		{ "65536", "65536", false },
		{ "99999999999999999999", "0-3", false },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++)
		ck_assert_msg(cs_cpulist_within(rows[i].inner, rows[i].outer) == rows[i].within, "'%s' in '%s'",
			      rows[i].inner, rows[i].outer);
}
END_TEST

START_TEST(edit_distance)
{
	char big[100];

	ck_assert_uint_eq(cs_edit_distance("memory", "memory", 9), 0);
	ck_assert_uint_eq(cs_edit_distance("memroy", "memory", 9), 2);
	ck_assert_uint_eq(cs_edit_distance("memry", "memory", 9), 1);
	ck_assert_uint_eq(cs_edit_distance("", "abc", 9), 3);
	ck_assert_uint_eq(cs_edit_distance("abc", "", 9), 3);
	ck_assert_uint_eq(cs_edit_distance("kitten", "sitting", 9), 3);
	ck_assert_uint_eq(cs_edit_distance("kitten", "sitting", 2), 2);
	memset(big, 'a', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	ck_assert_uint_eq(cs_edit_distance(big, "a", 5), 5);
	ck_assert_uint_eq(cs_edit_distance("a", big, 5), 5);
}
END_TEST

CS_UNIT_SUITE(parse, numbers_are_strict, sizes_have_units, durations_have_units, cpus, signals,
	      signal_names_read_back, ids, booleans, texts_read_back, lists_of_cpus, edit_distance)
