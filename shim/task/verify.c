#include "shim/task/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oci-spec/resources.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/base/parse.h"
#include "shim/task/confine.h"

/* What a row reads back; each kernel rounds in its own way, so each has its comparison. */
struct check {
	enum cs_resource resource;
	const char *best_effort;
	bool (*matches)(uint64_t asked, uint64_t in_force);
	int (*read)(const struct cs_verify_plan *plan, uint64_t *ret);
	uint64_t (*asked)(const struct cs_jobspec *spec);
};

/* --- comparisons ------------------------------------------------------------------ */

static bool same(uint64_t asked, uint64_t in_force)
{
	return asked == in_force;
}

/* Memory is counted in pages, rounded down (v2) or up (v1). */
static bool same_pages(uint64_t asked, uint64_t in_force)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return in_force / page == asked / page || in_force / page == (asked + page - 1) / page;
}

/* A quota is in microseconds of a period: a thousandth may be lost. */
static bool same_cpu(uint64_t asked, uint64_t in_force)
{
	return in_force <= asked + 1 && in_force + 1 >= asked;
}

/* --- reading ------------------------------------------------------------------------ */

static int read_row(const struct cs_verify_plan *plan, enum cs_resource resource, uint64_t *ret)
{
	const struct cs_resource_row *row = cs_resource_row(resource);

	return cs_cgroup_limit(plan->cgroup, row->v1_controller, row->v1_file, row->v2_file, ret);
}

static int read_memory(const struct cs_verify_plan *plan, uint64_t *ret)
{
	return read_row(plan, CS_RES_MEMORY, ret);
}

static bool host_has_swap(void)
{
	cs_auto(buf) text = CS_BUF_INIT(64 * 1024);

	/* a heading, then a line a swap area (proc(5), /proc/swaps) */
	return cs_file_read(AT_FDCWD, "/proc/swaps", &text) == 0 && text.data &&
	       strchr(text.data, '\n') && strchr(text.data, '\n')[1] != '\0';
}

/* v1 counts memory and swap together, v2 swap alone: the record speaks of both together. */
static int read_swap(const struct cs_verify_plan *plan, uint64_t *ret)
{
	uint64_t value;
	int r = read_row(plan, CS_RES_MEMORY_SWAP, &value);

	if (r == -ENOENT && !host_has_swap()) {
		/* without swap on the host the memory limit bounds both */
		*ret = plan->spec->memory_swap_bytes;
		return 0;
	}
	if (r < 0)
		return r;
	if (cs_cgroup_is_v2(plan->cgroup) && value != UINT64_MAX)
		value += plan->spec->memory_bytes;
	*ret = value;
	return 0;
}

static int read_pids(const struct cs_verify_plan *plan, uint64_t *ret)
{
	return read_row(plan, CS_RES_PIDS, ret);
}

static int read_cpu(const struct cs_verify_plan *plan, uint64_t *ret)
{
	return cs_cgroup_millicpus(plan->cgroup, ret);
}

static uint64_t asked_memory(const struct cs_jobspec *spec)
{
	return spec->memory_bytes;
}
static uint64_t asked_swap(const struct cs_jobspec *spec)
{
	return spec->memory_swap_bytes;
}
static uint64_t asked_pids(const struct cs_jobspec *spec)
{
	return spec->pids;
}
static uint64_t asked_cpu(const struct cs_jobspec *spec)
{
	return spec->millicpus;
}

static const struct check checks[] = {
	{ CS_RES_MEMORY, "memory", same_pages, read_memory, asked_memory },
	{ CS_RES_MEMORY_SWAP, "swap", same_pages, read_swap, asked_swap },
	{ CS_RES_PIDS, "pids", same, read_pids, asked_pids },
	{ CS_RES_CPU, "cpu", same_cpu, read_cpu, asked_cpu },
};

/* --- judging ---------------------------------------------------------------------------- */

/* A limit that is not in force: an error, or a warning where --best-effort lifts it. */
static int not_in_force(const struct cs_verify_plan *plan, struct cs_result *result,
			const char *best_effort, const char *what, struct cs_err *err)
{
	if (!cs_jobspec_best_effort(plan->settings, best_effort))
		return cs_fail(err, CS_LIMIT, 0, "%s: not started; --best-effort=%s goes on without it", what, best_effort);
	cs_strv_addf(&result->warnings, "limit-not-applied: %s", what);
	return 0;
}

static const char *number_text(uint64_t value, char text[static 24])
{
	if (value == UINT64_MAX)
		return "no limit";
	snprintf(text, 24, "%llu", (unsigned long long)value);
	return text;
}

static int check_resource(const struct cs_verify_plan *plan, const struct check *check,
			  struct cs_result *result, struct cs_err *err)
{
	const struct cs_resource_row *row = cs_resource_row(check->resource);
	struct cs_result_limit_value *value = &result->limits[check->resource];
	uint64_t asked = check->asked(plan->spec), in_force;
	char what[256], number[24];
	int r;

	if (asked == CS_UNLIMITED)
		return 0;
	if (plan->engine->kind->enforce[check->resource] == CS_ENFORCE_ENGINE) {
		value->by = plan->engine->kind->name;
		return 0;
	}
	r = check->read(plan, &in_force);
	if (r == 0 && check->matches(asked, in_force)) {
		value->in_force = in_force;
		return 0;
	}
	if (r < 0)
		snprintf(what, sizeof(what), "%s: the limit cannot be read back (%s): %s", row->flag,
			 cs_cgroup_is_v2(plan->cgroup) ? row->v2_file : row->v1_file, strerror(-r));
	else
		snprintf(what, sizeof(what), "%s: asked for %llu, in force is %s (%s)", row->flag,
			 (unsigned long long)asked, number_text(in_force, number),
			 cs_cgroup_is_v2(plan->cgroup) ? row->v2_file : row->v1_file);
	return not_in_force(plan, result, check->best_effort, what, err);
}

/* A kernel may leave some of the CPUs out, those that are off for instance; it must not let in others. */
static int check_cpuset(const struct cs_verify_plan *plan, struct cs_result *result, struct cs_err *err)
{
	const char *asked = plan->spec->cpuset_cpus;
	const char *file = cs_cgroup_is_v2(plan->cgroup) ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
	cs_auto(buf) text = CS_BUF_INIT(64 * 1024);
	char what[256];
	int r;

	if (!asked)
		return 0;
	r = cs_cgroup_read(plan->cgroup, "cpuset", file, &text);
	if (r == 0 && text.len > 0)
		text.data[strcspn(text.data, "\n")] = '\0';
	if (r == 0 && text.len > 0 && cs_cpulist_within(text.data, asked))
		return 0;
	if (r < 0)
		snprintf(what, sizeof(what), "--cpuset-cpus: the limit cannot be read back (%s): %s", file, strerror(-r));
	else
		snprintf(what, sizeof(what), "--cpuset-cpus: asked for %.64s, in force is %.64s (%s)", asked,
			 text.len > 0 ? text.data : "nothing", file);
	return not_in_force(plan, result, "cpuset", what, err);
}

static int check_membership(const struct cs_verify_plan *plan, struct cs_err *err)
{
	int r = cs_cgroup_holds(plan->cgroup, plan->init);

	if (r < 0)
		return cs_fail(err, CS_LIMIT, -r, "the container's cgroup cannot be read back");
	if (r == 0)
		return cs_fail(err, CS_LIMIT, 0, "the container's process is not in its cgroup, so that no limit holds for it");
	return 0;
}

static int check_rlimits(const struct cs_verify_plan *plan, struct cs_result *result, struct cs_err *err)
{
	struct cs_err why = CS_ERR_INIT;

	if (plan->engine->kind->enforce_feature[CS_FL_RLIMITS] != CS_ENFORCE_KERNEL)
		return 0;
	if (cs_rlimits_verify(&plan->spec->rlimits, plan->init, &why) == 0)
		return 0;
	return not_in_force(plan, result, "rlimits", why.text, err);
}

/*
 * On v2 the kernel ends the whole group when told so. Engines that pass
 * `unified` by leave it untold: it is our cgroup, so we tell it ourselves.
 */
static int check_oom_group(const struct cs_verify_plan *plan, struct cs_result *result, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(64);

	if (!plan->settings->oom_group || !cs_cgroup_is_v2(plan->cgroup))
		return 0;
	if (cs_cgroup_write(plan->cgroup, "memory", "memory.oom.group", "1") == 0 &&
	    cs_cgroup_read(plan->cgroup, "memory", "memory.oom.group", &text) == 0 && text.data &&
	    text.data[0] == '1')
		return 0;
	return not_in_force(plan, result, "memory", "--oom-group: memory.oom.group cannot be set", err);
}

int cs_verify_limits(const struct cs_verify_plan *plan, struct cs_result *result, struct cs_err *err)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(checks); i++)
		if (check_resource(plan, &checks[i], result, err) < 0)
			return -1;
	return check_cpuset(plan, result, err) < 0 || check_oom_group(plan, result, err) < 0 ? -1 : 0;
}

int cs_verify(const struct cs_verify_plan *plan, struct cs_result *result, struct cs_err *err)
{
	if (check_membership(plan, err) < 0 || cs_verify_limits(plan, result, err) < 0)
		return -1;
	return check_rlimits(plan, result, err);
}

/* --- somebody else's config.json ---------------------------------------------------------- */

/* As engines read it: crun takes a negative number for 2^64 less that, and the largest is no limit. */
static int read_rlimit_value(const struct cs_json *row, const char *key, uint64_t *ret, struct cs_err *err)
{
	const struct cs_json *value = cs_json_member(row, key);
	int64_t negative;

	if (cs_json_get_u64(value, ret) == 0)
		return 0;
	if (cs_json_get_i64(value, &negative) < 0)
		return cs_fail(err, CS_INVALID, 0, "process.rlimits: %s is no whole number", key);
	*ret = (uint64_t)negative;
	return 0;
}

static int read_rlimits(const struct cs_json *config, struct cs_rlimits *ret, struct cs_err *err)
{
	const struct cs_json *row, *rows = cs_json_get(config, "process.rlimits");

	cs_json_each(row, rows) {
		struct cs_spec_rlimit limit = { .type = cs_json_string(cs_json_member(row, "type")) };
		size_t i = 0;

		if (!limit.type)
			return cs_fail(err, CS_INVALID, 0, "process.rlimits: a row without a type");
		if (read_rlimit_value(row, "soft", &limit.soft, err) < 0 || read_rlimit_value(row, "hard", &limit.hard, err) < 0)
			return -1;
		/* the last of a kind is set last */
		while (i < ret->n && strcmp(ret->v[i].type, limit.type) != 0)
			i++;
		if (i == CS_RLIMITS_MAX)
			return cs_fail(err, CS_INVALID, 0, "process.rlimits: more than %d kinds", CS_RLIMITS_MAX);
		ret->v[i] = limit;
		ret->n = CS_MAX(ret->n, i + 1);
	}
	return 0;
}

static int read_asked(const struct cs_json *config, struct cs_jobspec *ret, struct cs_err *err)
{
	ret->cpuset_cpus = cs_resource_asked_cpus(config);
	if (cs_resource_asked(config, CS_RES_MEMORY, &ret->memory_bytes, err) < 0 ||
	    cs_resource_asked(config, CS_RES_MEMORY_SWAP, &ret->memory_swap_bytes, err) < 0 ||
	    cs_resource_asked(config, CS_RES_PIDS, &ret->pids, err) < 0 ||
	    cs_resource_asked(config, CS_RES_CPU, &ret->millicpus, err) < 0)
		return -1;
	return read_rlimits(config, &ret->rlimits, err);
}

/* The words of proc_pid_ns(5) for what `confine` gives a container of its own. */
static const char *const own_namespaces[] = { "pid", "ipc", "uts", "mnt", "net", "cgroup" };

/*
 * A path in linux.namespaces may lead elsewhere by the time that the engine
 * follows it. Nothing has run yet, so what init is in now decides.
 */
static int check_namespaces(const struct cs_verify_config_plan *plan, struct cs_err *err)
{
	if (!(cs_confine_bits(&plan->settings->confine) & (1u << CS_CONFINE_NAMESPACES)) || plan->engine->kind->own_kernel)
		return 0;
	for (size_t i = 0; i < CS_ARRAY_LEN(own_namespaces); i++) {
		struct stat hosts, its;
		char name[64];

		snprintf(name, sizeof(name), "/proc/1/ns/%s", own_namespaces[i]);
		if (stat(name, &hosts) < 0)
			continue; /* a kernel without it, or one that we may not compare with */
		snprintf(name, sizeof(name), "/proc/%d/ns/%s", (int)plan->init, own_namespaces[i]);
		if (stat(name, &its) < 0)
			return cs_fail(err, CS_LIMIT, errno, "the container's %s namespace cannot be looked at", own_namespaces[i]);
		if (its.st_dev == hosts.st_dev && its.st_ino == hosts.st_ino)
			return cs_fail(err, CS_LIMIT, 0, "the container is in the host's %s namespace", own_namespaces[i]);
	}
	return 0;
}

static int open_group(const struct cs_verify_config_plan *plan, struct cs_cgroup **ret, struct cs_err *err)
{
	struct cs_cgroup_host host;

	if (cs_cgroup_host_read(&host, err) < 0)
		return -1;
	return plan->cgroup ? cs_cgroup_open(&host, plan->cgroup, ret, err) :
			      cs_cgroup_open_each_of_pid(&host, plan->init, ret, err);
}

int cs_verify_config(const struct cs_verify_config_plan *plan, struct cs_err *err)
{
	struct cs_jobspec spec = { .init = NULL };
	struct cs_verify_plan inner = { .engine = plan->engine, .settings = plan->settings, .spec = &spec, .init = plan->init };
	struct cs_cgroup *cgroup = NULL;
	struct cs_result result;
	int r;

	if (read_asked(plan->config, &spec, err) < 0 || open_group(plan, &cgroup, err) < 0)
		return -1;
	inner.cgroup = cgroup;
	cs_result_init(&result);
	r = check_namespaces(plan, err);
	if (r == 0 && plan->cgroup && !plan->below)
		r = check_membership(&inner, err);
	if (r == 0)
		r = cs_verify_limits(&inner, &result, err);
	if (r == 0)
		r = check_rlimits(&inner, &result, err);
	for (size_t i = 0; i < result.warnings.n; i++)
		cs_log_warn("%s", result.warnings.v[i]);
	cs_result_release(&result);
	cs_cgroup_free(cgroup);
	return r;
}
