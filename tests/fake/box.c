#include "tests/fake/box.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oci-spec/resources.h"
#include "oci-spec/spec_new.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"

#define CGROUP_TOP "/sys/fs/cgroup"

/* --- the cgroup: errors are left to whoever reads the limits back --------------- */

static bool pure_v2(void)
{
	return access(CGROUP_TOP "/cgroup.controllers", F_OK) == 0;
}

/* Where systemd puts "SLICE:PREFIX:NAME", for one slice right below the root (systemd.slice(5)). */
static void systemd_path(const char *text, char *path, size_t size)
{
	const char *prefix = strchr(text, ':'), *name = prefix ? strchr(prefix + 1, ':') : NULL;

	if (text[0] == '/' || !name)
		snprintf(path, size, "%s", text);
	else
		snprintf(path, size, "/%.*s/%.*s-%s.scope", (int)(prefix - text), text, (int)(name - prefix - 1),
			 prefix + 1, name + 1);
}

/* "/sys/fs/cgroup[/CONTROLLER]PATH"; false without a cgroupsPath. */
static bool cgroup_dir(const struct cs_json *config, const char *controller, char *dir, size_t size)
{
	const char *text = cs_json_string(cs_json_get(config, "linux.cgroupsPath"));
	char path[512];

	if (!text)
		return false;
	systemd_path(text, path, sizeof(path));
	snprintf(dir, size, "%s%s%s%s%s", CGROUP_TOP, pure_v2() ? "" : "/", pure_v2() ? "" : controller,
		 path[0] == '/' ? "" : "/", path);
	return true;
}

static void put(const char *dir, const char *file, const char *text)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path) ||
	    cs_file_put(AT_FDCWD, path, text) < 0)
		return;
}

static void put_cpu(const char *dir, uint64_t millicpus)
{
	char text[64];

	if (pure_v2()) {
		snprintf(text, sizeof(text), "%" PRIu64 " 100000", millicpus * 100);
		put(dir, "cpu.max", text);
	} else {
		put(dir, "cpu.cfs_period_us", "100000");
		snprintf(text, sizeof(text), "%" PRIu64, millicpus * 100);
		put(dir, "cpu.cfs_quota_us", text);
	}
}

static void put_limit(const struct cs_json *config, enum cs_resource resource, enum box_limits limits)
{
	const struct cs_resource_row *row = cs_resource_row(resource);
	struct cs_err err = CS_ERR_INIT;
	uint64_t value, memory = 0;
	char dir[4096], text[32];

	if (resource == CS_RES_CPUSET_CPUS || !cgroup_dir(config, row->v1_controller, dir, sizeof(dir)) ||
	    cs_resource_asked(config, resource, &value, &err) < 0 || value == CS_UNLIMITED)
		return;
	if (limits == BOX_LIMITS_HALF)
		value /= 2;
	if (resource == CS_RES_CPU) {
		put_cpu(dir, value);
		return;
	}
	/* swap alone in v2, memory and swap in the specification and in v1 */
	if (resource == CS_RES_MEMORY_SWAP && pure_v2() &&
	    cs_resource_asked(config, CS_RES_MEMORY, &memory, &err) == 0 && memory <= value)
		value -= memory;
	snprintf(text, sizeof(text), "%" PRIu64, value);
	put(dir, pure_v2() ? row->v2_file : row->v1_file, text);
}

/* cpuset is left out: it takes nobody before its CPUs are written. */
static const char *const controllers[] = { "memory", "pids", "cpu", "cpuacct", "freezer", "blkio", "devices" };

static void join_cgroup(const struct cs_json *config, bool make)
{
	for (size_t i = 0; i < (pure_v2() ? 1 : CS_ARRAY_LEN(controllers)); i++) {
		char dir[4096], top[4096];

		if (!cgroup_dir(config, controllers[i], dir, sizeof(dir)))
			return;
		snprintf(top, sizeof(top), "%s/%s", CGROUP_TOP, pure_v2() ? "" : controllers[i]);
		if (access(top, F_OK) < 0)
			continue;
		if (make && cs_file_mkdirs(dir, 0755) < 0)
			continue;
		put(dir, "cgroup.procs", "0");
	}
}

void box_remove(const struct cs_json *config)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(controllers); i++) {
		char dir[4096];

		if (cgroup_dir(config, controllers[i], dir, sizeof(dir)))
			rmdir(dir);
	}
}

/* --- the process ------------------------------------------------------------------ */

static void set_rlimits(const struct cs_json *process)
{
	static const struct { const char *name; int resource; } names[] = {
		{ "RLIMIT_CORE", RLIMIT_CORE },   { "RLIMIT_CPU", RLIMIT_CPU },	    { "RLIMIT_DATA", RLIMIT_DATA },
		{ "RLIMIT_FSIZE", RLIMIT_FSIZE }, { "RLIMIT_NOFILE", RLIMIT_NOFILE }, { "RLIMIT_NPROC", RLIMIT_NPROC },
		{ "RLIMIT_STACK", RLIMIT_STACK }, { "RLIMIT_AS", RLIMIT_AS },	    { "RLIMIT_MEMLOCK", RLIMIT_MEMLOCK },
	};
	const struct cs_json *row;

	cs_json_each(row, cs_json_member(process, "rlimits")) {
		const char *type = cs_json_string(cs_json_member(row, "type"));
		uint64_t soft, hard;

		if (!type || cs_json_get_u64(cs_json_member(row, "soft"), &soft) < 0 ||
		    cs_json_get_u64(cs_json_member(row, "hard"), &hard) < 0)
			continue;
		for (size_t i = 0; i < CS_ARRAY_LEN(names); i++)
			if (strcmp(names[i].name, type) == 0 &&
			    setrlimit(names[i].resource, &(struct rlimit){ soft, hard }) < 0)
				perror(type);
	}
}

/* A filter that allows everything stands for the profile: it is there to be seen. */
static void set_seccomp(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		perror("seccomp");
}

/* What is read back of a process before its start. */
static void confine(const struct cs_json *config, const struct cs_json *process)
{
	bool no_new_privs = false;

	set_rlimits(process);
	if (cs_json_get_bool(cs_json_member(process, "noNewPrivileges"), &no_new_privs) == 0 && no_new_privs &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		perror("no_new_privs");
	if (cs_json_get(config, "linux.seccomp"))
		set_seccomp();
}

static CS_NORETURN void execute(const struct cs_json *process)
{
	const char *cwd = cs_json_string(cs_json_member(process, "cwd"));
	struct cs_strv args = CS_STRV_INIT, env = CS_STRV_INIT;
	const char *path;

	if (cs_json_get_strv(cs_json_member(process, "args"), &args) < 0 || args.n == 0 ||
	    (cs_json_member(process, "env") && cs_json_get_strv(cs_json_member(process, "env"), &env) < 0)) {
		fprintf(stderr, "process.args or process.env is unusable\n");
		_exit(125);
	}
	if (cwd && chdir(cwd) < 0 && chdir("/") < 0)
		_exit(125);
	path = cs_strv_env_get(&env, "PATH");
	if (path)
		setenv("PATH", path, 1);
	execvpe(args.v[0], cs_strv_v(&args), cs_strv_v(&env));
	fprintf(stderr, "exec %s: %s\n", args.v[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static bool is_null_device(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* A directory by its path, "/proc/self/fd/N" without a /proc. */
static int change_dir(const char *cwd)
{
	unsigned fd;

	return sscanf(cwd, "/proc/self/fd/%u", &fd) == 1 ? fchdir((int)fd) : chdir(cwd);
}

static void set_up_walls(const struct cs_json *config, const struct box_plan *plan)
{
	bool holes = plan->walls == BOX_WALLS_HOLES;
	/* what runc before 1.1.12 had open when it changed the directory */
	int host_fd = holes ? open(CGROUP_TOP, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	const char *root = cs_json_string(cs_json_get(config, "root.path")), *cwd = cs_json_string(cs_json_get(config, "process.cwd"));
	const struct cs_json *masked;

	if (!root || !cwd || chdir(plan->bundle) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || chdir(root) < 0)
		_exit(125);
	/* what is there stays, as with runc before 1.2.8 */
	if (mknod("dev/null", S_IFCHR | 0666, makedev(1, 3)) < 0 && errno != EEXIST)
		_exit(125);
	if (chroot(".") < 0 || (!holes && !is_null_device("/dev/null")))
		_exit(125);
	cs_json_each(masked, cs_json_get(config, "linux.maskedPaths")) {
		const char *path = cs_json_string(masked);

		if (path && mount("/dev/null", path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
			_exit(125);
	}
	if (change_dir(cwd) < 0)
		_exit(125);
	if (host_fd >= 0)
		close(host_fd);
}

pid_t box_create(const struct cs_json *config, const struct box_plan *plan)
{
	enum box_limits limits = plan->limits;
	int start_fd = plan->start_fd;
	int ready[2];
	pid_t pid;
	char byte;

	if (cs_fd_pipe(ready, 0) < 0)
		return -1;
	pid = fork();
	if (pid != 0) {
		ssize_t n = 0;

		/* its end comes when the limits are in force, or with the process */
		close(ready[1]);
		if (pid > 0 && (n = cs_fd_read_all(ready[0], &byte, 1)) < 0)
			perror("wait for the process");
		close(ready[0]);
		if (pid > 0 && n != 1 && plan->walls != BOX_WALLS_NONE) {
			waitpid(pid, NULL, 0);
			errno = EPERM;
			return -1;
		}
		return pid;
	}
	setsid();
	join_cgroup(config, true);
	for (int i = 0; i < CS_RESOURCES && limits != BOX_LIMITS_SKIP; i++)
		put_limit(config, i, limits);
	if (limits != BOX_LIMITS_SKIP)
		confine(config, cs_json_member(config, "process"));
	if (plan->walls != BOX_WALLS_NONE)
		set_up_walls(config, plan);
	close(ready[0]);
	if (write(ready[1], "", 1) != 1)
		_exit(125);
	close(ready[1]);
	if (cs_fd_read_all(start_fd, &byte, 1) != 1)
		_exit(125);
	close(start_fd);
	execute(cs_json_member(config, "process"));
}

pid_t box_exec(const struct cs_json *config, const struct cs_json *process)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	setsid();
	join_cgroup(config, false);
	confine(config, process);
	execute(process);
}
