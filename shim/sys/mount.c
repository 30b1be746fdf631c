#include "shim/sys/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/sys/cgroup.h"
#include "shim/sys/mountinfo.h"

/* Passes over mountinfo: one finds all; more only when others mount there meanwhile. */
#define DETACH_PASSES_MAX 16

static int fail_errno(struct cs_err *err, int errnum, const char *what, const char *path)
{
	return cs_fail(err, cs_err_kind_of_errno(errnum), errnum, "%s '%s'", what, path);
}

int cs_mount_new_namespace(struct cs_err *err)
{
	if (unshare(CLONE_NEWNS) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "new mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "make all mounts slaves");
	return 0;
}

int cs_mount_open_namespace(void)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int cs_mount_enter_namespace(int namespace_fd)
{
	return setns(namespace_fd, CLONE_NEWNS) < 0 ? -errno : 0;
}

int cs_mount_tmpfs(const char *path, uint64_t size_bytes, uint64_t inodes, mode_t mode,
		   unsigned long flags, struct cs_err *err)
{
	cs_auto(buf) options = CS_BUF_INIT(256);

	cs_buf_addf(&options, "mode=%04o", (unsigned)(mode & 07777));
	if (size_bytes > 0)
		cs_buf_addf(&options, ",size=%" PRIu64, size_bytes);
	if (inodes > 0)
		cs_buf_addf(&options, ",nr_inodes=%" PRIu64, inodes);
	if (options.failed)
		return fail_errno(err, ENOMEM, "mount a tmpfs at", path);
	if (mount("tmpfs", path, "tmpfs", flags, options.data) < 0)
		return fail_errno(err, errno, "mount a tmpfs at", path);
	return 0;
}

int cs_mount_bind_fd(int fd, const char *path, struct cs_err *err)
{
	char source[32];

	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	if (mount(source, path, NULL, MS_BIND | MS_REC, NULL) < 0)
		return fail_errno(err, errno, "bind a file or directory at", path);
	return 0;
}

int cs_mount_open_readonly(const char *path)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	cs_autofd int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return cs_take_fd(&fd);
}

/* The directory as "/proc/self/fd/N", good while *ret_fd is open. */
static int open_layer(const char *path, const char *what, int *ret_fd, struct cs_err *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, errno, what, path);
	*ret_fd = fd;
	return 0;
}

/*
 * The overlay's option parser has its own escapes for ':', ',' and '\', which
 * changed with the kernel's versions (6.1, 6.5, 6.8), fsconfig(2) takes 255
 * bytes a value and before 6.5 no comma at all. A number has none of that.
 */
int cs_mount_overlay(const char *path, const char *lower, const char *upper, const char *work,
		     struct cs_err *err)
{
	cs_autofd int lower_fd = -1, upper_fd = -1, work_fd = -1;
	char options[160];

	if (open_layer(lower, "lower directory", &lower_fd, err) < 0 ||
	    open_layer(upper, "upper directory", &upper_fd, err) < 0 ||
	    open_layer(work, "work directory", &work_fd, err) < 0)
		return cs_wrap(err, "mount an overlay at '%s'", path);
	snprintf(options, sizeof(options),
		 "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d",
		 lower_fd, upper_fd, work_fd);
	if (mount("overlay", path, "overlay", MS_NODEV, options) < 0)
		return fail_errno(err, errno, "mount an overlay at", path);
	return 0;
}

/*
 * One pass: the mounts at or below `prefix`, last made first, which is deepest
 * first. *ret_seen counts them, *ret_failed is the errno of one that stays.
 */
static int detach_pass(const char *prefix, size_t *ret_seen, int *ret_failed)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
	cs_autofree const char **points = NULL;
	size_t n = 0, cap = 0;
	struct cs_mountinfo row;
	char *cursor;
	int r = cs_mountinfo_read(&text);

	if (r < 0)
		return r;
	cursor = text.data;
	while (cs_mountinfo_next(&cursor, &row) > 0) {
		if (!cs_mountinfo_is_below(row.point, prefix))
			continue;
		if (n == cap) {
			const char **more;

			cap = cap > 0 ? 2 * cap : 16;
			more = reallocarray(points, cap, sizeof(*points));
			if (more == NULL)
				return -ENOMEM;
			points = more;
		}
		points[n++] = row.point;
	}
	*ret_seen = n;
	*ret_failed = 0;
	while (n-- > 0) {
		/* EINVAL, ENOENT: gone with one above it */
		if (umount2(points[n], MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
		    errno != ENOENT)
			*ret_failed = errno;
	}
	return 0;
}

int cs_mount_detach_all(const char *path, struct cs_err *err)
{
	char prefix[PATH_MAX];
	size_t seen = 0;
	int failed = 0;

	if (path[0] != '/')
		return cs_fail(err, CS_INVALID, 0, "detach mounts below '%s': no absolute path", path);
	if (realpath(path, prefix) == NULL) {
		if (errno == ENOENT || errno == ENOTDIR)
			return 0;
		return fail_errno(err, errno, "detach mounts below", path);
	}
	if (strcmp(prefix, "/") == 0)
		return cs_fail(err, CS_INVALID, 0, "detach mounts below '%s': that is all of them", path);
	for (unsigned pass = 0; pass < DETACH_PASSES_MAX; pass++) {
		int r = detach_pass(prefix, &seen, &failed);

		if (r < 0)
			return fail_errno(err, -r, "detach mounts below", path);
		if (seen == 0)
			return 0;
		if (failed != 0)
			break;
	}
	return fail_errno(err, failed != 0 ? failed : EBUSY, "detach mounts below", path);
}

/* Is this the mount namespace of pid 1? False where we may not look: its namespaces need ptrace access. */
static bool in_first_namespace(void)
{
	struct stat ours, first;

	return stat("/proc/self/ns/mnt", &ours) == 0 && stat("/proc/1/ns/mnt", &first) == 0 &&
	       ours.st_dev == first.st_dev && ours.st_ino == first.st_ino;
}

/* Mount point of the mount that holds `point`: the longest other one above it. */
static int find_parent(const char *point, char *ret, size_t size)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
	struct cs_mountinfo row;
	size_t best = 0;
	char *cursor;
	int r = cs_mountinfo_read(&text);

	if (r < 0)
		return r;
	cursor = text.data;
	while (cs_mountinfo_next(&cursor, &row) > 0) {
		size_t len = strlen(row.point);

		if (len <= best || len >= size || strcmp(row.point, point) == 0 ||
		    !cs_mountinfo_is_below(point, row.point))
			continue;
		memcpy(ret, row.point, len + 1);
		best = len;
	}
	return best > 0 ? 0 : -ENOENT;
}

/* So that what happens to `point` happens to nobody else's. */
static int make_parent_private(const char *point, struct cs_err *err)
{
	char parent[PATH_MAX];
	int r = find_parent(point, parent, sizeof(parent));

	if (r < 0)
		return fail_errno(err, -r, "find the mount that holds", point);
	if (mount(NULL, parent, NULL, MS_PRIVATE, NULL) < 0)
		return fail_errno(err, errno, "make private", parent);
	return 0;
}

static int move_aside(const char *point, const char *aside, struct cs_err *err)
{
	if (make_parent_private(point, err) < 0)
		return -1;
	/* to detach it would wait for an RCU grace period, up to several ms */
	if (mount(point, aside, NULL, MS_MOVE, NULL) < 0)
		return fail_errno(err, errno, "move aside", point);
	return 0;
}

int cs_mount_hide_unified(struct cs_cgroup_host *host, const char *aside, struct cs_err *err)
{
	size_t kept = 0;

	if (host->layout != CS_CGROUP_HYBRID)
		return 0;
	if (in_first_namespace())
		return cs_fail(err, CS_STATE, 0, "hide the v2 cgroup mount: not in a mount namespace of our own");
	for (size_t i = 0; i < host->n; i++) {
		if (host->mounts[i].v2 && move_aside(host->mounts[i].point, aside, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < host->n; i++) {
		if (!host->mounts[i].v2)
			host->mounts[kept++] = host->mounts[i];
	}
	host->n = kept;
	host->layout = CS_CGROUP_V1;
	return 0;
}

int cs_mount_leave_unified(const struct cs_cgroup_host *host, struct cs_err *err)
{
	if (host->layout != CS_CGROUP_HYBRID)
		return 0;
	if (unshare(CLONE_NEWNS) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "a mount namespace");
	for (size_t i = 0; i < host->n; i++) {
		if (!host->mounts[i].v2)
			continue;
		if (make_parent_private(host->mounts[i].point, err) < 0)
			return -1;
		if (umount2(host->mounts[i].point, MNT_DETACH) < 0)
			return fail_errno(err, errno, "detach", host->mounts[i].point);
	}
	return 0;
}
