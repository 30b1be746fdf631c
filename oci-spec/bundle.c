#include "oci-spec/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/log.h"

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define REMOVE_DEPTH_MAX 64

/* A bundle that is being made: `temporary` in the parent of the path. */
struct build {
	const char *path;
	int parent_fd;           /* owned */
	char name[NAME_MAX + 1]; /* last part of the path */
	char temporary[NAME_MAX + 1];
};

static int fail_errno(struct cs_err *err, const char *path, int errnum)
{
	return cs_fail(err, cs_err_kind_of_errno(errnum), errnum, "bundle '%s'", path);
}

/* Opens the parent and keeps the last part; slashes at the end of the path do not count. */
static int open_parent(struct build *build, struct cs_err *err)
{
	size_t len = strlen(build->path);
	const char *name;
	char parent[PATH_MAX];

	while (len > 1 && build->path[len - 1] == '/')
		len--;
	name = memrchr(build->path, '/', len);
	name = name ? name + 1 : build->path;
	len -= (size_t)(name - build->path);
	if (len == 0)
		return fail_errno(err, build->path, EINVAL);
	/* the temporary name is longer by a dot, a pid and a number */
	if (len + 32 > NAME_MAX || (size_t)(name - build->path) >= sizeof(parent))
		return fail_errno(err, build->path, ENAMETOOLONG);
	memcpy(build->name, name, len);
	build->name[len] = '\0';
	if (strcmp(build->name, ".") == 0 || strcmp(build->name, "..") == 0)
		return fail_errno(err, build->path, EINVAL);

	memcpy(parent, build->path, (size_t)(name - build->path));
	parent[name - build->path] = '\0';
	build->parent_fd =
		open(name == build->path ? "." : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return build->parent_fd < 0 ? fail_errno(err, build->path, errno) : 0;
}

static bool name_is_taken(const struct build *build)
{
	struct stat st;

	return fstatat(build->parent_fd, build->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* mkdir and open with exactly this mode. A descriptor or -errno. */
static int make_directory(int dirfd, const char *name, mode_t mode)
{
	cs_autofd int fd = -1;

	if (mkdirat(dirfd, name, 0700) < 0)
		return -errno;
	fd = openat(dirfd, name, DIRECTORY);
	if (fd < 0 || fchmod(fd, mode) < 0) {
		int saved = errno;

		unlinkat(dirfd, name, AT_REMOVEDIR);
		return -saved;
	}
	return cs_take_fd(&fd);
}

/* The directory under its temporary name. A descriptor or -1. */
static int make_temporary(struct build *build, struct cs_err *err)
{
	for (unsigned i = 0; i < 100; i++) {
		int fd;

		snprintf(build->temporary, sizeof(build->temporary), ".%.*s.%d.%u", NAME_MAX - 32,
			 build->name, (int)getpid(), i);
		fd = make_directory(build->parent_fd, build->temporary, 0711);
		if (fd >= 0)
			return fd;
		if (fd != -EEXIST)
			return fail_errno(err, build->path, -fd);
	}
	return fail_errno(err, build->path, EEXIST);
}

/*
 * Removes what a failed build left. The tree is of our own making: no mounts,
 * nobody else writes to it.
 */
static int remove_tree(int at_fd, const char *name, unsigned depth)
{
	cs_autofd int fd = -1;
	struct dirent *entry;
	DIR *dir;
	int r = 0;

	if (unlinkat(at_fd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth == REMOVE_DEPTH_MAX)
		return -ELOOP;
	fd = openat(at_fd, name, DIRECTORY);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	cs_take_fd(&fd);
	while (r == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = remove_tree(dirfd(dir), entry->d_name, depth + 1);
	closedir(dir);
	if (r < 0)
		return r;
	return unlinkat(at_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int fill_temporary(int bundle_fd, const struct cs_json *config, cs_bundle_fill_fn *fill,
			  void *arg, struct cs_err *err)
{
	cs_autofd int rootfs_fd = -1;

	rootfs_fd = make_directory(bundle_fd, "rootfs", 0755);
	if (rootfs_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(-rootfs_fd), -rootfs_fd, "make 'rootfs'");
	if (fill && fill(rootfs_fd, arg, &config, err) < 0)
		return -1;
	return cs_json_write_file(config, CS_JSON_INDENTED, bundle_fd, "config.json", 0600, err);
}

static int rename_into_place(const struct build *build, struct cs_err *err)
{
	int fd = build->parent_fd;

	if (renameat2(fd, build->temporary, fd, build->name, RENAME_NOREPLACE) == 0)
		return 0;
	/* rename(2): EINVAL from filesystems that know no flags; plain rename replaces nothing but an empty directory */
	if (errno == EINVAL && renameat(fd, build->temporary, fd, build->name) == 0)
		return 0;
	return fail_errno(err, build->path, errno == ENOTEMPTY ? EEXIST : errno);
}

static int build_bundle(struct build *build, const struct cs_json *config, cs_bundle_fill_fn *fill,
			void *arg, struct cs_err *err)
{
	cs_autofd int bundle_fd = make_temporary(build, err);
	int r;

	if (bundle_fd < 0)
		return -1;
	r = fill_temporary(bundle_fd, config, fill, arg, err);
	if (r < 0)
		cs_wrap(err, "bundle '%s'", build->path);
	else
		r = rename_into_place(build, err);
	if (r == 0)
		return 0;

	r = remove_tree(build->parent_fd, build->temporary, 0);
	if (r < 0)
		cs_log_debug("bundle '%s': remove '%s': %s", build->path, build->temporary,
			     strerror(-r));
	return -1;
}

int cs_bundle_create(const char *path, const struct cs_json *config, cs_bundle_fill_fn *fill,
		     void *arg, struct cs_err *err)
{
	struct build build = { .path = path, .parent_fd = -1 };
	int r = open_parent(&build, err);

	if (r < 0)
		return r;
	/* said before the work is done; the rename has the last word */
	if (name_is_taken(&build))
		r = fail_errno(err, path, EEXIST);
	else
		r = build_bundle(&build, config, fill, arg, err);
	cs_close_fd(&build.parent_fd);
	return r;
}
