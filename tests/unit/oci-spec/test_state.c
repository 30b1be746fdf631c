#include "oci-spec/state.h"

#include <limits.h>
#include <stdio.h>

#include "tests/unit/unit.h"

#define STATE(fields) "{\"ociVersion\":\"1.0.2\",\"id\":\"web1\"," fields "}"

START_TEST(states_of_engines_are_read)
{
	static const struct {
		const char *text;
		enum cs_state_status status;
		pid_t pid;
		const char *bundle;
	} rows[] = {
		{ STATE("\"pid\":12,\"status\":\"created\",\"bundle\":\"/b\""), CS_STATE_CREATED,
		  12, "/b" },
		{ STATE("\"pid\":12,\"status\":\"running\",\"bundle\":\"/b\",\"rootfs\":\"/r\","
			"\"created\":\"2026-01-31T12:34:56Z\",\"owner\":\"\",\"annotations\":{}"),
		  CS_STATE_RUNNING, 12, "/b" },
		{ STATE("\"status\":\"creating\""), CS_STATE_CREATING, 0, NULL },
		{ STATE("\"pid\":2147483647,\"status\":\"paused\",\"bundle\":null"),
		  CS_STATE_PAUSED, INT_MAX, NULL },
		{ STATE("\"pid\":3,\"status\":\"pausing\""), CS_STATE_PAUSED, 3, NULL },
		{ STATE("\"pid\":0,\"status\":\"stopped\""), CS_STATE_STOPPED, 0, NULL },
		{ STATE("\"pid\":12,\"status\":\"stopped\""), CS_STATE_STOPPED, 0, NULL },
		{ STATE("\"pid\":null,\"status\":\"stopped\""), CS_STATE_STOPPED, 0, NULL },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_auto(state) state = { 0 };
		struct cs_err err = CS_ERR_INIT;

		ck_ok(cs_state_parse(rows[i].text, strlen(rows[i].text), &state, &err), err);
		ck_assert_str_eq(state.id, "web1");
		ck_assert_int_eq(state.status, rows[i].status);
		ck_assert_int_eq(state.pid, rows[i].pid);
		ck_assert_pstr_eq(state.bundle, rows[i].bundle);
	}
}
END_TEST

START_TEST(what_is_no_state_is_the_engines_fault)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "", "premature EOF" },
		{ "container does not exist\n", "state: line 1, column 1" },
		{ "null", "null instead of an object" },
		{ "[]", "an array instead" },
		{ STATE("\"pid\":1"), "no status" },
		{ STATE("\"pid\":1,\"status\":7"), "no status" },
		{ STATE("\"pid\":1,\"status\":\"Running\""), "unknown status 'Running'" },
		{ STATE("\"pid\":1,\"status\":\"\""), "unknown status ''" },
		{ STATE("\"status\":\"running\""), "running, but without a pid" },
		{ STATE("\"pid\":0,\"status\":\"created\""), "created, but without a pid" },
		{ STATE("\"pid\":0,\"status\":\"pausing\""), "paused, but without a pid" },
		{ STATE("\"pid\":-1,\"status\":\"stopped\""), "pid is not" },
		{ STATE("\"pid\":1.0,\"status\":\"running\""), "pid is not" },
		{ STATE("\"pid\":\"1\",\"status\":\"running\""), "pid is not" },
		{ STATE("\"pid\":2147483648,\"status\":\"running\""), "pid is not" },
		{ STATE("\"pid\":1,\"status\":\"running\",\"bundle\":[]"), "bundle is no plain" },
		{ STATE("\"pid\":1,\"status\":\"running\",\"bundle\":\"a\\u0000\""),
		  "bundle is no" },
		{ "{\"status\":\"stopped\"}", "no id" },
		{ "{\"id\":\"\",\"status\":\"stopped\"}", "no id" },
		{ "{\"id\":1,\"status\":\"stopped\"}", "id is no plain string" },
		{ "{\"id\":\"a\",\"id\":\"b\",\"status\":\"stopped\"}", "stands twice" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_state state = { 0 };
		struct cs_err err = CS_ERR_INIT;

		ck_fails(cs_state_parse(rows[i].text, strlen(rows[i].text), &state, &err), err,
			 rows[i].words);
		ck_assert_int_eq(err.kind, CS_ENGINE);
		ck_assert_ptr_null(state.id);
	}
}
END_TEST

START_TEST(lists)
{
	const char *two =
		"[" STATE("\"pid\":1,\"status\":\"running\"") ","
							      "{\"id\":\"b\",\"status\":"
							      "\"stopped\",\"bundle\":\"/b\"}]";
	const char *bad = "[" STATE("\"pid\":1,\"status\":\"running\"") ",{\"id\":\"b\"}]";
	cs_auto(state_list) list = { 0 };
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_state_parse_list("null", 4, &list, &err), err);
	ck_assert_uint_eq(list.n, 0);
	ck_ok(cs_state_parse_list("[]\n", 3, &list, &err), err);
	ck_assert_uint_eq(list.n, 0);
	ck_fails(cs_state_parse_list("{}", 2, &list, &err), err, "no array");
	cs_err_clear(&err);
	ck_fails(cs_state_parse_list(bad, strlen(bad), &list, &err), err,
		 "element 1: state: no status");
	ck_assert_int_eq(err.kind, CS_ENGINE);
	ck_assert_uint_eq(list.n, 0);
	cs_err_clear(&err);
	ck_ok(cs_state_parse_list(two, strlen(two), &list, &err), err);
	ck_assert_uint_eq(list.n, 2);
	ck_assert_str_eq(list.v[0].id, "web1");
	ck_assert_str_eq(list.v[1].bundle, "/b");
}
END_TEST

START_TEST(every_status_has_its_word)
{
	for (int status = 0; status < CS_STATE_STATUSES; status++) {
		cs_auto(state) state = { 0 };
		struct cs_err err = CS_ERR_INIT;
		char text[128];
		int n = snprintf(text, sizeof(text), "{\"id\":\"a\",\"pid\":1,\"status\":\"%s\"}",
				 cs_state_word(status));

		ck_ok(cs_state_parse(text, (size_t)n, &state, &err), err);
		ck_assert_int_eq(state.status, status);
	}
	ck_assert_str_eq(cs_state_word(CS_STATE_STATUSES), "unknown");
}
END_TEST

CS_UNIT_SUITE(state, states_of_engines_are_read, what_is_no_state_is_the_engines_fault, lists,
	      every_status_has_its_word)
