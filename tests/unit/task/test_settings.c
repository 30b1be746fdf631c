#include <string.h>

#include "shim/base/clock.h"
#include "shim/task/policy.h"
#include "shim/task/settings.h"
#include "tests/unit/unit.h"

static struct cs_settings_tree tree;

static int put(const char *name, const char *value, struct cs_err *err)
{
	struct cs_opt_set set = cs_settings_set(&tree);

	return cs_opt_put(&set, cs_opt_by_name(&set, name), name, value, CS_ORIGIN_FLAG, err);
}

static void begin(const char *policy)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_settings_init(&tree, &err), err);
	ck_ok(cs_policy_apply_builtin(policy, &tree, &err), err);
}

START_TEST(names_keys_and_letters_are_unique)
{
	for (size_t i = 0; i < cs_settings_n_rows; i++)
		for (size_t j = 0; j < i; j++) {
			const struct cs_opt *a = &cs_settings_rows[i], *b = &cs_settings_rows[j];

			ck_assert_str_ne(a->name, b->name);
			ck_assert_uint_ne(a->offset, b->offset);
			if (a->key && b->key)
				ck_assert_str_ne(a->key, b->key);
			if (a->letter)
				ck_assert_int_ne(a->letter, b->letter);
		}
}
END_TEST

/* key = name in camelCase (lists in the plural), so that neither has to be looked up */
START_TEST(keys_follow_names)
{
	for (size_t i = 0; i < cs_settings_n_rows; i++) {
		const struct cs_opt *row = &cs_settings_rows[i];
		char want[64];
		size_t n = 0;

		if (!row->key)
			continue;
		for (const char *p = row->name; *p && n < sizeof(want) - 1; p++)
			want[n++] = *p == '-' ? (char)(*++p & ~0x20) : *p;
		want[n] = '\0';
		ck_assert_msg(strncmp(row->key, want, n) == 0, "--%s has key %s", row->name, row->key);
	}
}
END_TEST

START_TEST(rows_have_what_help_and_manual_need)
{
	for (size_t i = 0; i < cs_settings_n_rows; i++) {
		const struct cs_opt *row = &cs_settings_rows[i];

		ck_assert_ptr_nonnull(row->help);
		ck_assert_int_eq(row->arg == NULL, row->type == CS_OPT_SWITCH);
		ck_assert_int_eq(row->choices != NULL || row->type == CS_OPT_LIST, row->type == CS_OPT_CHOICE || row->type == CS_OPT_LIST);
		/* each flag has a key and each key a flag; a row without one says why */
		ck_assert_msg((row->key == NULL) != (row->no_key == NULL), "--%s", row->name);
	}
}
END_TEST

START_TEST(strict_is_the_contract)
{
	begin("strict");
	cs_settings_resolve(&tree);
	ck_assert_uint_eq(tree.values.memory_bytes, 256 << 20);
	ck_assert_uint_eq(tree.values.memory_swap_bytes, 256 << 20);
	ck_assert_uint_eq(tree.values.pids, 64);
	ck_assert_uint_eq(tree.values.millicpus, 1000);
	ck_assert_int_eq(tree.values.timeout_ns, 600 * CS_NSEC_PER_SEC);
	ck_assert_int_eq(tree.values.cpu_time_ns, 600 * CS_NSEC_PER_SEC);
	ck_assert_uint_eq(tree.values.stdout_limit_bytes, 1 << 20);
	ck_assert_uint_eq(tree.values.stderr_limit_bytes, 1 << 20);
	ck_assert_int_eq(tree.values.on_output_limit, CS_AT_OUTPUT_KILL);
	ck_assert_uint_eq(tree.values.tmp_bytes, 64 << 20);
	ck_assert_uint_eq(tree.values.shm_bytes, 16 << 20);
	ck_assert_str_eq(tree.values.user, "65534:65534");
	ck_assert_str_eq(tree.values.network, "none");
	cs_settings_release(&tree);
}
END_TEST

START_TEST(what_follows_follows_unless_it_was_set)
{
	struct cs_err err = CS_ERR_INIT;

	begin("strict");
	ck_ok(put("memory", "64m", &err), err);
	ck_ok(put("timeout", "10s", &err), err);
	ck_ok(put("cpus", "0.5", &err), err);
	ck_ok(put("stderr-limit", "1k", &err), err);
	cs_settings_resolve(&tree);
	ck_assert_uint_eq(tree.values.memory_swap_bytes, 64 << 20);
	ck_assert_int_eq(tree.values.cpu_time_ns, 5 * CS_NSEC_PER_SEC);
	ck_assert_uint_eq(tree.values.stderr_limit_bytes, 1024);
	ck_assert_uint_eq(tree.values.stdout_limit_bytes, 1 << 20);
	cs_settings_release(&tree);
}
END_TEST

START_TEST(timeout_zero_lifts_wall_and_cpu_time)
{
	struct cs_err err = CS_ERR_INIT;

	begin("strict");
	ck_ok(put("timeout", "0", &err), err);
	cs_settings_resolve(&tree);
	ck_assert_int_eq(tree.values.timeout_ns, CS_NEVER);
	ck_assert_int_eq(tree.values.cpu_time_ns, CS_NEVER);
	cs_settings_release(&tree);
}
END_TEST

START_TEST(combinations_without_sense_are_refused)
{
	static const char *const wrong[][4] = {
		{ "capture", "head", NULL, NULL },
		{ "memory-swap", "1m", NULL, NULL },
		{ "capture", "head", "stdout", "/tmp/x" },
		{ "tty", "true", "stdout", "/tmp/x" },
		{ "tty", "true", "stderr", "/tmp/x" },
		{ "tty", "true", "capture", "head" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(wrong); i++) {
		struct cs_err err = CS_ERR_INIT;

		begin("strict");
		for (size_t j = 0; j < 4 && wrong[i][j]; j += 2)
			ck_ok(put(wrong[i][j], wrong[i][j + 1], &err), err);
		cs_settings_resolve(&tree);
		ck_assert_int_lt(cs_settings_check(&tree, &err), 0);
		ck_assert_int_eq(err.kind, CS_INVALID);
		cs_settings_release(&tree);
	}
}
END_TEST

START_TEST(bad_values_name_the_reason)
{
	static const struct {
		const char *name, *value, *part;
	} rows[] = {
		{ "id", "../x", "container id" },
		{ "workdir", "tmp", "absolute" },
		{ "memory", "64x", "size" },
		{ "timeout", "1m30", "duration" },
		{ "network", "bridge", "none, host" },
		{ "best-effort", "memory,disk", "disk" },
		{ "on-output-limit", "truncate", "kill|discard" },
		{ "capture-limit", "17m", "at most 16m" },
		{ "env", "", "NAME=VALUE" },
		{ "cpuset-cpus", "a", "list of CPUs" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_err err = CS_ERR_INIT;

		begin("none");
		ck_fails(put(rows[i].name, rows[i].value, &err), err, rows[i].part);
		cs_settings_release(&tree);
	}
}
END_TEST

CS_UNIT_SUITE(settings, names_keys_and_letters_are_unique, keys_follow_names,
	      rows_have_what_help_and_manual_need, strict_is_the_contract,
	      what_follows_follows_unless_it_was_set, timeout_zero_lifts_wall_and_cpu_time,
	      combinations_without_sense_are_refused, bad_values_name_the_reason)
