#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/json_text.h"
#include "tests/unit/unit.h"

static struct cs_err err;

static struct cs_json *parse(const char *text)
{
	struct cs_json *json = NULL;

	ck_ok(cs_json_parse(text, strlen(text), "test", &json, &err), err);
	return json;
}

/* {before, parent or NULL, key, value, after} */
static const struct {
	const char *before, *parent, *key, *value, *after;
} puts_[] = {
	{ "{}", NULL, "k", "1", "{\n\t\"k\": 1\n}" },
	{ "{ }\n", NULL, "k", "{\"a\":[1,2]}", "{\n\t\"k\": {\n\t\t\"a\": [1, 2]\n\t}\n }\n" },
	{ "{\n}\n", NULL, "k", "1", "{\n\t\"k\": 1\n}\n" },
	{ "{\"a\":1}", NULL, "k", "{\"b\":2,\"c\":[]}", "{\"a\":1,\"k\":{\"b\":2,\"c\":[]}}" },
	{ "{\"a\": 1}", NULL, "k", "{\"b\":2}", "{\"a\": 1, \"k\": {\"b\": 2}}" },
	{ "{\n  \"a\": 1.50\n}", NULL, "k", "{\"b\":2}", "{\n  \"a\": 1.50,\n  \"k\": {\n    \"b\": 2\n  }\n}" },
	{ "{\r\n \"a\" : \"}\\\"\"\r\n}", NULL, "k", "2", "{\r\n \"a\" : \"}\\\"\",\r\n \"k\": 2\r\n}" },
	{ "{\n  \"p\": {}\n}", "p", "k", "2", "{\n  \"p\": {\n    \"k\": 2\n  }\n}" },
	{ "{\n  \"p\": {\n     \"q\": {\"r\":[{}]}\n  }\n}", "p", "k", "{\"l\":2}",
	  "{\n  \"p\": {\n     \"q\": {\"r\":[{}]},\n     \"k\": {\n        \"l\": 2\n     }\n  }\n}" },
	{ "{\"k\":  [1, 2] , \"b\":3}", NULL, "k", "7", "{\"k\":  7 , \"b\":3}" },
	{ "{\"p\":{\"k\":{\"k\":1}}}", "p", "k", "7", "{\"p\":{\"k\":7}}" },
};

START_TEST(what_is_added_looks_like_its_neighbours)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(puts_); i++) {
		cs_autojson struct cs_json *value = parse(puts_[i].value);
		cs_auto(buf) out = CS_BUF_INIT(4096);

		ck_ok(cs_json_text_put(puts_[i].before, strlen(puts_[i].before), "f", puts_[i].parent, puts_[i].key, value, &out, &err),
		      err);
		ck_assert_str_eq(out.data, puts_[i].after);
	}
}
END_TEST

START_TEST(members_go_with_their_comma)
{
	static const struct {
		const char *before, *parent, *after;
	} rows[] = {
		{ "{\"a\":1,\n\"k\":2}", NULL, "{\"a\":1}" },
		{ "{\n  \"k\": 1,\n  \"a\": 2\n}", NULL, "{\n  \"a\": 2\n}" },
		{ "{\"a\":1 , \"k\":{\"x\":[\"}\"]} , \"b\":3}", NULL, "{\"a\":1 , \"b\":3}" },
		{ "{ \"k\": 1 }", NULL, "{}" },
		{ "{\"a\":1}", NULL, "{\"a\":1}" },
		{ "{\"p\":{\"k\":1,\"l\":2}}", "p", "{\"p\":{\"l\":2}}" },
		{ "{\"a\":1}", "p", "{\"a\":1}" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_auto(buf) out = CS_BUF_INIT(4096);

		ck_ok(cs_json_text_remove(rows[i].before, strlen(rows[i].before), "f", rows[i].parent, "k", &out, &err), err);
		ck_assert_str_eq(out.data, rows[i].after);
	}
}
END_TEST

START_TEST(what_cannot_be_changed_is_said)
{
	static const struct {
		const char *text, *parent, *why;
	} rows[] = {
		{ "{\"a\":1,\n}", NULL, "f: line 2, column 1" },
		{ "[]", NULL, "is an array" },
		{ "{\"a\":1}", "p", "has no 'p'" },
		{ "{\"p\":null}", "p", "'p' is null" },
		{ "{\"\\u0070\":{}}", "p", "spelt with escapes" },
		{ "{\"\\u006b\":{}}", NULL, "spelt with escapes" },
		{ "{\"a\":1,\"a\":2}", NULL, "twice" },
	};
	cs_autojson struct cs_json *value = parse("1");

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_auto(buf) out = CS_BUF_INIT(4096);

		cs_err_clear(&err);
		ck_fails(cs_json_text_put(rows[i].text, strlen(rows[i].text), "f", rows[i].parent, "k", value, &out, &err), err,
			 rows[i].why);
	}
	cs_err_clear(&err);
}
END_TEST

/* --- whatever it looks like ------------------------------------------------------------- */

static uint64_t state;

static unsigned draw(unsigned n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % n;
}

static void add_blanks(struct cs_buf *out)
{
	static const char *const blanks[] = { "", "", " ", "\n", "\n  ", "\n\t\t", "\r\n ", "  " };

	cs_buf_adds(out, blanks[draw(CS_ARRAY_LEN(blanks))]);
}

static void add_value(struct cs_buf *out, unsigned depth)
{
	static const char *const scalars[] = { "1", "-0.50e1", "\"\"", "\"\\u00e9{[,:]}\\\\\\\"\"", "null", "true", "18446744073709551616" };
	unsigned n = draw(4);

	if (depth == 0 || draw(3) == 0) {
		cs_buf_adds(out, scalars[draw(CS_ARRAY_LEN(scalars))]);
		return;
	}
	bool object = draw(2);

	cs_buf_addc(out, object ? '{' : '[');
	for (unsigned i = 0; i < n; i++) {
		add_blanks(out);
		if (object) {
			cs_buf_addf(out, "\"m%u\"", i);
			add_blanks(out);
			cs_buf_addc(out, ':');
			add_blanks(out);
		}
		add_value(out, depth - 1);
		add_blanks(out);
		if (i + 1 < n)
			cs_buf_addc(out, ',');
	}
	add_blanks(out);
	cs_buf_addc(out, object ? '}' : ']');
}

/* Put and taken away again, byte for byte, wherever there was a member to follow; put twice is put once. */
START_TEST(what_was_put_goes_without_a_trace)
{
	const char *given = getenv("CAISSON_SEED");
	uint64_t first = given ? strtoull(given, NULL, 10) : 1;
	cs_autojson struct cs_json *value = parse("{\"path\":\"/x\",\"args\":[\"a\",\"b\"]}");

	for (uint64_t seed = first; seed < first + 2000; seed++) {
		cs_auto(buf) text = CS_BUF_INIT(1 << 16), put = CS_BUF_INIT(1 << 16), twice = CS_BUF_INIT(1 << 16),
			     gone = CS_BUF_INIT(1 << 16);
		cs_autojson struct cs_json *before = NULL, *after = NULL;

		state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
		add_blanks(&text);
		cs_buf_adds(&text, "{\"first\":");
		add_value(&text, 3);
		add_blanks(&text);
		cs_buf_adds(&text, "}");
		add_blanks(&text);
		before = parse(text.data);
		ck_ok(cs_json_text_put(text.data, text.len, "f", NULL, "k", value, &put, &err), err);
		ck_ok(cs_json_text_put(put.data, put.len, "f", NULL, "k", value, &twice, &err), err);
		ck_ok(cs_json_text_remove(put.data, put.len, "f", NULL, "k", &gone, &err), err);
		ck_assert_msg(strcmp(gone.data, text.data) == 0, "seed %llu: %s", (unsigned long long)seed, put.data);
		ck_assert_msg(strcmp(twice.data, put.data) == 0, "seed %llu: %s", (unsigned long long)seed, twice.data);
		after = parse(put.data);
		ck_assert_uint_eq(cs_json_count(after), cs_json_count(before) + 1);
		ck_assert_uint_eq(cs_json_count(cs_json_get(after, "k.args")), 2);
	}
}
END_TEST

CS_UNIT_SUITE(json_text, what_is_added_looks_like_its_neighbours, members_go_with_their_comma, what_cannot_be_changed_is_said,
	      what_was_put_goes_without_a_trace)
