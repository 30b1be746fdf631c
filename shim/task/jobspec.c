#include "shim/task/jobspec_int.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/profile.h"
#include "oci-spec/spec_check.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/files/user.h"
#include "shim/files/volume.h"
#include "shim/task/cache.h"

#define FSIZE_SLACK (1 << 20) /* SIGXFSZ must come after ENOSPC */
/* Container ids 0-65535 of --userns lie here: above what /etc/subuid hands out by default. */
#define USERNS_FIRST 1879048192U
#define USERNS_SIZE 65536U

static void work_release(struct work *w)
{
	cs_strv_release(&w->env);
	cs_strv_release(&w->caps);
	cs_strv_release(&w->annotations);
	cs_strv_release(&w->masked);
	cs_hostroot_release(&w->hostroot);
	for (size_t i = 0; i < w->n_volumes; i++)
		cs_volume_release(&w->volumes[i]);
	free(w->volumes);
	free(w->mounts);
	free(w->root);
	cs_json_free(w->seccomp);
}

void cs_jobspec_release(struct cs_jobspec *spec)
{
	cs_json_free_ptr(&spec->config);
	cs_free_ptr(&spec->lower);
	cs_free_ptr(&spec->missing_point);
	cs_strv_release(&spec->warnings);
}

bool cs_jobspec_best_effort(const struct cs_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->best_effort.n; i++)
		for (const char *p = settings->best_effort.v[i]; *p;) {
			size_t len = strcspn(p, ",");

			if ((len == 3 && strncmp(p, "all", 3) == 0) ||
			    (len == strlen(name) && strncmp(p, name, len) == 0))
				return true;
			p += len + (p[len] == ',');
		}
	return false;
}

/* --- who and with what ------------------------------------------------------------ */

static int make_user(struct work *w, struct cs_err *err)
{
	cs_autofd int root_fd = open(w->root ? w->root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	w->kind = CS_START_USAGE;
	if (cs_user_parse(w->s->user, root_fd, &w->spec.uid, &w->spec.gid, err) < 0)
		return cs_wrap(err, "--user");
	if (w->s->userns && (w->spec.uid >= USERNS_SIZE || w->spec.gid >= USERNS_SIZE))
		return cs_fail(err, CS_INVALID, 0, "--user: with --userns numbers end at %u", USERNS_SIZE - 1);
	w->out->uid = w->spec.uid + (w->s->userns ? USERNS_FIRST : 0);
	w->out->gid = w->spec.gid + (w->s->userns ? USERNS_FIRST : 0);
	return 0;
}

/* "NAME" takes the caller's value, and nothing when the caller has none (docker run -e). */
static int put_env(struct cs_strv *env, const char *text)
{
	const char *equals = strchr(text, '='), *value = equals ? equals + 1 : getenv(text);
	cs_autofree char *name = equals ? strndup(text, (size_t)(equals - text)) : strdup(text);

	if (!name)
		return -ENOMEM;
	return value ? cs_strv_env_set(env, name, value) : 0;
}

static int read_env_file(struct cs_strv *env, const char *path, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(1 << 20);
	int r = cs_file_read_given(path, &text), line_number = 0;

	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "--env-file '%s'", path);
	if (text.data && strlen(text.data) != text.len)
		return cs_fail(err, CS_INVALID, 0, "--env-file '%s': holds a NUL byte: that is no text", path);
	for (char *line = text.data, *end; line && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		line_number++;
		if (line[0] == '\0' || line[0] == '#')
			continue;
		if (line[0] == '=' || isspace((unsigned char)line[0]))
			return cs_fail(err, CS_INVALID, 0, "--env-file '%s': line %d is no NAME=VALUE", path, line_number);
		if (put_env(env, line) < 0)
			return cs_fail(err, CS_LIMIT, ENOMEM, "--env-file '%s'", path);
	}
	return 0;
}

int cs_jobspec_add_env(const struct cs_settings *settings, struct cs_strv *env, struct cs_err *err)
{
	int r = 0;

	for (size_t i = 0; i < settings->env_files.n; i++)
		if (read_env_file(env, settings->env_files.v[i], err) < 0)
			return -1;
	for (size_t i = 0; r == 0 && i < settings->env.n; i++)
		r = put_env(env, settings->env.v[i]);
	return r < 0 ? cs_fail(err, CS_LIMIT, ENOMEM, "environment") : 0;
}

static int make_env(struct work *w, struct cs_err *err)
{
	static const char *const defaults[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/tmp",
		"LANG=C.UTF-8",
		NULL,
	};
	int r = cs_strv_add_all(&w->env, defaults);

	w->kind = CS_START_USAGE;
	if (r == 0 && w->s->tty)
		r = cs_strv_add(&w->env, "TERM=" CS_JOBSPEC_TERM);
	if (r < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "environment");
	return cs_jobspec_add_env(w->s, &w->env, err);
}

/* "net_admin", "CAP_NET_ADMIN", "ALL" → CAP_… names that libcap knows. */
static int add_capability(struct cs_strv *caps, const char *text, struct cs_err *err)
{
	char name[64] = "CAP_";
	bool prefixed = strncasecmp(text, "CAP_", 4) == 0;
	size_t n = 4;
	cap_value_t value;

	for (const char *p = text + (prefixed ? 4 : 0); *p && n < sizeof(name) - 1; p++)
		name[n++] = (char)toupper((unsigned char)*p);
	name[n] = '\0';
	if (cap_from_name(name, &value) < 0)
		return cs_fail(err, CS_INVALID, 0, "--cap-add: no capability '%.64s'", text);
	if (!cs_strv_has(caps, name) && cs_strv_add(caps, name) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "--cap-add");
	return 0;
}

static int make_capabilities(struct work *w, struct cs_err *err)
{
	w->kind = CS_START_USAGE;
	for (size_t i = 0; i < w->s->cap_add.n; i++)
		if (add_capability(&w->caps, w->s->cap_add.v[i], err) < 0)
			return -1;
	return 0;
}

/* The program beside the profile, for an engine that takes it. A profile that cannot be compiled beforehand is left to the engine. */
static int add_filter(struct work *w, struct cs_err *err)
{
	const char *annotation = w->plan->engine->kind->seccomp_annotation;
	cs_auto(buf) filter = CS_BUF_INIT(1 << 20);
	struct cs_err why = CS_ERR_INIT;

	if (!annotation || w->plan->cache_fd < 0)
		return 0;
	if (cs_cache_filter(w->plan->cache_fd, w->seccomp, &filter, &why) < 0) {
		cs_log_debug("seccomp filter: %s", why.text);
		return 0;
	}
	if (cs_strv_addf(&w->annotations, "%s=%s", annotation, filter.data) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "seccomp filter");
	w->spec.annotations = &w->annotations;
	return 0;
}

/* Who cannot filter: the engine by its own word, or the kernel (prctl(2)); NULL: nobody. */
static const char *lacks_seccomp(const struct work *w)
{
	const struct cs_engine *engine = w->plan->engine;

	if (prctl(PR_GET_SECCOMP) < 0)
		return "this kernel";
	return engine->features.known && !engine->features.seccomp ? engine->kind->name : NULL;
}

static int make_seccomp(struct work *w, struct cs_err *err)
{
	const char *choice = w->s->seccomp;
	enum cs_enforce by = w->plan->engine->kind->enforce_feature[CS_FL_SECCOMP];
	cs_auto(strv) unknown = CS_STRV_INIT;
	bool own_file = strcmp(choice, "default") != 0 && strcmp(choice, "none") != 0;
	const char *lacking = lacks_seccomp(w);

	w->kind = CS_START_USAGE;
	if (by == CS_ENFORCE_NONE && own_file)
		return cs_fail(err, CS_UNSUPPORTED, 0, "--seccomp %s: %s ignores profiles; its own kernel stands in. "
			       "Leave --seccomp out, or use runc or crun",
			       choice, w->plan->engine->kind->name);
	if (by == CS_ENFORCE_NONE || strcmp(choice, "none") == 0)
		return 0;
	if (lacking && cs_jobspec_best_effort(w->s, "seccomp")) {
		cs_strv_addf(&w->out->warnings, "limit-not-applied: seccomp: %s was built without it", lacking);
		return 0;
	}
	w->kind = CS_START_LIMIT;
	if (lacking)
		return cs_fail(err, CS_LIMIT, 0, "--seccomp: %s was built without it; --best-effort=seccomp goes on without a filter",
			       lacking);
	w->kind = CS_START_USAGE;
	for (size_t i = 0; i < w->s->seccomp_allow.n; i++)
		if (cs_profile_check_name(w->s->seccomp_allow.v[i], err) < 0)
			return cs_wrap(err, "--seccomp-allow");
	if (own_file ? cs_profile_file(choice, &w->s->seccomp_allow, &w->caps, &w->seccomp, &unknown, err) < 0
		     : cs_profile_default_for(&w->s->seccomp_allow, &w->caps, &w->seccomp, err) < 0)
		return cs_wrap(err, "--seccomp %s", choice);
	for (size_t i = 0; i < unknown.n; i++)
		cs_strv_addf(&w->out->warnings, "seccomp-unknown: '%s' is unknown to libseccomp and was left out",
			     unknown.v[i]);
	return add_filter(w, err);
}

/* What Docker and Podman mask besides, where this host has it: a file tells of other tenants' load by temperature. */
static int make_masked(struct work *w, struct cs_err *err)
{
	glob_t found = { 0 };
	int r = glob("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle", 0, NULL, &found);

	if (r == 0)
		r = cs_strv_add_all(&w->masked, (const char *const *)found.gl_pathv);
	globfree(&found);
	if (r != 0 && r != GLOB_NOMATCH)
		return cs_fail(err, CS_LIMIT, ENOMEM, "masked paths");
	w->spec.masked_extra = &w->masked;
	return 0;
}

/* --- limits ------------------------------------------------------------------------- */

/* Each cgroup limit with the controller it needs and the name that --best-effort knows. */
static int check_controllers(struct work *w, struct cs_err *err)
{
	struct cs_spec_plan *p = &w->spec;
	const struct {
		const char *controller, *name, *flag;
		uint64_t *value;
	} rows[] = {
		{ "memory", "memory", "--memory", &p->memory_bytes },
		{ "memory", "swap", "--memory-swap", &p->memory_swap_bytes },
		{ "pids", "pids", "--pids-limit", &p->pids },
		{ "cpu", "cpu", "--cpus", &p->millicpus },
	};

	w->kind = CS_START_LIMIT;
	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		if (*rows[i].value == CS_UNLIMITED || cs_cgroup_host_has(w->plan->host, rows[i].controller))
			continue;
		if (!cs_jobspec_best_effort(w->s, rows[i].name))
			return cs_fail(err, CS_LIMIT, 0, "%s: this host's cgroups have no %s controller; "
				       "--best-effort=%s goes on without the limit",
				       rows[i].flag, rows[i].controller, rows[i].name);
		cs_strv_addf(&w->out->warnings, "limit-not-applied: %s: no %s controller", rows[i].name,
			     rows[i].controller);
		*rows[i].value = CS_UNLIMITED;
	}
	if (p->cpuset_cpus && !cs_cgroup_host_has(w->plan->host, "cpuset")) {
		if (!cs_jobspec_best_effort(w->s, "cpuset"))
			return cs_fail(err, CS_LIMIT, 0, "--cpuset-cpus: this host's cgroups have no cpuset controller; "
				       "--best-effort=cpuset goes on without the limit");
		cs_strv_add(&w->out->warnings, "limit-not-applied: cpuset: no cpuset controller");
		p->cpuset_cpus = NULL;
	}
	return 0;
}

static int make_limits(struct work *w, struct cs_err *err)
{
	const struct cs_settings *s = w->s;
	struct cs_spec_plan *p = &w->spec;
	const struct cs_engine *engine = w->plan->engine;
	struct cs_rlimits_plan rlimits = {
		.fsize_bytes = w->writable_bytes == CS_UNLIMITED ? CS_UNLIMITED : w->writable_bytes + FSIZE_SLACK,
		.cpu_time_ns = s->cpu_time_ns,
		.ulimits = &s->ulimits,
	};

	w->kind = CS_START_LIMIT;
	if (cs_engine_check_limits(engine, s->memory_bytes, s->pids, err) < 0)
		return -1;
	p->memory_bytes = s->memory_bytes;
	p->memory_swap_bytes = s->memory_swap_bytes;
	p->pids = s->pids == CS_UNLIMITED ? CS_UNLIMITED : cs_engine_pids_limit(engine->kind, s->pids);
	p->millicpus = s->millicpus;
	p->cpuset_cpus = s->cpuset_cpus;
	/* on v1 caisson itself ends the whole group, see shim/task/job_watch.c */
	p->oom_group = s->oom_group && w->plan->host->layout == CS_CGROUP_V2;
	if (check_controllers(w, err) < 0)
		return -1;
	w->out->memory_bytes = p->memory_bytes;
	w->out->memory_swap_bytes = p->memory_swap_bytes;
	w->out->pids = p->pids;
	w->out->millicpus = p->millicpus;
	w->out->cpuset_cpus = p->cpuset_cpus;

	w->kind = CS_START_USAGE;
	if (cs_rlimits_make(&rlimits, &w->out->rlimits, err) < 0) {
		w->kind = err->kind == CS_LIMIT ? CS_START_LIMIT : CS_START_USAGE;
		return -1;
	}
	p->rlimits = w->out->rlimits.v;
	p->n_rlimits = w->out->rlimits.n;
	if (cs_rlimits_has(&w->out->rlimits, "RLIMIT_AS"))
		cs_strv_add(&w->out->warnings, "rlimit-as: an address space limit breaks programs that reserve much and use little (node, go, java)");
	if (s->memory_bytes != CS_UNLIMITED && w->tmpfs_bytes > s->memory_bytes)
		cs_strv_add(&w->out->warnings, "tmpfs-above-memory: what is written to tmpfs counts as memory, and these may hold more than --memory");
	return 0;
}

/* --- the whole ------------------------------------------------------------------------- */

/* config.json is UTF-8 (RFC 8259, section 8.1); the kernel's arguments and environment are any bytes. */
int cs_jobspec_check_text(const struct cs_strv *args, const struct cs_strv *env, struct cs_err *err)
{
	static const char why[] = "is no valid UTF-8, and config.json can hold nothing else: pass such bytes in a file or through stdin";

	for (size_t i = 0; i < args->n; i++)
		if (!cs_utf8_valid(args->v[i], strlen(args->v[i])))
			return cs_fail(err, CS_INVALID, 0, "argument %zu of the command %s", i, why);
	for (size_t i = 0; i < env->n; i++)
		if (!cs_utf8_valid(env->v[i], strlen(env->v[i])))
			return cs_fail(err, CS_INVALID, 0, "environment variable '%.*s' %s",
				       (int)CS_MIN(strcspn(env->v[i], "="), (size_t)64), env->v[i], why);
	return 0;
}

static int check_text(struct work *w, struct cs_err *err)
{
	w->kind = CS_START_USAGE;
	return cs_jobspec_check_text(w->plan->args, &w->env, err);
}

/* Engines say nothing that helps when the path leads elsewhere (ioctl_ns(2)). */
static int check_network_namespace(const char *path, struct cs_err *err)
{
	cs_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", path);
	if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET)
		return cs_fail(err, CS_INVALID, 0, "'%s' is no network namespace: give a file such as /run/netns/NAME", path);
	return 0;
}

static int fill_plan(struct work *w, struct cs_err *err)
{
	const struct cs_settings *s = w->s;
	struct cs_spec_plan *p = &w->spec;

	w->kind = CS_START_USAGE;
	if (cs_spec_check_cwd(s->workdir, err) < 0)
		return cs_wrap(err, "--workdir");
	if (s->network[0] == '/' && check_network_namespace(s->network, err) < 0)
		return cs_wrap(err, "--network");
	snprintf(w->hostname, sizeof(w->hostname), "%.*s", s->hostname ? 64 : 12,
		 s->hostname ? s->hostname : w->plan->id);
	p->args = w->plan->args;
	p->env = &w->env;
	p->cwd = s->workdir;
	p->hostname = w->hostname;
	p->terminal = s->tty;
	p->tmp_bytes = s->tmp_bytes;
	p->tmp_inodes = s->tmp_inodes;
	p->shm_bytes = s->shm_bytes;
	p->network_none = strcmp(s->network, "none") == 0;
	p->network_path = s->network[0] == '/' ? s->network : NULL;
	p->userns = s->userns;
	p->userns_host_id = USERNS_FIRST;
	p->userns_size = USERNS_SIZE;
	p->capabilities = &w->caps;
	p->cgroups_path = w->plan->cgroups_path;
	return 0;
}

static int make_all(struct work *w, struct cs_err *err)
{
	if (fill_plan(w, err) < 0 || cs__jobspec_find_root(w, err) < 0 || cs__jobspec_init(w, err) < 0 || make_user(w, err) < 0 || make_env(w, err) < 0 ||
	    check_text(w, err) < 0 || make_capabilities(w, err) < 0 || cs__jobspec_volumes(w, err) < 0 || make_limits(w, err) < 0 ||
	    make_seccomp(w, err) < 0 || make_masked(w, err) < 0 || cs__jobspec_root(w, err) < 0 || cs__jobspec_join_mounts(w, err) < 0)
		return -1;
	w->spec.seccomp = w->seccomp;
	w->kind = CS_START_SETUP;
	if (cs_spec_new(&w->spec, &w->out->config, err) < 0)
		return -1;
	return w->root && !w->out->lower ? cs__jobspec_spare_root(w, err) : 0;
}

int cs_jobspec_put_init(struct cs_jobspec *spec, struct cs_err *err)
{
	cs_auto(strv) args = CS_STRV_INIT;
	cs_auto(strv) command = CS_STRV_INIT;

	if (!spec->init)
		return 0;
	if (cs_json_get_strv(cs_json_get(spec->config, "process.args"), &command) < 0 ||
	    cs_strv_add(&args, CS_INIT_INSIDE) < 0 || cs_strv_add_all(&args, spec->init->args) < 0 ||
	    cs_strv_copy(&args, &command) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "--init");
	return cs_json_set_strv(spec->config, "process.args", &args, err);
}

int cs_jobspec_make(const struct cs_jobspec_plan *plan, struct cs_jobspec *ret,
		    enum cs_start_kind *ret_kind, struct cs_err *err)
{
	struct cs_jobspec out = { 0 };
	struct work w = { .plan = plan, .s = plan->settings, .out = &out };
	int r = make_all(&w, err);

	work_release(&w);
	if (r < 0) {
		*ret_kind = w.kind;
		cs_jobspec_release(&out);
		return -1;
	}
	*ret = out;
	return 0;
}
