/*
 * Nothing is loosened: a thousand generated config.json, process.json and
 * LinuxResources under generated policies, weighed before and after by an
 * oracle that shares no code with what it judges and models three kinds of engines.
 *
 * CAISSON_SEED repeats one run; the seed stands in every failure.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/task/tighten.h"
#include "tests/unit/task/tighten_random.h"

#define INPUTS 1000

static int tighten(enum tighten_what what, const struct cs_json *config, struct cs_json *json)
{
	struct cs_tighten_plan plan = { .tree = &tighten_tree };

	cs_err_clear(&tighten_err);
	return what == CONFIG  ? cs_tighten_config(&plan, json, NULL, &tighten_err) :
	       what == PROCESS ? cs_tighten_process(&plan, config, json, NULL, &tighten_err) :
				 cs_tighten_resources(&plan, config, json, NULL, &tighten_err);
}

/* NULL when it was refused, which only what cannot be read or be made tight may be. */
static struct cs_json *tightened(enum tighten_what what, const struct cs_json *config, const struct cs_json *in)
{
	cs_autojson struct cs_json *out = cs_json_copy(in), *again = NULL;
	cs_auto(buf) first = CS_BUF_INIT(1 << 20), second = CS_BUF_INIT(1 << 20);

	if (tighten(what, config, out) < 0) {
		ck_assert_msg(tighten_odd || tighten_err.kind == CS_DENIED, "seed %" PRIu64 ": %s", tighten_seed, tighten_err.text);
		cs_err_clear(&tighten_err);
		return NULL;
	}
	again = cs_json_copy(out);
	ck_assert_msg(tighten(what, config, again) == 0, "seed %" PRIu64 ": again: %s", tighten_seed, tighten_err.text);
	cs_json_write(out, CS_JSON_COMPACT, &first, &tighten_err);
	cs_json_write(again, CS_JSON_COMPACT, &second, &tighten_err);
	cs_buf_adds(&tighten_story, "\n");
	cs_json_write(in, CS_JSON_COMPACT, &tighten_story, &tighten_err);
	cs_buf_adds(&tighten_story, "\n");
	cs_buf_adds(&tighten_story, first.data);
	ck_assert_msg(strcmp(first.data, second.data) == 0, "seed %" PRIu64 ": not the same again:%.4000s\n%.2000s", tighten_seed, tighten_story.data,
		      second.data);
	return cs_take_ptr(&out);
}

static bool one_create(void)
{
	cs_autojson struct cs_json *in = tighten_generate(CONFIG);
	cs_autojson struct cs_json *out = tightened(CONFIG, NULL, in);
	const struct cs_json *out_res = cs_json_get(out, "linux.resources"), *in_res = cs_json_get(in, "linux.resources");

	if (!out)
		return false;
	for (enum tighten_engine engine = 0; engine < ENGINES; engine++) {
		struct tighten_limits was = limits_of(in_res, NULL, engine), is = limits_of(out_res, NULL, engine);

		ck_group(&is, &was);
	}
	ck_cpuset(out_res, in_res, false);
	ck_devices(out_res);
	if (tighten_confines("devices"))
		ck_assert_ptr_nonnull(cs_json_get(out_res, "devices"));
	ck_config(out, in);
	if (cs_json_get(in, "process")) {
		ck_capabilities(cs_json_get(out, "process"), cs_json_get(in, "process"));
		ck_privileges(cs_json_get(out, "process"), cs_json_get(in, "process"));
		ck_rlimits(cs_json_get(out, "process"), cs_json_get(in, "process"));
	}
	ck_intact("", out, in);
	return true;
}

/* A container as it runs: generated and tightened. */
static struct cs_json *container(void)
{
	struct cs_json *out = NULL;

	for (int tries = 0; !out && tries < 100; tries++) {
		cs_autojson struct cs_json *in = tighten_generate(CONFIG);

		out = tightened(CONFIG, NULL, in);
	}
	ck_assert_msg(out != NULL, "seed %" PRIu64 ": no container in 100", tighten_seed);
	return out;
}

static bool one_exec(void)
{
	cs_autojson struct cs_json *config = container();
	cs_autojson struct cs_json *in = tighten_generate(PROCESS);
	const struct cs_json *known = tighten_draw(4) ? config : NULL;
	cs_autojson struct cs_json *out = tightened(PROCESS, known, in);

	if (!out)
		return false;
	ck_capabilities(out, in);
	ck_privileges(out, in);
	/* without limits of its own an exec has the container's */
	ck_rlimits(cs_json_count(cs_json_get(out, "rlimits")) > 0 ? out : cs_json_get(known, "process"),
		   cs_json_count(cs_json_get(in, "rlimits")) > 0 ? in : cs_json_get(known, "process"));
	return true;
}

static bool one_update(void)
{
	cs_autojson struct cs_json *config = container();
	cs_autojson struct cs_json *in = tighten_generate(RESOURCES);
	cs_autojson struct cs_json *out = tightened(RESOURCES, config, in);
	const struct cs_json *resources = cs_json_get(config, "linux.resources");
	struct cs_json *wrapped;

	if (!out)
		return false;
	for (enum tighten_engine engine = 0; engine < ENGINES; engine++) {
		struct tighten_limits was = limits_of(resources, in, engine), is = limits_of(resources, out, engine);

		ck_group(&is, &was);
	}
	ck_cpuset(out, in, true);
	ck_devices(out);
	/* the same paths as in a config.json */
	wrapped = cs_json_new_object();
	ck_assert(cs_json_set(wrapped, "linux.resources", cs_json_copy(out), &tighten_err) == 0);
	{
		cs_autojson struct cs_json *before = cs_json_new_object(), *after = wrapped;

		ck_assert(cs_json_set(before, "linux.resources", cs_json_copy(in), &tighten_err) == 0);
		ck_intact("", after, before);
	}
	return true;
}

static void run(bool (*one)(void))
{
	const char *given = getenv("CAISSON_SEED");
	uint64_t first = given ? strtoull(given, NULL, 10) : 1;
	int done = 0;

	for (int i = 0; i < INPUTS; i++) {
		tighten_begin(first + (uint64_t)i);
		cs_buf_reset(&tighten_story);
		tighten_generate_policy();
		done += one();
	}
	cs_settings_release(&tighten_tree);
	tighten_tree = (struct cs_settings_tree){ 0 };
	cs_buf_release(&tighten_story);
	/* most must get through, or nothing is proven */
	ck_assert_msg(done > INPUTS * 6 / 10, "seeds %" PRIu64 " to %" PRIu64 ": %d of %d", first, tighten_seed, done, INPUTS);
}

START_TEST(no_create_is_looser)
{
	run(one_create);
}
END_TEST

START_TEST(no_exec_is_looser)
{
	run(one_exec);
}
END_TEST

START_TEST(no_update_is_looser)
{
	run(one_update);
}
END_TEST

CS_UNIT_SUITE(tighten_random, no_create_is_looser, no_exec_is_looser, no_update_is_looser)
