#include <errno.h>

#include "oci-spec/resources.h"
#include "tests/unit/unit.h"

static struct cs_json *parse(const char *text)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_ok(cs_json_parse(text, strlen(text), "test", &json, &err), err);
	return json;
}

START_TEST(every_row_is_whole)
{
	for (enum cs_resource i = 0; i < CS_RESOURCES; i++) {
		const struct cs_resource_row *row = cs_resource_row(i);

		ck_assert_ptr_nonnull(row->name);
		ck_assert_int_eq(strncmp(row->flag, "--", 2), 0);
		ck_assert_int_eq(strncmp(row->path, "linux.resources.", 16), 0);
		ck_assert_ptr_nonnull(row->v1_controller);
		ck_assert_ptr_nonnull(row->v1_file);
		ck_assert_ptr_nonnull(row->v2_file);
		ck_assert_str_eq(row->unified_key, row->v2_file);
	}
}
END_TEST

/* {members of linux.resources, resource, value} */
static const struct {
	const char *resources;
	enum cs_resource resource;
	uint64_t value;
} asked[] = {
	{ "", CS_RES_MEMORY, CS_UNLIMITED },
	{ "\"memory\":{\"limit\":67108864}", CS_RES_MEMORY, 67108864 },
	{ "\"memory\":{\"limit\":9223372036854775807}", CS_RES_MEMORY, INT64_MAX },
	{ "\"memory\":{\"limit\":0}", CS_RES_MEMORY, CS_UNLIMITED },
	{ "\"memory\":{\"limit\":-1}", CS_RES_MEMORY, CS_UNLIMITED },
	{ "\"memory\":{\"limit\":null}", CS_RES_MEMORY, CS_UNLIMITED },
	{ "\"memory\":null", CS_RES_MEMORY, CS_UNLIMITED },
	{ "\"unified\":{\"memory.max\":\"4096\"}", CS_RES_MEMORY, 4096 },
	{ "\"unified\":{\"memory.max\":\"64M\"}", CS_RES_MEMORY, 64 << 20 },
	{ "\"unified\":{\"memory.max\":\"max\"}", CS_RES_MEMORY, CS_UNLIMITED },
	{ "\"memory\":{\"limit\":1},\"unified\":{\"memory.max\":\"max\"}", CS_RES_MEMORY,
	  CS_UNLIMITED },
	{ "\"memory\":{\"limit\":64,\"swap\":128}", CS_RES_MEMORY_SWAP, 128 },
	{ "\"memory\":{\"swap\":-1}", CS_RES_MEMORY_SWAP, CS_UNLIMITED },
	{ "\"memory\":{\"limit\":64},\"unified\":{\"memory.swap.max\":\"0\"}", CS_RES_MEMORY_SWAP,
	  64 },
	{ "\"unified\":{\"memory.swap.max\":\"0\"}", CS_RES_MEMORY_SWAP, CS_UNLIMITED },
	{ "\"memory\":{\"limit\":64},\"unified\":{\"memory.swap.max\":\"max\"}", CS_RES_MEMORY_SWAP,
	  CS_UNLIMITED },
	{ "\"pids\":{\"limit\":64}", CS_RES_PIDS, 64 },
	{ "\"pids\":{\"limit\":0}", CS_RES_PIDS, CS_UNLIMITED },
	{ "\"pids\":{\"limit\":-1}", CS_RES_PIDS, CS_UNLIMITED },
	{ "\"unified\":{\"pids.max\":\"9\"}", CS_RES_PIDS, 9 },
	{ "\"cpu\":{\"quota\":150000,\"period\":100000}", CS_RES_CPU, 1500 },
	{ "\"cpu\":{\"quota\":50000}", CS_RES_CPU, 500 },
	{ "\"cpu\":{\"quota\":50000,\"period\":0}", CS_RES_CPU, 500 },
	{ "\"cpu\":{\"quota\":0,\"period\":100000}", CS_RES_CPU, CS_UNLIMITED },
	{ "\"cpu\":{\"quota\":-1}", CS_RES_CPU, CS_UNLIMITED },
	{ "\"cpu\":{\"period\":50000}", CS_RES_CPU, CS_UNLIMITED },
	{ "\"cpu\":{\"quota\":1,\"period\":1000000}", CS_RES_CPU, 1 },
	{ "\"cpu\":{\"quota\":9223372036854775807,\"period\":1}", CS_RES_CPU, CS_UNLIMITED - 1 },
	{ "\"unified\":{\"cpu.max\":\"25000 50000\"}", CS_RES_CPU, 500 },
	{ "\"unified\":{\"cpu.max\":\"25000\"}", CS_RES_CPU, 250 },
	{ "\"unified\":{\"cpu.max\":\"max 50000\"}", CS_RES_CPU, CS_UNLIMITED },
	{ "\"unified\":{\"cpu.max\":\"max\"}", CS_RES_CPU, CS_UNLIMITED },
};

START_TEST(what_a_config_asks_for)
{
	struct cs_err err = CS_ERR_INIT;
	char text[512];
	uint64_t value;

	snprintf(text, sizeof(text), "{\"linux\":{\"resources\":{%s}}}", asked[_i].resources);
	cs_autojson struct cs_json *config = parse(text);
	ck_ok(cs_resource_asked(config, asked[_i].resource, &value, &err), err);
	ck_assert_msg(value == asked[_i].value, "%s: %ju", text, (uintmax_t)value);
}
END_TEST

static const struct {
	const char *resources;
	enum cs_resource resource;
	const char *part;
} refused[] = {
	{ "\"memory\":{\"limit\":\"64m\"}", CS_RES_MEMORY, "linux.resources.memory.limit" },
	{ "\"memory\":{\"limit\":1.5}", CS_RES_MEMORY, "linux.resources.memory.limit" },
	{ "\"memory\":{\"limit\":9223372036854775808}", CS_RES_MEMORY, "memory.limit" },
	{ "\"pids\":{\"limit\":1e3}", CS_RES_PIDS, "linux.resources.pids.limit" },
	{ "\"cpu\":{\"quota\":1,\"period\":-1}", CS_RES_CPU, "linux.resources.cpu.period" },
	{ "\"unified\":{\"cpu.max\":\"1 0\"}", CS_RES_CPU, "cpu.max" },
	{ "\"unified\":{\"cpu.max\":\"\"}", CS_RES_CPU, "cpu.max" },
	{ "\"unified\":{\"pids.max\":\"64M\"}", CS_RES_PIDS, "pids.max" },
	{ "\"unified\":{\"memory.max\":\"lots\"}", CS_RES_MEMORY, "memory.max" },
};

START_TEST(what_is_no_number_is_refused)
{
	struct cs_err err = CS_ERR_INIT;
	uint64_t value = 7;
	char text[512];

	snprintf(text, sizeof(text), "{\"linux\":{\"resources\":{%s}}}", refused[_i].resources);
	cs_autojson struct cs_json *config = parse(text);
	ck_fails(cs_resource_asked(config, refused[_i].resource, &value, &err), err,
		 refused[_i].part);
	ck_assert_int_eq(err.kind, CS_INVALID);
}
END_TEST

START_TEST(cpus_are_text)
{
	struct cs_err err = CS_ERR_INIT;
	uint64_t value;

	cs_autojson struct cs_json *both = parse("{\"linux\":{\"resources\":{\"cpu\":{\"cpus\":\"0-"
						 "1\"},\"unified\":{\"cpuset.cpus\":\"3\"}}}}");
	cs_autojson struct cs_json *plain =
		parse("{\"linux\":{\"resources\":{\"cpu\":{\"cpus\":\"0-1\"}}}}");
	cs_autojson struct cs_json *empty =
		parse("{\"linux\":{\"resources\":{\"cpu\":{\"cpus\":\"\"}}}}");
	ck_assert_str_eq(cs_resource_asked_cpus(both), "3");
	ck_assert_str_eq(cs_resource_asked_cpus(plain), "0-1");
	ck_assert_ptr_null(cs_resource_asked_cpus(empty));
	ck_fails(cs_resource_asked(plain, CS_RES_CPUSET_CPUS, &value, &err), err, "no number");
}
END_TEST

START_TEST(cpu_lists_are_sets)
{
	ck_assert_int_eq(cs_cpuset_equal("0-3", "3,2,0-1"), 1);
	ck_assert_int_eq(cs_cpuset_equal("0,2", "0-2"), 0);
	ck_assert_int_eq(cs_cpuset_equal("1", "1\n"), 1);
	ck_assert_int_eq(cs_cpuset_equal("8191", "8191"), 1);
	ck_assert_int_eq(cs_cpuset_equal("8192", "0"), -ERANGE);
	ck_assert_int_eq(cs_cpuset_equal("99999999999999999999", "0"), -ERANGE);
	ck_assert_int_eq(cs_cpuset_equal("3-1", "0"), -EINVAL);
	ck_assert_int_eq(cs_cpuset_equal("", "0"), -EINVAL);
	ck_assert_int_eq(cs_cpuset_equal("0,", "0"), -EINVAL);
	ck_assert_int_eq(cs_cpuset_equal("0", "a"), -EINVAL);
	ck_assert_int_eq(cs_cpuset_equal("0", "-1"), -EINVAL);
}
END_TEST

Suite *suite_resources(void);
Suite *suite_resources(void)
{
	Suite *suite = suite_create("resources");
	TCase *cases = tcase_create("resources");

	tcase_add_test(cases, every_row_is_whole);
	tcase_add_loop_test(cases, what_a_config_asks_for, 0, CS_ARRAY_LEN(asked));
	tcase_add_loop_test(cases, what_is_no_number_is_refused, 0, CS_ARRAY_LEN(refused));
	tcase_add_test(cases, cpus_are_text);
	tcase_add_test(cases, cpu_lists_are_sets);
	suite_add_tcase(suite, cases);
	return suite;
}
