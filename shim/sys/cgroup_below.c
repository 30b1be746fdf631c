/*
 * Groups below an open one: making them, and on v2 making room for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/cgroup_int.h"

/* --- making ----------------------------------------------------------------- */

/* The parent's value of a cpuset file, into a child that has none of its own. */
static int copy_cpuset(int parent_fd, int child_fd, const char *file)
{
	cs_auto(buf) text = CS_BUF_INIT(64 * 1024);
	int r = cs_file_read(parent_fd, file, &text);

	if (r < 0 || text.len == 0)
		return r;
	return cs_file_put(child_fd, file, text.data);
}

static int make_in(const struct cs_cgroup_dir *dir, const char *name)
{
	cs_autofd int child_fd = -1;
	int r;

	if (mkdirat(dir->fd, name, 0755) < 0)
		return -errno;
	if (dir->mount.v2 || !cs_cgroup_controllers_have(dir->mount.controllers, "cpuset"))
		return 0;
	child_fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (child_fd < 0)
		return -errno;
	/* cgroup-v1/cpusets.rst: without CPUs and memory nodes nobody can enter */
	r = copy_cpuset(dir->fd, child_fd, "cpuset.cpus");
	return r < 0 ? r : copy_cpuset(dir->fd, child_fd, "cpuset.mems");
}

int cs_cgroup_make_below(const struct cs_cgroup_host *host, const struct cs_cgroup *parent, const char *name,
			 struct cs_cgroup **ret, struct cs_err *err)
{
	char path[PATH_MAX];
	size_t made = 0;
	int r = 0;

	if (snprintf(path, sizeof(path), "%s/%s", parent->path, name) >= (int)sizeof(path) || !cs_cgroup_path_valid(path))
		return cs_fail(err, CS_INVALID, 0, "make cgroup '%s' below '%s'", name, parent->path);
	for (; r == 0 && made < parent->n; made++)
		r = make_in(&parent->dirs[made], name);
	if (r == 0 && cs_cgroup_open(host, path, ret, err) == 0)
		return 0;
	/* one that was there before is somebody else's */
	if (r == -EEXIST)
		made--;
	while (made-- > 0)
		unlinkat(parent->dirs[made].fd, name, AT_REMOVEDIR);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "make cgroup '%s'", path) : -1;
}

/* --- room on v2 --------------------------------------------------------------- */

struct move {
	int leaf_fd;
	size_t moved;
};

static int move_one(pid_t pid, void *arg)
{
	struct move *move = arg;
	char text[16];
	int r;

	if (pid == 0) /* of a pid namespace outside ours: it cannot be named */
		return -EOPNOTSUPP;
	snprintf(text, sizeof(text), "%d", (int)pid);
	r = cs_file_put(move->leaf_fd, "cgroup.procs", text);
	move->moved++;
	return r == -ESRCH ? 0 : r;
}

/* Until a look finds nobody: who was forked meanwhile lies where its parent did. */
static int move_all(int dir_fd, int leaf_fd, int64_t deadline_ns)
{
	for (;;) {
		struct move move = { .leaf_fd = leaf_fd };
		int r = cs_cgroup_each_pid(dir_fd, move_one, &move);

		if (r < 0 || move.moved == 0)
			return r;
		if (cs_clock_left_ns(deadline_ns) == 0)
			return -ETIMEDOUT;
	}
}

/* All that the group has, for those below it (cgroup-v2.rst, "cgroup.subtree_control"). */
static int enable_all(int dir_fd)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);
	int r = cs_file_read(dir_fd, "cgroup.controllers", &text), result = 0;

	for (char *word = text.data, *end; r == 0 && word && *word; word = end) {
		char plus[64];

		end = word + strcspn(word, " \n");
		if (*end)
			*end++ = '\0';
		if (*word == '\0' || snprintf(plus, sizeof(plus), "+%s", word) >= (int)sizeof(plus))
			continue;
		/* one by one: a controller that cannot be had does not take the others along */
		r = cs_file_put(dir_fd, "cgroup.subtree_control", plus);
		if (r < 0)
			result = r;
		r = 0;
	}
	return r < 0 ? r : result;
}

int cs_cgroup_split(const struct cs_cgroup *cgroup, const char *leaf, int64_t deadline_ns)
{
	const struct cs_cgroup_dir *dir = &cgroup->dirs[0];
	cs_autofd int leaf_fd = -1;
	int r;

	if (cgroup->layout != CS_CGROUP_V2)
		return 0;
	if (mkdirat(dir->fd, leaf, 0755) < 0 && errno != EEXIST)
		return -errno;
	leaf_fd = openat(dir->fd, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf_fd < 0)
		return -errno;
	/*
	 * Not frozen meanwhile: whoever dies in between would leave it so, and a pause of
	 * somebody else's would end with ours. What one that failed left half done is completed.
	 */
	r = move_all(dir->fd, leaf_fd, deadline_ns);
	if (r == 0)
		enable_all(dir->fd);
	return r;
}
