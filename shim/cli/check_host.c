/* caisson check: what the host has to have. */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/cli/check.h"
#include "shim/task/cache.h"

/* What one run needs of the file system that live runs are on record in: a directory, a record, a socket. */
#define RUN_INODES 8
#define RUN_BYTES (64 * 1024)
/* Fewer runs than this at once is worth a word. */
#define RUNS_FEW 100

static void look_at_root(const struct cs_check *check CS_UNUSED, struct cs_finding *ret)
{
	if (geteuid() == 0)
		cs_find(ret, CS_GOOD, "yes");
	else
		cs_find(ret, CS_BAD, "no: what needs root is not looked at");
}

static void look_at_config(const struct cs_check *check, struct cs_finding *ret)
{
	/* one that is wrong has ended us by now, with its line and column */
	if (check->config->path)
		cs_find(ret, CS_GOOD, "%s, policy %s", check->config->path, check->s->policy);
	else
		cs_find(ret, CS_GOOD, "no file, policy %s", check->s->policy);
}

/* pidfd_open is Linux 5.3, openat2 5.6, close_range 5.9. */
static void look_at_kernel(const struct cs_check *check CS_UNUSED, struct cs_finding *ret)
{
	struct utsname name;
	cs_autofd int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	uname(&name);
	if (pidfd < 0 || (syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS) ||
	    (syscall(SYS_close_range, ~0U, ~0U, 0) < 0 && errno == ENOSYS))
		cs_find(ret, CS_BAD, "Linux %s lacks pidfd_open, openat2 or close_range", name.release);
	else
		cs_find(ret, CS_GOOD, "Linux %s", name.release);
}

static void look_at_cgroups(const struct cs_check *check, struct cs_finding *ret)
{
	static const char *const layouts[] = { "v1", "v1 with an empty v2 mount beside (hybrid)", "v2", "none is mounted" };

	if (check->host_err.kind)
		cs_find(ret, CS_BAD, "%s", check->host_err.text);
	else
		cs_find(ret, check->host.layout == CS_CGROUP_NONE ? CS_BAD : CS_GOOD, "%s", layouts[check->host.layout]);
}

static void look_at_hybrid(const struct cs_check *check, struct cs_finding *ret)
{
	ret->skip = check->host.layout != CS_CGROUP_HYBRID || geteuid() != 0;
	if (!ret->skip)
		cs_try_apart(check, CS_TRY_HYBRID, NULL, ret);
}

static void look_at_controllers(const struct cs_check *check, struct cs_finding *ret)
{
	static const char *const needed[] = { "memory", "pids", "cpu", "cpuset" };
	cs_auto(buf) there = CS_BUF_INIT(128), missing = CS_BUF_INIT(128);

	for (size_t i = 0; i < CS_ARRAY_LEN(needed); i++) {
		struct cs_buf *list = cs_cgroup_host_has(&check->host, needed[i]) ? &there : &missing;

		cs_buf_addf(list, "%s%s", list->len ? ", " : "", needed[i]);
	}
	if (missing.len)
		cs_find(ret, CS_BAD, "missing: %s", missing.data);
	else
		cs_find(ret, CS_GOOD, "%s", there.data);
}

static void look_at_seccomp(const struct cs_check *check CS_UNUSED, struct cs_finding *ret)
{
	const uint32_t action = SECCOMP_RET_ERRNO;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		cs_find(ret, CS_BAD, "filters cannot be set: %s", strerror(errno));
	else
		cs_find(ret, CS_GOOD, "yes");
}

static void look_at_overlay(const struct cs_check *check, struct cs_finding *ret)
{
	ret->skip = geteuid() != 0;
	if (!ret->skip)
		cs_try_apart(check, CS_TRY_OVERLAY, NULL, ret);
}

static void look_at_loop(const struct cs_check *check CS_UNUSED, struct cs_finding *ret)
{
	cs_autofd int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		cs_find(ret, CS_WEAK, "/dev/loop-control: %s", strerror(errno));
	else
		cs_find(ret, CS_GOOD, "yes");
}

static void look_at_userns(const struct cs_check *check, struct cs_finding *ret)
{
	cs_try_apart(check, CS_TRY_USERNS, NULL, ret);
}

/* A handler is started by the kernel as the host's root, for a dump of any size but the one byte that we allow (core(5)). */
static void look_at_core_pattern(const struct cs_check *check CS_UNUSED, struct cs_finding *ret)
{
	cs_auto(buf) pattern = CS_BUF_INIT(4096);

	if (cs_file_read(AT_FDCWD, "/proc/sys/kernel/core_pattern", &pattern) == 0 && pattern.data && pattern.data[0] == '|')
		cs_find(ret, CS_WEAK, "a program of the host handles core dumps: %.*s", (int)strcspn(pattern.data + 1, " \n"),
			pattern.data + 1);
	else
		cs_find(ret, CS_GOOD, "no program of the host handles core dumps");
}

/* The directory itself, or the nearest one above it that is there: runs make what is missing. */
static int nearest_dir(const char *path, char *ret, size_t size)
{
	snprintf(ret, size, "%s", path);
	while (access(ret, F_OK) < 0) {
		char *slash = strrchr(ret, '/');

		if (errno != ENOENT || !slash)
			return -errno;
		slash[slash == ret] = '\0';
	}
	return 0;
}

static void look_at_state_dir(const struct cs_check *check, struct cs_finding *ret)
{
	const char *path = check->s->state_dir;
	char dir[CS_STATE_DIR_MAX + 1], bytes[CS_SIZE_TEXT];
	struct statvfs st;
	struct stat own;
	uint64_t room, inodes;

	if (nearest_dir(path, dir, sizeof(dir)) < 0 || statvfs(dir, &st) < 0) {
		cs_find(ret, CS_BAD, "%s: %s", path, strerror(errno));
		return;
	}
	room = (uint64_t)st.f_bavail * st.f_frsize;
	inodes = st.f_files ? st.f_favail : UINT64_MAX; /* file systems without a number of inodes say 0 */
	cs_find(ret, CS_GOOD, "%s, room for %llu runs", path,
		(unsigned long long)CS_MIN(room / RUN_BYTES, inodes / RUN_INODES));
	if (strcmp(dir, path) == 0 && stat(dir, &own) == 0 && (own.st_uid != 0 || (own.st_mode & 022)))
		cs_find(ret, CS_BAD, "%s can be written by others than root", path);
	else if (st.f_flag & ST_RDONLY)
		cs_find(ret, CS_BAD, "%s is on a read-only file system", path);
	else if (room < RUN_BYTES || inodes < RUN_INODES)
		cs_find(ret, CS_BAD, "%s is full: %s and %llu inodes are free", path, cs_size_text(room, bytes),
			(unsigned long long)inodes);
	else if (room / RUN_BYTES < RUNS_FEW || inodes / RUN_INODES < RUNS_FEW)
		ret->verdict = CS_WEAK;
}

static void look_at_cache_dir(const struct cs_check *check, struct cs_finding *ret)
{
	cs_autofd int fd = -1;

	ret->skip = geteuid() != 0;
	if (ret->skip)
		return;
	fd = cs_cache_open(check->s->cache_dir);
	if (fd < 0)
		cs_find(ret, CS_WEAK, "%s: %s", check->s->cache_dir, strerror(-fd));
	else
		cs_find(ret, CS_GOOD, "%s", check->s->cache_dir);
}

const struct cs_check_host_row cs_check_host_rows[] = {
	{ "root", look_at_root, "run caisson as root: rootless runs are not supported yet" },
	{ "configuration", look_at_config, NULL },
	{ "kernel", look_at_kernel, "Linux 5.9 or later is needed" },
	{ "cgroups", look_at_cgroups, "mount cgroups at /sys/fs/cgroup" },
	{ "hybrid cgroups", look_at_hybrid, "use runc, or boot with systemd.unified_cgroup_hierarchy=1" },
	{ "controllers", look_at_controllers,
	  "enable them (v2: echo +NAME >/sys/fs/cgroup/cgroup.subtree_control; memory: cgroup_enable=memory on the kernel's "
	  "command line), or lift the limits with --best-effort" },
	{ "seccomp", look_at_seccomp, "a kernel with CONFIG_SECCOMP_FILTER, or --seccomp none" },
	{ "overlay", look_at_overlay, "modprobe overlay; needed by --writable-root, and by a --rootfs without mount points" },
	{ "loop devices", look_at_loop, "modprobe loop; needed by workspaces in an image" },
	{ "user namespaces", look_at_userns, "sysctl user.max_user_namespaces=10000; needed by --userns" },
	{ "core_pattern", look_at_core_pattern,
	  "runs have RLIMIT_CORE 1, which keeps it from being started: do not raise it with --ulimit core" },
	{ "state directory", look_at_state_dir, "give --state-dir a file system of root's with room, /run by default" },
	{ "cache directory", look_at_cache_dir, "give --cache-dir a directory that only root can write: without it every run is slower" },
};
const size_t cs_check_host_n = CS_ARRAY_LEN(cs_check_host_rows);
