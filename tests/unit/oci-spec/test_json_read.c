#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "tests/unit/unit.h"

START_TEST(refused_with_the_place)
{
	static const struct {
		const char *text, *place, *words;
	} rows[] = {
		{ "", "line 1, column 1", "premature EOF" },
		{ "  \n ", "line 2, column 2", "premature EOF" },
		{ "[", "line 1, column 2", "premature EOF" },
		{ "{\"a\":\n[1,\n \"x", "line 3, column 4", "premature EOF" },
		{ "nul", "line 1, column 4", "invalid string" },
		{ "[1,]", "line 1, column 4", "unallowed token" },
		{ "[1 2]", "line 1, column 4", "after array element" },
		{ "{\"a\" 1}", "line 1, column 6", "colon" },
		{ "{\"a\":1,}", "line 1, column 8", "object key" },
		{ "{1:2}", "line 1, column 2", "object key" },
		{ "]", "line 1, column 1", "unallowed token" },
		{ "[1] [2]", "line 1, column 5", "trailing garbage" },
		{ "1 // c", "line 1, column 3", "strings only" },
		{ "/* c */ 1", "line 1, column 1", "strings only" },
		{ "[01]", "line 1, column 3", "after array element" },
		{ "[+1]", "line 1", "invalid char" },
		{ "[1.]", "line 1, column 4", "decimal point" },
		{ "[.5]", "line 1", "invalid char" },
		{ "[-]", "line 1, column 3", "minus sign" },
		{ "[1e]", "line 1, column 4", "exponent" },
		{ "[NaN]", "line 1, column 2", "strings only" },
		{ "[Infinity]", "line 1, column 2", "strings only" },
		{ "['a']", "line 1, column 2", "strings only" },
		{ "[1,\v2]", "line 1, column 4", "strings only" },
		{ "[1,\f2]", "line 1, column 4", "strings only" },
		{ "[1,\xc2\xa0 2]", "line 1, column 4", "strings only" },
		{ "\xef\xbb\xbf[]", "line 1, column 1", "strings only" },
		{ "\"a\tb\"", "line 1, column 3", "invalid character" },
		{ "\"a\nb\"", "line 1, column 3", "invalid character" },
		{ "\"\\q\"", "line 1, column 3", "may not" },
		{ "\"\\u12G4\"", "line 1", "non-hex" },
		{ "\"\\", "line 1, column 3", "may not" },
		/* UTF-8: bytes out of place, overlong, surrogate, past U+10FFFF, cut */
		{ "\"\xc3\xa9\xff\"", "line 1, column 3", "UTF-8" },
		{ "\"\x80\"", "line 1, column 2", "UTF-8" },
		{ "\"\xc0\x80\"", "line 1, column 2", "UTF-8" },
		{ "\"\xed\xa0\x80\"", "line 1, column 2", "UTF-8" },
		{ "\"\xf4\x90\x80\x80\"", "line 1, column 2", "UTF-8" },
		{ "\"\xe2\x82", "line 1, column 2", "UTF-8" },
		{ "\"\\\xff\"", "line 1, column 3", "UTF-8" },
		{ "\xff", "line 1, column 1", "UTF-8" },
		/* halves of surrogate pairs */
		{ "\"\\ud800\"", "line 1, column 2", "surrogate" },
		{ "\"\\ud800", "line 1, column 2", "surrogate" },
		{ "\"x\\udc00\"", "line 1, column 3", "surrogate" },
		{ "\"\\ud800\\ud800\\udc00\"", "line 1, column 2", "surrogate" },
		{ "\"\\ud800\\n\"", "line 1, column 2", "surrogate" },
		{ "\"\\uDBFF\\u0041\"", "line 1, column 2", "surrogate" },
		{ "{\"\\udead\":1}", "line 1, column 3", "surrogate" },
		/* keys */
		{ "{\"a\\u0000b\":1}", "line 1", "NUL" },
		{ "{\"a\":1,\"b\":2,\n\"a\":3}", "line 2, column 1", "key \"a\" stands twice" },
		{ "[[{\"x\":[{\"k\\\"\":1, \"k\\\"\":2}]}]]", "line 1, column 19", "twice" },
		{ "{\"a\":1,\"\\u0061\":2}", "line 1, column 8", "key \"a\" stands twice" },
		{ "{\"\":1,\"\":2}", "line 1, column 7", "key \"\" stands twice" },
		{ "{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"b\":1,\n"
		  "\"7\":1,\"b\":1,\"7\":1}",
		  "line 2, column 1", "key \"7\" stands twice" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_err err = CS_ERR_INIT;
		struct cs_json *json = NULL;
		int r = cs_json_parse(rows[i].text, strlen(rows[i].text), "in.json", &json, &err);

		ck_assert_msg(r < 0, "'%s' was taken", rows[i].text);
		ck_assert_ptr_null(json);
		ck_assert_int_eq(err.kind, CS_INVALID);
		ck_assert_msg(strncmp(err.text, "in.json: line ", 14) == 0, "%s", err.text);
		ck_assert_msg(strstr(err.text, rows[i].place) && strstr(err.text, rows[i].words),
			      "%zu: '%s' lacks '%s' or '%s'", i, err.text, rows[i].place,
			      rows[i].words);
	}
}
END_TEST

START_TEST(nul_outside_strings_is_refused)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_fails(cs_json_parse("[1]\0", 4, "t", &json, &err), err, "column 4");
	cs_err_clear(&err);
	ck_fails(cs_json_parse(NULL, 0, "t", &json, &err), err, "premature EOF");
}
END_TEST

START_TEST(escapes_are_decoded)
{
	const char *text =
		"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u00e9\\ud83d\\ude00\\uFFFF\",\"\\\\ud800\"]";
	cs_autojson struct cs_json *json = NULL;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_parse(text, strlen(text), "t", &json, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_at(json, 0)), "\"\\/\b\f\n\r\t");
	ck_assert_str_eq(cs_json_string(cs_json_at(json, 1)),
			 "\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbf");
	ck_assert_str_eq(cs_json_string(cs_json_at(json, 2)), "\\ud800");
}
END_TEST

START_TEST(every_cut_of_a_text_is_refused)
{
	const char *text =
		"{\"a\":[1.5e3,true,null,{\"\\u00e9\":\"\\ud83d\\ude00\xe2\x82\xac\"}],\"b\":-12}";

	for (size_t len = 0; len < strlen(text); len++) {
		struct cs_err err = CS_ERR_INIT;
		struct cs_json *json = NULL;
		cs_autofree char *cut = malloc(len + 1); /* so that a read past it is seen */

		memcpy(cut, text, len);
		ck_assert_msg(cs_json_parse(cut, len, "t", &json, &err) < 0, "%zu", len);
	}
}
END_TEST

static int parse_nested(const char *open, const char *close, size_t levels, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	cs_autojson struct cs_json *json = NULL;

	for (size_t i = 0; i < levels; i++)
		cs_buf_adds(&text, open);
	cs_buf_adds(&text, "0");
	for (size_t i = 0; i < levels; i++)
		cs_buf_adds(&text, close);
	return cs_json_parse(text.data, text.len, "t", &json, err);
}

START_TEST(depth_is_capped)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(parse_nested("[", "]", CS_JSON_DEPTH_MAX, &err), err);
	ck_ok(parse_nested("{\"k\":", "}", CS_JSON_DEPTH_MAX, &err), err);
	ck_fails(parse_nested("[", "]", CS_JSON_DEPTH_MAX + 1, &err), err, "column 101: nested");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	cs_err_clear(&err);
	ck_fails(parse_nested("{\"k\":", "}", CS_JSON_DEPTH_MAX + 1, &err), err, "nested");
	cs_err_clear(&err);
	ck_fails(parse_nested("[", "]", 1000000, &err), err, "column 101: nested");
	cs_err_clear(&err);
	ck_fails(parse_nested("[", "", 1000000, &err), err, "column 101: nested");
}
END_TEST

START_TEST(bytes_and_values_are_capped)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX + 1);
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	cs_buf_adds(&text, "[0");
	for (size_t i = 2; i < CS_JSON_VALUES_MAX; i++)
		cs_buf_adds(&text, ",0");
	cs_buf_adds(&text, "]");
	ck_ok(cs_json_parse(text.data, text.len, "t", &json, &err), err);
	ck_assert_uint_eq(cs_json_count(json), CS_JSON_VALUES_MAX - 1);
	cs_json_free_ptr(&json);
	text.data[text.len - 1] = ',';
	cs_buf_adds(&text, "0]");
	ck_fails(cs_json_parse(text.data, text.len, "t", &json, &err), err, "more values");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	cs_err_clear(&err);

	cs_buf_reset(&text);
	while (text.len < CS_JSON_BYTES_MAX + 1)
		cs_buf_addc(&text, ' ');
	text.data[0] = '1';
	ck_fails(cs_json_parse(text.data, text.len, "t", &json, &err), err, "more than 16777216");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	cs_err_clear(&err);
	ck_ok(cs_json_parse(text.data, CS_JSON_BYTES_MAX, "t", &json, &err), err);
	cs_json_free(json);
}
END_TEST

/* {"k0":0,…} with n keys and one more */
static void many_keys(struct cs_buf *text, size_t n, const char *last)
{
	cs_buf_addc(text, '{');
	for (size_t i = 0; i < n; i++)
		cs_buf_addf(text, "\"k%zu\":0,", i);
	cs_buf_addf(text, "\"%s\":0}", last);
}

START_TEST(a_million_keys)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;
	int64_t start = cs_clock_now_ns();

	many_keys(&text, 1000000, "last");
	ck_ok(cs_json_parse(text.data, text.len, "t", &json, &err), err);
	ck_assert_uint_eq(cs_json_count(json), 1000001);
	ck_assert_str_eq(cs_json_key_at(json, 999999), "k999999");
	cs_json_free_ptr(&json);

	cs_buf_reset(&text);
	many_keys(&text, 1000000, "k777777");
	ck_fails(cs_json_parse(text.data, text.len, "t", &json, &err), err,
		 "key \"k777777\" stands twice");
	/* comparing all pairs would take an hour */
	ck_assert_int_lt((cs_clock_now_ns() - start) / CS_NSEC_PER_SEC, 50);
}
END_TEST

START_TEST(long_keys_are_cut_in_errors)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;
	char text[2100];
	int n;

	n = snprintf(text, sizeof(text), "{\"%0*d\":1,\"%0*d\":2}", 1000, 0, 1000, 0);
	ck_fails(cs_json_parse(text, (size_t)n, "t", &json, &err), err, "00...\" stands twice");
	ck_assert_uint_lt(strlen(err.text), 200);
}
END_TEST

START_TEST(files)
{
	char dir[] = "/tmp/caisson-json-XXXXXX";
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	cs_autofd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);

	ck_fails(cs_json_read_file(fd, "none.json", &json, &err), err, "none.json");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	ck_assert_int_eq(err.errnum, ENOENT);
	cs_err_clear(&err);

	cs_autojson struct cs_json *made = cs_json_new_object();
	cs_json_put(made, "a", cs_json_new_u64(UINT64_MAX));
	ck_ok(cs_json_write_file(made, CS_JSON_INDENTED, fd, "x.json", 0600, &err), err);
	ck_ok(cs_json_read_file(fd, "x.json", &json, &err), err);
	ck_assert_str_eq(cs_json_number_text(cs_json_member(json, "a")), "18446744073709551615");
	cs_json_free_ptr(&json);

	cs_autofd int out = openat(fd, "bad.json", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(out, "[\n1", 3), 3);
	ck_fails(cs_json_read_file(fd, "bad.json", &json, &err), err, "bad.json: line 2, column 2");
	cs_err_clear(&err);
	ck_assert_int_eq(ftruncate(out, CS_JSON_BYTES_MAX + 1), 0);
	ck_fails(cs_json_read_file(fd, "bad.json", &json, &err), err, "more than");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	cs_err_clear(&err);
	ck_fails(cs_json_write_file(made, CS_JSON_COMPACT, fd, "no/x.json", 0600, &err), err,
		 "write 'no/x.json'");

	unlinkat(fd, "x.json", 0);
	unlinkat(fd, "bad.json", 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

CS_UNIT_SUITE(json_read, refused_with_the_place, nul_outside_strings_is_refused,
	      escapes_are_decoded, every_cut_of_a_text_is_refused, depth_is_capped,
	      bytes_and_values_are_capped, a_million_keys, long_keys_are_cut_in_errors, files)
