#include "oci-spec/resources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/parse.h"

/* What v1 says where there is no limit: the largest whole page (PAGE_COUNTER_MAX). */
#define MEMORY_BOUNDLESS UINT64_C(0x7ffffffffffff000)
#define PIDS_BOUNDLESS 4194304 /* PID_MAX_LIMIT */

static const struct cs_resource_row rows[] = {
	[CS_RES_MEMORY] = {
		.name = "memoryBytes",
		.flag = "--memory",
		.path = "linux.resources.memory.limit",
		.zero_unlimited = true,
		.negative_unlimited = true,
		.boundless = MEMORY_BOUNDLESS,
		.v1_controller = "memory",
		.v1_file = "memory.limit_in_bytes",
		.v2_file = "memory.max",
		.unified_key = "memory.max",
	},
	[CS_RES_MEMORY_SWAP] = {
		.name = "memorySwapBytes",
		.flag = "--memory-swap",
		.path = "linux.resources.memory.swap",
		.zero_unlimited = true,
		.negative_unlimited = true,
		.boundless = MEMORY_BOUNDLESS,
		.v1_controller = "memory",
		.v1_file = "memory.memsw.limit_in_bytes",
		.v2_file = "memory.swap.max", /* swap alone, unlike the three above */
		.unified_key = "memory.swap.max",
	},
	[CS_RES_PIDS] = {
		.name = "pids",
		.flag = "--pids-limit",
		.path = "linux.resources.pids.limit",
		.zero_unlimited = true,
		.negative_unlimited = true,
		.boundless = PIDS_BOUNDLESS,
		.v1_controller = "pids",
		.v1_file = "pids.max",
		.v2_file = "pids.max",
		.unified_key = "pids.max",
	},
	[CS_RES_CPU] = {
		.name = "millicpus",
		.flag = "--cpus",
		.path = "linux.resources.cpu.quota", /* with .period beside it */
		.zero_unlimited = true,
		.negative_unlimited = true,
		.v1_controller = "cpu",
		.v1_file = "cpu.cfs_quota_us",
		.v2_file = "cpu.max",
		.unified_key = "cpu.max",
	},
	[CS_RES_CPUSET_CPUS] = {
		.name = "cpusetCpus",
		.flag = "--cpuset-cpus",
		.path = "linux.resources.cpu.cpus",
		.v1_controller = "cpuset",
		.v1_file = "cpuset.cpus",
		.v2_file = "cpuset.cpus",
		.unified_key = "cpuset.cpus",
	},
};
_Static_assert(CS_ARRAY_LEN(rows) == CS_RESOURCES, "a row for every resource");

const struct cs_resource_row *cs_resource_row(enum cs_resource resource)
{
	return &rows[resource];
}

int cs_resource_number(const struct cs_json *value, const struct cs_resource_row *row, uint64_t *ret,
		       struct cs_err *err)
{
	int64_t number;

	if (cs_json_kind(value) == CS_JSON_NULL) {
		*ret = CS_UNLIMITED;
		return 0;
	}
	if (cs_json_get_i64(value, &number) < 0)
		return cs_fail(err, CS_INVALID, 0, "%s: must be a whole number of 64 bits",
			       row->path);
	if (number < 0 && !row->negative_unlimited)
		return cs_fail(err, CS_INVALID, 0, "%s: must not be negative", row->path);
	*ret = number < 0 || (number == 0 && row->zero_unlimited) ? CS_UNLIMITED : (uint64_t)number;
	return 0;
}

/* The text of a unified key, or NULL. Keys hold dots, so no path reaches them. */
static const char *unified_text(const struct cs_json *config, const char *key)
{
	return cs_json_string(cs_json_member(cs_json_get(config, "linux.resources.unified"), key));
}

int cs_resource_unified(const char *text, const char *key, uint64_t *ret, struct cs_err *err)
{
	if (strcmp(text, "max") == 0) {
		*ret = CS_UNLIMITED;
		return 0;
	}
	if (cs_parse_u64(text, ret) == 0)
		return 0;
	/* the kernel takes 64M here, memparse() in lib/cmdline.c */
	if (strncmp(key, "memory.", 7) == 0 && cs_parse_size(text, ret) == 0)
		return 0;
	return cs_fail(err, CS_INVALID, 0,
		       "linux.resources.unified.%s: '%s' is neither a number nor max", key, text);
}

static uint64_t millicpus(uint64_t quota_us, uint64_t period_us)
{
	unsigned __int128 wide = (unsigned __int128)quota_us * 1000 / period_us;

	if (quota_us == CS_UNLIMITED)
		return CS_UNLIMITED;
	return wide >= CS_UNLIMITED ? CS_UNLIMITED - 1 : CS_MAX((uint64_t)wide, 1);
}

/* cgroup-v2.rst, cpu.max */
int cs_resource_unified_cpu(const char *text, uint64_t *ret_quota_us, uint64_t *ret_period_us,
			    struct cs_err *err)
{
	const char *space = strchrnul(text, ' ');
	uint64_t quota_us, period_us = 0;
	char quota[24] = "";

	if ((size_t)(space - text) < sizeof(quota))
		memcpy(quota, text, (size_t)(space - text));
	if (*space && (cs_parse_u64(space + 1, &period_us) < 0 || period_us == 0))
		return cs_fail(err, CS_INVALID, 0,
			       "linux.resources.unified.cpu.max: '%s' has no period", text);
	if (cs_resource_unified(quota, "cpu.max", &quota_us, err) < 0)
		return -1;
	*ret_quota_us = quota_us;
	if (*space)
		*ret_period_us = period_us;
	return 0;
}

static int cpu_by_unified(const char *text, uint64_t *ret, struct cs_err *err)
{
	uint64_t quota_us, period_us = CS_CPU_PERIOD_US;

	if (cs_resource_unified_cpu(text, &quota_us, &period_us, err) < 0)
		return -1;
	*ret = millicpus(quota_us, period_us);
	return 0;
}

static int asked_cpu(const struct cs_json *config, uint64_t *ret, struct cs_err *err)
{
	const struct cs_json *period = cs_json_get(config, "linux.resources.cpu.period");
	const char *unified = unified_text(config, "cpu.max");
	uint64_t quota_us, period_us = CS_CPU_PERIOD_US;

	if (unified)
		return cpu_by_unified(unified, ret, err);
	if (cs_json_kind(period) != CS_JSON_NULL && cs_json_get_u64(period, &period_us) < 0)
		return cs_fail(
			err, CS_INVALID, 0,
			"linux.resources.cpu.period: must be a whole number of microseconds");
	if (period_us == 0) /* engines take it for "not set" */
		period_us = CS_CPU_PERIOD_US;
	if (cs_resource_number(cs_json_get(config, rows[CS_RES_CPU].path), &rows[CS_RES_CPU],
			       &quota_us, err) < 0)
		return -1;
	*ret = millicpus(quota_us, period_us);
	return 0;
}

static int asked_swap(const struct cs_json *config, const char *unified, uint64_t *ret,
		      struct cs_err *err)
{
	uint64_t swap, memory;

	if (cs_resource_unified(unified, "memory.swap.max", &swap, err) < 0 ||
	    cs_resource_asked(config, CS_RES_MEMORY, &memory, err) < 0)
		return -1;
	if (__builtin_add_overflow(swap, memory, ret) || swap == CS_UNLIMITED ||
	    memory == CS_UNLIMITED)
		*ret = CS_UNLIMITED;
	return 0;
}

int cs_resource_asked(const struct cs_json *config, enum cs_resource resource, uint64_t *ret,
		      struct cs_err *err)
{
	const struct cs_resource_row *row = &rows[resource];
	const char *unified = unified_text(config, row->unified_key);

	switch (resource) {
	case CS_RES_CPU:
		return asked_cpu(config, ret, err);
	case CS_RES_CPUSET_CPUS:
		return cs_fail(err, CS_BUG, 0, "%s is no number", row->path);
	case CS_RES_MEMORY_SWAP:
		if (unified)
			return asked_swap(config, unified, ret, err);
		break;
	default:
		if (unified)
			return cs_resource_unified(unified, row->unified_key, ret, err);
	}
	return cs_resource_number(cs_json_get(config, row->path), row, ret, err);
}

const char *cs_resource_asked_cpus(const struct cs_json *config)
{
	const char *cpus = unified_text(config, rows[CS_RES_CPUSET_CPUS].unified_key);

	if (!cpus)
		cpus = cs_json_string(cs_json_get(config, rows[CS_RES_CPUSET_CPUS].path));
	return cpus && *cpus ? cpus : NULL;
}

/* --- cpuset(7), "List format" ------------------------------------------------ */

#define CPUS_MAX 8192 /* the most that any Linux is built for */

struct cpuset {
	unsigned char bit[CPUS_MAX / 8];
};

static bool has_cpu(const struct cpuset *set, unsigned cpu)
{
	return (set->bit[cpu / 8] >> (cpu % 8)) & 1;
}

/* Reads digits at *p and steps behind them. */
static int read_cpu(const char **p, unsigned *ret)
{
	unsigned n = 0;

	if (**p < '0' || **p > '9')
		return -EINVAL;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		n = n * 10 + (unsigned)(**p - '0');
		if (n >= CPUS_MAX)
			return -ERANGE;
	}
	*ret = n;
	return 0;
}

static int cpuset_parse(const char *p, struct cpuset *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (;;) {
		unsigned first = 0, last;
		int r = read_cpu(&p, &first);

		last = first;
		if (r == 0 && *p == '-') {
			p++;
			r = read_cpu(&p, &last);
		}
		if (r < 0)
			return r;
		if (last < first)
			return -EINVAL;
		for (unsigned cpu = first; cpu <= last; cpu++)
			ret->bit[cpu / 8] |= (unsigned char)(1u << (cpu % 8));
		if (*p == '\n') /* as a cgroup file has it */
			p++;
		if (*p == '\0')
			return 0;
		if (*p++ != ',')
			return -EINVAL;
	}
}

int cs_cpuset_equal(const char *a, const char *b)
{
	struct cpuset of_a, of_b;
	int r = cpuset_parse(a, &of_a);

	if (r < 0)
		return r;
	r = cpuset_parse(b, &of_b);
	if (r < 0)
		return r;
	return memcmp(&of_a, &of_b, sizeof(of_a)) == 0;
}

int cs_cpuset_both(const char *a, const char *b, struct cs_buf *out)
{
	struct cpuset of_a = { { 0 } }, of_b = { { 0 } };
	const char *comma = "";
	int r = cpuset_parse(a, &of_a);

	if (r == 0)
		r = cpuset_parse(b, &of_b);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(of_a.bit); i++)
		of_a.bit[i] &= of_b.bit[i];
	for (unsigned first = 0; first < CPUS_MAX; first++) {
		unsigned last = first;

		if (!has_cpu(&of_a, first))
			continue;
		while (last + 1 < CPUS_MAX && has_cpu(&of_a, last + 1))
			last++;
		cs_buf_addf(out, "%s%u", comma, first);
		if (last > first)
			cs_buf_addf(out, "-%u", last);
		comma = ",";
		first = last;
	}
	return out->failed ? -ENOMEM : 0;
}
