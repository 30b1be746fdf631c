#include "shim/sys/mountinfo.h"

#include "tests/unit/unit.h"

START_TEST(fields_and_escapes)
{
	char text[] = "36 35 98:0 /mnt1 /mnt\\0402\\134x\\011\\012 rw,noatime master:1 propagate_from:2 - ext3 "
		      "/dev/ro\\157t rw,errors=continue\n";
	struct cs_mountinfo row;
	char *cursor = text;

	ck_assert_int_eq(cs_mountinfo_next(&cursor, &row), 1);
	ck_assert_uint_eq(row.id, 36);
	ck_assert_uint_eq(row.parent, 35);
	ck_assert_str_eq(row.root, "/mnt1");
	ck_assert_str_eq(row.point, "/mnt 2\\x\t\n");
	ck_assert_str_eq(row.options, "rw,noatime");
	ck_assert_str_eq(row.fstype, "ext3");
	ck_assert_str_eq(row.source, "/dev/root");
	ck_assert_str_eq(row.super_options, "rw,errors=continue");
	ck_assert_int_eq(cs_mountinfo_next(&cursor, &row), 0);
}
END_TEST

START_TEST(other_forms_are_passed_over)
{
	char text[] = "\n"
		      "junk\n"
		      "x 1 0:1 / /p rw - tmpfs t rw\n"
		      "1 2 0:1 / /p rw shared:1\n"
		      "1 2 0:1 / /empty rw - tmpfs  rw\n"
		      "99999999999 2 0:1 / /p rw - tmpfs t rw\n"
		      "3 2 0:1 / /\\04 rw - tmpfs t rw";
	struct cs_mountinfo row;
	char *cursor = text;

	ck_assert_int_eq(cs_mountinfo_next(&cursor, &row), 1);
	ck_assert_str_eq(row.point, "/empty");
	ck_assert_str_eq(row.source, "");
	ck_assert_int_eq(cs_mountinfo_next(&cursor, &row), 1);
	ck_assert_str_eq(row.point, "/\\04");
	ck_assert_int_eq(cs_mountinfo_next(&cursor, &row), 0);
	ck_assert_int_eq(cs_mountinfo_next(&cursor, &row), 0);
}
END_TEST

START_TEST(options_are_whole_words)
{
	ck_assert(cs_mountinfo_has_option("rw,cpu,cpuacct", "cpu"));
	ck_assert(cs_mountinfo_has_option("rw,cpu,cpuacct", "cpuacct"));
	ck_assert(!cs_mountinfo_has_option("rw,cpuacct", "cpu"));
	ck_assert(!cs_mountinfo_has_option("rw,cpuacct", "acct"));
	ck_assert(!cs_mountinfo_has_option("", "cpu"));
	ck_assert(!cs_mountinfo_has_option(",,", ""));
}
END_TEST

START_TEST(below_is_by_component)
{
	ck_assert(cs_mountinfo_is_below("/a/b", "/a"));
	ck_assert(cs_mountinfo_is_below("/a", "/a"));
	ck_assert(cs_mountinfo_is_below("/a", "/a/"));
	ck_assert(!cs_mountinfo_is_below("/ab", "/a"));
	ck_assert(!cs_mountinfo_is_below("/", "/a"));
	ck_assert(cs_mountinfo_is_below("/a", "/"));
	ck_assert(cs_mountinfo_is_below("/", "/"));
}
END_TEST

START_TEST(of_this_process)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
	struct cs_mountinfo row;
	bool proc = false;
	char *cursor;

	ck_assert_int_eq(cs_mountinfo_read(&text), 0);
	cursor = text.data;
	while (cs_mountinfo_next(&cursor, &row) > 0)
		proc = proc || (strcmp(row.point, "/proc") == 0 && strcmp(row.fstype, "proc") == 0);
	ck_assert(proc);
}
END_TEST

CS_UNIT_SUITE(mountinfo, fields_and_escapes, other_forms_are_passed_over, options_are_whole_words,
	      below_is_by_component, of_this_process)
