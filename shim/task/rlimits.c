#include "shim/task/rlimits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>

#include "shim/base/clock.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"

static const struct resource {
	const char *name; /* of --ulimit */
	const char *type; /* of config.json */
	int number;
	const char *label; /* of /proc/PID/limits */
} resources[] = {
	{ "as", "RLIMIT_AS", RLIMIT_AS, "Max address space" },
	{ "core", "RLIMIT_CORE", RLIMIT_CORE, "Max core file size" },
	{ "cpu", "RLIMIT_CPU", RLIMIT_CPU, "Max cpu time" },
	{ "data", "RLIMIT_DATA", RLIMIT_DATA, "Max data size" },
	{ "fsize", "RLIMIT_FSIZE", RLIMIT_FSIZE, "Max file size" },
	{ "locks", "RLIMIT_LOCKS", RLIMIT_LOCKS, "Max file locks" },
	{ "memlock", "RLIMIT_MEMLOCK", RLIMIT_MEMLOCK, "Max locked memory" },
	{ "msgqueue", "RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE, "Max msgqueue size" },
	{ "nice", "RLIMIT_NICE", RLIMIT_NICE, "Max nice priority" },
	{ "nofile", "RLIMIT_NOFILE", RLIMIT_NOFILE, "Max open files" },
	{ "nproc", "RLIMIT_NPROC", RLIMIT_NPROC, "Max processes" },
	{ "rss", "RLIMIT_RSS", RLIMIT_RSS, "Max resident set" },
	{ "rtprio", "RLIMIT_RTPRIO", RLIMIT_RTPRIO, "Max realtime priority" },
	{ "rttime", "RLIMIT_RTTIME", RLIMIT_RTTIME, "Max realtime timeout" },
	{ "sigpending", "RLIMIT_SIGPENDING", RLIMIT_SIGPENDING, "Max pending signals" },
	{ "stack", "RLIMIT_STACK", RLIMIT_STACK, "Max stack size" },
};
_Static_assert(CS_ARRAY_LEN(resources) <= CS_RLIMITS_MAX, "room for every resource");

static const struct resource *by_type(const char *type)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(resources); i++)
		if (strcmp(resources[i].type, type) == 0)
			return &resources[i];
	return NULL;
}

static const struct resource *by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(resources); i++)
		if (strlen(resources[i].name) == len && strncmp(resources[i].name, name, len) == 0)
			return &resources[i];
	return NULL;
}

static void put(struct cs_rlimits *limits, const struct resource *resource, uint64_t soft,
		uint64_t hard)
{
	size_t i = 0;

	while (i < limits->n && strcmp(limits->v[i].type, resource->type) != 0)
		i++;
	limits->v[i] = (struct cs_spec_rlimit){ resource->type, soft, hard };
	limits->n = CS_MAX(limits->n, i + 1);
}

/* A default: as much of it as our own hard limit leaves. */
static void put_default(struct cs_rlimits *limits, const char *type, uint64_t soft, uint64_t hard)
{
	const struct resource *resource = by_type(type);
	struct rlimit own;

	if (getrlimit(resource->number, &own) == 0)
		hard = CS_MIN(hard, (uint64_t)own.rlim_max);
	put(limits, resource, CS_MIN(soft, hard), hard);
}

static bool may_raise(void)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t value = CAP_CLEAR;

	if (caps)
		cap_get_flag(caps, CAP_SYS_RESOURCE, CAP_EFFECTIVE, &value);
	cap_free(caps);
	return value == CAP_SET;
}

/* A number, a size for the resources that count bytes, or "unlimited". */
static int parse_value(const char *text, uint64_t *ret)
{
	if (strcmp(text, "unlimited") == 0 || strcmp(text, "-1") == 0) {
		*ret = RLIM_INFINITY;
		return 0;
	}
	return cs_parse_size(text, ret);
}

static int put_given(struct cs_rlimits *limits, const char *text, bool raising, struct cs_err *err)
{
	const char *equals = strchr(text, '=');
	const struct resource *resource = equals ? by_name(text, (size_t)(equals - text)) : NULL;
	char value[64], *colon;
	uint64_t soft, hard;
	struct rlimit own;

	if (!resource)
		return cs_fail(err, CS_INVALID, 0, "--ulimit: '%.64s': give NAME=SOFT[:HARD] with one of as core cpu "
			       "data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack",
			       text);
	if (snprintf(value, sizeof(value), "%s", equals + 1) >= (int)sizeof(value))
		return cs_fail(err, CS_INVALID, 0, "--ulimit: '%.64s' is too long", text);
	colon = strchr(value, ':');
	if (colon)
		*colon = '\0';
	if (parse_value(value, &soft) < 0 || parse_value(colon ? colon + 1 : value, &hard) < 0)
		return cs_fail(err, CS_INVALID, 0, "--ulimit: '%.64s': a limit is a number, a size such as 64m, or unlimited",
			       text);
	if (soft > hard)
		return cs_fail(err, CS_INVALID, 0, "--ulimit: '%.64s': the soft limit is above the hard one", text);
	if (raising && getrlimit(resource->number, &own) == 0 && hard > own.rlim_max && !may_raise())
		return cs_fail(err, CS_LIMIT, 0, "--ulimit: '%.64s' is above caisson's own hard limit (%llu), and without "
			       "CAP_SYS_RESOURCE it cannot be raised",
			       text, (unsigned long long)own.rlim_max);
	put(limits, resource, soft, hard);
	return 0;
}

uint64_t cs_rlimits_cpu_seconds(int64_t cpu_time_ns)
{
	return (uint64_t)(cpu_time_ns / CS_NSEC_PER_SEC) + 2;
}

static void put_defaults(struct cs_rlimits *limits, const struct cs_rlimits_plan *plan)
{
	put_default(limits, "RLIMIT_NOFILE", 1024, 1024);
	/* 1, not 0: with 0 a core_pattern pipe still runs its helper as root of the host (core(5)) */
	put_default(limits, "RLIMIT_CORE", 1, 1);
	put_default(limits, "RLIMIT_STACK", 8 << 20, RLIM_INFINITY);
	put_default(limits, "RLIMIT_MEMLOCK", 64 << 10, 64 << 10);
	if (plan->fsize_bytes != CS_UNLIMITED)
		put_default(limits, "RLIMIT_FSIZE", plan->fsize_bytes, plan->fsize_bytes);
	if (plan->cpu_time_ns != CS_NEVER) {
		uint64_t seconds = cs_rlimits_cpu_seconds(plan->cpu_time_ns);

		put_default(limits, "RLIMIT_CPU", seconds, seconds);
	}
}

static int make(const struct cs_rlimits_plan *plan, bool defaults, bool raising, struct cs_rlimits *ret,
		struct cs_err *err)
{
	struct cs_rlimits limits = { .n = 0 };

	if (defaults)
		put_defaults(&limits, plan);
	for (size_t i = 0; i < plan->ulimits->n; i++)
		if (put_given(&limits, plan->ulimits->v[i], raising, err) < 0)
			return -1;
	*ret = limits;
	return 0;
}

int cs_rlimits_make(const struct cs_rlimits_plan *plan, struct cs_rlimits *ret, struct cs_err *err)
{
	return make(plan, true, true, ret, err);
}

int cs_rlimits_given(const struct cs_strv *ulimits, struct cs_rlimits *ret, struct cs_err *err)
{
	return make(&(struct cs_rlimits_plan){ .ulimits = ulimits }, false, true, ret, err);
}

int cs_rlimits_bounds(const struct cs_rlimits_plan *plan, bool defaults, struct cs_rlimits *ret,
		      struct cs_err *err)
{
	return make(plan, defaults, false, ret, err);
}

/* "unlimited" or a number in the text at *p, which is moved behind it. */
static int take_number(const char **p, uint64_t *ret)
{
	char word[32];
	size_t len;

	*p += strspn(*p, " ");
	len = strcspn(*p, " \n");
	if (len == 0 || len >= sizeof(word))
		return -EINVAL;
	memcpy(word, *p, len);
	word[len] = '\0';
	*p += len;
	return parse_value(word, ret);
}

/* The line of a resource in the text of /proc/PID/limits (proc(5)). */
static int find_limit(const char *text, const struct resource *resource, uint64_t *ret_soft,
		      uint64_t *ret_hard)
{
	size_t len = strlen(resource->label);

	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *p = line + len;

		if (strncmp(line, resource->label, len) != 0)
			continue;
		return take_number(&p, ret_soft) < 0 ? -EINVAL : take_number(&p, ret_hard);
	}
	return -ENOENT;
}

int cs_rlimits_verify(const struct cs_rlimits *limits, pid_t pid, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(16 * 1024);
	char path[32];
	int r;

	/* not prlimit(2): of another user's process it needs CAP_SYS_RESOURCE */
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	r = cs_file_read(AT_FDCWD, path, &text);
	if (r < 0 || !text.data)
		return cs_fail(err, CS_LIMIT, -r, "resource limits cannot be read back");
	for (size_t i = 0; i < limits->n; i++) {
		const struct cs_spec_rlimit *want = &limits->v[i];
		uint64_t soft = 0, hard = 0;

		r = find_limit(text.data, by_type(want->type), &soft, &hard);
		if (r < 0)
			return cs_fail(err, CS_LIMIT, -r, "%s cannot be read back", want->type);
		if (soft != want->soft || hard != want->hard)
			return cs_fail(err, CS_LIMIT, 0, "%s is %llu:%llu, not %llu:%llu", want->type,
				       (unsigned long long)soft, (unsigned long long)hard,
				       (unsigned long long)want->soft, (unsigned long long)want->hard);
	}
	return 0;
}

bool cs_rlimits_has(const struct cs_rlimits *limits, const char *type)
{
	for (size_t i = 0; i < limits->n; i++)
		if (strcmp(limits->v[i].type, type) == 0)
			return true;
	return false;
}
