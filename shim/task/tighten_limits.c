/*
 * linux.resources: memory, swap, processes, CPU, devices, with their twins in
 * `unified` (runtime-spec config-linux.md, "Control groups").
 *
 * What means "no limit" for each key is known by oci-spec/resources.c alone.
 * In an update what is absent, null or 0 stays in force.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/base/parse.h"
#include "shim/task/tighten_int.h"

#define CPU_QUOTA_MIN_US 1000 /* the kernel refuses less (kernel/sched/core.c, min_cfs_quota_period) */
#define PERIOD "linux.resources.cpu.period"
#define CPUS_BOUNDLESS 8192 /* no Linux is built for more */

static const char *flag_name(const struct cs_resource_row *row)
{
	return row->flag + 2;
}

/* Nothing is said: absent, null, or the zero that engines take for that. */
static bool is_silent(const struct cs_json *value, const struct cs_resource_row *row)
{
	int64_t number;

	return !value || (row->zero_unlimited && cs_json_get_i64(value, &number) == 0 && number == 0);
}

static int put_number(const struct cs__tighten *t, const char *path, uint64_t value)
{
	return cs__tighten_put(t, path, cs_json_new_u64(value));
}

static int put_unified_number(const struct cs__tighten *t, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return cs__tighten_put_unified(t, key, text);
}

/* The text of a unified key; NULL in *ret when it is absent. */
static int unified_text(const struct cs__tighten *t, const char *key, const char **ret)
{
	const struct cs_json *value = cs__tighten_unified(t, key);

	*ret = cs_json_string(value);
	if (value && !*ret)
		return cs_fail(t->err, CS_INVALID, 0, "linux.resources.unified.%s: must be a string", key);
	return 0;
}

/* Keys of unified are names of files, and engines that do not look would go where they lead. */
static int check_unified(const struct cs__tighten *t)
{
	const struct cs_json *unified = cs__tighten_get(t, "linux.resources.unified"), *value;
	const char *key;

	if (cs__tighten_want(t, unified, "linux.resources.unified", CS_JSON_OBJECT) < 0)
		return -1;
	cs_json_each_member(key, value, unified)
		if (strchr(key, '/'))
			return cs_fail(t->err, CS_INVALID, 0,
				       "linux.resources.unified: '%.64s' is no name of a cgroup file", key);
	return 0;
}

/* What holds for a container under update, as its config.json has it; NULL when nobody knows. */
static const struct cs_json *in_force(const struct cs__tighten *t, const char *path)
{
	return cs_json_get(t->config, path);
}

/* The number of a unified key that holds for a container under update; CS_UNLIMITED when there is none. */
static int unified_in_force(const struct cs__tighten *t, const char *key, uint64_t *ret)
{
	const char *text = cs_json_string(cs_json_member(in_force(t, "linux.resources.unified"), key));

	*ret = CS_UNLIMITED;
	return text ? cs_resource_unified(text, key, ret, t->err) : 0;
}

/* --- one number and its twin ------------------------------------------------------- */

struct limited {
	uint64_t asked;   /* at the path, by the input; CS_UNLIMITED: none */
	uint64_t value;   /* the same as it is now */
	bool said;        /* by the input, at the path */
	uint64_t unified; /* the twin, as it is now */
	bool unified_said;
	bool filled;      /* the one of the two that counts where both are obeyed was lowered */
};

static int limit_unified(const struct cs__tighten *t, const struct cs_resource_row *row, uint64_t bound,
			 bool always, struct limited *ret)
{
	const char *text;
	uint64_t out;

	ret->unified = CS_UNLIMITED;
	if (unified_text(t, row->unified_key, &text) < 0)
		return -1;
	ret->unified_said = text != NULL;
	ret->filled = ret->asked != ret->value;
	if (!text)
		return 0;
	if (cs_resource_unified(text, row->unified_key, &ret->unified, t->err) < 0)
		return -1;
	out = cs__tighten_clamp(ret->unified, bound, row->boundless, always);
	if (out != ret->unified && put_unified_number(t, row->unified_key, out) < 0)
		return -1;
	ret->filled = ret->unified != out;
	ret->unified = out;
	return 0;
}

static int limit_number(const struct cs__tighten *t, enum cs_resource resource, uint64_t bound,
			struct limited *ret)
{
	const struct cs_resource_row *row = cs_resource_row(resource);
	const struct cs_json *value = cs__tighten_get(t, row->path);
	bool always = cs__tighten_always(t, flag_name(row));
	uint64_t out;

	ret->said = !is_silent(value, row);
	if (cs_resource_number(value, row, &ret->asked, t->err) < 0)
		return -1;
	ret->value = ret->asked;
	out = cs__tighten_clamp(ret->value, bound, row->boundless, always);
	if (t->what == CS__TIGHTEN_RESOURCES && !ret->said)
		out = ret->value;
	if (out != ret->value && put_number(t, row->path, out) < 0)
		return -1;
	ret->value = out;
	return limit_unified(t, row, bound, always, ret);
}

static int limit_pids(const struct cs__tighten *t)
{
	uint64_t bound = t->settings->pids;
	struct limited unused;

	if (bound == CS_UNLIMITED)
		return 0;
	if (t->engine)
		bound = cs_engine_pids_limit(t->engine, bound);
	return limit_number(t, CS_RES_PIDS, bound, &unused);
}

/* --- memory and swap ---------------------------------------------------------------- */

/* A swap that nobody set follows the memory (cs_settings_resolve), and so does what it does to a container's. */
static bool swap_always(const struct cs__tighten *t)
{
	const struct cs_opt *row = cs_opt_by_name(&t->set, "memory-swap");

	return cs__tighten_always(t, "memory-swap") ||
	       (cs_opt_origin_of(&t->set, row) == CS_ORIGIN_BUILTIN && cs__tighten_always(t, "memory"));
}

static uint64_t swap_of_pair(uint64_t memory, uint64_t memory_swap)
{
	if (memory_swap == CS_UNLIMITED)
		return CS_UNLIMITED;
	return memory_swap > memory ? memory_swap - memory : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t ret;

	return a == CS_UNLIMITED || b == CS_UNLIMITED || __builtin_add_overflow(a, b, &ret) ? CS_UNLIMITED : ret;
}

static int number_in_force(const struct cs__tighten *t, enum cs_resource resource, uint64_t *ret)
{
	const struct cs_resource_row *row = cs_resource_row(resource);

	return cs_resource_number(in_force(t, row->path), row, ret, t->err);
}

/* memory.swap is memory and swap together, on either version of cgroups. */
struct swap {
	uint64_t sum, alone; /* CS_UNLIMITED: none */
	bool said, alone_said;
};

/* What the input says of swap, and what is in force where it does not. */
static int read_swap(const struct cs__tighten *t, struct swap *ret)
{
	const struct cs_resource_row *row = cs_resource_row(CS_RES_MEMORY_SWAP);
	const struct cs_json *value = cs__tighten_get(t, row->path);
	const char *text;

	ret->said = !is_silent(value, row);
	if (unified_text(t, row->unified_key, &text) < 0)
		return -1;
	ret->alone_said = text != NULL;
	if (ret->said ? cs_resource_number(value, row, &ret->sum, t->err) < 0
		      : number_in_force(t, CS_RES_MEMORY_SWAP, &ret->sum) < 0)
		return -1;
	return text ? cs_resource_unified(text, row->unified_key, &ret->alone, t->err)
		    : unified_in_force(t, row->unified_key, &ret->alone);
}

/*
 * An update says the memory and not the swap: an engine may count the swap
 * that was there with the new limit, or leave the sum as it was. The less of
 * the two is said, so that neither is exceeded.
 */
static int limit_swap(const struct cs__tighten *t, uint64_t bound, const struct limited *memory,
		      const struct swap *swap)
{
	const struct cs_resource_row *row = cs_resource_row(CS_RES_MEMORY_SWAP);
	bool always = swap_always(t) || memory->filled, anew = t->what == CS__TIGHTEN_RESOURCES && !swap->said;
	uint64_t in = swap->sum, was = CS_UNLIMITED, out;

	if (anew && !memory->said)
		return 0;
	if (anew && number_in_force(t, CS_RES_MEMORY, &was) < 0)
		return -1;
	if (anew)
		in = CS_MIN(in, sum(memory->value, swap_of_pair(was, swap->sum)));
	/* where only gaps are filled a memory limit of its own may lie above */
	if (!always && memory->value != CS_UNLIMITED)
		bound = CS_MAX(bound, memory->value);
	out = cs__tighten_clamp(in, bound, row->boundless, always);
	return out != in || anew ? put_number(t, row->path, out) : 0;
}

/* Puts what is not there yet. */
static int put_pair(const struct cs__tighten *t, enum cs_resource resource, uint64_t value, uint64_t unified)
{
	const struct cs_resource_row *row = cs_resource_row(resource);
	const struct cs_json *now = cs__tighten_get(t, row->path);
	uint64_t number = CS_UNLIMITED, twin = CS_UNLIMITED;
	const char *text;

	if (cs_resource_number(now, row, &number, t->err) < 0 || unified_text(t, row->unified_key, &text) < 0 ||
	    (text && cs_resource_unified(text, row->unified_key, &twin, t->err) < 0))
		return -1;
	if (number != value && put_number(t, row->path, value) < 0)
		return -1;
	return twin != unified ? put_unified_number(t, row->unified_key, unified) : 0;
}

/*
 * Memory or swap stand in `unified` as well. Which of the two forms an engine
 * heeds, and which sum comes out when it heeds one key of each, is its own
 * business: so all four keys are made to say the same, the least that is said.
 */
static int limit_both_forms(const struct cs__tighten *t, uint64_t memory_bound, uint64_t bound,
			    const struct limited *memory, const struct swap *swap)
{
	uint64_t path_memory = memory->value, unified_memory = memory->unified, was = CS_UNLIMITED, least, alone;

	if (t->what == CS__TIGHTEN_RESOURCES &&
	    (number_in_force(t, CS_RES_MEMORY, &was) < 0 ||
	     (!memory->unified_said && unified_in_force(t, "memory.max", &unified_memory) < 0)))
		return -1;
	if (t->what == CS__TIGHTEN_RESOURCES && !memory->said)
		path_memory = was;
	least = CS_MIN(path_memory, unified_memory);
	if (least == CS_UNLIMITED)
		least = memory_bound;
	least = CS_MAX(least, (uint64_t)1); /* 0 is nothing in `unified`, and no limit beside it */
	if (memory->said && memory->asked != CS_UNLIMITED)
		path_memory = memory->asked;
	alone = CS_MIN(swap_of_pair(path_memory, swap->sum), swap->alone);
	if (t->what == CS__TIGHTEN_RESOURCES && !swap->said)
		alone = CS_MIN(alone, swap_of_pair(was, swap->sum));
	alone = CS_MIN(alone, bound > least ? bound - least : 0);
	return put_pair(t, CS_RES_MEMORY, least, least) < 0 ? -1 :
							      put_pair(t, CS_RES_MEMORY_SWAP, sum(least, alone), alone);
}

static bool has_unified_memory(const struct cs_json *unified)
{
	return cs_json_member(unified, "memory.max") || cs_json_member(unified, "memory.swap.max");
}

static int limit_memory(const struct cs__tighten *t)
{
	uint64_t memory_bound = t->settings->memory_bytes, swap_bound = t->settings->memory_swap_bytes;
	struct limited memory;
	struct swap swap;

	if (memory_bound == CS_UNLIMITED)
		return 0;
	if (limit_number(t, CS_RES_MEMORY, memory_bound, &memory) < 0)
		return -1;
	if (swap_bound == CS_UNLIMITED)
		return 0;
	if (read_swap(t, &swap) < 0)
		return -1;
	if (t->what == CS__TIGHTEN_RESOURCES &&
	    !(memory.said || memory.unified_said || swap.said || swap.alone_said))
		return 0;
	if (has_unified_memory(cs__tighten_get(t, "linux.resources.unified")) ||
	    has_unified_memory(in_force(t, "linux.resources.unified")))
		return limit_both_forms(t, memory_bound, swap_bound, &memory, &swap);
	return limit_swap(t, swap_bound, &memory, &swap);
}

/* --- CPU time ------------------------------------------------------------------------- */

struct cpu {
	uint64_t quota_us, period_us;
};

/* Puts cpu under millicpus thousandths; false when it is there. */
static bool clamp_cpu(struct cpu *cpu, uint64_t millicpus, bool always)
{
	unsigned __int128 most = (unsigned __int128)millicpus * cpu->period_us;
	unsigned __int128 asked = (unsigned __int128)cpu->quota_us * 1000;

	if (asked >= (unsigned __int128)CPUS_BOUNDLESS * 1000 * cpu->period_us)
		always = true;
	if (cpu->quota_us != CS_UNLIMITED && (!always || asked <= most))
		return false;
	most /= 1000;
	if (most < CPU_QUOTA_MIN_US)
		*cpu = (struct cpu){ millicpus * (CS_CPU_PERIOD_US / 1000), CS_CPU_PERIOD_US };
	else
		cpu->quota_us = most > INT64_MAX ? INT64_MAX : (uint64_t)most;
	return true;
}

/* A period; 0 and absent are "not set": CS_CPU_PERIOD_US, *ret_said false. */
static int read_period(const struct cs__tighten *t, const struct cs_json *value, uint64_t *ret, bool *ret_said)
{
	uint64_t period_us = 0;

	if (cs_json_kind(value) != CS_JSON_NULL && cs_json_get_u64(value, &period_us) < 0)
		return cs_fail(t->err, CS_INVALID, 0, PERIOD ": must be a whole number of microseconds");
	*ret_said = period_us != 0;
	*ret = period_us ? period_us : CS_CPU_PERIOD_US;
	return 0;
}

static int limit_cpu_unified(const struct cs__tighten *t, bool always, uint64_t period_us)
{
	struct cpu cpu = { .period_us = 0 };
	char now[64];
	const char *text;
	bool no_period;

	if (unified_text(t, "cpu.max", &text) < 0)
		return -1;
	if (!text)
		return 0;
	if (cs_resource_unified_cpu(text, &cpu.quota_us, &cpu.period_us, t->err) < 0)
		return -1;
	no_period = cpu.period_us == 0;
	if (no_period) /* the kernel keeps the one that is there */
		cpu.period_us = period_us;
	if (!clamp_cpu(&cpu, t->settings->millicpus, always) && !no_period)
		return 0;
	snprintf(now, sizeof(now), "%" PRIu64 " %" PRIu64, cpu.quota_us, cpu.period_us);
	return cs__tighten_put_unified(t, "cpu.max", now);
}

/* What of the pair an update does not say. Of the key and its twin the one that leaves less. */
static int cpu_in_force(const struct cs__tighten *t, struct cpu *ret)
{
	const struct cs_resource_row *row = cs_resource_row(CS_RES_CPU);
	const char *text = cs_json_string(cs_json_member(in_force(t, "linux.resources.unified"), "cpu.max"));
	struct cpu twin = { CS_UNLIMITED, 0 };
	bool said;

	if (read_period(t, in_force(t, PERIOD), &ret->period_us, &said) < 0 ||
	    cs_resource_number(in_force(t, row->path), row, &ret->quota_us, t->err) < 0 ||
	    (text && cs_resource_unified_cpu(text, &twin.quota_us, &twin.period_us, t->err) < 0))
		return -1;
	ret->period_us = CS_MAX(ret->period_us, twin.period_us);
	ret->quota_us = CS_MIN(ret->quota_us, twin.quota_us);
	return 0;
}

static int limit_cpu(const struct cs__tighten *t)
{
	const struct cs_resource_row *row = cs_resource_row(CS_RES_CPU);
	const struct cs_json *quota = cs__tighten_get(t, row->path), *period = cs__tighten_get(t, PERIOD);
	bool update = t->what == CS__TIGHTEN_RESOURCES, always = cs__tighten_always(t, flag_name(row));
	bool quota_said = !is_silent(quota, row), period_said, changed;
	struct cpu cpu, kept = { CS_UNLIMITED, CS_CPU_PERIOD_US };
	uint64_t was_us;

	if (t->settings->millicpus == CS_UNLIMITED)
		return 0;
	if (read_period(t, period, &cpu.period_us, &period_said) < 0 ||
	    cs_resource_number(quota, row, &cpu.quota_us, t->err) < 0 || (update && cpu_in_force(t, &kept) < 0))
		return -1;
	if (!period_said)
		cpu.period_us = kept.period_us;
	if (!quota_said)
		cpu.quota_us = kept.quota_us;
	if (update && !quota_said && !period_said)
		return limit_cpu_unified(t, always, cpu.period_us);
	was_us = cpu.period_us;
	changed = clamp_cpu(&cpu, t->settings->millicpus, always);
	/* of an update either half is nothing without the other, which engines may leave or reset */
	if ((changed || (update && !quota_said)) && put_number(t, row->path, cpu.quota_us) < 0)
		return -1;
	if (((changed || update) && (!period_said || cpu.period_us != was_us)) &&
	    put_number(t, PERIOD, cpu.period_us) < 0)
		return -1;
	return limit_cpu_unified(t, always, cpu.period_us);
}

/* --- which CPUs ------------------------------------------------------------------------ */

/* What is left of a list, in *ret, which stays empty when nothing has to change. */
static int clamp_cpus(const struct cs__tighten *t, const char *path, const char *cpus, struct cs_buf *ret)
{
	const char *ours = t->settings->cpuset_cpus;
	int r;

	if (!cs__tighten_always(t, "cpuset-cpus") || cs_cpulist_within(cpus, ours))
		return 0;
	r = cs_cpuset_both(cpus, ours, ret);
	if (r == -EINVAL || r == -ERANGE)
		return cs_fail(t->err, CS_INVALID, 0, "%s: '%.64s' is no list of CPUs", path, cpus);
	if (r < 0)
		return cs_fail(t->err, CS_LIMIT, -r, "%s", path);
	if (ret->len == 0)
		return cs_fail(t->err, CS_DENIED, 0, "%s: none of '%.64s' is among the CPUs that the policy gives, '%.64s'",
			       path, cpus, ours);
	return 0;
}

static int limit_cpuset(const struct cs__tighten *t)
{
	const struct cs_resource_row *row = cs_resource_row(CS_RES_CPUSET_CPUS);
	const struct cs_json *value = cs__tighten_get(t, row->path);
	const char *cpus = cs_json_string(value), *unified;
	cs_auto(buf) left = CS_BUF_INIT(64 * 1024), unified_left = CS_BUF_INIT(64 * 1024);

	if (!t->settings->cpuset_cpus)
		return 0;
	if (value && !cpus)
		return cs_fail(t->err, CS_INVALID, 0, "%s: must be a string", row->path);
	if (!cpus || !*cpus) {
		if (t->what != CS__TIGHTEN_RESOURCES &&
		    cs__tighten_put(t, row->path, cs_json_new_string(t->settings->cpuset_cpus)) < 0)
			return -1;
	} else if (clamp_cpus(t, row->path, cpus, &left) < 0 ||
		   (left.len && cs__tighten_put(t, row->path, cs_json_new_string(left.data)) < 0)) {
		return -1;
	}
	if (unified_text(t, row->unified_key, &unified) < 0)
		return -1;
	if (!unified)
		return 0;
	/* an empty list takes the CPUs of the group above (cgroup-v2.rst, cpuset.cpus) */
	if (!*unified)
		return cs__tighten_put_unified(t, row->unified_key, t->settings->cpuset_cpus);
	if (clamp_cpus(t, "linux.resources.unified.cpuset.cpus", unified, &unified_left) < 0)
		return -1;
	return unified_left.len ? cs__tighten_put_unified(t, row->unified_key, unified_left.data) : 0;
}

/* --- devices ------------------------------------------------------------------------------ */

static bool denies_all(const struct cs_json *rule)
{
	const char *access = cs_json_string(cs_json_member(rule, "access"));
	bool allow = true;

	return cs_json_count(rule) == 2 && cs_json_get_bool(cs_json_member(rule, "allow"), &allow) == 0 &&
	       !allow && access && strcmp(access, "rwm") == 0;
}

/*
 * Of a node that config.json has (docker's --privileged lists all of the
 * host's) runc adds neither its own nor the rule that lets it be opened. What
 * config-linux.md calls the default devices is better left to it.
 */
static int leave_default_devices(const struct cs__tighten *t)
{
	static const char *const paths[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty" };
	struct cs_json *devices = cs__tighten_get(t, "linux.devices");

	if (cs__tighten_want(t, devices, "linux.devices", CS_JSON_ARRAY) < 0)
		return -1;
	for (size_t i = 0; i < cs_json_count(devices);) {
		const char *path = cs_json_string(cs_json_member(cs_json_at(devices, i), "path"));
		bool is_default = false;

		for (size_t k = 0; path && k < CS_ARRAY_LEN(paths); k++)
			is_default |= strcmp(path, paths[k]) == 0;
		if (!is_default) {
			i++;
			continue;
		}
		cs__tighten_note(t, "linux.devices: the engine's own %s", path);
		cs_json_free(cs_json_take_at(devices, i));
	}
	return 0;
}

/* The last rule wins; what every engine adds by itself comes behind it. */
static int deny_devices(const struct cs__tighten *t)
{
	static const char path[] = "linux.resources.devices";
	const struct cs_json *rules = cs__tighten_get(t, path);
	cs_autojson struct cs_json *deny = cs_json_new_object();

	if (!(t->confine & (1u << CS_CONFINE_DEVICES)) || (t->what == CS__TIGHTEN_RESOURCES && !rules))
		return 0;
	if (cs__tighten_want(t, rules, path, CS_JSON_ARRAY) < 0 ||
	    (t->what == CS__TIGHTEN_CONFIG && leave_default_devices(t) < 0))
		return -1;
	if (cs_json_count(rules) > 0 && denies_all(cs_json_at(rules, cs_json_count(rules) - 1)))
		return 0;
	if (cs_json_put(deny, "allow", cs_json_new_bool(false)) < 0 ||
	    cs_json_put(deny, "access", cs_json_new_string("rwm")) < 0)
		return cs_fail(t->err, CS_LIMIT, ENOMEM, "%s", path);
	cs__tighten_note(t, "%s: none but the engine's own", path);
	return cs_json_append(t->root, path + t->strip, cs_take_ptr(&deny), t->err);
}

/* An object that holds limits must be one: what stands in its place is not passed on to an engine's mercy. */
static int check_objects(const struct cs__tighten *t)
{
	static const char *const objects[] = {
		"linux.resources.memory",
		"linux.resources.pids",
		"linux.resources.cpu",
	};

	if (t->what == CS__TIGHTEN_CONFIG &&
	    (cs__tighten_want(t, cs__tighten_get(t, "linux"), "linux", CS_JSON_OBJECT) < 0 ||
	     cs__tighten_want(t, cs__tighten_get(t, "linux.resources"), "linux.resources", CS_JSON_OBJECT) < 0))
		return -1;
	for (size_t i = 0; i < CS_ARRAY_LEN(objects); i++)
		if (cs__tighten_want(t, cs__tighten_get(t, objects[i]), objects[i], CS_JSON_OBJECT) < 0)
			return -1;
	return check_unified(t);
}

int cs__tighten_limits(const struct cs__tighten *t)
{
	if (check_objects(t) < 0 || limit_memory(t) < 0 || limit_pids(t) < 0 || limit_cpu(t) < 0 ||
	    limit_cpuset(t) < 0)
		return -1;
	return deny_devices(t);
}
