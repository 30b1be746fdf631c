/*
 * JSON: what is taken must come back the same through both styles, and edits
 * must leave a tree that can be written and read. A member "edit" gives the
 * path of the edits.
 */
#include <assert.h>
#include <string.h>

#include "oci-spec/json.h"
#include "oci-spec/json_edit.h"
#include "tests/fuzz/fuzz.h"

/* The text of json after a trip through the style. */
static void write_back(const struct cs_json *json, enum cs_json_style style, struct cs_buf *ret)
{
	cs_auto(buf) styled = CS_BUF_INIT(64 << 20);
	cs_autojson struct cs_json *again = NULL;
	struct cs_err err = CS_ERR_INIT;

	assert(cs_json_write(json, style, &styled, &err) == 0);
	if (styled.len > CS_JSON_BYTES_MAX)
		return;
	assert(cs_json_parse(styled.data, styled.len, "back", &again, &err) == 0);
	assert(cs_json_write(again, CS_JSON_COMPACT, ret, &err) == 0);
}

static void check_round_trip(const struct cs_json *json)
{
	cs_auto(buf) compact = CS_BUF_INIT(64 << 20), indented = CS_BUF_INIT(64 << 20);

	write_back(json, CS_JSON_COMPACT, &compact);
	write_back(json, CS_JSON_INDENTED, &indented);
	if (compact.len > 0 && indented.len > 0)
		assert(strcmp(compact.data, indented.data) == 0);
}

static void read_values(const struct cs_json *json)
{
	const struct cs_json *child;
	cs_auto(strv) texts = CS_STRV_INIT;
	uint64_t u64;
	int64_t i64;

	if (cs_json_get_u64(json, &u64) == 0 && cs_json_get_i64(json, &i64) == 0)
		assert(i64 >= 0 && (uint64_t)i64 == u64);
	if (cs_json_get_strv(json, &texts) == 0)
		assert(texts.n == cs_json_count(json));
	cs_json_each (child, json)
		read_values(child);
}

static void edit(struct cs_json *json, const char *path)
{
	cs_autojson struct cs_json *copy = cs_json_copy(json);
	struct cs_err err = CS_ERR_INIT;
	const char *number;

	if (cs_json_append_unique(copy, path, "x", &err) == 0)
		assert(cs_json_count(cs_json_get(copy, path)) > 0);
	cs_err_clear(&err);
	cs_json_insert(copy, path, 1, cs_json_copy(json), &err);
	cs_err_clear(&err);
	if (cs_json_set_u64(copy, path, 7, &err) == 0) {
		number = cs_json_number_text(cs_json_get(copy, path));
		assert(number && strcmp(number, "7") == 0);
	}
	cs_err_clear(&err);
	check_round_trip(copy);
	if (cs_json_remove(copy, path, &err) == 0)
		check_round_trip(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cs_autojson struct cs_json *json = NULL;
	struct cs_err err = CS_ERR_INIT;
	const char *path;

	if (cs_json_parse((const char *)data, size, "in", &json, &err) < 0) {
		assert(!json && strncmp(err.text, "in: ", 4) == 0);
		return 0;
	}
	assert(!cs_err_is_set(&err));
	check_round_trip(json);
	read_values(json);
	path = cs_json_string(cs_json_member(json, "edit"));
	if (path)
		edit(json, path);
	return 0;
}
