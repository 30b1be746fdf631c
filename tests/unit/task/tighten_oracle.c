/*
 * What engines make of a config.json, before and after: shares no code with the
 * rules that it judges.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "tests/unit/task/tighten_random.h"

#define PERIOD 100000

/* --- the oracle: what engines make of it ---------------------------------------------------- */

static const struct tighten_limits nothing = { NONE, NONE, NONE, NONE, NONE, 0, false };

/* A number as strtoll reads it; 0 and below are no limit. false: nothing is said. */
static bool read_number(const struct cs_json *json, uint64_t *ret)
{
	const char *text = cs_json_number_text(json);
	long long value;

	if (!text)
		return false;
	errno = 0;
	value = strtoll(text, NULL, 10);
	if (value == 0)
		return false;
	*ret = value < 0 ? NONE : (uint64_t)value;
	return true;
}

static const char *unified_of(const struct cs_json *resources, const char *key)
{
	return cs_json_string(cs_json_member(cs_json_member(resources, "unified"), key));
}

static bool read_unified(const struct cs_json *resources, const char *key, uint64_t *ret)
{
	const char *text = unified_of(resources, key);

	if (!text)
		return false;
	*ret = strcmp(text, "max") == 0 ? NONE : strtoull(text, NULL, 10);
	return true;
}

static uint64_t swap_between(uint64_t memory, uint64_t memory_swap, bool *ret_refused)
{
	if (memory_swap == NONE)
		return NONE;
	if (memory == NONE || memory_swap < memory) {
		*ret_refused = true;
		return NONE;
	}
	return memory_swap - memory;
}

static void hear(struct tighten_limits *path, struct tighten_limits *unified, const struct cs_json *resources)
{
	const char *cpu = unified_of(resources, "cpu.max");
	const char *space = cpu ? strchr(cpu, ' ') : NULL;

	read_number(cs_json_get(resources, "memory.limit"), &path->memory);
	read_number(cs_json_get(resources, "memory.swap"), &path->memory_swap);
	read_number(cs_json_get(resources, "pids.limit"), &path->pids);
	read_number(cs_json_get(resources, "cpu.quota"), &path->quota);
	read_number(cs_json_get(resources, "cpu.period"), &path->period);
	read_unified(resources, "memory.max", &unified->memory);
	read_unified(resources, "memory.swap.max", &unified->swap_alone);
	read_unified(resources, "pids.max", &unified->pids);
	if (cpu)
		unified->quota = strncmp(cpu, "max", 3) == 0 ? NONE : strtoull(cpu, NULL, 10);
	if (space)
		unified->period = strtoull(space, NULL, 10);
}

/* Writes one telling over what the group has; `memory` is what the engine counts swap with. */
static void write_group(struct tighten_limits *group, const struct cs_json *resources, uint64_t memory, bool unified)
{
	struct tighten_limits path = nothing, twin = nothing;
	uint64_t said;
	const char *cpu = unified_of(resources, "cpu.max");

	hear(&path, &twin, resources);
	if (read_number(cs_json_get(resources, "memory.limit"), &said))
		group->memory = memory = path.memory;
	if (read_number(cs_json_get(resources, "memory.swap"), &said))
		group->swap_alone = swap_between(memory, path.memory_swap, &group->refused);
	if (read_number(cs_json_get(resources, "pids.limit"), &said))
		group->pids = path.pids;
	if (read_number(cs_json_get(resources, "cpu.quota"), &said))
		group->quota = path.quota;
	if (path.period)
		group->period = path.period;
	if (!unified)
		return;
	if (unified_of(resources, "memory.max"))
		group->memory = twin.memory;
	if (unified_of(resources, "memory.swap.max"))
		group->swap_alone = twin.swap_alone;
	if (unified_of(resources, "pids.max"))
		group->pids = twin.pids;
	if (cpu)
		group->quota = twin.quota;
	if (twin.period)
		group->period = twin.period;
}

/* Members of `over` in place of those of `under`, one level below the top. */
static struct cs_json *told_together(const struct cs_json *under, const struct cs_json *over)
{
	struct cs_json *all = under ? cs_json_copy(under) : cs_json_new_object();
	const struct cs_json *group;
	const char *name;

	cs_json_each_member (name, group, over) {
		struct cs_json *into = cs_json_member(all, name);

		if (cs_json_kind(group) != CS_JSON_OBJECT || strchr(name, '.'))
			continue;
		if (cs_json_kind(into) != CS_JSON_OBJECT) {
			ck_assert(cs_json_set(all, name, cs_json_new_object(), &tighten_err) == 0);
			into = cs_json_member(all, name);
		}
		for (size_t i = 0; i < cs_json_count(group); i++) {
			const char *key = cs_json_key_at(group, i);
			const struct cs_json *value = cs_json_at(group, i);
			uint64_t number;
			size_t at = cs_json_find(into, key);

			/* of numbers only those that say something */
			if (cs_json_kind(value) == CS_JSON_NULL || (cs_json_number_text(value) && !read_number(value, &number)))
				continue;
			ck_assert((at < cs_json_count(into) ? cs_json_replace_at(into, at, cs_json_copy(value))
							    : cs_json_put(into, key, cs_json_copy(value))) == 0);
		}
	}
	return all;
}

/* What the group has in the end. `first` is what it was created with (may be NULL), `then` an update (may be NULL). */
struct tighten_limits limits_of(const struct cs_json *first, const struct cs_json *then, enum tighten_engine engine)
{
	struct tighten_limits group = { NONE, NONE, NONE, NONE, NONE, PERIOD, false };
	cs_autojson struct cs_json *all = told_together(first, then);
	struct tighten_limits path = nothing, twin = nothing;

	if (engine == ONCE) {
		write_group(&group, first, NONE, true);
		write_group(&group, then, NONE, true); /* it counts swap with the memory of the same telling only */
	} else {
		write_group(&group, all, NONE, engine != V1);
	}
	hear(&path, &twin, all);
	group.memory_swap = engine == V1 ? path.memory_swap :
			    group.memory == NONE || group.swap_alone == NONE ? NONE : group.memory + group.swap_alone;
	return group;
}

static double cpus_of(const struct tighten_limits *group)
{
	return group->quota == NONE ? 1e30 : (double)group->quota / (double)group->period;
}

/* From `boundless` on a number is none where only gaps are filled. */
static void ck_le(const char *what, double out, double in, double bound, bool is_bounded, double boundless)
{
	double most = !is_bounded ? in : tighten_always() || in >= boundless ? (in < bound ? in : bound) : in;

	ck_assert_msg(out <= most * (1 + 1e-12), "seed %" PRIu64 ": %s: %g of %g, bound %g%.6000s", tighten_seed, what, out, in, bound, tighten_story.data);
}

static double real(uint64_t value)
{
	return value == NONE ? 1e30 : (double)value;
}

void ck_group(const struct tighten_limits *out, const struct tighten_limits *in)
{
	const struct cs_settings *v = &tighten_tree.values;
	double swap_bound = real(v->memory_swap_bytes);

	if (!out->refused) {
		ck_le("memory", real(out->memory), real(in->memory), real(v->memory_bytes), v->memory_bytes != NONE, 9.2e18);
		/* with a memory limit of its own above, where only gaps are filled, no swap at all is the least that can be */
		if (!tighten_always() && real(out->memory) > swap_bound)
			swap_bound = real(out->memory);
		/* a policy that leaves swap alone lowers the memory that some engines count it with */
		if (v->memory_swap_bytes != NONE)
			ck_le("swap", real(out->memory_swap), in->refused ? 1e30 : real(in->memory_swap), swap_bound, true,
			      9.2e18);
	}
	ck_le("pids", real(out->pids), real(in->pids), real(v->pids), v->pids != NONE, 4194304);
	ck_le("cpus", cpus_of(out), cpus_of(in), (double)v->millicpus / 1000, v->millicpus != NONE, 8192);
}

static unsigned cpu_bits(const char *list)
{
	unsigned bits = 0;

	for (const char *p = list; p && *p;) {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < 32; first++)
			bits |= 1u << first;
		p = *end ? end + 1 : end;
	}
	return bits ? bits : ~0u;
}

void ck_cpuset(const struct cs_json *out, const struct cs_json *in, bool update)
{
	const char *keys[] = { cs_json_string(cs_json_get(out, "cpu.cpus")), unified_of(out, "cpuset.cpus") };
	const char *were[] = { cs_json_string(cs_json_get(in, "cpu.cpus")), unified_of(in, "cpuset.cpus") };

	for (size_t i = 0; i < 2; i++) {
		unsigned now = cpu_bits(keys[i]), was = cpu_bits(were[i]);

		ck_assert_msg((now & ~was) == 0, "seed %" PRIu64 ": CPUs %x of %x", tighten_seed, now, was);
		if (tighten_tree.values.cpuset_cpus && keys[i] && *keys[i] && (tighten_always() || was == ~0u))
			ck_assert_msg((now & ~7u) == 0, "seed %" PRIu64 ": CPUs %x of 0-2", tighten_seed, now);
	}
	if (tighten_tree.values.cpuset_cpus && !update)
		ck_assert_msg(keys[0] && *keys[0], "seed %" PRIu64 ": no CPUs", tighten_seed);
}

void ck_devices(const struct cs_json *out)
{
	const struct cs_json *rules = cs_json_get(out, "devices");
	const struct cs_json *last = cs_json_at(rules, cs_json_count(rules) - 1);
	bool allow = true;

	if (!tighten_confines("devices") || !rules)
		return;
	ck_assert_msg(cs_json_get_bool(cs_json_member(last, "allow"), &allow) == 0 && !allow, "seed %" PRIu64 ": devices", tighten_seed);
}

/* --- the oracle: processes -------------------------------------------------------------------- */

static bool holds(const struct cs_json *array, const char *text)
{
	const struct cs_json *child;

	cs_json_each (child, array)
		if (cs_json_string(child) && strcmp(cs_json_string(child), text) == 0)
			return true;
	return false;
}

static void ck_capability(const char *name, const struct cs_json *was)
{
	ck_assert_msg(holds(was, name), "seed %" PRIu64 ": gained %s", tighten_seed, name);
	if (tighten_confines("capabilities"))
		ck_assert_msg(tighten_tree.values.cap_add.n > 0 && strcasecmp(name, "CAP_KILL") == 0, "seed %" PRIu64 ": kept %s", tighten_seed, name);
}

void ck_capabilities(const struct cs_json *out, const struct cs_json *in)
{
	const struct cs_json *set;
	const char *key;

	cs_json_each_member (key, set, cs_json_get(out, "capabilities"))
		for (size_t i = 0; i < cs_json_count(set); i++)
			ck_capability(cs_json_string(cs_json_at(set, i)), cs_json_member(cs_json_get(in, "capabilities"), key));
}

/* 1e30 without one. */
static void rlimit_of(const struct cs_json *process, const char *type, double *ret_soft, double *ret_hard)
{
	const struct cs_json *row;
	bool found = false;

	*ret_soft = *ret_hard = 0;
	cs_json_each (row, cs_json_get(process, "rlimits")) {
		uint64_t soft = strtoull(cs_json_number_text(cs_json_member(row, "soft")), NULL, 10);
		uint64_t hard = strtoull(cs_json_number_text(cs_json_member(row, "hard")), NULL, 10);

		if (strcmp(cs_json_string(cs_json_member(row, "type")), type) != 0)
			continue;
		found = true;
		/* where a core is concerned 1 is nothing and 0 is a helper of the host */
		if (strcmp(type, "RLIMIT_CORE") == 0) {
			soft = soft == 1 ? 0 : soft == 0 ? 1 : soft;
			hard = hard == 1 ? 0 : hard == 0 ? 1 : hard;
		}
		*ret_soft = real(soft);
		*ret_hard = real(hard);
	}
	if (!found)
		*ret_soft = *ret_hard = 1e30;
}

void ck_rlimits(const struct cs_json *out, const struct cs_json *in)
{
	const struct {
		const char *type;
		double soft, hard;
		bool bounded;
	} rows[] = {
		{ "RLIMIT_NOFILE", tighten_tree.values.ulimits.n ? 256 : 1024, 1024, tighten_tree.values.ulimits.n || tighten_confines("rlimits") },
		{ "RLIMIT_CORE", 0, 0, tighten_confines("core") || tighten_confines("rlimits") },
		{ "RLIMIT_STACK", 8388608, 1e30, tighten_confines("rlimits") },
		{ "RLIMIT_MEMLOCK", 65536, 65536, tighten_confines("rlimits") },
		{ "RLIMIT_AS", 1e30, 1e30, false },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		double soft, hard, was_soft, was_hard;

		rlimit_of(out, rows[i].type, &soft, &hard);
		rlimit_of(in, rows[i].type, &was_soft, &was_hard);
		/* in a pair of core limits 0 and 1 trade places under the policy, which is no loosening of the other */
		ck_le(rows[i].type, hard, was_hard, rows[i].hard, rows[i].bounded, 1e19);
		if (tighten_always() || strcmp(rows[i].type, "RLIMIT_CORE") != 0)
			ck_le(rows[i].type, soft, was_soft, rows[i].soft, rows[i].bounded, 1e19);
	}
}

void ck_privileges(const struct cs_json *out, const struct cs_json *in)
{
	bool was = false, is = false;

	cs_json_get_bool(cs_json_member(in, "noNewPrivileges"), &was);
	cs_json_get_bool(cs_json_member(out, "noNewPrivileges"), &is);
	ck_assert_msg(is >= was && (is || !tighten_confines("privileges")), "seed %" PRIu64 ": noNewPrivileges", tighten_seed);
}

/* --- the oracle: the rest of a config.json ------------------------------------------------------ */

static void ck_superset(const char *what, const struct cs_json *out, const struct cs_json *in)
{
	const struct cs_json *child;

	cs_json_each (child, in)
		ck_assert_msg(holds(out, cs_json_string(child)), "seed %" PRIu64 ": %s lost %s", tighten_seed, what, cs_json_string(child));
}

static bool has_namespace(const struct cs_json *config, const char *type)
{
	const struct cs_json *row;

	cs_json_each (row, cs_json_get(config, "linux.namespaces"))
		if (strcmp(cs_json_string(cs_json_member(row, "type")), type) == 0)
			return true;
	return false;
}

void ck_config(const struct cs_json *out, const struct cs_json *in)
{
	static const char *const namespaces[] = { "pid", "ipc", "uts", "mount", "network", "cgroup" };
	bool was = false, is = false;

	cs_json_get_bool(cs_json_get(in, "root.readonly"), &was);
	cs_json_get_bool(cs_json_get(out, "root.readonly"), &is);
	ck_assert_msg(is >= was && (is || !tighten_confines("root")), "seed %" PRIu64 ": root", tighten_seed);
	ck_superset("maskedPaths", cs_json_get(out, "linux.maskedPaths"), cs_json_get(in, "linux.maskedPaths"));
	ck_superset("readonlyPaths", cs_json_get(out, "linux.readonlyPaths"), cs_json_get(in, "linux.readonlyPaths"));
	/* in the host's own mount namespace they would be hidden from the host */
	if (tighten_confines("masked") && has_namespace(out, "mount"))
		ck_assert(holds(cs_json_get(out, "linux.maskedPaths"), "/proc/kcore"));
	if (tighten_confines("readonly") && has_namespace(out, "mount"))
		ck_assert(holds(cs_json_get(out, "linux.readonlyPaths"), "/proc/sysrq-trigger"));
	if (tighten_confines("seccomp"))
		ck_assert_ptr_nonnull(cs_json_get(out, "linux.seccomp"));
	for (size_t i = 0; i < CS_ARRAY_LEN(namespaces); i++)
		ck_assert_msg(has_namespace(out, namespaces[i]) >= (has_namespace(in, namespaces[i]) || tighten_confines("namespaces")),
			      "seed %" PRIu64 ": namespace %s", tighten_seed, namespaces[i]);
}

/* --- what was not ours is as it was --------------------------------------------------------------- */

/* Paths whose value a rule may change; below an array or a map all that stands there. */
static const char *const owned[] = {
	"process.capabilities.bounding", "process.capabilities.effective", "process.capabilities.inheritable",
	"process.capabilities.permitted", "process.capabilities.ambient", "process.noNewPrivileges", "process.rlimits",
	"root.readonly", "linux.namespaces", "linux.maskedPaths", "linux.readonlyPaths", "linux.resources.devices",
	"linux.resources.memory.limit", "linux.resources.memory.swap", "linux.resources.pids.limit", "linux.resources.cpu.quota",
	"linux.resources.cpu.period", "linux.resources.cpu.cpus", "linux.resources.unified",
	/* null counts as absent */
	"process.capabilities", "linux.resources.memory", "linux.resources.pids", "linux.resources.cpu",
};

static bool is_owned(const char *path, const struct cs_json *in)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(owned); i++)
		if (strcmp(owned[i], path) == 0)
			return cs_json_kind(in) != CS_JSON_OBJECT || strcmp(path, "linux.resources.unified") == 0;
	return false;
}

void ck_intact(const char *path, const struct cs_json *out, const struct cs_json *in)
{
	size_t at = 0;
	const struct cs_json *child;
	const char *key;

	if (is_owned(path, in))
		return;
	ck_assert_msg(cs_json_kind(out) == cs_json_kind(in), "seed %" PRIu64 ": %s changed", tighten_seed, path);
	if (cs_json_kind(in) != CS_JSON_OBJECT) {
		cs_auto(buf) a = CS_BUF_INIT(4096), b = CS_BUF_INIT(4096);

		cs_json_write(in, CS_JSON_COMPACT, &a, &tighten_err);
		cs_json_write(out, CS_JSON_COMPACT, &b, &tighten_err);
		ck_assert_msg(strcmp(a.data, b.data) == 0, "seed %" PRIu64 ": %s changed", tighten_seed, path);
		return;
	}
	cs_json_each_member (key, child, in) {
		size_t found = cs_json_find(out, key);
		char below[256];

		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		ck_assert_msg(found < cs_json_count(out), "seed %" PRIu64 ": %s lost", tighten_seed, below);
		ck_assert_msg(found >= at, "seed %" PRIu64 ": %s out of order", tighten_seed, below);
		at = found;
		ck_intact(below, cs_json_at(out, found), child);
	}
}

