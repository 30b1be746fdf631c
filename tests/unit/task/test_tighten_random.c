/*
 * Nothing is loosened: a thousand generated config.json, process.json and
 * LinuxResources under generated policies, weighed before and after by an
 * oracle that shares no code with what it judges and models three kinds of engines.
 *
 * CAISSON_SEED repeats one run; the seed stands in every failure.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/task/policy.h"
#include "shim/task/tighten.h"
#include "tests/unit/unit.h"

#define INPUTS 1000
#define NONE UINT64_MAX
#define PERIOD 100000

static uint64_t state, seed;
static struct cs_settings_tree tree;
static struct cs_err err;
static bool odd; /* the input holds what nobody can read */
static struct cs_buf story = CS_BUF_INIT(1 << 20); /* what was edited, and to what: for a failure */

/* xorshift64* */
static unsigned draw(unsigned n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % n;
}

#define PICK(array) ((array)[draw(CS_ARRAY_LEN(array))])

/* --- generated text ------------------------------------------------------------------- */

static void add_unknown(struct cs_buf *out)
{
	static const char *const texts[] = {
		"{\"a\":[1,2.50,\"\\u00e9\\n\"]}", "18446744073709551616", "[]", "null", "\"\"",
	};
	static unsigned n;

	if (draw(3) == 0)
		cs_buf_addf(out, "\"x.%u\":%s,", n++, PICK(texts));
}

static const char *number(void)
{
	static const char *const plain[] = { "1", "7", "63", "64", "65", "4096", "100000", "262144", "1048576", "9223372036854775807" };
	static const char *const lifted[] = { "0", "-1", "null", "-9", "-0" };
	static const char *const weird[] = { "1e9", "64.0", "\"64\"", "[]", "{}", "true", "18446744073709551616" };

	switch (draw(30)) {
	case 0:
		odd = true;
		return PICK(weird);
	case 1 ... 9:
		return PICK(lifted);
	default:
		return PICK(plain);
	}
}

static const char *period(void)
{
	static const char *const texts[] = { "0", "null", "1000", "20000", "100000", "1000000" };

	return PICK(texts);
}

static const char *cpus(void)
{
	static const char *const texts[] = { "0", "0-1", "1-3", "0,2", "2-5,7", "" };

	return PICK(texts);
}

static void add_member(struct cs_buf *out, const char *key, const char *value)
{
	if (draw(3))
		cs_buf_addf(out, "\"%s\":%s,", key, value);
	add_unknown(out);
}

/* A trailing comma is taken away, a closing bracket set. */
static void close_with(struct cs_buf *out, char bracket)
{
	if (out->data[out->len - 1] == ',')
		out->data[out->len - 1] = bracket;
	else
		cs_buf_addc(out, bracket);
	cs_buf_addc(out, ',');
}

static void add_unified(struct cs_buf *out)
{
	static const char *const numbers[] = { "max", "1", "64", "65", "100000", "262144", "1048576" };
	static const char *const cpu[] = { "max", "max 20000", "5000", "50000 100000", "200000 100000", "2000 1000" };

	cs_buf_adds(out, "\"unified\":{\"memory.high\":\"max\",");
	if (draw(2))
		cs_buf_addf(out, "\"memory.max\":\"%s\",", PICK(numbers));
	if (draw(2))
		cs_buf_addf(out, "\"memory.swap.max\":\"%s\",", PICK(numbers));
	if (draw(2))
		cs_buf_addf(out, "\"pids.max\":\"%s\",", PICK(numbers));
	if (draw(2))
		cs_buf_addf(out, "\"cpu.max\":\"%s\",", PICK(cpu));
	if (draw(3) == 0)
		cs_buf_addf(out, "\"cpuset.cpus\":\"%s\",", cpus());
	close_with(out, '}');
}

/* The members of LinuxResources. */
static void add_resources(struct cs_buf *out)
{
	char text[64];

	if (draw(4)) {
		cs_buf_adds(out, "\"memory\":{");
		add_member(out, "limit", number());
		add_member(out, "swap", number());
		close_with(out, '}');
	}
	add_unknown(out);
	if (draw(4)) {
		cs_buf_adds(out, "\"pids\":{");
		add_member(out, "limit", number());
		close_with(out, '}');
	}
	if (draw(4)) {
		cs_buf_adds(out, "\"cpu\":{");
		add_member(out, "quota", number());
		add_member(out, "period", period());
		snprintf(text, sizeof(text), "\"%s\"", cpus());
		add_member(out, "cpus", text);
		close_with(out, '}');
	}
	if (draw(3) == 0)
		cs_buf_adds(out, "\"devices\":[{\"allow\":true,\"type\":\"c\",\"access\":\"rwm\"}],");
	if (draw(3) == 0)
		add_unified(out);
}

static void add_process(struct cs_buf *out)
{
	static const char *const sets[] = { "bounding", "effective", "inheritable", "permitted", "ambient" };
	static const char *const caps[] = { "CAP_CHOWN", "CAP_KILL", "CAP_SYS_ADMIN", "CAP_NET_RAW", "cap_kill", "ALL", "CAP_NEW" };
	static const char *const rlimits[] = { "RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_STACK", "RLIMIT_AS", "RLIMIT_MEMLOCK" };
	static const char *const values[] = { "0", "1", "512", "4096", "8388608", "18446744073709551615", "-1" };

	cs_buf_adds(out, "\"args\":[\"sh\"],");
	add_unknown(out);
	if (draw(4)) {
		cs_buf_adds(out, "\"capabilities\":{");
		for (size_t i = 0; i < CS_ARRAY_LEN(sets); i++) {
			if (draw(4) == 0)
				continue;
			cs_buf_addf(out, "\"%s\":[", sets[i]);
			for (unsigned n = draw(5); n > 0; n--)
				cs_buf_addf(out, "\"%s\",", PICK(caps));
			close_with(out, ']');
		}
		close_with(out, '}');
	}
	if (draw(3))
		cs_buf_addf(out, "\"noNewPrivileges\":%s,", draw(2) ? "true" : "false");
	if (draw(3)) {
		cs_buf_adds(out, "\"rlimits\":[");
		for (size_t i = 0; i < CS_ARRAY_LEN(rlimits); i++)
			if (draw(2))
				cs_buf_addf(out, "{\"type\":\"%s\",\"zzz\":1.0,\"hard\":%s,\"soft\":%s},", rlimits[i], PICK(values),
					    PICK(values));
		close_with(out, ']');
	}
}

static void add_linux(struct cs_buf *out)
{
	static const char *const paths[] = { "/proc/kcore", "/x", "/sys/firmware", "/proc/sys" };
	static const char *const namespaces[] = { "pid", "ipc", "uts", "mount", "network", "cgroup", "user" };

	add_unknown(out);
	cs_buf_adds(out, "\"resources\":{");
	add_resources(out);
	close_with(out, '}');
	cs_buf_adds(out, "\"namespaces\":[");
	for (size_t i = 0; i < CS_ARRAY_LEN(namespaces); i++)
		if (draw(3))
			cs_buf_addf(out, draw(6) ? "{\"type\":\"%s\"}," : "{\"type\":\"%s\",\"path\":\"/no/such\",\"z\":0},", namespaces[i]);
	close_with(out, ']');
	if (draw(2))
		cs_buf_addf(out, "\"maskedPaths\":[\"%s\",\"%s\"],", PICK(paths), PICK(paths));
	if (draw(2))
		cs_buf_addf(out, "\"readonlyPaths\":[\"%s\"],", PICK(paths));
}

enum what { CONFIG, PROCESS, RESOURCES };

static struct cs_json *generate(enum what what)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_json *json = NULL;

	odd = false;
	cs_buf_adds(&out, "{");
	if (what == RESOURCES)
		add_resources(&out);
	if (what == PROCESS)
		add_process(&out);
	if (what == CONFIG) {
		add_unknown(&out);
		if (draw(8)) {
			cs_buf_adds(&out, "\"process\":{");
			add_process(&out);
			close_with(&out, '}');
		}
		if (draw(4))
			cs_buf_addf(&out, "\"root\":{\"path\":\"r\",\"readonly\":%s},", draw(2) ? "true" : "false");
		if (draw(8)) {
			cs_buf_adds(&out, "\"linux\":{");
			add_linux(&out);
			close_with(&out, '}');
		}
	}
	close_with(&out, '}');
	out.data[--out.len] = '\0';
	ck_assert_msg(cs_json_parse(out.data, out.len, "generated", &json, &err) == 0, "seed %" PRIu64 ": %s: %s", seed,
		      err.text, out.data);
	return json;
}

/* --- generated policies ------------------------------------------------------------------ */

static void put(const char *name, const char *value)
{
	struct cs_opt_set rows = cs_settings_set(&tree);

	ck_ok(cs_opt_put(&rows, cs_opt_by_name(&rows, name), name, value, CS_ORIGIN_FLAG, &err), err);
}

static void generate_policy(void)
{
	static const char *const words[] = { "capabilities", "privileges", "root", "namespaces", "devices", "masked", "readonly",
					     "rlimits", "core" };
	static const char *const memory[] = { "64k", "100k", "1m" };
	static const char *const swap[] = { "1m", "2m", "unlimited" };
	static const char *const pids[] = { "1", "64", "4096" };
	static const char *const cpu[] = { "0.01", "0.5", "1", "3" };

	cs_settings_release(&tree);
	cs_err_clear(&err);
	ck_ok(cs_settings_init(&tree, &err), err);
	put("bound", draw(3) ? "always" : "unbounded");
	put("timeout", "1h"); /* so that the policy is never none */
	if (draw(4))
		put("memory", PICK(memory));
	if (tree.values.memory_bytes != NONE && draw(2))
		put("memory-swap", PICK(swap));
	if (draw(4))
		put("pids-limit", PICK(pids));
	if (draw(4))
		put("cpus", PICK(cpu));
	if (draw(3) == 0)
		put("cpuset-cpus", "0-2");
	if (draw(2))
		put("ulimit", "nofile=256:1024");
	if (draw(2))
		put("cap-add", "KILL");
	for (size_t i = 0; i < CS_ARRAY_LEN(words); i++)
		if (draw(2))
			put("confine", words[i]);
	if (draw(40) == 0) /* costs more than all others */
		put("confine", "seccomp");
	cs_settings_resolve(&tree);
}

static bool confines(const char *word)
{
	return cs_strv_has(&tree.values.confine, word);
}

static bool always(void)
{
	return tree.values.bound == CS_BOUND_ALWAYS;
}

/* --- the oracle: what engines make of it ---------------------------------------------------- */

struct limits {
	uint64_t memory, memory_swap, swap_alone, pids, quota, period;
	bool refused; /* no engine and no kernel takes such a pair of memory and swap */
};

static const struct limits nothing = { NONE, NONE, NONE, NONE, NONE, 0, false };

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

/*
 * V1: files of cgroup v1, no `unified`; memory and swap are one limit.
 * ANEW: v2, all that it was ever told is written again, `unified` last (runc).
 * ONCE: v2, each telling is written where it stands and nothing else (crun).
 */
enum engine { V1, ANEW, ONCE };
#define ENGINES 3

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

static void hear(struct limits *path, struct limits *unified, const struct cs_json *resources)
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
static void write_group(struct limits *group, const struct cs_json *resources, uint64_t memory, bool unified)
{
	struct limits path = nothing, twin = nothing;
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
			ck_assert(cs_json_set(all, name, cs_json_new_object(), &err) == 0);
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
static struct limits limits_of(const struct cs_json *first, const struct cs_json *then, enum engine engine)
{
	struct limits group = { NONE, NONE, NONE, NONE, NONE, PERIOD, false };
	cs_autojson struct cs_json *all = told_together(first, then);
	struct limits path = nothing, twin = nothing;

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

static double cpus_of(const struct limits *group)
{
	return group->quota == NONE ? 1e30 : (double)group->quota / (double)group->period;
}

/* From `boundless` on a number is none where only gaps are filled. */
static void ck_le(const char *what, double out, double in, double bound, bool is_bounded, double boundless)
{
	double most = !is_bounded ? in : always() || in >= boundless ? (in < bound ? in : bound) : in;

	ck_assert_msg(out <= most * (1 + 1e-12), "seed %" PRIu64 ": %s: %g of %g, bound %g%.6000s", seed, what, out, in, bound, story.data);
}

static double real(uint64_t value)
{
	return value == NONE ? 1e30 : (double)value;
}

static void ck_group(const struct limits *out, const struct limits *in)
{
	const struct cs_settings *v = &tree.values;
	double swap_bound = real(v->memory_swap_bytes);

	if (!out->refused) {
		ck_le("memory", real(out->memory), real(in->memory), real(v->memory_bytes), v->memory_bytes != NONE, 9.2e18);
		/* with a memory limit of its own above, where only gaps are filled, no swap at all is the least that can be */
		if (!always() && real(out->memory) > swap_bound)
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

static void ck_cpuset(const struct cs_json *out, const struct cs_json *in, bool update)
{
	const char *keys[] = { cs_json_string(cs_json_get(out, "cpu.cpus")), unified_of(out, "cpuset.cpus") };
	const char *were[] = { cs_json_string(cs_json_get(in, "cpu.cpus")), unified_of(in, "cpuset.cpus") };

	for (size_t i = 0; i < 2; i++) {
		unsigned now = cpu_bits(keys[i]), was = cpu_bits(were[i]);

		ck_assert_msg((now & ~was) == 0, "seed %" PRIu64 ": CPUs %x of %x", seed, now, was);
		if (tree.values.cpuset_cpus && keys[i] && *keys[i] && (always() || was == ~0u))
			ck_assert_msg((now & ~7u) == 0, "seed %" PRIu64 ": CPUs %x of 0-2", seed, now);
	}
	if (tree.values.cpuset_cpus && !update)
		ck_assert_msg(keys[0] && *keys[0], "seed %" PRIu64 ": no CPUs", seed);
}

static void ck_devices(const struct cs_json *out)
{
	const struct cs_json *rules = cs_json_get(out, "devices");
	const struct cs_json *last = cs_json_at(rules, cs_json_count(rules) - 1);
	bool allow = true;

	if (!confines("devices") || !rules)
		return;
	ck_assert_msg(cs_json_get_bool(cs_json_member(last, "allow"), &allow) == 0 && !allow, "seed %" PRIu64 ": devices", seed);
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
	ck_assert_msg(holds(was, name), "seed %" PRIu64 ": gained %s", seed, name);
	if (confines("capabilities"))
		ck_assert_msg(tree.values.cap_add.n > 0 && strcasecmp(name, "CAP_KILL") == 0, "seed %" PRIu64 ": kept %s", seed, name);
}

static void ck_capabilities(const struct cs_json *out, const struct cs_json *in)
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

static void ck_rlimits(const struct cs_json *out, const struct cs_json *in)
{
	const struct {
		const char *type;
		double soft, hard;
		bool bounded;
	} rows[] = {
		{ "RLIMIT_NOFILE", tree.values.ulimits.n ? 256 : 1024, 1024, tree.values.ulimits.n || confines("rlimits") },
		{ "RLIMIT_CORE", 0, 0, confines("core") || confines("rlimits") },
		{ "RLIMIT_STACK", 8388608, 1e30, confines("rlimits") },
		{ "RLIMIT_MEMLOCK", 65536, 65536, confines("rlimits") },
		{ "RLIMIT_AS", 1e30, 1e30, false },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		double soft, hard, was_soft, was_hard;

		rlimit_of(out, rows[i].type, &soft, &hard);
		rlimit_of(in, rows[i].type, &was_soft, &was_hard);
		/* in a pair of core limits 0 and 1 trade places under the policy, which is no loosening of the other */
		ck_le(rows[i].type, hard, was_hard, rows[i].hard, rows[i].bounded, 1e19);
		if (always() || strcmp(rows[i].type, "RLIMIT_CORE") != 0)
			ck_le(rows[i].type, soft, was_soft, rows[i].soft, rows[i].bounded, 1e19);
	}
}

static void ck_privileges(const struct cs_json *out, const struct cs_json *in)
{
	bool was = false, is = false;

	cs_json_get_bool(cs_json_member(in, "noNewPrivileges"), &was);
	cs_json_get_bool(cs_json_member(out, "noNewPrivileges"), &is);
	ck_assert_msg(is >= was && (is || !confines("privileges")), "seed %" PRIu64 ": noNewPrivileges", seed);
}

/* --- the oracle: the rest of a config.json ------------------------------------------------------ */

static void ck_superset(const char *what, const struct cs_json *out, const struct cs_json *in)
{
	const struct cs_json *child;

	cs_json_each (child, in)
		ck_assert_msg(holds(out, cs_json_string(child)), "seed %" PRIu64 ": %s lost %s", seed, what, cs_json_string(child));
}

static bool has_namespace(const struct cs_json *config, const char *type)
{
	const struct cs_json *row;

	cs_json_each (row, cs_json_get(config, "linux.namespaces"))
		if (strcmp(cs_json_string(cs_json_member(row, "type")), type) == 0)
			return true;
	return false;
}

static void ck_config(const struct cs_json *out, const struct cs_json *in)
{
	static const char *const namespaces[] = { "pid", "ipc", "uts", "mount", "network", "cgroup" };
	bool was = false, is = false;

	cs_json_get_bool(cs_json_get(in, "root.readonly"), &was);
	cs_json_get_bool(cs_json_get(out, "root.readonly"), &is);
	ck_assert_msg(is >= was && (is || !confines("root")), "seed %" PRIu64 ": root", seed);
	ck_superset("maskedPaths", cs_json_get(out, "linux.maskedPaths"), cs_json_get(in, "linux.maskedPaths"));
	ck_superset("readonlyPaths", cs_json_get(out, "linux.readonlyPaths"), cs_json_get(in, "linux.readonlyPaths"));
	if (confines("masked"))
		ck_assert(holds(cs_json_get(out, "linux.maskedPaths"), "/proc/kcore"));
	if (confines("readonly"))
		ck_assert(holds(cs_json_get(out, "linux.readonlyPaths"), "/proc/sysrq-trigger"));
	if (confines("seccomp"))
		ck_assert_ptr_nonnull(cs_json_get(out, "linux.seccomp"));
	for (size_t i = 0; i < CS_ARRAY_LEN(namespaces); i++)
		ck_assert_msg(has_namespace(out, namespaces[i]) >= (has_namespace(in, namespaces[i]) || confines("namespaces")),
			      "seed %" PRIu64 ": namespace %s", seed, namespaces[i]);
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

static void ck_intact(const char *path, const struct cs_json *out, const struct cs_json *in)
{
	size_t at = 0;
	const struct cs_json *child;
	const char *key;

	if (is_owned(path, in))
		return;
	ck_assert_msg(cs_json_kind(out) == cs_json_kind(in), "seed %" PRIu64 ": %s changed", seed, path);
	if (cs_json_kind(in) != CS_JSON_OBJECT) {
		cs_auto(buf) a = CS_BUF_INIT(4096), b = CS_BUF_INIT(4096);

		cs_json_write(in, CS_JSON_COMPACT, &a, &err);
		cs_json_write(out, CS_JSON_COMPACT, &b, &err);
		ck_assert_msg(strcmp(a.data, b.data) == 0, "seed %" PRIu64 ": %s changed", seed, path);
		return;
	}
	cs_json_each_member (key, child, in) {
		size_t found = cs_json_find(out, key);
		char below[256];

		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		ck_assert_msg(found < cs_json_count(out), "seed %" PRIu64 ": %s lost", seed, below);
		ck_assert_msg(found >= at, "seed %" PRIu64 ": %s out of order", seed, below);
		at = found;
		ck_intact(below, cs_json_at(out, found), child);
	}
}

/* --- the walk --------------------------------------------------------------------------------------- */

static int tighten(enum what what, const struct cs_json *config, struct cs_json *json)
{
	struct cs_tighten_plan plan = { .tree = &tree };

	cs_err_clear(&err);
	return what == CONFIG  ? cs_tighten_config(&plan, json, NULL, &err) :
	       what == PROCESS ? cs_tighten_process(&plan, config, json, NULL, &err) :
				 cs_tighten_resources(&plan, config, json, NULL, &err);
}

/* NULL when it was refused, which only what cannot be read or be made tight may be. */
static struct cs_json *tightened(enum what what, const struct cs_json *config, const struct cs_json *in)
{
	cs_autojson struct cs_json *out = cs_json_copy(in), *again = NULL;
	cs_auto(buf) first = CS_BUF_INIT(1 << 20), second = CS_BUF_INIT(1 << 20);

	if (tighten(what, config, out) < 0) {
		ck_assert_msg(odd || err.kind == CS_DENIED, "seed %" PRIu64 ": %s", seed, err.text);
		cs_err_clear(&err);
		return NULL;
	}
	again = cs_json_copy(out);
	ck_assert_msg(tighten(what, config, again) == 0, "seed %" PRIu64 ": again: %s", seed, err.text);
	cs_json_write(out, CS_JSON_COMPACT, &first, &err);
	cs_json_write(again, CS_JSON_COMPACT, &second, &err);
	cs_buf_adds(&story, "\n");
	cs_json_write(in, CS_JSON_COMPACT, &story, &err);
	cs_buf_adds(&story, "\n");
	cs_buf_adds(&story, first.data);
	ck_assert_msg(strcmp(first.data, second.data) == 0, "seed %" PRIu64 ": not the same again:%.4000s\n%.2000s", seed, story.data,
		      second.data);
	return cs_take_ptr(&out);
}

static bool one_create(void)
{
	cs_autojson struct cs_json *in = generate(CONFIG);
	cs_autojson struct cs_json *out = tightened(CONFIG, NULL, in);
	const struct cs_json *out_res = cs_json_get(out, "linux.resources"), *in_res = cs_json_get(in, "linux.resources");

	if (!out)
		return false;
	for (enum engine engine = 0; engine < ENGINES; engine++) {
		struct limits was = limits_of(in_res, NULL, engine), is = limits_of(out_res, NULL, engine);

		ck_group(&is, &was);
	}
	ck_cpuset(out_res, in_res, false);
	ck_devices(out_res);
	if (confines("devices"))
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
		cs_autojson struct cs_json *in = generate(CONFIG);

		out = tightened(CONFIG, NULL, in);
	}
	ck_assert_msg(out != NULL, "seed %" PRIu64 ": no container in 100", seed);
	return out;
}

static bool one_exec(void)
{
	cs_autojson struct cs_json *config = container();
	cs_autojson struct cs_json *in = generate(PROCESS);
	const struct cs_json *known = draw(4) ? config : NULL;
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
	cs_autojson struct cs_json *in = generate(RESOURCES);
	cs_autojson struct cs_json *out = tightened(RESOURCES, config, in);
	const struct cs_json *resources = cs_json_get(config, "linux.resources");
	struct cs_json *wrapped;

	if (!out)
		return false;
	for (enum engine engine = 0; engine < ENGINES; engine++) {
		struct limits was = limits_of(resources, in, engine), is = limits_of(resources, out, engine);

		ck_group(&is, &was);
	}
	ck_cpuset(out, in, true);
	ck_devices(out);
	/* the same paths as in a config.json */
	wrapped = cs_json_new_object();
	ck_assert(cs_json_set(wrapped, "linux.resources", cs_json_copy(out), &err) == 0);
	{
		cs_autojson struct cs_json *before = cs_json_new_object(), *after = wrapped;

		ck_assert(cs_json_set(before, "linux.resources", cs_json_copy(in), &err) == 0);
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
		seed = first + (uint64_t)i;
		state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
		cs_buf_reset(&story);
		generate_policy();
		done += one();
	}
	cs_settings_release(&tree);
	tree = (struct cs_settings_tree){ 0 };
	cs_buf_release(&story);
	/* most must get through, or nothing is proven */
	ck_assert_msg(done > INPUTS * 6 / 10, "seeds %" PRIu64 " to %" PRIu64 ": %d of %d", first, seed, done, INPUTS);
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
