#include "oci-spec/spec_new.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "oci-spec/spec_tables.h"

/*
 * Builders return NULL when memory ran out, and cs_json_put of NULL fails, so
 * failures gather in `bad` and one look at the end is enough.
 */

static struct cs_json *finish(struct cs_json **object, int bad)
{
	return bad ? NULL : cs_take_ptr(object);
}

static struct cs_json *strings_of(const char *const *texts)
{
	cs_autojson struct cs_json *array = cs_json_new_array();
	int bad = array == NULL;

	for (; !bad && *texts; texts++)
		bad |= cs_json_add(array, cs_json_new_string(*texts));
	return finish(&array, bad);
}

/* "a,b" → ["a","b"] */
static struct cs_json *split_options(const char *options)
{
	cs_autojson struct cs_json *array = cs_json_new_array();
	int bad = array == NULL;

	while (!bad && *options) {
		size_t len = strcspn(options, ",");

		bad |= cs_json_add(array, cs_json_new_string_n(options, len));
		options += len + (options[len] == ',');
	}
	return finish(&array, bad);
}

/* --- process ------------------------------------------------------------------ */

static struct cs_json *user_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *user = cs_json_new_object();
	int bad = user == NULL || cs_json_put(user, "uid", cs_json_new_u64(plan->uid)) ||
		  cs_json_put(user, "gid", cs_json_new_u64(plan->gid));

	return finish(&user, bad);
}

static struct cs_json *capabilities_of(const struct cs_spec_plan *plan)
{
	static const char *const sets[] = {
		"bounding", "effective", "inheritable", "permitted", "ambient",
	};
	static const struct cs_strv none = CS_STRV_INIT;
	const struct cs_strv *names = plan->capabilities ? plan->capabilities : &none;
	cs_autojson struct cs_json *object = cs_json_new_object();
	int bad = object == NULL;

	/* an absent set is "whatever the engine likes": all are written out */
	for (size_t i = 0; !bad && i < CS_ARRAY_LEN(sets); i++)
		bad |= cs_json_put(object, sets[i], cs_json_new_strv(names));
	return finish(&object, bad);
}

static struct cs_json *rlimits_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *array = cs_json_new_array();
	int bad = array == NULL;

	for (size_t i = 0; !bad && i < plan->n_rlimits; i++) {
		const struct cs_spec_rlimit *rlimit = &plan->rlimits[i];
		cs_autojson struct cs_json *object = cs_json_new_object();

		bad = object == NULL ||
		      cs_json_put(object, "type", cs_json_new_string(rlimit->type)) ||
		      cs_json_put(object, "hard", cs_json_new_u64(rlimit->hard)) ||
		      cs_json_put(object, "soft", cs_json_new_u64(rlimit->soft)) ||
		      cs_json_add(array, cs_take_ptr(&object));
	}
	return finish(&array, bad);
}

static struct cs_json *process_of(const struct cs_spec_plan *plan)
{
	static const struct cs_strv none = CS_STRV_INIT;
	cs_autojson struct cs_json *process = cs_json_new_object();
	int bad = process == NULL ||
		  cs_json_put(process, "terminal", cs_json_new_bool(plan->terminal)) ||
		  cs_json_put(process, "user", user_of(plan)) ||
		  cs_json_put(process, "args", cs_json_new_strv(plan->args)) ||
		  cs_json_put(process, "env", cs_json_new_strv(plan->env ? plan->env : &none)) ||
		  cs_json_put(process, "cwd", cs_json_new_string(plan->cwd)) ||
		  cs_json_put(process, "capabilities", capabilities_of(plan)) ||
		  cs_json_put(process, "rlimits", rlimits_of(plan)) ||
		  cs_json_put(process, "noNewPrivileges", cs_json_new_bool(true));

	return finish(&process, bad);
}

static struct cs_json *root_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *root = cs_json_new_object();
	int bad = root == NULL || cs_json_put(root, "path", cs_json_new_string(plan->root_path)) ||
		  cs_json_put(root, "readonly", cs_json_new_bool(plan->root_readonly));

	return finish(&root, bad);
}

/* --- mounts -------------------------------------------------------------------- */

static int add_mount(struct cs_json *mounts, const struct cs_spec_mount *mount)
{
	cs_autojson struct cs_json *object = cs_json_new_object();

	if (!object || cs_json_put(object, "destination", cs_json_new_string(mount->destination)) ||
	    cs_json_put(object, "type", cs_json_new_string(mount->type)) ||
	    cs_json_put(object, "source", cs_json_new_string(mount->source)) ||
	    cs_json_put(object, "options", split_options(mount->options)))
		return -1;
	return cs_json_add(mounts, cs_take_ptr(&object));
}

static int add_tmpfs(struct cs_json *mounts, const char *destination, const char *source,
		     const char *flags, uint64_t bytes, uint64_t inodes)
{
	char options[128];
	int len = snprintf(options, sizeof(options), "%s,size=%" PRIu64, flags, bytes);

	if (inodes != 0)
		snprintf(options + len, sizeof(options) - (size_t)len, ",nr_inodes=%" PRIu64,
			 inodes);
	return add_mount(mounts, &(struct cs_spec_mount){ destination, "tmpfs", source, options });
}

/* The group of terminals, 5 everywhere, exists inside unless a user namespace is too small for it. */
#define TTY_GID 5

static int add_dev(struct cs_json *mounts, const struct cs_spec_plan *plan)
{
	bool has_tty_group = !plan->userns || plan->userns_size > TTY_GID;
	const struct cs_spec_mount devpts = {
		"/dev/pts",
		"devpts",
		"devpts",
		has_tty_group ? "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5"
			      : "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620",
	};
	const struct cs_spec_mount mqueue = { "/dev/mqueue", "mqueue", "mqueue",
					      "nosuid,noexec,nodev" };

	return add_tmpfs(mounts, "/dev", "tmpfs", "nosuid,strictatime,mode=755", 64 << 10, 0) ||
	       add_mount(mounts, &devpts) ||
	       add_tmpfs(mounts, "/dev/shm", "shm", "nosuid,noexec,nodev,mode=1777",
			 plan->shm_bytes, 0) ||
	       add_mount(mounts, &mqueue);
}

/*
 * A new sysfs needs rights over the network namespace it shows (kernel:
 * sysfs_init_fs_context). Inside a user namespace these exist only for a
 * network namespace made with it. For any other the part that C libraries and
 * language runtimes count CPUs and memory nodes with is bound instead; a bind
 * of all of /sys would carry along writable mounts below it.
 */
static int add_sys(struct cs_json *mounts, const struct cs_spec_plan *plan)
{
	const struct cs_spec_mount sysfs = { "/sys", "sysfs", "sysfs", "nosuid,noexec,nodev,ro" };
	const struct cs_spec_mount system = { "/sys/devices/system", "bind", "/sys/devices/system",
					      "bind,nosuid,noexec,nodev,ro" };

	if (!plan->userns || plan->network_none)
		return add_mount(mounts, &sysfs);
	return add_tmpfs(mounts, "/sys", "tmpfs", "nosuid,noexec,nodev,mode=755", 64 << 10, 0) ||
	       add_mount(mounts, &system);
}

static struct cs_json *mounts_of(const struct cs_spec_plan *plan)
{
	const struct cs_spec_mount proc = { "/proc", "proc", "proc", "nosuid,noexec,nodev" };
	cs_autojson struct cs_json *mounts = cs_json_new_array();
	int bad = mounts == NULL || add_mount(mounts, &proc) || add_dev(mounts, plan) ||
		  add_sys(mounts, plan);

	if (!bad && plan->tmp_bytes != 0)
		bad = add_tmpfs(mounts, "/tmp", "tmpfs", "nosuid,nodev,mode=1777", plan->tmp_bytes,
				plan->tmp_inodes);
	for (size_t i = 0; !bad && i < plan->n_mounts; i++)
		bad = add_mount(mounts, &plan->mounts[i]);
	return finish(&mounts, bad);
}

/* --- linux: namespaces ---------------------------------------------------------- */

static int add_namespace(struct cs_json *array, enum cs_namespace ns, const char *path)
{
	cs_autojson struct cs_json *object = cs_json_new_object();

	if (!object || cs_json_put(object, "type", cs_json_new_string(cs_namespace_word(ns))) ||
	    (path && cs_json_put(object, "path", cs_json_new_string(path))))
		return -1;
	return cs_json_add(array, cs_take_ptr(&object));
}

static struct cs_json *namespaces_of(const struct cs_spec_plan *plan)
{
	static const enum cs_namespace always[] = {
		CS_NS_PID, CS_NS_IPC, CS_NS_UTS, CS_NS_MOUNT, CS_NS_CGROUP,
	};
	cs_autojson struct cs_json *array = cs_json_new_array();
	int bad = array == NULL;

	for (size_t i = 0; !bad && i < CS_ARRAY_LEN(always); i++)
		bad = add_namespace(array, always[i], NULL);
	if (!bad && (plan->network_none || plan->network_path))
		bad = add_namespace(array, CS_NS_NETWORK, plan->network_path);
	if (!bad && plan->userns)
		bad = add_namespace(array, CS_NS_USER, NULL);
	return finish(&array, bad);
}

static struct cs_json *id_mappings_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *array = cs_json_new_array();
	cs_autojson struct cs_json *row = cs_json_new_object();
	int bad = array == NULL || row == NULL ||
		  cs_json_put(row, "containerID", cs_json_new_u64(0)) ||
		  cs_json_put(row, "hostID", cs_json_new_u64(plan->userns_host_id)) ||
		  cs_json_put(row, "size", cs_json_new_u64(plan->userns_size)) ||
		  cs_json_add(array, cs_take_ptr(&row));

	return finish(&array, bad);
}

/* --- linux: resources ------------------------------------------------------------ */

/* No device but those that every engine adds by itself: null, zero, full, random, urandom, tty, ptmx, pts. */
static struct cs_json *devices_of(void)
{
	cs_autojson struct cs_json *array = cs_json_new_array();
	cs_autojson struct cs_json *deny = cs_json_new_object();
	int bad = array == NULL || deny == NULL ||
		  cs_json_put(deny, "allow", cs_json_new_bool(false)) ||
		  cs_json_put(deny, "access", cs_json_new_string("rwm")) ||
		  cs_json_add(array, cs_take_ptr(&deny));

	return finish(&array, bad);
}

static struct cs_json *memory_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *memory = cs_json_new_object();
	int bad = memory == NULL;

	if (!bad && plan->memory_bytes != CS_UNLIMITED)
		bad = cs_json_put(memory, "limit", cs_json_new_u64(plan->memory_bytes));
	if (!bad && plan->memory_swap_bytes != CS_UNLIMITED)
		bad = cs_json_put(memory, "swap", cs_json_new_u64(plan->memory_swap_bytes));
	return finish(&memory, bad);
}

static struct cs_json *cpu_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *cpu = cs_json_new_object();
	int bad = cpu == NULL;

	if (!bad && plan->millicpus != CS_UNLIMITED)
		bad = cs_json_put(cpu, "quota",
				  cs_json_new_u64(plan->millicpus * (CS_CPU_PERIOD_US / 1000))) ||
		      cs_json_put(cpu, "period", cs_json_new_u64(CS_CPU_PERIOD_US));
	if (!bad && plan->cpuset_cpus)
		bad = cs_json_put(cpu, "cpus", cs_json_new_string(plan->cpuset_cpus));
	return finish(&cpu, bad);
}

static struct cs_json *single(const char *key, struct cs_json *value_consume)
{
	cs_autojson struct cs_json *object = cs_json_new_object();

	if (!object) {
		cs_json_free(value_consume);
		return NULL;
	}
	return finish(&object, cs_json_put(object, key, value_consume));
}

/* Puts an object unless it has no member. */
static int put_filled(struct cs_json *object, const char *key, struct cs_json *child_consume)
{
	if (child_consume && cs_json_count(child_consume) == 0) {
		cs_json_free(child_consume);
		return 0;
	}
	return cs_json_put(object, key, child_consume);
}

static struct cs_json *resources_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *resources = cs_json_new_object();
	int bad = resources == NULL || cs_json_put(resources, "devices", devices_of()) ||
		  put_filled(resources, "memory", memory_of(plan)) ||
		  put_filled(resources, "cpu", cpu_of(plan));

	if (!bad && plan->pids != CS_UNLIMITED)
		bad = cs_json_put(resources, "pids", single("limit", cs_json_new_u64(plan->pids)));
	if (!bad && plan->oom_group)
		bad = cs_json_put(resources, "unified",
				  single("memory.oom.group", cs_json_new_string("1")));
	return finish(&resources, bad);
}

/* --- linux ------------------------------------------------------------------------ */

static struct cs_json *masked_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *array = strings_of(cs_masked_paths);
	size_t n = plan->masked_extra ? plan->masked_extra->n : 0;
	int bad = array == NULL;

	for (size_t i = 0; !bad && i < n; i++)
		bad = cs_json_add(array, cs_json_new_string(plan->masked_extra->v[i]));
	return finish(&array, bad);
}

static struct cs_json *linux_of(const struct cs_spec_plan *plan)
{
	cs_autojson struct cs_json *linux_ = cs_json_new_object();
	int bad = linux_ == NULL;

	if (!bad && plan->userns)
		bad = cs_json_put(linux_, "uidMappings", id_mappings_of(plan)) ||
		      cs_json_put(linux_, "gidMappings", id_mappings_of(plan));
	bad = bad || cs_json_put(linux_, "resources", resources_of(plan));
	if (!bad && plan->cgroups_path)
		bad = cs_json_put(linux_, "cgroupsPath", cs_json_new_string(plan->cgroups_path));
	bad = bad || cs_json_put(linux_, "namespaces", namespaces_of(plan));
	if (!bad && plan->seccomp)
		bad = cs_json_put(linux_, "seccomp", cs_json_copy(plan->seccomp));
	bad = bad || cs_json_put(linux_, "maskedPaths", masked_of(plan)) ||
	      cs_json_put(linux_, "readonlyPaths", strings_of(cs_readonly_paths));
	return finish(&linux_, bad);
}

static int put_annotations(struct cs_json *config, const struct cs_strv *annotations)
{
	cs_autojson struct cs_json *object = cs_json_new_object();

	for (size_t i = 0; i < annotations->n; i++) {
		const char *text = annotations->v[i];
		size_t len = strcspn(text, "=");
		cs_autofree char *key = strndup(text, len);

		if (!key ||
		    cs_json_put(object, key, cs_json_new_string(text + len + (text[len] == '='))))
			return -1;
	}
	return cs_json_put(config, "annotations", cs_take_ptr(&object));
}

int cs_spec_new(const struct cs_spec_plan *plan, struct cs_json **ret, struct cs_err *err)
{
	cs_autojson struct cs_json *config = cs_json_new_object();

	if (!config || cs_json_put(config, "ociVersion", cs_json_new_string(CS_SPEC_OCI_VERSION)) ||
	    cs_json_put(config, "process", process_of(plan)) ||
	    cs_json_put(config, "root", root_of(plan)) ||
	    (plan->hostname &&
	     cs_json_put(config, "hostname", cs_json_new_string(plan->hostname))) ||
	    cs_json_put(config, "mounts", mounts_of(plan)) ||
	    (plan->annotations && put_annotations(config, plan->annotations) < 0) ||
	    cs_json_put(config, "linux", linux_of(plan)))
		return cs_fail(err, CS_LIMIT, 0, "config.json: out of memory");
	*ret = cs_take_ptr(&config);
	return 0;
}
