/*
 * A stranger's JSON as config.json, process.json and LinuxResources under the
 * policy that has all rules: whatever it holds, an edit fails or is complete,
 * and a second one changes nothing.
 */
#include <assert.h>
#include <string.h>

#include "shim/task/policy.h"
#include "shim/task/tighten.h"
#include "tests/fuzz/fuzz.h"

typedef int edit(const struct cs_tighten_plan *plan, struct cs_json *json, struct cs_err *err);

static int as_config(const struct cs_tighten_plan *plan, struct cs_json *json, struct cs_err *err)
{
	cs_auto(strv) changes = CS_STRV_INIT;

	return cs_tighten_config(plan, json, &changes, err);
}

static int as_process(const struct cs_tighten_plan *plan, struct cs_json *json, struct cs_err *err)
{
	return cs_tighten_process(plan, NULL, json, NULL, err);
}

static int as_resources(const struct cs_tighten_plan *plan, struct cs_json *json, struct cs_err *err)
{
	return cs_tighten_resources(plan, NULL, json, NULL, err);
}

static void twice(edit *one, const struct cs_tighten_plan *plan, const struct cs_json *input)
{
	cs_autojson struct cs_json *json = cs_json_copy(input);
	cs_auto(buf) first = CS_BUF_INIT(1 << 22), second = CS_BUF_INIT(1 << 22);
	struct cs_err err = CS_ERR_INIT;

	if (!json || one(plan, json, &err) < 0)
		return;
	if (cs_json_write(json, CS_JSON_COMPACT, &first, &err) < 0)
		return;
	assert(one(plan, json, &err) == 0);
	assert(cs_json_write(json, CS_JSON_COMPACT, &second, &err) == 0);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cs_autojson struct cs_json *input = NULL;
	struct cs_settings_tree tree;
	struct cs_tighten_plan plan = { .tree = &tree };
	struct cs_err err = CS_ERR_INIT;

	if (cs_json_parse((const char *)data, size, "config.json", &input, &err) < 0)
		return 0;
	if (cs_settings_init(&tree, &err) < 0)
		return 0;
	if (cs_policy_apply_builtin("strict", &tree, &err) == 0) {
		cs_settings_resolve(&tree);
		if (cs_tighten_annotations(&tree, input, &err) == 0) {
			twice(as_config, &plan, input);
			twice(as_process, &plan, input);
			twice(as_resources, &plan, input);
		}
	}
	cs_settings_release(&tree);
	return 0;
}
