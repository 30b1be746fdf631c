#include "oci-spec/json.h"

#include <errno.h>

#include "tests/unit/unit.h"

static struct cs_json *parse(const char *text)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_ok(cs_json_parse(text, strlen(text), "test", &json, &err), err);
	return json;
}

START_TEST(looking)
{
	cs_autojson struct cs_json *json =
		parse("{\"a\":{\"b\":[10,{\"c\":\"x\"}]},\"a.b\":1,\"\":2,\"0\":3}");

	ck_assert_str_eq(cs_json_string(cs_json_get(json, "a.b.1.c")), "x");
	ck_assert_str_eq(cs_json_number_text(cs_json_get(json, "a.b.0")), "10");
	ck_assert_ptr_null(cs_json_get(json, "a.b.2"));
	ck_assert_ptr_null(cs_json_get(json, "a.b.-1"));
	ck_assert_ptr_null(cs_json_get(json, "a.b.x"));
	ck_assert_ptr_null(cs_json_get(json, "a.b.00000000000000000000000000000"));
	ck_assert_ptr_null(cs_json_get(json, "a.b.0.c"));
	ck_assert_ptr_null(cs_json_get(json, "a.bb"));
	ck_assert_ptr_null(cs_json_get(json, "a."));
	ck_assert_ptr_null(cs_json_get(NULL, "a"));
	ck_assert_str_eq(cs_json_number_text(cs_json_member(json, "a.b")), "1");
	ck_assert_str_eq(cs_json_number_text(cs_json_member(json, "")), "2");
	ck_assert_str_eq(cs_json_number_text(cs_json_get(json, "0")), "3");
	ck_assert_ptr_null(cs_json_member(json, "b"));
	ck_assert_uint_eq(cs_json_find(json, "0"), 3);
	ck_assert_uint_eq(cs_json_find(json, "b"), 4);
}
END_TEST

START_TEST(each_walks_in_order)
{
	cs_autojson struct cs_json *json = parse("{\"z\":1,\"a\":2,\"m\":3}");
	cs_autojson struct cs_json *array = parse("[4,5]");
	struct cs_json *child;
	const char *key;
	char seen[32] = "";
	size_t n = 0;

	cs_json_each_member (key, child, json)
		n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%s%s", key,
				      cs_json_number_text(child));
	cs_json_each (child, array)
		n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%s", cs_json_number_text(child));
	cs_json_each_member (key, child, array)
		ck_abort_msg("an array has no keys");
	cs_json_each (child, NULL)
		ck_abort_msg("nothing has no children");
	ck_assert_str_eq(seen, "z1a2m345");
}
END_TEST

START_TEST(numbers_are_read_strictly)
{
	static const struct {
		const char *text;
		int u64_result, i64_result;
	} rows[] = {
		{ "0", 0, 0 },
		{ "-0", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "9223372036854775807", 0, 0 },
		{ "9223372036854775808", 0, -ERANGE },
		{ "-9223372036854775808", -EINVAL, 0 },
		{ "-9223372036854775809", -EINVAL, -ERANGE },
		{ "18446744073709551615", 0, -ERANGE },
		{ "18446744073709551616", -ERANGE, -ERANGE },
		{ "1.0", -EINVAL, -EINVAL },
		{ "1e3", -EINVAL, -EINVAL },
		{ "1e400", -EINVAL, -EINVAL },
		{ "\"1\"", -EINVAL, -EINVAL },
		{ "null", -EINVAL, -EINVAL },
		{ "true", -EINVAL, -EINVAL },
		{ "[1]", -EINVAL, -EINVAL },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_autojson struct cs_json *json = parse(rows[i].text);
		uint64_t u64 = 7777;
		int64_t i64 = 7777;

		ck_assert_msg(cs_json_get_u64(json, &u64) == rows[i].u64_result, "%s",
			      rows[i].text);
		ck_assert_msg(cs_json_get_i64(json, &i64) == rows[i].i64_result, "%s",
			      rows[i].text);
		ck_assert((u64 == 7777) == (rows[i].u64_result < 0));
		ck_assert((i64 == 7777) == (rows[i].i64_result < 0));
	}
}
END_TEST

START_TEST(values_of_absent_things)
{
	uint64_t u64;
	int64_t i64;
	bool flag;
	size_t len;
	cs_auto(strv) texts = CS_STRV_INIT;

	ck_assert_int_eq(cs_json_get_u64(NULL, &u64), -ENOENT);
	ck_assert_int_eq(cs_json_get_i64(NULL, &i64), -ENOENT);
	ck_assert_int_eq(cs_json_get_bool(NULL, &flag), -ENOENT);
	ck_assert_int_eq(cs_json_get_strv(NULL, &texts), -ENOENT);
	ck_assert_ptr_null(cs_json_string(NULL));
	ck_assert_ptr_null(cs_json_string_n(NULL, &len));
	ck_assert_ptr_null(cs_json_number_text(NULL));
	ck_assert_int_eq(cs_json_kind(NULL), CS_JSON_NULL);
	ck_assert_uint_eq(cs_json_count(NULL), 0);
	ck_assert_ptr_null(cs_json_take_at(NULL, 0));
	cs_json_free(NULL);
}
END_TEST

START_TEST(strings_with_nul_are_no_c_strings)
{
	cs_autojson struct cs_json *json = parse("[\"a\\u0000b\",\"ab\"]");
	cs_auto(strv) texts = CS_STRV_INIT;
	size_t len;

	ck_assert_ptr_null(cs_json_string(cs_json_at(json, 0)));
	ck_assert_mem_eq(cs_json_string_n(cs_json_at(json, 0), &len), "a\0b", 4);
	ck_assert_uint_eq(len, 3);
	ck_assert_int_eq(cs_strv_add(&texts, "before"), 0);
	ck_assert_int_eq(cs_json_get_strv(json, &texts), -EINVAL);
	ck_assert_uint_eq(texts.n, 1);

	cs_json_free(cs_json_take_at(json, 0));
	ck_assert_int_eq(cs_json_get_strv(json, &texts), 0);
	ck_assert_uint_eq(texts.n, 2);
	ck_assert_str_eq(texts.v[1], "ab");
}
END_TEST

START_TEST(strv_round_trip)
{
	cs_auto(strv) texts = CS_STRV_INIT, back = CS_STRV_INIT;
	cs_autojson struct cs_json *empty = cs_json_new_strv(&texts);

	ck_assert_int_eq(cs_json_kind(empty), CS_JSON_ARRAY);
	cs_strv_add(&texts, "sh");
	cs_strv_add(&texts, "");
	cs_autojson struct cs_json *json = cs_json_new_strv(&texts);
	ck_assert_int_eq(cs_json_get_strv(json, &back), 0);
	ck_assert_uint_eq(back.n, 2);
	ck_assert_str_eq(back.v[0], "sh");
	ck_assert_str_eq(back.v[1], "");
}
END_TEST

START_TEST(adders_refuse_what_does_not_fit)
{
	cs_autojson struct cs_json *object = cs_json_new_object();
	cs_autojson struct cs_json *array = cs_json_new_array();
	cs_autojson struct cs_json *scalar = cs_json_new_bool(true);

	ck_assert_int_eq(cs_json_put(object, "k", cs_json_new_u64(1)), 0);
	ck_assert_int_eq(cs_json_put(object, "k", cs_json_new_u64(2)), -EEXIST);
	ck_assert_int_eq(cs_json_put(object, "l", NULL), -ENOMEM);
	ck_assert_int_eq(cs_json_put(NULL, "l", cs_json_new_null()), -ENOMEM);
	ck_assert_int_eq(cs_json_put(array, "l", cs_json_new_null()), -EINVAL);
	ck_assert_int_eq(cs_json_add(object, cs_json_new_null()), -EINVAL);
	ck_assert_int_eq(cs_json_add(scalar, cs_json_new_null()), -EINVAL);
	ck_assert_int_eq(cs_json_add(NULL, cs_json_new_null()), -ENOMEM);
	ck_assert_int_eq(cs_json_insert_at(array, 1, cs_json_new_null()), -EINVAL);
	ck_assert_int_eq(cs_json_replace_at(array, 0, cs_json_new_null()), -EINVAL);
	ck_assert_ptr_null(cs_json_new_string(NULL));
	ck_assert_uint_eq(cs_json_count(object), 1);
	ck_assert_str_eq(cs_json_number_text(cs_json_member(object, "k")), "1");
}
END_TEST

START_TEST(take_and_replace_keep_the_rest)
{
	cs_autojson struct cs_json *json = parse("{\"a\":1,\"b\":[1,2],\"c\":3}");
	struct cs_json *taken;

	ck_assert_int_eq(cs_json_replace_at(json, 1, cs_json_new_string("new")), 0);
	ck_assert_str_eq(cs_json_key_at(json, 1), "b");
	ck_assert_str_eq(cs_json_string(cs_json_at(json, 1)), "new");
	taken = cs_json_take_at(json, 0);
	ck_assert_uint_eq(cs_json_count(json), 2);
	ck_assert_str_eq(cs_json_key_at(json, 0), "b");
	/* what was taken can stand elsewhere, under another key */
	ck_assert_int_eq(cs_json_put(json, "z", taken), 0);
	ck_assert_str_eq(cs_json_key_at(json, 2), "z");
	ck_assert_ptr_null(cs_json_take_at(json, 3));
}
END_TEST

/* levels arrays in each other */
static struct cs_json *nest(size_t levels)
{
	struct cs_json *json = cs_json_new_array();

	for (size_t i = 1; i < levels; i++) {
		struct cs_json *outer = cs_json_new_array();

		ck_assert_int_eq(cs_json_add(outer, json), 0);
		json = outer;
	}
	return json;
}

START_TEST(no_tree_gets_too_deep)
{
	cs_autojson struct cs_json *inside_out = nest(CS_JSON_DEPTH_MAX);
	cs_autojson struct cs_json *outside_in = cs_json_new_object();
	struct cs_json *at = outside_in;
	cs_autojson struct cs_json *over = cs_json_new_array();

	ck_assert_int_eq(cs_json_add(over, cs_json_copy(inside_out)), -ELOOP);
	ck_assert_int_eq(cs_json_add(over, nest(CS_JSON_DEPTH_MAX - 1)), 0);
	for (int i = 1; i < CS_JSON_DEPTH_MAX; i++) {
		ck_assert_int_eq(cs_json_put(at, "k", cs_json_new_object()), 0);
		at = cs_json_member(at, "k");
	}
	ck_assert_int_eq(cs_json_put(at, "k", cs_json_new_array()), -ELOOP);
	ck_assert_int_eq(cs_json_put(at, "k", cs_json_new_null()), 0);
}
END_TEST

START_TEST(depth_is_given_back)
{
	cs_autojson struct cs_json *outer = cs_json_new_array();
	cs_autojson struct cs_json *json = cs_json_new_array();

	ck_assert_int_eq(cs_json_add(json, nest(CS_JSON_DEPTH_MAX - 1)), 0);
	ck_assert_int_eq(cs_json_add(json, nest(3)), 0);
	cs_json_free(cs_json_take_at(json, 0));
	/* json is 4 deep now, so that 96 more fit around it */
	struct cs_json *taken = cs_take_ptr(&json);
	for (int i = 0; i < CS_JSON_DEPTH_MAX - 4; i++) {
		struct cs_json *around = cs_json_new_array();

		ck_assert_int_eq(cs_json_add(around, taken), 0);
		taken = around;
	}
	ck_assert_int_eq(cs_json_add(outer, taken), -ELOOP);
}
END_TEST

START_TEST(copies_are_whole_and_their_own)
{
	const char *text = "{\"n\":1.10,\"s\":\"x\\u0000y\",\"l\":[null,true,{\"e\":{}}]}";
	cs_autojson struct cs_json *json = parse(text);
	cs_autojson struct cs_json *copy = cs_json_copy(json);
	cs_auto(buf) out = CS_BUF_INIT(1024);
	struct cs_err err = CS_ERR_INIT;

	cs_json_free_ptr(&json);
	ck_ok(cs_json_write(copy, CS_JSON_COMPACT, &out, &err), err);
	ck_assert_str_eq(out.data, text);
	ck_assert_ptr_null(cs_json_copy(NULL));
}
END_TEST

START_TEST(every_kind_has_a_word)
{
	for (int kind = 0; kind < CS_JSON_KINDS; kind++)
		ck_assert_ptr_nonnull(cs_json_kind_word(kind));
	ck_assert_str_eq(cs_json_kind_word(CS_JSON_OBJECT), "an object");
}
END_TEST

CS_UNIT_SUITE(json, looking, each_walks_in_order, numbers_are_read_strictly,
	      values_of_absent_things, strings_with_nul_are_no_c_strings, strv_round_trip,
	      adders_refuse_what_does_not_fit, take_and_replace_keep_the_rest,
	      no_tree_gets_too_deep, depth_is_given_back, copies_are_whole_and_their_own,
	      every_kind_has_a_word)
