/*
 * The world of a run as config.json describes it, walked without mounting
 * any of it.
 */
#ifndef CS_FILES_RESOLVE_INT_H
#define CS_FILES_RESOLVE_INT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "oci-spec/json.h"

/* Returned in place of -errno: only the kernel or the engine could tell. */
#define CS__UNTOLD 1

enum cs__node_kind {
	CS__REAL,  /* fd and attributes are of a file of the host */
	CS__EMPTY, /* a directory with nothing in it but mount points: tmpfs, or made by the engine */
	CS__OPAQUE /* procfs and the like */
};

struct cs__node {
	enum cs__node_kind kind;
	int fd;          /* O_PATH, owned; -1 unless CS__REAL */
	mode_t mode;     /* all four of CS__REAL */
	uid_t uid;
	gid_t gid;
	uint64_t mnt_id; /* statx stx_mnt_id */
	size_t mount;    /* position + 1 of the run's mount it lies in; 0: the root */
};

void cs__node_release(struct cs__node *node);

struct cs__world_mount {
	char *destination; /* owned; canonical: no links, no "..", no slash at the end */
	char *source;      /* owned; absolute path on the host; NULL unless CS__REAL */
	enum cs__node_kind kind;
	bool recursive;    /* brings the mounts below its source */
	bool noexec;
	bool mapped;       /* owners differ from those on the host */
};

/* Ids of one user namespace: container..container+size are host..host+size outside. */
struct cs__mapping {
	uint32_t container, host, size;
};

struct cs__world {
	struct cs__node root;
	struct cs__world_mount *mounts; /* owned, in the order of mounting */
	size_t n_mounts;

	/* the user, in ids of the host */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned */
	size_t n_groups;
	bool dac_override, dac_search;  /* CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH in the effective set */
	bool userns;
	struct cs__mapping *uids, *gids; /* owned */
	size_t n_uids, n_gids;

	const char *cwd;  /* borrowed from config */
};

/* 0, CS__UNTOLD. The config must outlive the world. Release it in both cases. */
int cs__world_init(struct cs__world *world, const struct cs_json *config, const char *bundle_dir);
void cs__world_release(struct cs__world *world);

/*
 * What `path` (relative: from cwd) is for the user: links followed, the last
 * one too, search permission looked at on the way. 0 with *ret the caller's;
 * -ENOENT, -ENOTDIR, -ELOOP, -ENAMETOOLONG, -EACCES; CS__UNTOLD.
 */
int cs__world_walk(const struct cs__world *world, const char *path, struct cs__node *ret);

/*
 * Where the engine puts a mount: as above, but for root, and what is missing
 * counts as made. ret gets the canonical path. 0, -errno, CS__UNTOLD.
 */
int cs__world_place(const struct cs__world *world, const char *path, char ret[static PATH_MAX]);

/* The x bit of a file, search of a directory. 0, -EACCES, CS__UNTOLD. */
int cs__world_may_exec(const struct cs__world *world, const struct cs__node *node);

/* Whether the mount that a file lies on lets it run. 0, -EACCES, CS__UNTOLD. */
int cs__world_mount_may_exec(const struct cs__world *world, const struct cs__node *node);

/* --- what a file is ----------------------------------------------------- */

enum cs__format {
	CS__FORMAT_NONE,    /* ENOEXEC */
	CS__FORMAT_FOREIGN, /* ENOEXEC: an ELF file for another machine */
	CS__FORMAT_DAMAGED, /* ENOEXEC or worse: ELF with headers that lead nowhere */
	CS__FORMAT_STATIC,  /* ELF without interpreter */
	CS__FORMAT_ELF,     /* ELF with interpreter */
	CS__FORMAT_SCRIPT   /* #! */
};

/*
 * Reads the head of a regular file open for reading. interpreter is filled for
 * the last two. 0 or -errno of a failed read.
 */
int cs__format_read(int fd, enum cs__format *ret, char interpreter[static PATH_MAX]);

/*
 * Whether a binfmt_misc handler of the kernel would take the file: `dir` is
 * its file system's directory, name the last part of the path, fd the file. Unreadable
 * rules count as a yes.
 */
bool cs__binfmt_takes(const char *dir, const char *name, int fd);

#endif
