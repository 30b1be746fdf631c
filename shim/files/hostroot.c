#include "shim/files/hostroot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/files/hostroot_int.h"

/* One making: what every step needs. */
struct maker {
	const char *host; /* prefix of the host's paths; "" in earnest */
	int rootfs_fd;
	const struct cs_hostroot_plan *plan;
	struct cs_hostroot root;
};

static void release_mount(struct cs_spec_mount *mount)
{
	free((char *)mount->destination);
	free((char *)mount->type);
	free((char *)mount->source);
	free((char *)mount->options);
}

void cs_hostroot_release(struct cs_hostroot *root)
{
	for (size_t i = 0; i < root->n_mounts; i++)
		release_mount(&root->mounts[i]);
	free(root->mounts);
	*root = (struct cs_hostroot){ 0 };
}

static int fail_at(struct cs_err *err, int errnum, const char *path)
{
	return cs_fail(err, cs_err_kind_of_errno(errnum), errnum, "host root: '/%s'", path);
}

/* --- the skeleton ----------------------------------------------------- */

/* mkdir with its mode whatever the umask is; `again`: one that is there is fine. */
static int make_dir(int rootfs_fd, const char *path, mode_t mode, bool again, struct cs_err *err)
{
	if (mkdirat(rootfs_fd, path, mode) < 0) {
		if (again && errno == EEXIST)
			return 0;
		return fail_at(err, errno, path);
	}
	if (fchmodat(rootfs_fd, path, mode, 0) < 0)
		return fail_at(err, errno, path);
	return 0;
}

static int make_file(int rootfs_fd, const char *path, const char *text, size_t len,
		     struct cs_err *err)
{
	cs_autofd int fd = openat(rootfs_fd, path,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r;

	if (fd < 0 || fchmod(fd, 0644) < 0)
		return fail_at(err, errno, path);
	r = cs_fd_write_all(fd, text, len);
	return r < 0 ? fail_at(err, -r, path) : 0;
}

/* The directories above a path of the table. */
static int make_parents(int rootfs_fd, const char *path, struct cs_err *err)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t len = (size_t)(slash - path);

		memcpy(part, path, len);
		part[len] = '\0';
		if (make_dir(rootfs_fd, part, 0755, true, err) < 0)
			return -1;
	}
	return 0;
}

static int make_files(const struct maker *m, struct cs_err *err)
{
	for (size_t i = 0; i < cs__hostroot_n_files; i++) {
		const struct cs__hostroot_file *file = &cs__hostroot_files[i];
		cs_auto(buf) text = CS_BUF_INIT(4096);

		if (file->write(m->plan, &text) < 0)
			return fail_at(err, ENOMEM, file->path);
		if (make_file(m->rootfs_fd, file->path, text.data, text.len, err) < 0)
			return -1;
	}
	return 0;
}

/* --- what comes from the host ------------------------------------------ */

static int add_bind(struct maker *m, const char *source, const char *path, struct cs_err *err)
{
	struct cs_spec_mount mount = { .type = strdup("bind"), .source = strdup(source) };
	char *destination = NULL, *options = NULL;
	struct cs_spec_mount *mounts;

	if (asprintf(&destination, "/%s", path) >= 0)
		mount.destination = destination;
	if (asprintf(&options, "%s,nosuid,nodev", m->plan->bind_options) >= 0)
		mount.options = options;
	mounts = reallocarray(m->root.mounts, m->root.n_mounts + 1, sizeof(*mounts));
	if (mounts)
		m->root.mounts = mounts;
	if (!mounts || !mount.destination || !mount.type || !mount.source || !mount.options) {
		release_mount(&mount);
		return fail_at(err, ENOMEM, path);
	}
	m->root.mounts[m->root.n_mounts++] = mount;
	return 0;
}

/* The path inside /usr that `real` (a real path of the host) names, or NULL. */
static const char *inside_usr(const struct maker *m, const char *real)
{
	size_t len = strlen(m->host);

	return strncmp(real, m->host, len) == 0 && strncmp(real + len, "/usr/", 5) == 0
		? real + len : NULL;
}

/*
 * Brings one path of the host in, if it is there: a link that ends in /usr as
 * a link, since /usr is there already; else what it names, bound over a mount
 * point of the same kind. A link that ends elsewhere is bound by its target:
 * the kernel follows the source once, the run never.
 */
static int bring_in(struct maker *m, const char *path, struct cs_err *err)
{
	cs_autofree char *real = NULL;
	char on_host[PATH_MAX];
	const char *target;
	struct stat link, st;

	if (snprintf(on_host, sizeof(on_host), "%s/%s", m->host, path) >= (int)sizeof(on_host))
		return fail_at(err, ENAMETOOLONG, path);
	if (lstat(on_host, &link) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : fail_at(err, errno, path);
	real = realpath(on_host, NULL);
	if (!real || stat(real, &st) < 0) {
		/* dangling: as absent */
		if (S_ISLNK(link.st_mode) && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
			return 0;
		return fail_at(err, errno, path);
	}
	if (make_parents(m->rootfs_fd, path, err) < 0)
		return -1;

	target = inside_usr(m, real);
	if (target) {
		if (symlinkat(target, m->rootfs_fd, path) < 0)
			return fail_at(err, errno, path);
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		if (make_dir(m->rootfs_fd, path, 0755, false, err) < 0)
			return -1;
	} else if (S_ISREG(st.st_mode)) {
		if (make_file(m->rootfs_fd, path, "", 0, err) < 0)
			return -1;
	} else {
		return 0; /* a device, a socket: nothing that the table means */
	}
	return add_bind(m, real, path, err);
}

/* Each entry of the host that a pattern such as etc/python3* matches. */
static int bring_in_matching(struct maker *m, const char *pattern, struct cs_err *err)
{
	const char *last = strrchr(pattern, '/') + 1;
	char path[PATH_MAX], on_host[PATH_MAX];
	struct dirent *entry;
	int r = 0;
	DIR *dir;

	snprintf(on_host, sizeof(on_host), "%s/%.*s", m->host, (int)(last - pattern), pattern);
	dir = opendir(on_host);
	if (!dir)
		return errno == ENOENT ? 0 : fail_at(err, errno, pattern);
	while (r == 0 && (entry = readdir(dir))) {
		if (fnmatch(last, entry->d_name, FNM_PERIOD | FNM_NOESCAPE) != 0)
			continue;
		snprintf(path, sizeof(path), "%.*s%s", (int)(last - pattern), pattern,
			 entry->d_name);
		r = bring_in(m, path, err);
	}
	closedir(dir);
	return r;
}

static bool hostname_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > HOST_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((name[i] & 0x80) || (!isalnum((unsigned char)name[i]) && !strchr("-._", name[i])))
			return false;
	return true;
}

static int make(struct maker *m, struct cs_err *err)
{
	const char *const *path;
	char usr[PATH_MAX];
	struct stat st;

	snprintf(usr, sizeof(usr), "%s/usr", m->host);
	if (stat(usr, &st) < 0)
		return fail_at(err, errno, "usr");
	for (size_t i = 0; i < cs__hostroot_n_dirs; i++)
		if (make_dir(m->rootfs_fd, cs__hostroot_dirs[i].path, cs__hostroot_dirs[i].mode, false,
			     err) < 0)
			return -1;
	if (add_bind(m, usr, "usr", err) < 0)
		return -1;
	for (path = cs__hostroot_top; *path; path++)
		if (bring_in(m, *path, err) < 0)
			return -1;
	for (path = cs__hostroot_etc; *path; path++)
		if ((strpbrk(*path, "*?[") ? bring_in_matching : bring_in)(m, *path, err) < 0)
			return -1;
	return make_files(m, err);
}

int cs__hostroot_make_from(const char *host, int rootfs_fd, const struct cs_hostroot_plan *plan,
			   struct cs_hostroot *ret, struct cs_err *err)
{
	struct maker m = { .host = host, .rootfs_fd = rootfs_fd, .plan = plan };

	if (!hostname_valid(plan->hostname))
		return cs_fail(err, CS_INVALID, 0, "host root: '%s' is no host name", plan->hostname);
	if (make(&m, err) < 0) {
		cs_hostroot_release(&m.root);
		return -1;
	}
	*ret = m.root;
	return 0;
}

int cs_hostroot_make(int rootfs_fd, const struct cs_hostroot_plan *plan, struct cs_hostroot *ret,
		     struct cs_err *err)
{
	return cs__hostroot_make_from("", rootfs_fd, plan, ret, err);
}
