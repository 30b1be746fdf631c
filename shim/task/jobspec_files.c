/* What a run sees on disk: its root, its volumes, and the points they are mounted at. */
#include "shim/task/jobspec_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oci-spec/json_edit.h"
#include "shim/base/fd.h"
#include "shim/files/volume.h"
#include "shim/sys/mount.h"
#include "shim/sys/mountinfo.h"
#include "shim/sys/path.h"

#define TMPFS_DEFAULT (64 << 20)

static bool uses_host_root(const struct cs_settings *s)
{
	return strcmp(s->rootfs, "host") == 0;
}

/*
 * Mounts what was looked at where nobody else can reach it, and gives the path
 * of that in place of *path: by the time an engine comes to a path of the
 * caller's, its owner may have put a link there.
 */
static int pin(const struct work *w, int fd, const char *name, char **path, struct cs_err *err)
{
	cs_autofree char *pinned = NULL;
	cs_autofd int point = -1;
	struct stat st;

	if (!w->plan->pins_dir)
		return 0;
	if (asprintf(&pinned, "%s/%s", w->plan->pins_dir, name) < 0) {
		pinned = NULL;
		return cs_fail(err, CS_LIMIT, ENOMEM, "'%s'", *path);
	}
	if (fstat(fd, &st) < 0)
		return cs_fail(err, CS_IO, errno, "'%s'", *path);
	if (S_ISDIR(st.st_mode) ? mkdir(pinned, 0755) < 0
				: (point = open(pinned, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0)
		return cs_fail(err, CS_IO, errno, "'%s'", pinned);
	if (cs_mount_bind_fd(fd, pinned, err) < 0)
		return cs_wrap(err, "'%s'", *path);
	free(*path);
	*path = cs_take_ptr(&pinned);
	return 0;
}

static const char *bind_options(const struct work *w)
{
	return w->plan->engine->features.rro ? "rbind,rro" : "bind,ro";
}

static void note_writable(struct work *w, uint64_t bytes)
{
	if (w->writable_bytes != CS_UNLIMITED)
		w->writable_bytes = bytes == CS_UNLIMITED ? bytes : CS_MAX(w->writable_bytes, bytes);
}

/* A working directory below a volume must be there: what the engine made of it would lie in the volume's source. */
static int check_workdir(const struct work *w, struct cs_err *err)
{
	const char *workdir = w->s->workdir;

	for (size_t i = w->n_volumes; i > 0; i--) {
		const struct cs_spec_mount *volume = &w->volumes[i - 1];
		size_t len = volume->destination ? strlen(volume->destination) : 0;
		cs_autofd int source_fd = -1, fd = -1;

		if (len == 0 || strncmp(workdir, volume->destination, len) != 0 || workdir[len] != '/')
			continue;
		if (strcmp(volume->type, "bind") != 0)
			return 0;
		source_fd = open(volume->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (source_fd >= 0)
			fd = cs_path_open_in_root(source_fd, workdir + len + 1, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		if (source_fd < 0 || fd < 0)
			return cs_fail(err, CS_INVALID, 0, "--workdir '%s' is not there in the volume '%s': make it first",
				       workdir, volume->destination);
		return 0;
	}
	return 0;
}

int cs__jobspec_volumes(struct work *w, struct cs_err *err)
{
	const struct cs_settings *s = w->s;
	size_t n = s->volumes.n + s->tmpfs.n;

	w->kind = CS_START_USAGE;
	w->volumes = calloc(n + 1, sizeof(*w->volumes));
	if (!w->volumes)
		return cs_fail(err, CS_LIMIT, ENOMEM, "volumes");
	for (size_t i = 0; i < s->volumes.n; i++) {
		struct cs_spec_mount *mount = &w->volumes[w->n_volumes];
		cs_autofd int fd = -1;
		char name[24];

		if (cs_volume_open(s->volumes.v[i], s->unbounded_volume, w->plan->engine->features.rro,
				   w->plan->forbidden, mount, &fd, err) < 0)
			return cs_wrap(err, "--volume");
		w->n_volumes++;
		snprintf(name, sizeof(name), "%zu", i);
		if (pin(w, fd, name, (char **)&mount->source, err) < 0)
			return cs_wrap(err, "--volume");
		if (cs_mountinfo_has_option(mount->options, "rw"))
			note_writable(w, CS_UNLIMITED);
	}
	for (size_t i = 0; i < s->tmpfs.n; i++) {
		uint64_t bytes;

		if (cs_tmpfs_parse(s->tmpfs.v[i], TMPFS_DEFAULT, &w->volumes[w->n_volumes], &bytes, err) < 0)
			return cs_wrap(err, "--tmpfs");
		w->n_volumes++;
		w->tmpfs_bytes += bytes;
		note_writable(w, bytes);
	}
	note_writable(w, s->tmp_bytes);
	note_writable(w, s->shm_bytes);
	if (s->writable_root_bytes)
		note_writable(w, s->writable_root_bytes);
	return w->root ? check_workdir(w, err) : 0;
}

int cs__jobspec_init(struct work *w, struct cs_err *err)
{
	cs_autofd int host_fd = -1;

	w->kind = CS_START_USAGE;
	if (!w->s->init)
		return 0;
	host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host_fd < 0)
		return cs_fail(err, CS_IO, errno, "--init: '/'");
	return cs_init_find(host_fd, w->root != NULL, &w->out->init, err) < 0 ? cs_wrap(err, "--init") : 0;
}

/* Its bind mounts, then the volumes, so that a volume may lie over a part of the root. */
int cs__jobspec_join_mounts(struct work *w, struct cs_err *err)
{
	size_t n = 0;

	w->mounts = calloc(w->hostroot.n_mounts + 1 + w->n_volumes, sizeof(*w->mounts));
	if (!w->mounts)
		return cs_fail(err, CS_LIMIT, ENOMEM, "mounts");
	for (size_t i = 0; i < w->hostroot.n_mounts; i++)
		w->mounts[n++] = w->hostroot.mounts[i];
	if (w->out->init)
		w->mounts[n++] = (struct cs_spec_mount){ CS_INIT_INSIDE, "bind", w->out->init->path, "bind,ro,nosuid,nodev" };
	for (size_t i = 0; i < w->n_volumes; i++)
		w->mounts[n++] = w->volumes[i];
	w->spec.mounts = w->mounts;
	w->spec.n_mounts = n;
	return 0;
}

int cs__jobspec_find_root(struct work *w, struct cs_err *err)
{
	cs_autofd int fd = -1;

	w->kind = CS_START_USAGE;
	if (uses_host_root(w->s))
		return 0;
	if (cs_volume_open_root(w->s->rootfs, w->s->unbounded_volume, w->plan->forbidden, &w->root, &fd, err) < 0 ||
	    pin(w, fd, "root", &w->root, err) < 0)
		return cs_wrap(err, "--rootfs");
	return 0;
}

/*
 * Mount points of the volumes, each seen after those before it: what is left
 * to the engine it may make in a volume's source, on the host.
 */
static int make_points(struct work *w, int rootfs_fd, struct cs_err *err)
{
	size_t n = w->hostroot.n_mounts;
	cs_autofree struct cs_spec_mount *before = calloc(n + w->n_volumes + 1, sizeof(*before));

	if (!before)
		return cs_fail(err, CS_LIMIT, ENOMEM, "mount points");
	memcpy(before, w->hostroot.mounts, n * sizeof(*before));
	w->kind = CS_START_USAGE;
	for (size_t i = 0; i < w->n_volumes; i++) {
		if (cs_hostroot_add_point(rootfs_fd, before, n, &w->volumes[i], err) < 0)
			return -1;
		before[n++] = w->volumes[i];
	}
	/* where it is missing below a bind, crun and gVisor would make it on the host, read-only or not */
	if (cs_hostroot_add_directory(rootfs_fd, before, n, w->s->workdir, err) < 0)
		return cs_wrap(err, "--workdir '%s'", w->s->workdir);
	return 0;
}

int cs__jobspec_root(struct work *w, struct cs_err *err)
{
	struct cs_hostroot_plan plan = { .hostname = w->hostname, .uid = w->spec.uid, .gid = w->spec.gid,
					 .bind_options = bind_options(w) };
	cs_autofd int fd = -1;
	const char *below = w->root;

	w->kind = CS_START_SETUP;
	w->spec.root_path = w->plan->root_path;
	w->spec.root_readonly = w->s->writable_root_bytes == 0;
	if (!w->root) {
		fd = open(w->plan->rootfs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return cs_fail(err, CS_IO, errno, "root '%s'", w->plan->rootfs_dir);
		if (cs_hostroot_make(fd, &plan, &w->hostroot, err) < 0 || make_points(w, fd, err) < 0)
			return -1;
		below = w->plan->rootfs_dir;
	} else if (w->spec.root_readonly) {
		w->spec.root_path = w->root;
	}
	if (!w->spec.root_readonly) {
		w->out->lower = strdup(below);
		if (!w->out->lower)
			return cs_fail(err, CS_LIMIT, ENOMEM, "root");
	}
	return 0;
}

/* Does a mount before the i-th cover the place of it? Then its point is not the root's. */
static bool is_covered(const struct cs_json *mounts, size_t i, const char *destination)
{
	for (size_t before = 0; before < i; before++) {
		const char *other = cs_json_string(cs_json_member(cs_json_at(mounts, before), "destination"));
		size_t len = other ? strlen(other) : 0;

		if (len > 0 && strncmp(destination, other, len) == 0 && destination[len] == '/')
			return true;
	}
	return false;
}

/* Would an engine make `path`, for the i-th mount or as the working directory (i: all of them), in the root itself? */
static bool lacks(int root_fd, const struct cs_json *mounts, size_t i, const char *path)
{
	cs_autofd int fd = -1;

	if (is_covered(mounts, i, path))
		return false;
	fd = cs_path_open_in_root(root_fd, path, O_PATH | O_CLOEXEC, 0);
	return fd < 0;
}

/*
 * A directory of the caller's that lacks a mount point or the working
 * directory goes below an overlay: else the engine would make it there, on the host.
 */
int cs__jobspec_spare_root(struct work *w, struct cs_err *err)
{
	const struct cs_json *mounts = cs_json_member(w->out->config, "mounts");
	cs_autofd int root_fd = open(w->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *missing = NULL;

	w->kind = CS_START_SETUP;
	if (root_fd < 0)
		return cs_fail(err, CS_IO, errno, "--rootfs '%s'", w->root);
	for (size_t i = 0; !missing && i < cs_json_count(mounts); i++) {
		const char *destination = cs_json_string(cs_json_member(cs_json_at(mounts, i), "destination"));

		if (destination && lacks(root_fd, mounts, i, destination))
			missing = destination;
	}
	if (!missing && lacks(root_fd, mounts, cs_json_count(mounts), w->s->workdir))
		missing = w->s->workdir;
	if (!missing)
		return 0;
	w->out->missing_point = strdup(missing);
	w->out->lower = strdup(w->root);
	if (!w->out->missing_point || !w->out->lower)
		return cs_fail(err, CS_LIMIT, ENOMEM, "root");
	return cs_json_set_string(w->out->config, "root.path", w->plan->root_path, err);
}
