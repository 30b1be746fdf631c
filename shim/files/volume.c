#include "shim/files/volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/parse.h"
#include "shim/files/volume_int.h"

/* What a run may not look into, nor below. */
static const char *const host_private[] = { "/proc", "/sys", "/dev", "/run" };

void cs_volume_release(struct cs_spec_mount *mount)
{
	free((char *)mount->destination);
	free((char *)mount->type);
	free((char *)mount->source);
	free((char *)mount->options);
	*mount = (struct cs_spec_mount){ 0 };
}

/* path is dir or lies below it; both without trailing slash, dir may be "/". */
static bool is_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1)
		return true;
	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* 1 when the directory holds a socket, 0 when not, -errno. */
static int holds_socket(int source_fd)
{
	cs_autofd int fd = openat(source_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int found = 0;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	cs_take_fd(&fd);
	while (!found && (errno = 0, entry = readdir(dir))) {
		struct stat st;

		if (entry->d_type == DT_SOCK)
			found = 1;
		else if (entry->d_type == DT_UNKNOWN &&
			 fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			found = S_ISSOCK(st.st_mode);
	}
	if (!found && errno != 0)
		found = -errno;
	closedir(dir);
	return found;
}

/* The same directory under another name: a bind mount of it. */
static bool is_same_file(const struct stat *st, const char *path)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Directories of the engine and of caisson: see the header. */
static int check_forbidden(const char *source, const struct stat *st, bool writable, bool unbounded,
			   const char *const *forbidden, struct cs_err *err)
{
	for (; forbidden && *forbidden; forbidden++) {
		cs_autofree char *real = realpath(*forbidden, NULL);
		const char *dir = real ? real : *forbidden;

		if (is_within(source, dir) || is_same_file(st, dir))
			return cs_fail(err, CS_DENIED, 0,
				       "'%s' is in '%s', which belongs to the engine or to caisson",
				       source, dir);
		if (is_within(dir, source) && writable)
			return cs_fail(err, CS_DENIED, 0,
				       "'%s' holds '%s', which belongs to the engine or to caisson: it "
				       "cannot be writable inside",
				       source, dir);
		if (is_within(dir, source) && !unbounded)
			return cs_fail(err, CS_DENIED, 0,
				       "'%s' holds '%s', which belongs to the engine or to caisson "
				       "(--unbounded-volume lifts this)",
				       source, dir);
	}
	return 0;
}

/* What only --unbounded-volume lets in. */
static int check_bounded(const char *source, int source_fd, const struct stat *st, bool writable,
			 struct cs_err *err)
{
	static const char lift[] = "(--unbounded-volume lifts this)";
	int r;

	if (is_same_file(st, "/"))
		return cs_fail(err, CS_DENIED, 0, "'%s' is the host's whole root, which is given to no run %s",
			       source, lift);
	for (size_t i = 0; i < CS_ARRAY_LEN(host_private); i++)
		if (is_within(source, host_private[i]) || is_same_file(st, host_private[i]))
			return cs_fail(err, CS_DENIED, 0, "'%s' is in %s of the host %s", source,
				       host_private[i], lift);
	if (S_ISSOCK(st->st_mode))
		return cs_fail(err, CS_DENIED, 0, "'%s' is a socket: a way out of the sandbox %s",
			       source, lift);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return cs_fail(err, CS_DENIED, 0, "'%s' is neither a file nor a directory %s", source,
			       lift);
	if (S_ISDIR(st->st_mode)) {
		r = holds_socket(source_fd);
		if (r < 0)
			return cs_fail(err, cs_err_kind_of_errno(-r), -r, "read '%s'", source);
		if (r > 0)
			return cs_fail(err, CS_DENIED, 0,
				       "'%s' holds a socket: a way out of the sandbox %s", source,
				       lift);
	}
	if (writable)
		return cs_fail(err, CS_DENIED, 0,
			       "'%s' would be writable and nothing bounds what is written there %s",
			       source, lift);
	return 0;
}

/* "bind,ro,nosuid,…" from what was asked; NULL when out of memory. */
static char *bind_options(const struct cs__volume_options *options, bool rro)
{
	bool recursive = rro || options->writable;
	const char *r = rro ? "r" : "";
	cs_auto(buf) text = CS_BUF_INIT(256);

	cs_buf_addf(&text, "%s,%s,%snosuid,%snodev", recursive ? "rbind" : "bind",
		    options->writable ? "rw" : rro ? "rro" : "ro", r, r);
	if (options->noexec)
		cs_buf_addf(&text, ",%snoexec", r);
	if (options->propagation)
		cs_buf_addf(&text, ",%s", options->propagation);
	return cs_buf_take(&text);
}

static int finish(struct cs_spec_mount *mount, struct cs_spec_mount *ret, struct cs_err *err)
{
	if (!mount->destination || !mount->type || !mount->source || !mount->options) {
		cs_volume_release(mount);
		return cs_fail(err, CS_LIMIT, ENOMEM, "keep the mount");
	}
	*ret = *mount;
	return 0;
}

/* The source as O_PATH, and what it really is: from here on nobody can put another file in its place. */
static int open_source(const char *path, int *ret_fd, char real[static PATH_MAX], struct stat *ret_st)
{
	cs_autofd int fd = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	ssize_t n;

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	if (ret_st->st_nlink == 0)
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	real[n] = '\0';
	*ret_fd = cs_take_fd(&fd);
	return 0;
}

int cs_volume_open(const char *text, bool unbounded, bool rro, const char *const *forbidden,
		   struct cs_spec_mount *ret, int *ret_fd, struct cs_err *err)
{
	struct cs__volume_options options = { 0 };
	struct cs__volume_parts parts = { 0 };
	char source[PATH_MAX] = "";
	struct cs_spec_mount mount;
	cs_autofd int fd = -1;
	struct stat st = { 0 };
	int r;

	if (cs__volume_split(text, &parts, err) < 0 ||
	    cs__volume_options_parse(parts.options, &options, err) < 0)
		return cs_wrap(err, "volume '%s'", text);
	r = open_source(parts.source, &fd, source, &st);
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "volume '%s': source '%s'", text, parts.source);
	if (!cs_utf8_valid(source, strlen(source)))
		return cs_fail(err, CS_INVALID, 0, "volume '%s': the source's real path is no UTF-8",
			       text);
	if (check_forbidden(source, &st, options.writable, unbounded, forbidden, err) < 0 ||
	    (!unbounded && check_bounded(source, fd, &st, options.writable, err) < 0))
		return cs_wrap(err, "volume '%s'", text);

	mount.destination = strdup(parts.destination);
	mount.type = strdup("bind");
	mount.source = strdup(source);
	mount.options = bind_options(&options, rro);
	if (finish(&mount, ret, err) < 0)
		return -1;
	*ret_fd = cs_take_fd(&fd);
	return 0;
}

int cs_volume_open_root(const char *path, bool unbounded, const char *const *forbidden,
			char **ret_path, int *ret_fd, struct cs_err *err)
{
	cs_autofree char *copy = NULL;
	char real[PATH_MAX] = "";
	cs_autofd int fd = -1;
	struct stat st = { 0 };
	int r = open_source(path, &fd, real, &st);

	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "'%s'", path);
	if (!S_ISDIR(st.st_mode))
		return cs_fail(err, CS_INVALID, 0, "'%s' is no directory: unpack it first", path);
	if (check_forbidden(real, &st, false, unbounded, forbidden, err) < 0 ||
	    (!unbounded && check_bounded(real, fd, &st, false, err) < 0))
		return -1;
	copy = strdup(real);
	if (!copy)
		return cs_fail(err, CS_LIMIT, ENOMEM, "'%s'", path);
	*ret_path = cs_take_ptr(&copy);
	*ret_fd = cs_take_fd(&fd);
	return 0;
}

int cs_volume_parse(const char *text, bool unbounded, bool rro, const char *const *forbidden,
		    struct cs_spec_mount *ret, struct cs_err *err)
{
	cs_autofd int fd = -1;

	return cs_volume_open(text, unbounded, rro, forbidden, ret, &fd, err);
}

int cs_tmpfs_parse(const char *text, uint64_t default_bytes, struct cs_spec_mount *ret,
		   uint64_t *ret_bytes, struct cs_err *err)
{
	struct cs__tmpfs_options options = { .size_bytes = default_bytes, .mode = 01777 };
	struct cs__volume_parts parts = { 0 };
	cs_auto(buf) line = CS_BUF_INIT(256);
	struct cs_spec_mount mount;

	if (cs__tmpfs_split(text, &parts, err) < 0 ||
	    cs__tmpfs_options_parse(parts.options, &options, err) < 0)
		return cs_wrap(err, "tmpfs '%s'", text);
	if (options.size_bytes == 0)
		return cs_fail(err, CS_INVALID, 0, "tmpfs '%s': needs a size (size=SIZE)", text);
	if (options.inodes == 0)
		options.inodes = CS_MAX(options.size_bytes / 4096, UINT64_C(16));

	cs_buf_addf(&line, "nosuid,nodev%s%s,size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=%o",
		    options.exec ? "" : ",noexec", options.readonly ? ",ro" : "",
		    options.size_bytes, options.inodes, options.mode);
	if (options.uid_given)
		cs_buf_addf(&line, ",uid=%" PRIu32, options.uid);
	if (options.gid_given)
		cs_buf_addf(&line, ",gid=%" PRIu32, options.gid);

	mount.destination = strdup(parts.destination);
	mount.type = strdup("tmpfs");
	mount.source = strdup("tmpfs");
	mount.options = cs_buf_take(&line);
	if (finish(&mount, ret, err) < 0)
		return cs_wrap(err, "tmpfs '%s'", text);
	*ret_bytes = options.size_bytes;
	return 0;
}
