/* A policy and a config.json, for the tests of what the one does to the other. */
#ifndef CS_TESTS_UNIT_TASK_TIGHTEN_CASE_H
#define CS_TESTS_UNIT_TASK_TIGHTEN_CASE_H

#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/task/policy.h"
#include "shim/task/tighten.h"
#include "tests/unit/unit.h"

static struct cs_settings_tree tree;
static struct cs_err err;

static inline void begin(const char *policy)
{
	cs_settings_release(&tree);
	cs_err_clear(&err);
	ck_ok(cs_settings_init(&tree, &err), err);
	ck_ok(cs_policy_apply_builtin(policy, &tree, &err), err);
	cs_settings_resolve(&tree);
}

static inline void set(const char *name, const char *value)
{
	struct cs_opt_set rows = cs_settings_set(&tree);

	ck_ok(cs_opt_put(&rows, cs_opt_by_name(&rows, name), name, value, CS_ORIGIN_FLAG, &err), err);
	cs_settings_resolve(&tree);
}

/* Text with ' for ". */
static inline struct cs_json *parse(const char *text)
{
	cs_autofree char *copy = strdup(text);
	struct cs_json *json = NULL;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	ck_ok(cs_json_parse(copy, strlen(copy), "test", &json, &err), err);
	return json;
}

static inline char *text_of(const struct cs_json *json)
{
	struct cs_buf out = CS_BUF_INIT(1 << 20);

	ck_ok(cs_json_write(json, CS_JSON_COMPACT, &out, &err), err);
	for (char *p = out.data; *p; p++)
		if (*p == '"')
			*p = '\'';
	return cs_buf_take(&out);
}

static inline struct cs_tighten_plan plan(void)
{
	return (struct cs_tighten_plan){ .tree = &tree };
}

static inline void ck_refused(const char *in, const char *why)
{
	struct cs_tighten_plan p = plan();
	cs_autojson struct cs_json *config = parse(in);

	cs_err_clear(&err);
	ck_fails(cs_tighten_config(&p, config, NULL, &err), err, why);
	cs_err_clear(&err);
}

static inline struct cs_json *tightened(const char *text)
{
	struct cs_tighten_plan p = plan();
	struct cs_json *config = parse(text);

	ck_ok(cs_tighten_config(&p, config, NULL, &err), err);
	return config;
}

static inline void ck_at(const struct cs_json *config, const char *path, const char *want)
{
	cs_autofree char *got = text_of(cs_json_get(config, path));

	ck_assert_msg(strcmp(got, want) == 0, "%s: %s, not %s", path, got, want);
}

#endif
