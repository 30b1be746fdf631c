#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/file.h"
#include "shim/task/config.h"
#include "tests/unit/unit.h"

static struct cs_config config;
static struct cs_settings_tree tree;
static int operand;
static unsigned scope;

/* Lays flags over a file with the given text. */
static int load(const char *text, const char *const *flags, struct cs_err *err)
{
	char path[] = "/tmp/caisson-test-config-XXXXXX";
	int fd = mkstemp(path), argc = 0, r;
	char *argv[16] = { NULL };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	setenv("CAISSON_CONFIG", path, 1);
	argv[argc++] = (char *)"run";
	for (; flags && *flags; flags++)
		argv[argc++] = (char *)*flags;
	r = cs_config_load(argc, argv, scope, NULL, &config, &tree, &operand, err);
	unlink(path);
	return r;
}

static void done(void)
{
	cs_settings_release(&tree);
	cs_config_release(&config);
}

START_TEST(F049_flag_over_file_over_policy)
{
	static const char text[] = "{\"timeout\":\"20s\",\"memory\":\"128m\",\"policies\":"
				   "{\"judge\":{\"timeout\":\"5s\",\"memory\":\"32m\",\"pidsLimit\":7}},\"policy\":\"judge\"}";
	const char *const flags[] = { "--memory", "64m", "--", "true", NULL };
	struct cs_err err = CS_ERR_INIT;

	ck_ok(load(text, flags, &err), err);
	ck_assert_uint_eq(tree.values.memory_bytes, 64 << 20);
	ck_assert_int_eq(tree.values.timeout_ns, 20 * CS_NSEC_PER_SEC);
	ck_assert_uint_eq(tree.values.pids, 7);
	ck_assert_uint_eq(tree.values.millicpus, 1000); /* of strict, the base */
	ck_assert_int_eq(operand, 4);
	done();
}
END_TEST

START_TEST(F049_lists_append_unless_emptied)
{
	static const char text[] = "{\"seccompAllow\":[\"io_uring_setup\"],\"env\":[\"A=1\"]}";
	const char *const flags[] = { "--seccomp-allow=bpf", "-e", "=B=2", NULL };
	struct cs_err err = CS_ERR_INIT;

	ck_ok(load(text, flags, &err), err);
	ck_assert_uint_eq(tree.values.seccomp_allow.n, 2);
	ck_assert_str_eq(tree.values.seccomp_allow.v[1], "bpf");
	ck_assert_uint_eq(tree.values.env.n, 1);
	ck_assert_str_eq(tree.values.env.v[0], "B=2");
	done();
}
END_TEST

/* argv is read twice, for --config first: what a subcommand adds must not be doubled by that */
START_TEST(lists_of_a_subcommand_are_taken_once)
{
	struct own {
		struct cs_strv words;
	} own = { 0 };
	struct further {
		bool yes;
	} further = { 0 };
	static const struct cs_opt rows[] = { { "word", 0, CS_OPT_LIST, offsetof(struct own, words), .help = "" } };
	static const struct cs_opt further_rows[] = { { "yes", 'y', CS_OPT_SWITCH, offsetof(struct further, yes), .help = "" } };
	const struct cs_opt_set further_set = { .rows = further_rows, .n = 1, .target = &further };
	const struct cs_opt_set set = { .rows = rows, .n = 1, .target = &own, .more = &further_set };
	char *const argv[] = { (char *)"run", (char *)"--word=a", (char *)"-y", (char *)"--word=b", (char *)"--quiet", NULL };
	struct cs_err err = CS_ERR_INIT;

	setenv("CAISSON_CONFIG", "/dev/null", 1);
	ck_assert_int_lt(cs_config_load(5, argv, CS_FOR_RUN, &set, &config, &tree, &operand, &err), 0); /* no object */
	cs_opt_release(&set);
	cs_err_clear(&err);
	unsetenv("CAISSON_CONFIG");
	ck_ok(cs_config_load(5, argv, CS_FOR_RUN, &set, &config, &tree, &operand, &err), err);
	ck_assert_uint_eq(own.words.n, 2);
	ck_assert(further.yes);
	ck_assert(tree.values.quiet);
	cs_opt_release(&set);
	done();
}
END_TEST

/* What made the session is no exec's business, unless a flag says so. */
START_TEST(exec_takes_its_own_rows)
{
	static const char text[] = "{\"timeout\":\"20s\",\"memory\":\"128m\",\"rootfs\":\"/r\",\"user\":\"5\"}";
	const char *const flags[] = { "--pids-limit", "9", "c1", "true", NULL };
	const char *const foreign[] = { "--rootfs", "/r", "c1", "true", NULL };
	struct cs_err err = CS_ERR_INIT;

	scope = CS_FOR_EXEC;
	ck_ok(load(text, flags, &err), err);
	ck_assert_int_eq(tree.values.timeout_ns, 20 * CS_NSEC_PER_SEC);
	ck_assert_uint_eq(tree.values.output_limit_bytes, 1 << 20); /* of strict */
	ck_assert_uint_eq(tree.values.memory_bytes, CS_OPT_UNLIMITED);
	ck_assert_uint_eq(tree.values.pids, 9);
	ck_assert_str_eq(tree.values.rootfs, "host"); /* what is built in */
	ck_assert_int_eq(operand, 3);
	done();
	ck_fails(load("{}", foreign, &err), err, "--rootfs does not apply");
	scope = 0;
}
END_TEST

START_TEST(F049_every_value_tells_where_it_comes_from)
{
	static const char text[] = "{\"timeout\":\"20s\",\"seccompAllow\":[\"bpf\"],\"policies\":{\"judge\":{\"base\":\"mid\",\"pidsLimit\":9},"
				   "\"mid\":{\"tmpSize\":\"8m\"}},\"policy\":\"judge\"}";
	const char *const flags[] = { "--seccomp-allow=ptrace", "-m", "64m", NULL };
	cs_autojson struct cs_json *json = NULL;
	cs_auto(buf) all = CS_BUF_INIT(1 << 20);
	struct cs_err err = CS_ERR_INIT;

	ck_ok(load(text, flags, &err), err);
	ck_ok(cs_settings_json(&tree, &json, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "memory.value")), "64m");
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "memory.origin")), "flag");
	ck_assert_str_eq(cs_json_string(cs_json_at(cs_json_get(json, "cpus.from"), 0)), "policy strict");
	ck_assert_str_eq(cs_json_string(cs_json_at(cs_json_get(json, "rootfs.from"), 0)), "built in");
	ck_assert_str_eq(cs_json_string(cs_json_at(cs_json_get(json, "memorySwap.from"), 0)), "as memory");
	ck_assert_ptr_nonnull(strstr(cs_json_string(cs_json_at(cs_json_get(json, "pidsLimit.from"), 0)), "policy judge (/tmp/"));
	ck_assert_ptr_nonnull(strstr(cs_json_string(cs_json_at(cs_json_get(json, "tmpSize.from"), 0)), "policy mid (/tmp/"));
	ck_assert_uint_eq(cs_json_count(cs_json_get(json, "seccompAllow.from")), 2);
	ck_assert_ptr_nonnull(strstr(cs_json_string(cs_json_at(cs_json_get(json, "timeout.from"), 0)), "file /tmp/"));
	ck_assert_str_eq(cs_json_string(cs_json_get(json, "policy.value")), "judge");
	ck_assert_int_eq(cs_settings_print(&tree, &all), 0);
	ck_assert_ptr_nonnull(strstr(all.data, "flag\n"));
	done();
}
END_TEST

START_TEST(policies_that_lead_nowhere_are_refused)
{
	static const struct {
		const char *text, *part;
	} wrong[] = {
		{ "{\"policies\":{\"a\":{\"base\":\"b\"},\"b\":{\"base\":\"a\"}}}", "go in a circle" },
		{ "{\"policies\":{\"a\":{\"base\":\"a\"}}}", "go in a circle" },
		{ "{\"policies\":{\"judge\":{\"base\":\"strickt\"}}}", "did you mean 'strict'?" },
		{ "{\"policies\":{\"judge\":{}},\"policy\":\"jugde\"}", "did you mean 'judge'?" },
		{ "{\"policies\":{\"strict\":{}}}", "is built in" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(wrong); i++) {
		struct cs_err err = CS_ERR_INIT;

		ck_fails(load(wrong[i].text, NULL, &err), err, wrong[i].part);
	}
}
END_TEST

START_TEST(wrong_files_are_refused_and_named)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
		{ "{\"memroy\":\"1m\"}", ": line 1, column 2: unknown key 'memroy': did you mean 'memory'" },
		{ "{\n\t\"memory\":\"1m\",\n\t\"timeot\":\"1s\"}", ": line 3, column 2: unknown key 'timeot'" },
		{ "{\"policies\":{\n\"p\":{\"memory\":\"1m\",\"timeoot\":\"1s\"}}}", ": line 2, column 20: policy 'p': unknown key" },
		{ "{\"runtimes\":{\"r\":\n{\"path\":\"/x\",\n\"arg\":[]}}}", ": line 3, column 1: runtime 'r': unknown key 'arg'" },
		{ "{\n\"policy\":5}", ": line 2, column 1: " },
		{ "{\"memory\":[\"1m\"]}", "key 'memory'" },
		{ "{\"memory\":\"lots\"}", "size" },
		{ "{\"volumes\":[1,{}]}", "list of strings" },
		{ "[]", "object" },
		{ "{\n \"memory\": }", "line 2" },
		{ "{\"policies\":{\"p\":{\"timeoot\":\"1s\"}}}", "policy 'p'" },
		{ "{\"policies\":{\"p\":3}}", "object" },
		{ "{\"runtimes\":{\"r\":{\"args\":[]}}}", "'path' is missing" },
		{ "{\"runtimes\":{\"r\":{\"path\":\"/x\",\"arg\":[]}}}", "unknown key 'arg'" },
		{ "{\"policy\":\"nope\"}", "unknown policy 'nope'" },
		{ "{\"policy\":5}", "name of a policy" },
		{ "{\"policies\":{\"p\":{\"base\":5}}}", "name of a policy" },
		{ "{\"timeout\":\"106000d\"}", "at most 36500d" },
		{ "{\"policies\":{\"a\":{\"base\":\"b\"},\"b\":{\"base\":\"a\"}},\"policy\":\"a\"}", "circle" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_err err = CS_ERR_INIT;

		ck_fails(load(rows[i].text, NULL, &err), err, rows[i].part);
	}
}
END_TEST

START_TEST(a_file_that_was_asked_for_must_be_there)
{
	char *const argv[] = { (char *)"run", (char *)"--config=/nonexistent/caisson.json", NULL };
	struct cs_err err = CS_ERR_INIT;

	unsetenv("CAISSON_CONFIG");
	ck_fails(cs_config_load(2, argv, CS_FOR_RUN, NULL, &config, &tree, &operand, &err), err, "/nonexistent");
}
END_TEST

START_TEST(runtimes_are_found)
{
	static const char text[] = "{\"runtimes\":{\"g\":{\"path\":\"/opt/x\",\"engine\":\"runsc\",\"args\":[\"--a\"]}}}";
	struct cs_runtime_def def;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(load(text, NULL, &err), err);
	ck_assert(cs_config_runtime(&config, "g", &def));
	ck_assert_str_eq(def.path, "/opt/x");
	ck_assert_str_eq(def.engine, "runsc");
	ck_assert_uint_eq(cs_json_count(def.args), 1);
	ck_assert(!cs_config_runtime(&config, "h", &def));
	done();
}
END_TEST

CS_UNIT_SUITE(config, F049_flag_over_file_over_policy, F049_lists_append_unless_emptied, exec_takes_its_own_rows,
	      lists_of_a_subcommand_are_taken_once, F049_every_value_tells_where_it_comes_from,
	      policies_that_lead_nowhere_are_refused,
	      wrong_files_are_refused_and_named, a_file_that_was_asked_for_must_be_there,
	      runtimes_are_found)
