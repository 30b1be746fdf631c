#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/files/hostroot.h"

/* links of the skeleton lead into /usr, which is bound: one is the rule, two are generous */
#define LINKS_MAX 2

/* Where the walk to a mount point stands. */
struct walk {
	const struct cs_spec_mount *before;
	size_t n_before;
	bool directory;       /* what the point itself is */
	mode_t mode;
	int fd;               /* directory reached; owned */
	char path[PATH_MAX];  /* its name inside; "" for the root */
	char rest[PATH_MAX];  /* still to go */
	size_t inside;        /* position + 1 of the mount that fd lies in; 0: the skeleton */
	unsigned links;
};

/* Position + 1 of the mount at the walk's path, of those above where it is; 0 when there is none. */
static size_t mount_at(const struct walk *w)
{
	for (size_t i = w->n_before; i > w->inside; i--)
		if (strcmp(w->before[i - 1].destination, w->path) == 0)
			return i;
	return 0;
}

/* Cuts the first part of rest off; NULL at the end. */
static char *next_part(char **rest)
{
	char *part;

	*rest += strspn(*rest, "/");
	if (**rest == '\0')
		return NULL;
	part = *rest;
	*rest += strcspn(*rest, "/");
	if (**rest)
		*(*rest)++ = '\0';
	return part;
}

/* A link of the skeleton: goes on at its target, from the root. They are ours, and absolute. */
static int follow(struct walk *w, int rootfs_fd, int link_fd, const char *rest, struct cs_err *err)
{
	char target[PATH_MAX];
	char tail[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);

	if (n < 0)
		return cs_fail(err, CS_IO, errno, "readlink");
	target[n] = '\0';
	if (target[0] != '/' || ++w->links > LINKS_MAX)
		return cs_fail(err, CS_INVALID, ELOOP, "the link to '%s'", target);
	memcpy(tail, rest, strlen(rest) + 1);
	if (snprintf(w->rest, sizeof(w->rest), "%s/%s", target, tail) >= (int)sizeof(w->rest))
		return cs_fail(err, CS_INVALID, ENAMETOOLONG, "the link to '%s'", target);
	cs_close_fd(&w->fd);
	w->fd = cs_fd_dup(rootfs_fd, 3);
	w->path[0] = '\0';
	w->inside = 0;
	return w->fd < 0 ? cs_fail(err, CS_IO, -w->fd, "dup") : 0;
}

/* Makes what is missing in the skeleton, for everybody to read. */
static int make_missing(const struct walk *w, const char *name, bool last, struct cs_err *err)
{
	cs_autofd int fd = -1;
	mode_t mode = last ? w->mode : 0755;

	if (w->inside)
		return cs_fail(err, CS_INVALID, 0,
			       "no '%s' in '%s': a mount point cannot be made on the host", name,
			       w->path);
	if (w->directory || !last) {
		if (mkdirat(w->fd, name, mode) < 0 || fchmodat(w->fd, name, mode, 0) < 0)
			return cs_fail(err, cs_err_kind_of_errno(errno), errno, "mkdir");
		return 0;
	}
	fd = openat(w->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "create");
	return 0;
}

/* Opens the next part, or what is mounted there. *ret_tmpfs: the rest is the engine's to make. */
static int enter(struct walk *w, const char *name, bool last, int *ret_fd, bool *ret_tmpfs,
		 struct cs_err *err)
{
	size_t used = strlen(w->path), at;

	if (snprintf(w->path + used, sizeof(w->path) - used, "/%s", name) >=
	    (int)(sizeof(w->path) - used))
		return cs_fail(err, CS_INVALID, ENAMETOOLONG, "the path");
	at = mount_at(w);
	if (at > 0) {
		w->inside = at;
		*ret_tmpfs = strcmp(w->before[at - 1].type, "bind") != 0;
		if (*ret_tmpfs)
			return 0;
		*ret_fd = open(w->before[at - 1].source, O_PATH | O_CLOEXEC);
	} else {
		*ret_fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (*ret_fd < 0 && errno == ENOENT) {
			w->path[used] = '\0';
			if (make_missing(w, name, last, err) < 0)
				return -1;
			w->path[used] = '/';
			*ret_fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		}
	}
	if (*ret_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", w->path);
	return 0;
}

static int walk_to_point(struct walk *w, int rootfs_fd, struct cs_err *err)
{
	char *rest = w->rest, *name;

	while ((name = next_part(&rest))) {
		bool last = rest[strspn(rest, "/")] == '\0', tmpfs = false;
		cs_autofd int fd = -1;
		struct stat st;

		if (strcmp(name, "..") == 0) /* would leave the skeleton at its top */
			return cs_fail(err, CS_INVALID, 0, "'..' in the path");
		if (enter(w, name, last, &fd, &tmpfs, err) < 0)
			return -1;
		if (tmpfs)
			return 0;
		if (fstat(fd, &st) < 0)
			return cs_fail(err, CS_IO, errno, "'%s'", w->path);
		if (S_ISLNK(st.st_mode)) {
			if (w->inside)
				return cs_fail(err, CS_INVALID, 0,
					       "'%s' is a link on the host: name what it leads to",
					       w->path);
			if (follow(w, rootfs_fd, fd, rest, err) < 0)
				return -1;
			rest = w->rest;
			continue;
		}
		if (S_ISDIR(st.st_mode) != (w->directory || !last))
			return cs_fail(err, CS_INVALID, 0, "'%s' is %s directory", w->path,
				       S_ISDIR(st.st_mode) ? "a" : "no");
		cs_close_fd(&w->fd);
		w->fd = cs_take_fd(&fd);
	}
	return 0;
}

/* The octal number of "mode=" in mount options, 0755 without. */
static mode_t mode_option(const char *options)
{
	const char *text = strstr(options, "mode=");
	mode_t mode = 0;

	if (!text || (text > options && text[-1] != ','))
		return 0755;
	for (text += strlen("mode="); *text >= '0' && *text <= '7'; text++)
		mode = mode * 8 + (mode_t)(*text - '0');
	return mode & 07777;
}

/* What kind of point the mount needs. */
static int read_kind(const struct cs_spec_mount *mount, struct walk *w, struct cs_err *err)
{
	struct stat st;

	w->directory = true;
	w->mode = 0755;
	if (strcmp(mount->type, "bind") != 0) {
		w->mode = mode_option(mount->options);
		return 0;
	}
	if (stat(mount->source, &st) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "source '%s'", mount->source);
	w->directory = S_ISDIR(st.st_mode);
	return 0;
}

int cs_hostroot_add_point(int rootfs_fd, const struct cs_spec_mount *before, size_t n_before,
			  const struct cs_spec_mount *mount, struct cs_err *err)
{
	struct walk w = { .before = before, .n_before = n_before, .fd = cs_fd_dup(rootfs_fd, 3) };
	int r;

	if (w.fd < 0)
		r = cs_fail(err, CS_IO, -w.fd, "dup");
	else if (snprintf(w.rest, sizeof(w.rest), "%s", mount->destination) >= (int)sizeof(w.rest))
		r = cs_fail(err, CS_INVALID, ENAMETOOLONG, "the path");
	else
		r = read_kind(mount, &w, err);
	if (r == 0)
		r = walk_to_point(&w, rootfs_fd, err);
	cs_close_fd(&w.fd);
	return r < 0 ? cs_wrap(err, "mount point '%s'", mount->destination) : 0;
}

int cs_hostroot_add_directory(int rootfs_fd, const struct cs_spec_mount *before, size_t n_before,
			      const char *path, struct cs_err *err)
{
	const struct cs_spec_mount nothing = { .destination = path, .type = "none", .source = "", .options = "" };

	return cs_hostroot_add_point(rootfs_fd, before, n_before, &nothing, err);
}
