#include "oci-spec/json_edit.h"

#include "tests/unit/unit.h"

static struct cs_json *parse(const char *text)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_ok(cs_json_parse(text, strlen(text), "test", &json, &err), err);
	return json;
}

static void expect(const struct cs_json *json, const char *text)
{
	cs_auto(buf) out = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_write(json, CS_JSON_COMPACT, &out, &err), err);
	ck_assert_str_eq(out.data, text);
}

START_TEST(set_replaces_in_place_or_adds_last)
{
	cs_autojson struct cs_json *json = parse("{\"a\":1.10,\"b\":{\"c\":2},\"d\":[1,2]}");
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_set_u64(json, "b.c", 7, &err), err);
	ck_ok(cs_json_set_string(json, "b.new", "x", &err), err);
	ck_ok(cs_json_set_bool(json, "d.1", false, &err), err);
	ck_ok(cs_json_set_i64(json, "e", -1, &err), err);
	expect(json, "{\"a\":1.10,\"b\":{\"c\":7,\"new\":\"x\"},\"d\":[1,false],\"e\":-1}");
}
END_TEST

START_TEST(set_makes_missing_parents)
{
	cs_autojson struct cs_json *json = parse("{\"linux\":null,\"a\":{}}");
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_set_u64(json, "linux.resources.memory.limit", 64, &err), err);
	ck_ok(cs_json_set_u64(json, "a.b.c", 1, &err), err);
	ck_ok(cs_json_set_u64(json, "x.y", 2, &err), err);
	expect(json, "{\"linux\":{\"resources\":{\"memory\":{\"limit\":64}}},"
		     "\"a\":{\"b\":{\"c\":1}},\"x\":{\"y\":2}}");
}
END_TEST

START_TEST(what_stands_in_the_way_is_named)
{
	const char *text = "{\"a\":{\"s\":\"text\",\"l\":[1]},\"n\":1}";
	cs_autojson struct cs_json *json = parse(text);
	cs_autojson struct cs_json *scalar = parse("1");
	struct cs_err err = CS_ERR_INIT;

	ck_fails(cs_json_set_u64(json, "a.s.x.y", 1, &err), err,
		 "a.s: is a string where an object is needed");
	ck_assert_int_eq(err.kind, CS_INVALID);
	cs_err_clear(&err);
	ck_fails(cs_json_set_u64(json, "a.l.1", 1, &err), err, "no element '1'");
	cs_err_clear(&err);
	ck_fails(cs_json_set_u64(json, "a.l.x.y", 1, &err), err, "no element 'x'");
	cs_err_clear(&err);
	ck_fails(cs_json_append(json, "a", cs_json_new_null(), &err), err,
		 "a: is an object where an array is needed");
	cs_err_clear(&err);
	ck_fails(cs_json_append(json, "n.x", cs_json_new_null(), &err), err, "n: is a number");
	cs_err_clear(&err);
	ck_fails(cs_json_insert(json, "a.l", 2, cs_json_new_null(), &err), err, "no place 2");
	cs_err_clear(&err);
	ck_fails(cs_json_insert(json, "a.s", 0, cs_json_new_null(), &err), err, "a.s: is a string");
	cs_err_clear(&err);
	ck_fails(cs_json_insert(json, "none", 1, cs_json_new_null(), &err), err, "no place 1");
	cs_err_clear(&err);
	ck_fails(cs_json_remove(json, "n.x", &err), err, "n: is a number");
	cs_err_clear(&err);
	ck_fails(cs_json_append_unique(json, "n", "x", &err), err, "n: is a number");
	cs_err_clear(&err);
	ck_fails(cs_json_set_u64(scalar, "a", 1, &err), err, "root: is a number");
	cs_err_clear(&err);
	ck_fails(cs_json_set_u64(NULL, "a", 1, &err), err, "root: is null");
	expect(json, text);
}
END_TEST

START_TEST(failed_allocations_are_told)
{
	cs_autojson struct cs_json *json = parse("{}");
	struct cs_err err = CS_ERR_INIT;

	ck_fails(cs_json_set(json, "a", NULL, &err), err, "a: Cannot allocate memory");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	cs_err_clear(&err);
	ck_fails(cs_json_append(json, "a", NULL, &err), err, "memory");
	cs_err_clear(&err);
	ck_fails(cs_json_insert(json, "a", 0, NULL, &err), err, "memory");
	cs_err_clear(&err);
	expect(json, "{}");
}
END_TEST

START_TEST(depth_is_kept)
{
	cs_autojson struct cs_json *json = parse("{}");
	cs_auto(buf) path = CS_BUF_INIT(1024);
	struct cs_err err = CS_ERR_INIT;

	for (int i = 0; i < CS_JSON_DEPTH_MAX - 1; i++)
		cs_buf_adds(&path, "k.");
	cs_buf_adds(&path, "k");
	ck_ok(cs_json_set_u64(json, path.data, 1, &err), err);
	ck_ok(cs_json_remove(json, "k", &err), err);
	expect(json, "{}");
	cs_buf_adds(&path, ".k");
	ck_fails(cs_json_set_u64(json, path.data, 1, &err), err, "deeper than 100");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	expect(json, "{}");
}
END_TEST

START_TEST(arrays_grow_where_asked)
{
	cs_autojson struct cs_json *json = parse("{\"l\":[2],\"z\":null}");
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_append(json, "l", cs_json_new_u64(3), &err), err);
	ck_ok(cs_json_insert(json, "l", 0, cs_json_new_u64(1), &err), err);
	ck_ok(cs_json_insert(json, "l", 3, cs_json_new_u64(4), &err), err);
	ck_ok(cs_json_append(json, "z", cs_json_new_u64(5), &err), err);
	ck_ok(cs_json_insert(json, "y.x", 0, cs_json_new_u64(6), &err), err);
	expect(json, "{\"l\":[1,2,3,4],\"z\":[5],\"y\":{\"x\":[6]}}");
}
END_TEST

START_TEST(remove_takes_one_value)
{
	cs_autojson struct cs_json *json =
		parse("{\"a\":[1,2,3],\"b\":{\"c\":{},\"d\":1},\"n\":null}");
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_remove(json, "a.1", &err), err);
	ck_ok(cs_json_remove(json, "b.c", &err), err);
	ck_ok(cs_json_remove(json, "none.at.all", &err), err);
	ck_ok(cs_json_remove(json, "a.7", &err), err);
	ck_ok(cs_json_remove(json, "n.x", &err), err);
	expect(json, "{\"a\":[1,3],\"b\":{\"d\":1},\"n\":null}");
	ck_ok(cs_json_remove(json, "n", &err), err);
	expect(json, "{\"a\":[1,3],\"b\":{\"d\":1}}");
}
END_TEST

START_TEST(unique_strings)
{
	cs_autojson struct cs_json *json = parse("{\"m\":[1,\"/proc/kcore\"]}");
	cs_auto(strv) texts = CS_STRV_INIT;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_append_unique(json, "m", "/proc/kcore", &err), err);
	ck_ok(cs_json_append_unique(json, "m", "1", &err), err);
	ck_ok(cs_json_append_unique(json, "m", "1", &err), err);
	ck_ok(cs_json_append_unique(json, "k", "v", &err), err);
	cs_strv_add(&texts, "a");
	ck_ok(cs_json_set_strv(json, "s", &texts, &err), err);
	expect(json, "{\"m\":[1,\"/proc/kcore\",\"1\"],\"k\":[\"v\"],\"s\":[\"a\"]}");
}
END_TEST

/* Number of lines of `to` that are not the next of `from` (none of `from` is missing otherwise). */
static size_t lines_changed(const char *from, const char *to)
{
	size_t changed = 0;

	while (*from && *to) {
		size_t a = strcspn(from, "\n"), b = strcspn(to, "\n");

		changed += a != b || memcmp(from, to, a) != 0;
		from += a + (from[a] == '\n');
		to += b + (to[b] == '\n');
	}
	ck_assert(*from == '\0' && *to == '\0');
	return changed;
}

START_TEST(an_edit_changes_its_own_lines_only)
{
	cs_autojson struct cs_json *json =
		parse("{\"x\":1.50,\"zzz\":{\"a\":[1,2.50,\"\\u00e9\"]},\"linux\":{\"resources\":"
		      "{\"pids\":{\"limit\":18446744073709551615},\"u\":-0}},\"end\":[]}");
	cs_auto(buf) before = CS_BUF_INIT(4096), after = CS_BUF_INIT(4096);
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_write(json, CS_JSON_INDENTED, &before, &err), err);
	ck_ok(cs_json_set_u64(json, "linux.resources.pids.limit", 64, &err), err);
	ck_ok(cs_json_write(json, CS_JSON_INDENTED, &after, &err), err);
	ck_assert_uint_eq(lines_changed(before.data, after.data), 1);
}
END_TEST

CS_UNIT_SUITE(json_edit, set_replaces_in_place_or_adds_last, set_makes_missing_parents,
	      what_stands_in_the_way_is_named, failed_allocations_are_told, depth_is_kept,
	      arrays_grow_where_asked, remove_takes_one_value, unique_strings,
	      an_edit_changes_its_own_lines_only)
