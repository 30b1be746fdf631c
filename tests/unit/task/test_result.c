#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "shim/task/result.h"
#include "tests/unit/unit.h"

static struct cs_result result;

static struct cs_json *record(void)
{
	struct cs_json *json = NULL;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_result_json(&result, &json, &err), err);
	return json;
}

START_TEST(F074_fields_never_vanish)
{
	static const char *const paths[] = {
		"version", "id", "reason", "exitCode", "signal", "outwardCode", "engine.name", "engine.version",
		"error", "syscall", "startedAt", "finishedAt", "oomScope", "usage.wallNs", "usage.queueNs",
		"usage.setupNs", "usage.cpuUserNs", "usage.cpuSystemNs", "usage.memoryPeakBytes",
		"usage.shmemPeakBytes", "usage.pidsPeak", "usage.oomKills", "usage.pidsLimitHits",
		"usage.ioReadBytes", "usage.ioWriteBytes", "stdout.seenBytes", "stdout.keptBytes",
		"stdout.droppedBytes", "stdout.truncated", "stdout.sinkStalled", "stderr.seenBytes",
		"limits.memoryBytes.asked", "limits.memoryBytes.inForce", "limits.pids.asked", "limits.wallNs.asked",
		"stdioHeld", "warnings", "leftovers", "unavailable",
	};
	cs_autojson struct cs_json *json = NULL;

	cs_result_init(&result);
	json = record();
	for (size_t i = 0; i < CS_ARRAY_LEN(paths); i++)
		ck_assert_msg(cs_json_get(json, paths[i]) != NULL, "%s", paths[i]);
	cs_result_release(&result);
}
END_TEST

START_TEST(words_that_are_no_utf8_do_not_cost_the_record)
{
	cs_autojson struct cs_json *json = NULL;
	cs_auto(buf) text = CS_BUF_INIT(64 * 1024);
	struct cs_err err = CS_ERR_INIT;

	cs_result_init(&result);
	snprintf(result.error, sizeof(result.error), "'/tmp/\xff': No such file or directory");
	snprintf(result.engine_message, sizeof(result.engine_message), "cut in the middle \xc3");
	ck_assert_int_eq(cs_strv_add(&result.warnings, "\xfe"), 0);
	ck_assert_int_eq(cs_strv_add(&result.leftovers, "ok"), 0);
	json = record();
	ck_ok(cs_json_write(json, CS_JSON_COMPACT, &text, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "error.message")),
			 "'/tmp/\xef\xbf\xbd': No such file or directory");
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "warnings.0")), "\xef\xbf\xbd");
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "leftovers.0")), "ok");
	cs_result_release(&result);
}
END_TEST

START_TEST(what_is_null_is_named_unavailable)
{
	cs_autojson struct cs_json *json = NULL;
	const struct cs_json *name;
	size_t n = 0;

	cs_result_init(&result);
	result.usage.pids_peak = 3;
	json = record();
	ck_assert_int_eq(cs_json_kind(cs_json_get(json, "usage.memoryPeakBytes")), CS_JSON_NULL);
	ck_assert_str_eq(cs_json_number_text(cs_json_get(json, "usage.pidsPeak")), "3");
	cs_json_each(name, cs_json_member(json, "unavailable")) {
		ck_assert_str_ne(cs_json_string(name), "pidsPeak");
		n += strcmp(cs_json_string(name), "memoryPeakBytes") == 0;
	}
	ck_assert_uint_eq(n, 1);
	cs_result_release(&result);
}
END_TEST

START_TEST(one_of_code_and_signal_is_null)
{
	cs_autojson struct cs_json *exited = NULL, *signaled = NULL;

	cs_result_init(&result);
	result.reason = CS_REASON_EXITED;
	result.end.code = 7;
	exited = record();
	ck_assert_str_eq(cs_json_number_text(cs_json_member(exited, "exitCode")), "7");
	ck_assert_int_eq(cs_json_kind(cs_json_member(exited, "signal")), CS_JSON_NULL);
	result.reason = CS_REASON_SIGNALED;
	result.end = (struct cs_exit){ -1, SIGKILL };
	signaled = record();
	ck_assert_int_eq(cs_json_kind(cs_json_member(signaled, "exitCode")), CS_JSON_NULL);
	ck_assert_str_eq(cs_json_number_text(cs_json_member(signaled, "signal")), "9");
	ck_assert_str_eq(cs_json_number_text(cs_json_member(signaled, "outwardCode")), "137");
	cs_result_release(&result);
}
END_TEST

/* What was captured comes back from the record, whatever its bytes are. */
static void check_capture(const char *bytes, size_t len, const char *encoding, const char *data)
{
	cs_autojson struct cs_json *json = NULL;

	cs_result_init(&result);
	result.stdout_stream.captured = true;
	ck_assert_int_eq(cs_buf_add(&result.stdout_stream.bytes, bytes, len), 0);
	json = record();
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "stdout.encoding")), encoding);
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "stdout.data")), data);
	cs_result_release(&result);
}

START_TEST(F047_bytes_are_recoverable)
{
	check_capture("", 0, "utf-8", "");
	check_capture("caf\xc3\xa9\n", 6, "utf-8", "caf\xc3\xa9\n");
	check_capture("\xff", 1, "base64", "/w==");
	check_capture("a\xff", 2, "base64", "Yf8=");
	check_capture("ab\xff", 3, "base64", "YWL/");
	check_capture("\0x", 2, "base64", "AHg=");
	check_capture("\xc3", 1, "base64", "ww==");
}
END_TEST

START_TEST(limits_have_a_sentence)
{
	cs_auto(buf) text = CS_BUF_INIT(1024);

	cs_result_init(&result);
	result.reason = CS_REASON_WALL_LIMIT;
	result.limits[CS_LIMIT_WALL].asked = UINT64_C(1500000000);
	cs_result_sentence(&result, &text);
	ck_assert_str_eq(text.data, "ended by the wall time limit of 1s500ms (--timeout)");
	cs_buf_reset(&text);
	result.reason = CS_REASON_EXITED;
	cs_result_sentence(&result, &text);
	ck_assert_uint_eq(text.len, 0);
	cs_result_release(&result);
}
END_TEST

CS_UNIT_SUITE(result, F074_fields_never_vanish, words_that_are_no_utf8_do_not_cost_the_record,
	      what_is_null_is_named_unavailable,
	      one_of_code_and_signal_is_null, F047_bytes_are_recoverable, limits_have_a_sentence)
