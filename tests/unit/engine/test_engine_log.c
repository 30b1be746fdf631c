#include <errno.h>
#include <string.h>

#include "shim/engine/engine_log.h"
#include "tests/unit/unit.h"

static void says(const char *log, size_t len, const char *want)
{
	cs_auto(buf) out = CS_BUF_INIT(200);

	ck_assert_int_eq(cs_engine_log_message(log, len, &out), 0);
	ck_assert_str_eq(out.data, want);
	ck_assert(!out.failed);
}

static void says_text(const char *log, const char *want)
{
	says(log, strlen(log), want);
}

START_TEST(json_lines_of_the_engines)
{
	says_text("{\"level\":\"error\",\"msg\":\"runc create failed: exec: \\\"/no\\\": stat /no: no such file\",\"time\":\"2026\"}\n",
		  "runc create failed: exec: \"/no\": stat /no: no such file");
	says_text("{\"msg\":\"open executable: Permission denied\",\"level\":\"error\",\"time\":\"2026\"}\n",
		  "open executable: Permission denied");
	/* the last error, whatever warnings come behind it */
	says_text("{\"level\":\"error\",\"msg\":\"one\"}\n{\"level\":\"error\",\"msg\":\"two\"}\n{\"level\":\"warning\",\"msg\":\"three\"}\n",
		  "two");
	/* a line that was cut off is text, and an error says more */
	says_text("{\"level\":\"error\",\"msg\":\"one\"}\n{\"level\":\"err", "one");
	/* without the final newline */
	says_text("{\"level\":\"fatal\",\"msg\":\"one\"}", "one");
	/* runsc ends no line */
	says_text("{\"msg\":\"one\",\"level\":\"error\"}{\"msg\":\"t\\\"}{\",\"level\":\"error\"}", "t\"}{");
	says_text("{\"msg\":\"one\",\"level\":\"error\"}{\"msg\":\"two\",\"level\":\"warning\"}\n{\"cut", "one");
	/* nothing better */
	says_text("{\"level\":\"warning\",\"msg\":\"lonely\"}\n", "lonely");
}
END_TEST

START_TEST(text_of_the_engines)
{
	says_text("time=\"2026-11-30T17:16:08Z\" level=error msg=\"open \\\"/x\\\": no such file\"\n", "open \"/x\": no such file");
	says_text("time=\"2026\" level=error msg=plain\ntime=\"2026\" level=warning msg=\"later\"\n", "plain");
	says_text("2026-11-30T17:16:08.673591Z: executable file `x` not found\n", "executable file `x` not found");
	says_text("container does not exist\n\n", "container does not exist");
	says_text("two\nlines\n", "lines");
	/* an unfinished quote */
	says_text("level=error msg=\"cut \\", "cut \\");
}
END_TEST

START_TEST(help_behind_an_error_is_not_the_error)
{
	says_text("flag provided but not defined: -no\nUsage: runsc <flags> <subcommand>\n\nUse \"runsc flags\" for a list\n",
		  "flag provided but not defined: -no");
	says_text("/usr/bin/crun: unrecognized option '--no'\nTry `crun --help' for more information.\n",
		  "/usr/bin/crun: unrecognized option '--no'");
}
END_TEST

START_TEST(F031_crash_of_a_go_program_is_told_by_its_first_line)
{
	says_text("runtime: failed to create new OS thread (have 5 already; errno=11)\n"
		  "fatal error: newosproc\n\nruntime stack:\nruntime.throw({0x1, 0x2})\n\t/usr/lib/go/panic.go:992\n"
		  "goroutine 1 [running]:\nmain.main()\n\t/x/main.go:3 +0x2\nexit status 2\n",
		  "runtime: failed to create new OS thread (have 5 already; errno=11)");
	says_text("panic: oh no\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: oh no");
}
END_TEST

START_TEST(F062_garbage_gives_a_printable_line_or_nothing)
{
	cs_auto(buf) out = CS_BUF_INIT(200);
	static const char nuls[] = "\0\0\0\n\0";
	static char big[100000];

	ck_assert_int_eq(cs_engine_log_message("", 0, &out), -ENODATA);
	ck_assert_int_eq(cs_engine_log_message("\n \t\n", 4, &out), -ENODATA);
	ck_assert_int_eq(cs_engine_log_message(nuls, sizeof(nuls), &out), -ENODATA);
	ck_assert_int_eq(cs_engine_log_message("{\"level\":\"error\",\"msg\":\"\"}", 26, &out), 0);
	ck_assert_int_eq(cs_engine_log_message("\x80\x81" "ab\x82", 5, &out), -ENODATA);
	says("a\0b\xff\x1b[31m", 9, "a b? [31m");
	says_text("{\"level\":\"error\",\"msg\":{\"deep\":1}}\n", "{\"level\":\"error\",\"msg\":{\"deep\":1}}");
	says_text("{\"level\":\"error\",\"msg\":\"a\\u0000b\\nc\"}\n", "a b c");
	says_text("[[[[\n{{{{\n", "{{{{");
	memset(big, 'E', sizeof(big));
	cs_buf_reset(&out);
	ck_assert_int_eq(cs_engine_log_message(big, sizeof(big), &out), 0);
	ck_assert_uint_eq(out.len, 200);
	ck_assert(!out.failed);
}
END_TEST

START_TEST(long_message_is_not_cut_inside_a_character)
{
	cs_auto(buf) out = CS_BUF_INIT(5);

	ck_assert_int_eq(cs_engine_log_message("aaaa\xc3\xa4", 6, &out), 0);
	ck_assert_str_eq(out.data, "aaaa");
}
END_TEST

START_TEST(F019_blame_of_every_engines_words)
{
	static const struct { const char *message; enum cs_engine_blame blame; } cases[] = {
		{ "runc create failed: unable to start container process: exec: \"/no/such\": stat /no/such: no such file or directory", CS_BLAME_NOT_FOUND },
		{ "runc create failed: unable to start container process: exec: \"nosuch\": executable file not found in $PATH", CS_BLAME_NOT_FOUND },
		{ "runc create failed: unable to start container process: exec: \"/d\": permission denied", CS_BLAME_NOT_EXECUTABLE },
		{ "runc create failed: unable to start container process: exec: \"/bin/true/x\": stat /bin/true/x: not a directory", CS_BLAME_NOT_FOUND },
		{ "exec /nointerp: no such file or directory", CS_BLAME_NOT_FOUND },
		{ "exec /garbage: exec format error", CS_BLAME_NOT_EXECUTABLE },
		{ "executable file `/no/such` not found in $PATH: No such file or directory", CS_BLAME_NOT_FOUND },
		{ "open executable: Permission denied", CS_BLAME_NOT_EXECUTABLE },
		{ "open executable: Operation not permitted", CS_BLAME_NOT_EXECUTABLE },
		{ "exec container process `/garbage`: Exec format error", CS_BLAME_NOT_EXECUTABLE },
		{ "exec container process (missing dynamic library?) `/nointerp`: No such file or directory", CS_BLAME_NOT_FOUND },
		{ "starting container: starting root container: starting sandbox: creating process: failed to load /no/such: no such file or directory", CS_BLAME_NOT_FOUND },
		{ "starting container: starting root container: starting sandbox: error finding executable \"nosuch\" in PATH [/bin]: no such file or directory", CS_BLAME_NOT_FOUND },
		{ "starting container: starting root container: starting sandbox: creating process: failed to load /garbage: exec format error", CS_BLAME_NOT_EXECUTABLE },
		{ "open '/run/b/config.json': no such file or directory", CS_BLAME_NONE },
		{ "error mounting \"/src\" to rootfs at \"/dst\": stat /src: no such file or directory", CS_BLAME_NONE },
		{ "mkdir /sys/fs/cgroup/x: permission denied", CS_BLAME_NONE },
		{ "", CS_BLAME_NONE },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(cases); i++)
		ck_assert_msg(cs_engine_log_blame(cases[i].message) == cases[i].blame, "%s", cases[i].message);
}
END_TEST

CS_UNIT_SUITE(engine_log, json_lines_of_the_engines, text_of_the_engines,
	      help_behind_an_error_is_not_the_error,
	      F031_crash_of_a_go_program_is_told_by_its_first_line,
	      F062_garbage_gives_a_printable_line_or_nothing, long_message_is_not_cut_inside_a_character,
	      F019_blame_of_every_engines_words)
