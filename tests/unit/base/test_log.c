#include "shim/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "tests/unit/unit.h"

static int pipe_fds[2];
static char written[1 << 16];

static void setup(void)
{
	ck_assert_int_eq(cs_fd_pipe(pipe_fds, O_NONBLOCK), 0);
}

static void setup_log(enum cs_log_level level, enum cs_log_format format)
{
	const struct cs_log_config config = {
		.program = "prog",
		.level = level,
		.format = format,
		.fd = pipe_fds[1],
	};

	cs_log_setup(&config);
}

static void teardown(void)
{
	const struct cs_log_config quiet = { .program = "prog", .fd = -1 };

	cs_log_setup(&quiet);
	cs_close_fd(&pipe_fds[0]);
	cs_close_fd(&pipe_fds[1]);
}

/* What has been written since the last look. */
static const char *take_written(void)
{
	ssize_t n = read(pipe_fds[0], written, sizeof(written) - 1);

	ck_assert(n >= 0 || errno == EAGAIN);
	written[n > 0 ? n : 0] = '\0';
	return written;
}

START_TEST(text_lines)
{
	setup_log(CS_LOG_DEBUG, CS_LOG_TEXT);
	cs_log_error("no %s", "room");
	ck_assert_str_eq(take_written(), "prog: no room\n");
	cs_log_warn("w");
	cs_log_info("i");
	cs_log_debug("d");
	ck_assert_str_eq(take_written(), "prog: warning: w\nprog: info: i\nprog: debug: d\n");
}
END_TEST

START_TEST(lines_on_a_raw_terminal)
{
	setup_log(CS_LOG_WARN, CS_LOG_TEXT);
	cs_log_to_raw_terminal(true);
	cs_log_warn("w");
	ck_assert_str_eq(take_written(), "\rprog: warning: w\r\n");
	cs_log_to_raw_terminal(false);
	cs_log_warn("w");
	ck_assert_str_eq(take_written(), "prog: warning: w\n");
}
END_TEST

START_TEST(colour_is_of_the_words_before)
{
	cs_log_setup(&(struct cs_log_config){ .program = "prog", .level = CS_LOG_WARN, .fd = pipe_fds[1], .colour = true });
	cs_log_error("\033[32mno");
	ck_assert_str_eq(take_written(), "\033[31mprog:\033[0m ?[32mno\n");
	cs_log_warn("w");
	ck_assert_str_eq(take_written(), "\033[33mprog: warning:\033[0m w\n");
}
END_TEST

START_TEST(levels_beyond_are_silent)
{
	setup_log(CS_LOG_WARN, CS_LOG_TEXT);
	ck_assert(cs_log_enabled(CS_LOG_ERROR) && cs_log_enabled(CS_LOG_WARN));
	ck_assert(!cs_log_enabled(CS_LOG_INFO) && !cs_log_enabled(CS_LOG_DEBUG));
	cs_log_info("i");
	cs_log_debug("d");
	ck_assert_str_eq(take_written(), "");
	cs_log_warn("w");
	ck_assert_str_eq(take_written(), "prog: warning: w\n");
}
END_TEST

START_TEST(no_descriptor_no_line)
{
	const struct cs_log_config none = { .program = "prog", .level = CS_LOG_DEBUG, .fd = -1 };

	cs_log_setup(&none);
	ck_assert(!cs_log_enabled(CS_LOG_ERROR));
	cs_log_error("lost");
	ck_assert_str_eq(take_written(), "");
}
END_TEST

START_TEST(one_message_is_one_plain_line)
{
	setup_log(CS_LOG_ERROR, CS_LOG_TEXT);
	cs_log_error("a\nb\r\nc\td");
	ck_assert_str_eq(take_written(), "prog: a b  c d\n");
	/* what an engine repeats may come from a hostile container: no terminal sequences, in no spelling */
	cs_log_error("\x1b]0;title\x07\x7f\xc2\x9b"
		     "31m");
	ck_assert_str_eq(take_written(), "prog: ?]0;title???31m\n");
	cs_log_error("caf\xc3\xa9 \xff\xc3");
	ck_assert_str_eq(take_written(), "prog: caf\xc3\xa9 ??\n");
}
END_TEST

START_TEST(json_lines)
{
	static const char begin[] = "{\"level\":\"warning\",\"msg\":\"a "
				    "\\\"b\\\"\\n\\u001b\xef\xbf\xbd\",\"time\":\"20";
	const char *line;

	setup_log(CS_LOG_DEBUG, CS_LOG_JSON);
	cs_log_warn("a \"b\"\n\x1b\xff");
	line = take_written();
	ck_assert_msg(strncmp(line, begin, strlen(begin)) == 0, "%s", line);
	ck_assert_str_eq(line + strlen(line) - 4, "Z\"}\n");
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
}
END_TEST

START_TEST(long_lines_are_cut)
{
	char *message = malloc(100001);

	memset(message, 'x', 100000);
	message[100000] = '\0';
	setup_log(CS_LOG_ERROR, CS_LOG_TEXT);
	cs_log_error("%s", message);
	take_written();
	ck_assert_uint_le(strlen(written), 2048 + strlen("prog: \n"));
	ck_assert_uint_ge(strlen(written), 2000);
	ck_assert_str_eq(written + strlen(written) - 2, "x\n");

	/* the longest form that a message can take */
	memset(message, '\x01', 100000);
	setup_log(CS_LOG_ERROR, CS_LOG_JSON);
	cs_log_error("%s", message);
	take_written();
	ck_assert_str_eq(written + strlen(written) - 4, "Z\"}\n");
	free(message);
}
END_TEST

START_TEST(errno_is_kept)
{
	setup_log(CS_LOG_ERROR, CS_LOG_TEXT);
	cs_close_fd(&pipe_fds[1]);
	errno = ENOTTY;
	cs_log_error("nobody reads this");
	ck_assert_int_eq(errno, ENOTTY);
}
END_TEST

Suite *suite_log(void);
Suite *suite_log(void)
{
	const TTest *const tests[] = { text_lines,
				       lines_on_a_raw_terminal, colour_is_of_the_words_before, levels_beyond_are_silent,
				       no_descriptor_no_line,
				       one_message_is_one_plain_line,
				       json_lines,
				       long_lines_are_cut,
				       errno_is_kept };
	Suite *suite = suite_create("log");
	TCase *cases = tcase_create("log");

	tcase_add_checked_fixture(cases, setup, teardown);
	for (size_t i = 0; i < CS_ARRAY_LEN(tests); i++)
		tcase_add_test(cases, tests[i]);
	suite_add_tcase(suite, cases);
	return suite;
}
