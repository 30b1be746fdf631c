/* process.rlimits (runtime-spec config.md, "POSIX process"; getrlimit(2)). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/base/clock.h"
#include "shim/task/rlimits.h"
#include "shim/task/tighten_int.h"

#define RLIMITS "process.rlimits"

/* Of a core's size 1 is the tightest, since 0 still runs a piped helper (core(5)). */
static bool is_core(const struct cs_spec_rlimit *bound)
{
	return strcmp(bound->type, "RLIMIT_CORE") == 0;
}

static int make_bounds(const struct cs__tighten *t, struct cs_rlimits *ret)
{
	const struct cs_rlimits_plan plan = {
		.fsize_bytes = CS_UNLIMITED,
		.cpu_time_ns = t->what == CS__TIGHTEN_CONFIG ? t->settings->cpu_time_ns : CS_NEVER,
		.ulimits = &t->settings->ulimits,
	};
	size_t i = 0;

	if (cs_rlimits_bounds(&plan, t->confine & (1u << CS_CONFINE_RLIMITS), ret, t->err) < 0)
		return -1;
	if (!(t->confine & (1u << CS_CONFINE_CORE)))
		return 0;
	while (i < ret->n && !is_core(&ret->v[i]))
		i++;
	ret->v[i] = (struct cs_spec_rlimit){ "RLIMIT_CORE", 1, 1 };
	ret->n = CS_MAX(ret->n, i + 1);
	return 0;
}

/* A number as engines read it: crun takes a negative one for 2^64 less that, the largest is no limit. */
static int read_limit(const struct cs__tighten *t, const struct cs_json *row, const char *key, uint64_t *ret)
{
	const struct cs_json *value = cs_json_member(row, key);
	int64_t negative;

	if (cs_json_get_u64(value, ret) == 0)
		return 0;
	if (cs_json_get_i64(value, &negative) == 0) {
		*ret = CS_UNLIMITED;
		return 0;
	}
	return cs_fail(t->err, CS_INVALID, 0, RLIMITS ": %s: %s must be a whole number of 64 bits",
		       cs_json_string(cs_json_member(row, "type")), key);
}

static uint64_t clamp(uint64_t value, uint64_t bound, const struct cs_spec_rlimit *of, bool always)
{
	if (is_core(of) && always && bound == 1)
		return 1;
	return cs__tighten_clamp(value, bound, 0, always);
}

static int clamp_row(const struct cs__tighten *t, struct cs_json *row, const struct cs_spec_rlimit *bound)
{
	bool always = t->settings->bound == CS_BOUND_ALWAYS;
	uint64_t soft, hard, soft_now, hard_now;

	if (read_limit(t, row, "soft", &soft) < 0 || read_limit(t, row, "hard", &hard) < 0)
		return -1;
	hard_now = clamp(hard, bound->hard, bound, always);
	soft_now = CS_MIN(clamp(soft, bound->soft, bound, always), hard_now);
	if (soft_now == soft && hard_now == hard)
		return 0;
	cs__tighten_note(t, RLIMITS ": %s %llu:%llu -> %llu:%llu", bound->type, (unsigned long long)soft,
			 (unsigned long long)hard, (unsigned long long)soft_now, (unsigned long long)hard_now);
	return cs_json_set_u64(row, "hard", hard_now, t->err) < 0 ? -1 : cs_json_set_u64(row, "soft", soft_now, t->err);
}

static int add_row(const struct cs__tighten *t, const struct cs_spec_rlimit *bound)
{
	cs_autojson struct cs_json *row = cs_json_new_object();

	if (cs_json_put(row, "type", cs_json_new_string(bound->type)) < 0 ||
	    cs_json_put(row, "hard", cs_json_new_u64(bound->hard)) < 0 ||
	    cs_json_put(row, "soft", cs_json_new_u64(bound->soft)) < 0)
		return cs_fail(t->err, CS_LIMIT, ENOMEM, RLIMITS);
	cs__tighten_note(t, RLIMITS ": %s %llu:%llu added", bound->type, (unsigned long long)bound->soft,
			 (unsigned long long)bound->hard);
	return cs_json_append(t->root, &RLIMITS[t->strip], cs_take_ptr(&row), t->err);
}

static int apply(const struct cs__tighten *t, const struct cs_spec_rlimit *bound)
{
	struct cs_json *row;
	bool found = false;

	/* some engines take the first of two rows, some the last */
	cs_json_each(row, cs__tighten_get(t, RLIMITS)) {
		const char *type = cs_json_string(cs_json_member(row, "type"));

		if (!type)
			return cs_fail(t->err, CS_INVALID, 0, RLIMITS ": each must have a type");
		if (strcmp(type, bound->type) != 0)
			continue;
		found = true;
		if (clamp_row(t, row, bound) < 0)
			return -1;
	}
	return found ? 0 : add_row(t, bound);
}

/* A list of its own replaces the container's, so an exec that has none yet begins with that. */
static int begin_with_containers(const struct cs__tighten *t)
{
	const struct cs_json *containers = cs_json_get(t->config, RLIMITS);

	if (t->what != CS__TIGHTEN_PROCESS || cs_json_count(cs__tighten_get(t, RLIMITS)) > 0 ||
	    cs_json_kind(containers) != CS_JSON_ARRAY || cs_json_count(containers) == 0)
		return 0;
	return cs__tighten_put(t, RLIMITS, cs_json_copy(containers));
}

int cs__tighten_rlimits(const struct cs__tighten *t)
{
	struct cs_rlimits bounds = { .n = 0 };

	if (t->what == CS__TIGHTEN_CONFIG && !cs__tighten_get(t, "process"))
		return 0;
	if (make_bounds(t, &bounds) < 0)
		return -1;
	if (bounds.n == 0)
		return 0;
	if (cs__tighten_want(t, cs__tighten_get(t, RLIMITS), RLIMITS, CS_JSON_ARRAY) < 0 ||
	    begin_with_containers(t) < 0)
		return -1;
	for (size_t i = 0; i < bounds.n; i++)
		if (apply(t, &bounds.v[i]) < 0)
			return -1;
	return 0;
}
