/*
 * Opening, making and reading groups; the rest is in cgroup_*.c.
 */
#include "shim/sys/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/cgroup_int.h"
#include "shim/sys/mountinfo.h"

bool cs_cgroup_path_valid(const char *path)
{
	if (path[0] != '/' || path[1] == '\0' || strlen(path) >= PATH_MAX)
		return false;
	for (const char *p = path; *p == '/';) {
		size_t len = strcspn(++p, "/");

		if (len == 0 || len > NAME_MAX || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += len;
	}
	return true;
}

static int check_path(const char *path, struct cs_err *err)
{
	if (cs_cgroup_path_valid(path))
		return 0;
	return cs_fail(err, CS_INVALID, 0, "cgroup '%s': not the absolute path of a group below the root",
		       path);
}

static int full_path(const struct cs_cgroup_mount *mount, const char *path, char *ret, size_t size)
{
	return snprintf(ret, size, "%s%s", mount->point, path) < (int)size ? 0 : -ENAMETOOLONG;
}

/* Appends the directory of a group in one hierarchy; -ENOENT when it is not there. */
static int open_dir(struct cs_cgroup *cgroup, const struct cs_cgroup_mount *mount, const char *group)
{
	struct cs_cgroup_dir *dir = &cgroup->dirs[cgroup->n];
	char path[PATH_MAX];
	int r = full_path(mount, group, path, sizeof(path));

	if (r < 0)
		return r;
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0)
		return -errno;
	dir->mount = *mount;
	cgroup->n++;
	return 0;
}

/* Opens the path in those of the host's hierarchies that `wanted` marks (NULL: all). */
static int open_in(const struct cs_cgroup_host *host, const char *path, const bool *wanted,
		   struct cs_cgroup **ret, struct cs_err *err)
{
	struct cs_cgroup *cgroup = calloc(1, sizeof(*cgroup));
	int r = 0;

	if (cgroup != NULL)
		cgroup->path = strdup(path);
	if (cgroup == NULL || cgroup->path == NULL) {
		cs_cgroup_free(cgroup);
		return cs_fail(err, CS_IO, ENOMEM, "open cgroup '%s'", path);
	}
	cgroup->layout = host->layout;
	for (size_t i = 0; i < host->n && (r == 0 || r == -ENOENT); i++) {
		if (wanted == NULL || wanted[i])
			r = open_dir(cgroup, &host->mounts[i], cgroup->path);
	}
	if (r < 0 && r != -ENOENT) {
		cs_cgroup_free(cgroup);
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "open cgroup '%s'", path);
	}
	if (cgroup->n == 0) {
		cs_cgroup_free(cgroup);
		return cs_fail(err, CS_NOT_FOUND, ENOENT, "open cgroup '%s'", path);
	}
	cs_cgroup_oom_read(cgroup, &cgroup->oom_at_open);
	*ret = cgroup;
	return 0;
}

int cs_cgroup_open(const struct cs_cgroup_host *host, const char *path, struct cs_cgroup **ret,
		   struct cs_err *err)
{
	if (check_path(path, err) < 0)
		return -1;
	return open_in(host, path, NULL, ret, err);
}

int cs_cgroup_open_of_pid(const struct cs_cgroup_host *host, pid_t pid, struct cs_cgroup **ret,
			  struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_CGROUP_TEXT_MAX);
	char path[PATH_MAX] = "/", longest[PATH_MAX] = "/";
	bool wanted[CS_CGROUP_HIERARCHIES_MAX] = { false };
	int r = cs_cgroup_text_of_pid(pid, &text);

	if (r < 0 || text.len == 0)
		return cs_fail(err, r == -ESRCH || r == 0 ? CS_NOT_FOUND : cs_err_kind_of_errno(-r),
			       r == 0 ? ESRCH : -r, "cgroup of pid %d", (int)pid);
	for (size_t i = 0; i < host->n; i++) {
		if (cs_cgroup_text_path(text.data, &host->mounts[i], path, sizeof(path)) &&
		    strlen(path) > strlen(longest))
			memcpy(longest, path, sizeof(path));
	}
	if (!cs_cgroup_path_valid(longest))
		return cs_fail(err, CS_NOT_FOUND, 0, "pid %d is in no cgroup but '%s'", (int)pid, longest);
	for (size_t i = 0; i < host->n; i++)
		wanted[i] = cs_cgroup_text_path(text.data, &host->mounts[i], path, sizeof(path)) &&
			    strcmp(path, longest) == 0;
	return open_in(host, longest, wanted, ret, err);
}

int cs_cgroup_open_each_of_pid(const struct cs_cgroup_host *host, pid_t pid, struct cs_cgroup **ret,
			       struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_CGROUP_TEXT_MAX);
	struct cs_cgroup *cgroup = NULL;
	char path[PATH_MAX];
	int r = cs_cgroup_open_of_pid(host, pid, &cgroup, err);

	if (r < 0)
		return -1;
	r = cs_cgroup_text_of_pid(pid, &text);
	/* what it has open is a part of what is to be open */
	for (size_t i = 0; i < cgroup->n; i++)
		cs_close_fd(&cgroup->dirs[i].fd);
	cgroup->n = 0;
	for (size_t i = 0; r == 0 && i < host->n; i++) {
		if (!cs_cgroup_text_path(text.data, &host->mounts[i], path, sizeof(path)) || !cs_cgroup_path_valid(path))
			continue;
		r = open_dir(cgroup, &host->mounts[i], path);
		if (r == -ENOENT)
			r = 0;
	}
	if (r < 0) {
		cs_cgroup_free(cgroup);
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "cgroups of pid %d", (int)pid);
	}
	*ret = cgroup;
	return 0;
}

void cs_cgroup_free(struct cs_cgroup *cgroup)
{
	if (cgroup == NULL)
		return;
	for (size_t i = 0; i < cgroup->n; i++)
		cs_close_fd(&cgroup->dirs[i].fd);
	cs_free_ptr(&cgroup->path);
	cs_free_ptr(&cgroup);
}

const char *cs_cgroup_path(const struct cs_cgroup *cgroup)
{
	return cgroup->path;
}

bool cs_cgroup_is_v2(const struct cs_cgroup *cgroup)
{
	return cgroup->layout == CS_CGROUP_V2;
}

/* --- cells -------------------------------------------------------------- */

const struct cs_cgroup_mount *cs_cgroup_mount_for_cell(const struct cs_cgroup_host *host)
{
	static const char *const order[] = { "freezer", "pids" };

	if (host->n == 0)
		return NULL;
	for (size_t c = 0; c < CS_ARRAY_LEN(order) && host->layout != CS_CGROUP_V2; c++) {
		for (size_t i = 0; i < host->n; i++) {
			if (cs_cgroup_controllers_have(host->mounts[i].controllers, order[c]))
				return &host->mounts[i];
		}
	}
	return &host->mounts[0];
}

static const char *door_file(const struct cs_cgroup_mount *mount, enum cs_cgroup_door door)
{
	return door == CS_CGROUP_BY_THREAD && !mount->v2 ? "tasks" : "cgroup.procs";
}

int cs_cgroup_make_cell(const struct cs_cgroup_host *host, const char *path, enum cs_cgroup_door door,
			int *ret_procs_fd, struct cs_err *err)
{
	const struct cs_cgroup_mount *mount = cs_cgroup_mount_for_cell(host);
	char full[PATH_MAX], file[PATH_MAX];
	char *slash;
	int r;

	if (check_path(path, err) < 0)
		return -1;
	if (mount == NULL)
		return cs_fail(err, CS_UNSUPPORTED, 0, "make cgroup '%s': no cgroup file system is mounted",
			       path);
	r = full_path(mount, path, full, sizeof(full));
	if (r == 0 && snprintf(file, sizeof(file), "%s/%s", full, door_file(mount, door)) >= (int)sizeof(file))
		r = -ENAMETOOLONG;
	if (r == 0) {
		slash = strrchr(full, '/');
		*slash = '\0';
		r = cs_file_mkdirs(full, 0755);
		*slash = '/';
	}
	/* a cell may be shared, or be left over and empty */
	if (r == 0 && mkdir(full, 0755) < 0 && errno != EEXIST)
		r = -errno;
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "make cgroup '%s'", full);
	*ret_procs_fd = open(file, O_WRONLY | O_CLOEXEC);
	if (*ret_procs_fd < 0) {
		r = errno;
		rmdir(full);
		return cs_fail(err, cs_err_kind_of_errno(r), r, "open '%s'", file);
	}
	return 0;
}

int cs_cgroup_leave_cell(const struct cs_cgroup_host *host)
{
	const struct cs_cgroup_mount *mount = cs_cgroup_mount_for_cell(host);
	char file[PATH_MAX];

	if (mount == NULL)
		return -ENOENT;
	snprintf(file, sizeof(file), "%s/%s", mount->point, door_file(mount, CS_CGROUP_BY_THREAD));
	return cs_file_put(AT_FDCWD, file, "0");
}

/* --- where a process is ------------------------------------------------- */

/*
 * The bare v2 tree of a hybrid host: it limits nothing, runc goes there and
 * crun and runsc do not, so a group of that name may be another engine's rest.
 */
static bool limits_nothing(const struct cs_cgroup *cgroup, const struct cs_cgroup_dir *dir)
{
	return cgroup->layout == CS_CGROUP_HYBRID && dir->mount.v2 && cgroup->n > 1 &&
	       strcmp(dir->mount.controllers, ",") == 0;
}

int cs_cgroup_holds_in(const struct cs_cgroup *cgroup, pid_t pid, bool any)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_CGROUP_TEXT_MAX);
	char path[PATH_MAX];
	int r = cs_cgroup_text_of_pid(pid, &text);

	if (r < 0)
		return r;
	if (text.len == 0)
		return -ESRCH;
	for (size_t i = 0; i < cgroup->n; i++) {
		const struct cs_cgroup_dir *dir = &cgroup->dirs[i];
		bool in = cs_cgroup_text_path(text.data, &dir->mount, path, sizeof(path)) &&
			  cs_mountinfo_is_below(path, cgroup->path);

		if (in == any && (any || !limits_nothing(cgroup, dir)))
			return any;
	}
	return !any;
}

int cs_cgroup_holds(const struct cs_cgroup *cgroup, pid_t pid)
{
	return cs_cgroup_holds_in(cgroup, pid, false);
}

/* --- files -------------------------------------------------------------- */

const struct cs_cgroup_dir *cs_cgroup_dir_of(const struct cs_cgroup *cgroup, const char *controller)
{
	if (cgroup->layout == CS_CGROUP_V2)
		return cgroup->n > 0 ? &cgroup->dirs[0] : NULL;
	for (size_t i = 0; i < cgroup->n; i++) {
		if (cs_cgroup_controllers_have(cgroup->dirs[i].mount.controllers, controller))
			return &cgroup->dirs[i];
	}
	return NULL;
}

/* As above, and NULL is the hierarchy that kills: freezer, else the first. */
static const struct cs_cgroup_dir *dir_or_main(const struct cs_cgroup *cgroup, const char *controller)
{
	const struct cs_cgroup_dir *dir;

	if (controller != NULL)
		return cs_cgroup_dir_of(cgroup, controller);
	dir = cs_cgroup_dir_of(cgroup, "freezer");
	return dir != NULL || cgroup->n == 0 ? dir : &cgroup->dirs[0];
}

int cs_cgroup_read(const struct cs_cgroup *cgroup, const char *controller, const char *file,
		   struct cs_buf *out)
{
	const struct cs_cgroup_dir *dir = dir_or_main(cgroup, controller);

	return dir != NULL ? cs_file_read(dir->fd, file, out) : -ENOENT;
}

int cs_cgroup_write(const struct cs_cgroup *cgroup, const char *controller, const char *file,
		    const char *text)
{
	const struct cs_cgroup_dir *dir = dir_or_main(cgroup, controller);

	return dir != NULL ? cs_file_put(dir->fd, file, text) : -ENOENT;
}

int cs_cgroup_limit(const struct cs_cgroup *cgroup, const char *controller, const char *v1_file,
		    const char *v2_file, uint64_t *ret)
{
	const struct cs_cgroup_dir *dir = cs_cgroup_dir_of(cgroup, controller);
	cs_auto(buf) text = CS_BUF_INIT(4096);
	int r;

	if (dir == NULL)
		return -ENOENT;
	r = cs_file_read(dir->fd, dir->mount.v2 ? v2_file : v1_file, &text);
	if (r < 0)
		return r;
	return cs_cgroup_text_limit(text.len > 0 ? text.data : "", ret);
}

int cs_cgroup_millicpus(const struct cs_cgroup *cgroup, uint64_t *ret)
{
	const struct cs_cgroup_dir *dir = cs_cgroup_dir_of(cgroup, "cpu");
	cs_auto(buf) quota = CS_BUF_INIT(4096);
	cs_auto(buf) period = CS_BUF_INIT(4096);
	char *space;
	int r;

	if (dir == NULL)
		return -ENOENT;
	r = cs_file_read(dir->fd, dir->mount.v2 ? "cpu.max" : "cpu.cfs_quota_us", &quota);
	if (r == 0 && quota.len == 0)
		r = -ENODATA;
	if (r < 0)
		return r;
	space = strchr(quota.data, ' ');
	if (dir->mount.v2 && space != NULL) {
		*space = '\0';
		return cs_cgroup_text_millicpus(quota.data, space + 1, ret);
	}
	r = cs_file_read(dir->fd, "cpu.cfs_period_us", &period);
	if (r < 0)
		return r;
	return cs_cgroup_text_millicpus(quota.data, period.len > 0 ? period.data : "", ret);
}
