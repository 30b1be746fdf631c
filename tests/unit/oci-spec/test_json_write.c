#include "oci-spec/json.h"

#include <fcntl.h>
#include <stdlib.h>

#include "shim/base/file.h"
#include "tests/unit/unit.h"

static struct cs_json *parse(const char *text)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_ok(cs_json_parse(text, strlen(text), "test", &json, &err), err);
	return json;
}

static void expect(const struct cs_json *json, enum cs_json_style style, const char *text)
{
	cs_auto(buf) out = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_write(json, style, &out, &err), err);
	ck_assert_str_eq(out.data, text);
}

START_TEST(compact_text_comes_out_as_it_went_in)
{
	static const char *const texts[] = {
		"null",
		"true",
		"false",
		"0",
		"-0",
		"1.10",
		"1E+2",
		"1e400",
		"0.1e-7",
		"18446744073709551615",
		"-9223372036854775808",
		"123456789012345678901234567890.50",
		"\"\"",
		"[]",
		"{}",
		"[[],{}]",
		"{\"b\":1,\"a\":[1,2.50,\"\xc3\xa9\"],\"\":{\"z\":null}}",
		"\"\\\"\\\\/\\n\\r\\t\\u0000\\u0001\"",
		"\"\xf0\x9f\x98\x80\"",
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++) {
		cs_autojson struct cs_json *json = parse(texts[i]);

		expect(json, CS_JSON_COMPACT, texts[i]);
	}
	expect(NULL, CS_JSON_COMPACT, "null");
}
END_TEST

START_TEST(escapes_are_the_shortest_form)
{
	cs_autojson struct cs_json *json = parse("\"\\u00e9\\/\\u0041\\ud83d\\ude00\\u000a\"");

	expect(json, CS_JSON_COMPACT, "\"\xc3\xa9/A\xf0\x9f\x98\x80\\n\"");
}
END_TEST

START_TEST(indent_is_one_tab_a_level)
{
	cs_autojson struct cs_json *json = parse("{\"a\":[1,{\"b\":{}}],\"c\":[]}");

	expect(json, CS_JSON_INDENTED,
	       "{\n\t\"a\": [\n\t\t1,\n\t\t{\n\t\t\t\"b\": {}\n\t\t}\n\t],\n\t\"c\": []\n}");
}
END_TEST

START_TEST(a_part_of_a_tree_can_be_written)
{
	cs_autojson struct cs_json *json = parse("{\"a\":{\"b\":[1]}}");

	expect(cs_json_get(json, "a"), CS_JSON_INDENTED, "{\n\t\"b\": [\n\t\t1\n\t]\n}");
}
END_TEST

START_TEST(depth_limit_can_be_written)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);

	for (int i = 0; i < CS_JSON_DEPTH_MAX; i++)
		cs_buf_adds(&text, "[");
	for (int i = 0; i < CS_JSON_DEPTH_MAX; i++)
		cs_buf_adds(&text, "]");
	cs_autojson struct cs_json *json = parse(text.data);
	expect(json, CS_JSON_COMPACT, text.data);
}
END_TEST

START_TEST(the_cap_of_the_buffer_holds)
{
	cs_autojson struct cs_json *json = parse("{\"key\":[1,2,3,\"text\"]}");
	size_t whole = strlen("{\"key\":[1,2,3,\"text\"]}");

	for (size_t max = 0; max <= whole; max++) {
		cs_auto(buf) out = CS_BUF_INIT(max);
		struct cs_err err = CS_ERR_INIT;
		int r = cs_json_write(json, CS_JSON_COMPACT, &out, &err);

		ck_assert_int_eq(r, max < whole ? -1 : 0);
		ck_assert_uint_le(out.len, max);
		if (r < 0)
			ck_assert_int_eq(err.kind, CS_LIMIT);
	}
}
END_TEST

START_TEST(bytes_that_are_no_text_are_named)
{
	cs_autojson struct cs_json *json = parse("{\"process\":{\"args\":[\"sh\"]}}");
	cs_auto(buf) out = CS_BUF_INIT(1024);
	struct cs_err err = CS_ERR_INIT;

	cs_json_add(cs_json_get(json, "process.args"), cs_json_new_string("a\xff"));
	ck_fails(cs_json_write(json, CS_JSON_COMPACT, &out, &err), err, "process.args.1: the text");
	ck_assert_int_eq(err.kind, CS_INVALID);
	cs_err_clear(&err);
	cs_buf_reset(&out);
	cs_json_free(cs_json_take_at(cs_json_get(json, "process.args"), 1));
	cs_json_put(json, "\xff", cs_json_new_null());
	ck_fails(cs_json_write(json, CS_JSON_COMPACT, &out, &err), err, "the key");
	cs_err_clear(&err);
	cs_buf_reset(&out);
	cs_autojson struct cs_json *alone = cs_json_new_string("\xff");
	ck_fails(cs_json_write(alone, CS_JSON_COMPACT, &out, &err), err, "JSON: the text");
}
END_TEST

static const char *const golden[] = {
	"config-full.json",
	"config-odd.json",
	"escapes.json",
	"numbers.json",
};

static void read_golden(const char *name, struct cs_buf *text)
{
	const char *srcdir = getenv("SRCDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/golden/json/%s", srcdir ? srcdir : ".", name);
	ck_assert_msg(cs_file_read(AT_FDCWD, path, text) == 0, "%s", path);
}

/* Golden files are in the indented form, so that the text itself must come back. */
START_TEST(golden_files_come_back)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX), out = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	cs_auto(buf) compact = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	struct cs_err err = CS_ERR_INIT;

	read_golden(golden[_i], &text);
	cs_autojson struct cs_json *json = parse(text.data);
	ck_ok(cs_json_write(json, CS_JSON_INDENTED, &out, &err), err);
	cs_buf_addc(&out, '\n');
	ck_assert_str_eq(out.data, text.data);

	/* and through the compact form */
	ck_ok(cs_json_write(json, CS_JSON_COMPACT, &compact, &err), err);
	ck_assert_ptr_null(strchr(compact.data, '\n'));
	cs_autojson struct cs_json *again = parse(compact.data);
	cs_buf_reset(&out);
	ck_ok(cs_json_write(again, CS_JSON_INDENTED, &out, &err), err);
	cs_buf_addc(&out, '\n');
	ck_assert_str_eq(out.data, text.data);
}
END_TEST

Suite *suite_json_write(void);
Suite *suite_json_write(void)
{
	Suite *suite = suite_create("json_write");
	TCase *cases = tcase_create("json_write");

	tcase_add_test(cases, compact_text_comes_out_as_it_went_in);
	tcase_add_test(cases, escapes_are_the_shortest_form);
	tcase_add_test(cases, indent_is_one_tab_a_level);
	tcase_add_test(cases, a_part_of_a_tree_can_be_written);
	tcase_add_test(cases, depth_limit_can_be_written);
	tcase_add_test(cases, the_cap_of_the_buffer_holds);
	tcase_add_test(cases, bytes_that_are_no_text_are_named);
	tcase_add_loop_test(cases, golden_files_come_back, 0, CS_ARRAY_LEN(golden));
	suite_add_tcase(suite, cases);
	return suite;
}
