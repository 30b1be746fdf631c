/*
 * Removing a group with all below it, in every hierarchy.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/sys/cgroup_int.h"

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
	int64_t nap_ns = CS_CGROUP_NAP_NS;
	int r;

	if (!cs_cgroup_path_valid(path))
		return -EINVAL;
	for (;;) {
		r = remove_everywhere(host, path);
		if (r != -EBUSY || cs_clock_left_ns(deadline_ns) == 0)
			break;
		/* a dying group's last references go without an event */
		cs_cgroup_nap(&nap_ns, deadline_ns);
	}
	if (r == -EBUSY && ret_pid != NULL)
		*ret_pid = one_inside(host, path);
	return r;
}

void cs_cgroup_rmdir(const struct cs_cgroup_host *host, const char *path)
{
	char full[PATH_MAX];

	for (size_t i = 0; i < host->n; i++)
		if (snprintf(full, sizeof(full), "%s%s", host->mounts[i].point, path) < (int)sizeof(full) &&
		    rmdir(full) < 0)
			continue; /* in use, or not there: both are fine */
}
