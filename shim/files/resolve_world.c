#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/attr.h"
#include "shim/base/fd.h"
#include "shim/files/resolve_int.h"

void cs__world_release(struct cs__world *world)
{
	for (size_t i = 0; i < world->n_mounts; i++) {
		free(world->mounts[i].destination);
		free(world->mounts[i].source);
	}
	free(world->mounts);
	free(world->groups);
	free(world->uids);
	free(world->gids);
	cs__node_release(&world->root);
	*world = (struct cs__world){ .root.fd = -1 };
}

static int get_u32(const struct cs_json *json, uint32_t *ret)
{
	uint64_t value;

	if (cs_json_get_u64(json, &value) < 0 || value > UINT32_MAX)
		return CS__UNTOLD;
	*ret = (uint32_t)value;
	return 0;
}

/* path, or dir/path when it is relative; the caller frees. */
static char *absolute(const char *dir, const char *path)
{
	char *text = NULL;

	if (path[0] == '/')
		return strdup(path);
	return asprintf(&text, "%s/%s", dir, path) < 0 ? NULL : text;
}

/* --- the user -------------------------------------------------------------- */

static int read_mappings(const struct cs_json *list, struct cs__mapping **ret, size_t *ret_n)
{
	struct cs__mapping *mappings = calloc(cs_json_count(list) + 1, sizeof(*mappings));
	struct cs_json *row;
	size_t n = 0;

	*ret = mappings;
	if (!mappings)
		return CS__UNTOLD;
	cs_json_each(row, list) {
		struct cs__mapping *m = &mappings[n++];

		if (get_u32(cs_json_member(row, "containerID"), &m->container) ||
		    get_u32(cs_json_member(row, "hostID"), &m->host) ||
		    get_u32(cs_json_member(row, "size"), &m->size))
			return CS__UNTOLD;
	}
	*ret_n = n;
	return 0;
}

static int map_id(const struct cs__world *world, const struct cs__mapping *mappings, size_t n,
		  uint32_t *id)
{
	if (!world->userns)
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t offset = *id - mappings[i].container;

		if (*id >= mappings[i].container && offset < mappings[i].size) {
			*id = mappings[i].host + offset;
			return 0;
		}
	}
	return CS__UNTOLD; /* no such user inside: the engine will not set it */
}

static int read_namespace(struct cs__world *world, const struct cs_json *config)
{
	const struct cs_json *linux_part = cs_json_member(config, "linux");
	struct cs_json *ns;

	cs_json_each(ns, cs_json_member(linux_part, "namespaces")) {
		const char *type = cs_json_string(cs_json_member(ns, "type"));

		if (!type || strcmp(type, "user") != 0)
			continue;
		if (cs_json_member(ns, "path"))
			return CS__UNTOLD; /* somebody else's mapping */
		world->userns = true;
	}
	if (!world->userns)
		return 0;
	if (read_mappings(cs_json_member(linux_part, "uidMappings"), &world->uids, &world->n_uids) ||
	    read_mappings(cs_json_member(linux_part, "gidMappings"), &world->gids, &world->n_gids))
		return CS__UNTOLD;
	return 0;
}

static int read_user(struct cs__world *world, const struct cs_json *process)
{
	const struct cs_json *user = cs_json_member(process, "user");
	const struct cs_json *groups = cs_json_member(user, "additionalGids");
	const struct cs_json *uid = cs_json_member(user, "uid"), *gid = cs_json_member(user, "gid");
	struct cs_json *item;

	if ((uid && get_u32(uid, &world->uid)) || (gid && get_u32(gid, &world->gid)) ||
	    map_id(world, world->uids, world->n_uids, &world->uid) ||
	    map_id(world, world->gids, world->n_gids, &world->gid))
		return CS__UNTOLD;
	world->groups = calloc(cs_json_count(groups) + 1, sizeof(*world->groups));
	if (!world->groups)
		return CS__UNTOLD;
	cs_json_each(item, groups) {
		uint32_t *group = &world->groups[world->n_groups++];

		if (get_u32(item, group) || map_id(world, world->gids, world->n_gids, group))
			return CS__UNTOLD;
	}
	cs_json_each(item, cs_json_get(process, "capabilities.effective")) {
		const char *name = cs_json_string(item);

		world->dac_override |= name && strcmp(name, "CAP_DAC_OVERRIDE") == 0;
		world->dac_search |= name && strcmp(name, "CAP_DAC_READ_SEARCH") == 0;
	}
	/* engines differ in what a process without the member gets */
	if (!cs_json_member(process, "capabilities"))
		world->dac_override = true;
	return 0;
}

/* --- mounts ----------------------------------------------------------------- */

enum option_effect { EFFECT_BIND, EFFECT_RBIND, EFFECT_NOEXEC, EFFECT_EXEC, EFFECT_MAPPED, EFFECT_OPAQUE };

/* Mount options that change what a path inside is (runtime-spec config.md, "Linux mount options"). */
static const struct {
	const char *word;
	enum option_effect effect;
} option_rows[] = {
	{ "bind", EFFECT_BIND },         { "rbind", EFFECT_RBIND },
	{ "noexec", EFFECT_NOEXEC },     { "rnoexec", EFFECT_NOEXEC },
	{ "exec", EFFECT_EXEC },         { "rexec", EFFECT_EXEC },
	{ "idmap", EFFECT_MAPPED },      { "ridmap", EFFECT_MAPPED },
	{ "tmpcopyup", EFFECT_OPAQUE },  { "copy-symlink", EFFECT_OPAQUE },
	{ "src-nofollow", EFFECT_OPAQUE }, { "dest-nofollow", EFFECT_OPAQUE },
};

static void apply_option(const char *word, struct cs__world_mount *mount, bool *bind, bool *opaque)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(option_rows); i++) {
		if (strcmp(option_rows[i].word, word) != 0)
			continue;
		switch (option_rows[i].effect) {
		case EFFECT_RBIND:
			mount->recursive = true;
			*bind = true;
			break;
		case EFFECT_BIND:
			*bind = true;
			break;
		case EFFECT_NOEXEC:
			mount->noexec = true;
			break;
		case EFFECT_EXEC:
			mount->noexec = false;
			break;
		case EFFECT_MAPPED:
			mount->mapped = true;
			break;
		case EFFECT_OPAQUE:
			*opaque = true;
			break;
		}
	}
}

/* Appends a mount, at the place where the engine will put it. Owns source from here on. */
static int add_mount(struct cs__world *world, struct cs__world_mount mount, const char *destination)
{
	char place[PATH_MAX];
	int r = cs__world_place(world, destination, place);

	/* over the root, or at a place that cannot be: the engine has its own mind then */
	if (r != 0 || place[0] == '\0') {
		free(mount.source);
		return CS__UNTOLD;
	}
	/* engines put device nodes and links into /dev */
	if (mount.kind == CS__EMPTY && strcmp(place, "/dev") == 0)
		mount.kind = CS__OPAQUE;
	mount.destination = strdup(place);
	if (!mount.destination) {
		free(mount.source);
		return CS__UNTOLD;
	}
	world->mounts[world->n_mounts++] = mount;
	return 0;
}

static int read_mount(struct cs__world *world, const struct cs_json *json, const char *bundle_dir)
{
	const char *destination = cs_json_string(cs_json_member(json, "destination"));
	const char *type = cs_json_string(cs_json_member(json, "type"));
	const char *source = cs_json_string(cs_json_member(json, "source"));
	struct cs__world_mount mount = { .kind = CS__OPAQUE };
	bool bind = type && strcmp(type, "bind") == 0, opaque = false;
	struct cs_json *option;

	if (!destination)
		return CS__UNTOLD;
	cs_json_each(option, cs_json_member(json, "options")) {
		const char *word = cs_json_string(option);

		if (word)
			apply_option(word, &mount, &bind, &opaque);
	}
	mount.mapped |= cs_json_member(json, "uidMappings") || cs_json_member(json, "gidMappings");
	if (bind && source && !opaque) {
		mount.kind = CS__REAL;
		mount.source = absolute(bundle_dir, source);
		if (!mount.source)
			return CS__UNTOLD;
	} else if (!bind && !opaque && type && strcmp(type, "tmpfs") == 0) {
		mount.kind = CS__EMPTY;
	}
	return add_mount(world, mount, destination);
}

static int read_mounts(struct cs__world *world, const struct cs_json *config,
		       const char *bundle_dir)
{
	const struct cs_json *mounts = cs_json_member(config, "mounts");
	const struct cs_json *masked = cs_json_get(config, "linux.maskedPaths");
	struct cs_json *item;

	world->mounts = calloc(cs_json_count(mounts) + cs_json_count(masked) + 1,
			       sizeof(*world->mounts));
	if (!world->mounts)
		return CS__UNTOLD;
	cs_json_each(item, mounts)
		if (read_mount(world, item, bundle_dir))
			return CS__UNTOLD;
	cs_json_each(item, masked) {
		const char *path = cs_json_string(item);

		if (!path || add_mount(world, (struct cs__world_mount){ .kind = CS__OPAQUE }, path))
			return CS__UNTOLD;
	}
	return 0;
}

static int open_root(struct cs__world *world, const struct cs_json *config, const char *bundle_dir)
{
	const char *path = cs_json_string(cs_json_get(config, "root.path"));
	cs_autofree char *root = path ? absolute(bundle_dir, path) : NULL;
	struct statx st;

	if (!root)
		return CS__UNTOLD;
	world->root.fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (world->root.fd < 0 ||
	    statx(world->root.fd, "", AT_EMPTY_PATH,
		  STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID | STATX_MNT_ID, &st) < 0)
		return CS__UNTOLD;
	world->root.kind = CS__REAL;
	world->root.mode = st.stx_mode;
	world->root.uid = st.stx_uid;
	world->root.gid = st.stx_gid;
	world->root.mnt_id = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
	return 0;
}

int cs__world_init(struct cs__world *world, const struct cs_json *config, const char *bundle_dir)
{
	const struct cs_json *process = cs_json_member(config, "process");

	*world = (struct cs__world){ .root.fd = -1 };
	world->cwd = cs_json_string(cs_json_member(process, "cwd"));
	if (!world->cwd || world->cwd[0] != '/')
		return CS__UNTOLD;
	if (open_root(world, config, bundle_dir) || read_namespace(world, config) ||
	    read_user(world, process) || read_mounts(world, config, bundle_dir))
		return CS__UNTOLD;
	return 0;
}
