#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/oci/say.h"
#include "tests/unit/unit.h"

static char dir[64];

static void make_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/caisson-say.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void parse(struct cs_oci_call *call, const char *format)
{
	struct cs_err err = CS_ERR_INIT;
	char log[128], *argv[] = { (char *)"caisson-runtime", (char *)"--log", log, (char *)"--log-format", (char *)format,
				   (char *)"kill", (char *)"ID", NULL };

	snprintf(log, sizeof(log), "%s/log", dir);
	ck_ok(cs_oci_call_parse(CS_ARRAY_LEN(argv) - 1, argv, call, &err), err);
}

static void append(const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/log", dir);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(cs_fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void take_log(struct cs_buf *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/log", dir);
	ck_assert_int_eq(cs_file_read(AT_FDCWD, path, text), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(f062_one_object_a_line)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);
	cs_autojson struct cs_json *line = NULL;
	struct cs_err err = CS_ERR_INIT;
	struct cs_oci_call call;

	make_dir();
	parse(&call, "json");
	ck_assert(cs_oci_log_complete(&call, 0, "a \"quoted\"\nthing"));
	take_log(&text);
	ck_assert_int_eq(text.data[text.len - 1], '\n');
	ck_ok(cs_json_parse(text.data, text.len, "log", &line, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_member(line, "level")), "error");
	ck_assert_str_eq(cs_json_string(cs_json_member(line, "msg")), "a \"quoted\"\nthing");
	ck_assert_ptr_nonnull(cs_json_string(cs_json_member(line, "time")));
	cs_oci_call_release(&call);
}
END_TEST

START_TEST(an_engines_own_line_is_enough)
{
	static const char *const own[] = { "{\"level\":\"error\",\"msg\":\"x\"}\n", "time=\"now\" level=error msg=\"x\"\n" };

	for (size_t i = 0; i < CS_ARRAY_LEN(own); i++) {
		cs_auto(buf) text = CS_BUF_INIT(4096);
		struct cs_oci_call call;

		make_dir();
		parse(&call, "json");
		append(own[i]);
		ck_assert(!cs_oci_log_complete(&call, 0, "mine"));
		/* but one of an earlier call is not */
		ck_assert(cs_oci_log_complete(&call, cs_oci_log_end(&call), "mine"));
		take_log(&text);
		ck_assert_ptr_nonnull(strstr(text.data, "mine"));
		cs_oci_call_release(&call);
	}
}
END_TEST

START_TEST(text_where_no_json_is_wanted)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);
	struct cs_oci_call call;

	make_dir();
	parse(&call, "text");
	append("level=warning msg=\"y\"\n");
	ck_assert(cs_oci_log_complete(&call, 0, "mine"));
	take_log(&text);
	ck_assert_ptr_nonnull(strstr(text.data, "level=error msg=\"mine\"\n"));
	cs_oci_call_release(&call);
}
END_TEST

CS_UNIT_SUITE(say, f062_one_object_a_line, an_engines_own_line_is_enough, text_where_no_json_is_wanted)
