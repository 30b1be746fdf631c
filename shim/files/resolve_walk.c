#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "shim/base/attr.h"
#include "shim/base/fd.h"
#include "shim/files/resolve_int.h"

#define LINKS_MAX 40  /* the kernel's MAXSYMLINKS (path_resolution(7)) */
#define DEPTH_MAX 128 /* directories held open at once; deeper ones are left to the engine */

struct walk {
	const struct cs__world *world;
	bool placing;                 /* as the engine that makes mount points */
	struct cs__node nodes[DEPTH_MAX];
	size_t lengths[DEPTH_MAX];    /* of path at each node */
	size_t depth;                 /* nodes in use; the first is the root, borrowed */
	char path[PATH_MAX];          /* canonical name of the last node; "" for the root */
	char rest[2 * PATH_MAX];      /* still to go */
	unsigned links;
};

void cs__node_release(struct cs__node *node)
{
	cs_close_fd(&node->fd);
}

/* --- permissions -------------------------------------------------------- */

static bool in_group(const struct cs__world *world, gid_t gid)
{
	if (world->gid == gid)
		return true;
	for (size_t i = 0; i < world->n_groups; i++)
		if (world->groups[i] == gid)
			return true;
	return false;
}

static bool is_mapped(const struct cs__mapping *mappings, size_t n, uint32_t host)
{
	for (size_t i = 0; i < n; i++)
		if (host >= mappings[i].host && host - mappings[i].host < mappings[i].size)
			return true;
	return false;
}

/* A capability counts for a file whose owners the user's namespace knows (capabilities(7)). */
static bool capability_reaches(const struct cs__world *world, const struct cs__node *node)
{
	return !world->userns || (is_mapped(world->uids, world->n_uids, node->uid) &&
				  is_mapped(world->gids, world->n_gids, node->gid));
}

/* An access list may say other than the bits (acl(5)); the file has one. */
static bool has_acl(const struct cs__node *node)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", node->fd);
	return getxattr(name, "system.posix_acl_access", NULL, 0) > 0;
}

int cs__world_may_exec(const struct cs__world *world, const struct cs__node *node)
{
	unsigned shift = node->uid == world->uid ? 6 : in_group(world, node->gid) ? 3 : 0;

	if (node->kind != CS__REAL)
		return 0;
	if (node->mode >> shift & 1)
		return 0;
	if (S_ISDIR(node->mode) ? world->dac_override || world->dac_search
				: world->dac_override && (node->mode & 0111))
		if (capability_reaches(world, node))
			return 0;
	if ((node->mount && world->mounts[node->mount - 1].mapped) || has_acl(node))
		return CS__UNTOLD;
	return -EACCES;
}

int cs__world_mount_may_exec(const struct cs__world *world, const struct cs__node *node)
{
	struct statvfs vfs;

	if (node->mount && world->mounts[node->mount - 1].noexec)
		return -EACCES;
	/* noexec of the host's own mount: whether a bind keeps it depends on how the engine remounts */
	if (fstatvfs(node->fd, &vfs) < 0 || (vfs.f_flag & ST_NOEXEC))
		return CS__UNTOLD;
	return 0;
}

/* --- nodes --------------------------------------------------------------- */

/* Attributes of node->fd. A procfs becomes opaque: its links lie. */
static int read_node(struct cs__node *node, uint64_t parent_mnt_id)
{
	struct statfs fs;
	struct statx st;

	if (statx(node->fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT,
		  STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_MNT_ID, &st) < 0)
		return CS__UNTOLD;
	node->kind = CS__REAL;
	node->mode = st.stx_mode;
	node->uid = st.stx_uid;
	node->gid = st.stx_gid;
	node->mnt_id = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
	if (node->mnt_id == parent_mnt_id && parent_mnt_id != 0)
		return 0;
	if (fstatfs(node->fd, &fs) < 0)
		return CS__UNTOLD;
	if (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == AUTOFS_SUPER_MAGIC) {
		cs_close_fd(&node->fd);
		node->kind = CS__OPAQUE;
	}
	return 0;
}

/* The run's mount at the walk's path, of those above the one that `from` lies in; NULL when none. */
static const struct cs__world_mount *mount_at(const struct walk *w, size_t from)
{
	for (size_t i = w->world->n_mounts; i > from; i--)
		if (strcmp(w->world->mounts[i - 1].destination, w->path) == 0)
			return &w->world->mounts[i - 1];
	return NULL;
}

/* A mount lies below the walk's path: the engine makes the directories on the way. */
static bool leads_to_mount(const struct walk *w, size_t from)
{
	size_t len = strlen(w->path);

	for (size_t i = w->world->n_mounts; i > from; i--) {
		const char *destination = w->world->mounts[i - 1].destination;

		if (strncmp(destination, w->path, len) == 0 && destination[len] == '/')
			return true;
	}
	return false;
}

static int enter_mount(const struct walk *w, const struct cs__world_mount *mount,
		       struct cs__node *ret)
{
	ret->kind = mount->kind;
	ret->mount = (size_t)(mount - w->world->mounts) + 1;
	if (mount->kind != CS__REAL)
		return 0;
	ret->fd = open(mount->source, O_PATH | O_CLOEXEC);
	return ret->fd < 0 ? CS__UNTOLD : read_node(ret, 0);
}

static int enter_real(const struct walk *w, const struct cs__node *parent, const char *name,
		      struct cs__node *ret)
{
	int r;

	ret->fd = openat(parent->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (ret->fd < 0) {
		if (errno == ENOENT && (w->placing || leads_to_mount(w, parent->mount))) {
			ret->kind = CS__EMPTY;
			return 0;
		}
		/* we are root: other errors are the file system's own */
		return errno == ENOENT || errno == ENAMETOOLONG ? -errno : CS__UNTOLD;
	}
	r = read_node(ret, parent->mnt_id);
	/* a mount of the host below a plain bind: the run sees what is beneath it */
	if (r == 0 && ret->mnt_id != parent->mnt_id && parent->mount &&
	    !w->world->mounts[parent->mount - 1].recursive)
		r = CS__UNTOLD;
	return r;
}

/* What w->path, whose last part is name, is when seen from its parent. */
static int enter(const struct walk *w, const char *name, struct cs__node *ret)
{
	const struct cs__node *parent = &w->nodes[w->depth - 1];
	const struct cs__world_mount *mount = mount_at(w, parent->mount);

	*ret = (struct cs__node){ .fd = -1, .kind = parent->kind, .mount = parent->mount };
	if (mount)
		return enter_mount(w, mount, ret);
	if (parent->kind == CS__REAL)
		return enter_real(w, parent, name, ret);
	if (w->placing || leads_to_mount(w, parent->mount))
		return 0;
	return parent->kind == CS__EMPTY ? -ENOENT : CS__UNTOLD;
}

/* --- the walk ------------------------------------------------------------- */

static void pop_to(struct walk *w, size_t depth)
{
	while (w->depth > depth)
		cs__node_release(&w->nodes[--w->depth]);
	w->path[w->lengths[w->depth - 1]] = '\0';
}

/* Goes on at the target of a link that stands in the last node. */
static int follow(struct walk *w, int link_fd, const char *rest)
{
	char target[PATH_MAX], tail[sizeof(w->rest)];
	ssize_t n;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(link_fd, "", target, sizeof(target) - 1);
	if (n <= 0)
		return n < 0 ? CS__UNTOLD : -ENOENT;
	target[n] = '\0';
	memcpy(tail, rest, strlen(rest) + 1);
	if (snprintf(w->rest, sizeof(w->rest), "%s%s", target, tail) >= (int)sizeof(w->rest))
		return CS__UNTOLD;
	if (target[0] == '/')
		pop_to(w, 1);
	return 0;
}

static bool is_directory(const struct cs__node *node)
{
	return node->kind != CS__REAL || S_ISDIR(node->mode);
}

/* One part of the path. *rest is what stands behind it and moves when it was a link. */
static int step(struct walk *w, const char *name, char **rest)
{
	struct cs__node node = { .fd = -1 };
	size_t used = strlen(w->path);
	int r;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		if (w->depth > 1)
			pop_to(w, w->depth - 1);
		return 0;
	}
	if (w->depth == DEPTH_MAX || used + 1 + strlen(name) >= sizeof(w->path))
		return CS__UNTOLD;
	snprintf(w->path + used, sizeof(w->path) - used, "/%s", name);
	r = enter(w, name, &node);
	if (r == 0 && node.kind == CS__REAL && S_ISLNK(node.mode)) {
		w->path[used] = '\0';
		r = follow(w, node.fd, *rest);
		*rest = w->rest;
		cs__node_release(&node);
		return r;
	}
	if (r != 0) {
		cs__node_release(&node);
		return r;
	}
	w->lengths[w->depth] = strlen(w->path);
	w->nodes[w->depth++] = node;
	return 0;
}

static int run(struct walk *w)
{
	char *rest = w->rest, name[NAME_MAX + 1];
	int r;

	while (*rest) {
		const struct cs__node *at = &w->nodes[w->depth - 1];
		size_t len;

		/* also for a slash at the end: "file/" is no file */
		if (!is_directory(at))
			return -ENOTDIR;
		rest += strspn(rest, "/");
		len = strcspn(rest, "/");
		if (len == 0)
			return 0;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		r = w->placing ? 0 : cs__world_may_exec(w->world, at);
		if (r != 0)
			return r;
		memcpy(name, rest, len);
		name[len] = '\0';
		rest += len;
		r = step(w, name, &rest);
		if (r != 0)
			return r;
	}
	return 0;
}

static void begin(struct walk *w, const struct cs__world *world, bool placing)
{
	w->world = world;
	w->placing = placing;
	w->nodes[0] = world->root;
	w->lengths[0] = 0;
	w->depth = 1;
	w->path[0] = '\0';
	w->links = 0;
}

int cs__world_walk(const struct cs__world *world, const char *path, struct cs__node *ret)
{
	bool relative = path[0] != '/';
	struct walk w;
	int r;

	if (path[0] == '\0')
		return -ENOENT;
	if (strlen(path) >= PATH_MAX || strlen(world->cwd) >= PATH_MAX - 1)
		return -ENAMETOOLONG;
	begin(&w, world, false);
	snprintf(w.rest, sizeof(w.rest), "%s%s%s", relative ? world->cwd : "", relative ? "/" : "", path);
	r = run(&w);
	if (r == 0) {
		*ret = w.nodes[w.depth - 1];
		/* the root is borrowed: everybody gets a descriptor of their own */
		if (w.depth == 1)
			ret->fd = cs_fd_dup(ret->fd, 3);
		w.nodes[w.depth - 1].fd = w.depth == 1 ? w.nodes[0].fd : -1;
		if (ret->kind == CS__REAL && ret->fd < 0)
			r = CS__UNTOLD;
	}
	pop_to(&w, 1);
	return r;
}

int cs__world_place(const struct cs__world *world, const char *path, char ret[static PATH_MAX])
{
	struct walk w;
	int r;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	begin(&w, world, true);
	snprintf(w.rest, sizeof(w.rest), "%s", path);
	r = run(&w);
	if (r == 0)
		memcpy(ret, w.path, strlen(w.path) + 1);
	pop_to(&w, 1);
	return r;
}
