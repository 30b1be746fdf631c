/*
 * Removing a group with all below it, in every hierarchy; groups that several
 * have in common.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/cgroup_int.h"

/* A drop removes a group at most once for each hold that ends. */
#define HOLD_TRIES_MAX 1000

/* For cs_cgroup_walk: children before parents. What is busy stays, and so will those above it. */
static int remove_child(int parent_fd, const char *name, void *arg)
{
	int *busy = arg;

	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENODEV)
		return 0;
	if (errno != EBUSY)
		return -errno;
	*busy = 1;
	return 0;
}

/* One attempt in one hierarchy: 0, -EBUSY, -errno. */
static int remove_in(const struct cs_cgroup_mount *mount, const char *path)
{
	static const struct cs_cgroup_visitor visitor = { .leave = remove_child };
	char full[PATH_MAX];
	cs_autofd int fd = -1;
	int busy = 0, r;

	if (snprintf(full, sizeof(full), "%s%s", mount->point, path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	if (rmdir(full) == 0 || errno == ENOENT || errno == ENODEV)
		return 0;
	/* with groups below it is ENOTEMPTY or EBUSY, depending on the kernel */
	if (errno != EBUSY && errno != ENOTEMPTY)
		return -errno;
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENODEV ? 0 : -errno;
	r = cs_cgroup_walk(fd, &visitor, &busy);
	if (r == -EAGAIN)
		return -EBUSY;
	if (r < 0)
		return r;
	if (rmdir(full) == 0 || errno == ENOENT || errno == ENODEV)
		return 0;
	return errno == ENOTEMPTY ? -EBUSY : -errno;
}

static int remove_everywhere(const struct cs_cgroup_host *host, const char *path)
{
	int result = 0;

	for (size_t i = 0; i < host->n; i++) {
		int r = remove_in(&host->mounts[i], path);

		/* a real error outranks EBUSY, which may pass */
		if (r < 0 && (result == 0 || result == -EBUSY))
			result = r;
	}
	return result;
}

static pid_t one_inside(const struct cs_cgroup_host *host, const char *path)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup;
	size_t n = 0;
	pid_t pid = 0;

	if (cs_cgroup_open(host, path, &cgroup, &err) < 0)
		return 0;
	cs_cgroup_pids(cgroup, &pid, 1, &n);
	cs_cgroup_free(cgroup);
	return n > 0 ? pid : 0;
}

int cs_cgroup_remove(const struct cs_cgroup_host *host, const char *path, int64_t deadline_ns,
		     pid_t *ret_pid)
{
	int64_t nap_ns = CS_NAP_NS;
	int r;

	if (!cs_cgroup_path_valid(path))
		return -EINVAL;
	for (;;) {
		r = remove_everywhere(host, path);
		if (r != -EBUSY || cs_clock_left_ns(deadline_ns) == 0)
			break;
		/* a dying group's last references go without an event */
		cs_clock_nap(&nap_ns, deadline_ns);
	}
	if (r == -EBUSY && ret_pid != NULL)
		*ret_pid = one_inside(host, path);
	return r;
}

/* --- groups in common ----------------------------------------------------- */

/* The directory of path in the hierarchy that holds are taken in; -1 and errno. */
static int open_common(const struct cs_cgroup_host *host, const char *path, char full[static PATH_MAX])
{
	const struct cs_cgroup_mount *mount = cs_cgroup_mount_for_cell(host);

	if (mount == NULL || !cs_cgroup_path_valid(path)) {
		errno = mount == NULL ? EOPNOTSUPP : EINVAL;
		return -1;
	}
	if (snprintf(full, PATH_MAX, "%s%s", mount->point, path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Still what stands at that path: a lock may have been had on a group that was removed meanwhile. */
static bool is_at(int fd, const char *full)
{
	struct stat opened, there;

	return fstat(fd, &opened) == 0 && stat(full, &there) == 0 && opened.st_dev == there.st_dev &&
	       opened.st_ino == there.st_ino;
}

int cs_cgroup_hold(const struct cs_cgroup_host *host, const char *path, int *ret_fd, struct cs_err *err)
{
	char full[PATH_MAX];

	for (unsigned tries = 0; tries < HOLD_TRIES_MAX; tries++) {
		cs_autofd int fd = open_common(host, path, full);
		int r = fd < 0 ? -errno : 0;

		if (r == -ENOENT) {
			r = cs_file_mkdirs(full, 0755);
			if (r == 0)
				continue;
		}
		while (r == 0 && flock(fd, LOCK_SH) < 0)
			r = errno == EINTR ? 0 : -errno;
		if (r < 0)
			return cs_fail(err, cs_err_kind_of_errno(-r), -r, "make cgroup '%s'", path);
		if (is_at(fd, full)) {
			*ret_fd = cs_take_fd(&fd);
			return 0;
		}
	}
	return cs_fail(err, CS_IO, EAGAIN, "make cgroup '%s': somebody removes it again and again", path);
}

static void try_rmdir(const struct cs_cgroup_mount *mount, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", mount->point, path) < (int)sizeof(full) && rmdir(full) < 0)
		return; /* in use, or not there: both are fine */
}

void cs_cgroup_drop(const struct cs_cgroup_host *host, const char *path, const char *inner)
{
	const struct cs_cgroup_mount *locked = cs_cgroup_mount_for_cell(host);
	char full[PATH_MAX];
	cs_autofd int fd = open_common(host, path, full);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_at(fd, full))
		return;
	for (size_t i = 0; i < host->n && inner != NULL; i++)
		try_rmdir(&host->mounts[i], inner);
	/* the locked one last: once it is gone, others may make them all anew */
	for (size_t i = 0; i < host->n; i++)
		if (&host->mounts[i] != locked)
			try_rmdir(&host->mounts[i], path);
	try_rmdir(locked, path);
}
