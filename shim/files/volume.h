/*
 * `-v SRC:DST[:OPTIONS]` and `--tmpfs DST[:OPTIONS]` as docker run spells them
 * → mounts for config.json, with what caisson(1) says is refused.
 *
 * Owns the two texts' grammar and what a run may see of the host. Looks at
 * the source, mounts nothing. It must not know the engine: what that can is
 * told by the caller.
 *
 *     struct cs_spec_mount mount = { 0 };
 *     if (cs_volume_parse("/data:/data", false, rro, ours, &mount, err) < 0) …
 *     …
 *     cs_volume_release(&mount);
 */
#ifndef CS_FILES_VOLUME_H
#define CS_FILES_VOLUME_H

#include <stdbool.h>

#include "oci-spec/spec_new.h"

/* Frees the four strings and empties the mount; NULL strings are fine. */
void cs_volume_release(struct cs_spec_mount *mount);

/*
 * One bind mount from its text. The strings of *ret are the caller's
 * (cs_volume_release).
 *
 * SRC must be absolute (there are no named volumes here) and must exist; its
 * real path becomes the source, so that a link in it is followed once, now.
 * DST must be absolute, without ".."; it comes out without doubled or trailing slashes and
 * may be neither /, /proc or below it, /sys nor /dev. OPTIONS, joined by
 * commas: ro rw, exec noexec, nosuid nodev (always on), [r]private [r]slave.
 *
 * Read-only unless OPTIONS holds rw: "rbind,rro" and the recursive flags when
 * `rro` says that the engine knows them, else "bind,ro": never "rbind,ro",
 * whose submounts stay writable.
 *
 * Refused with CS_DENIED unless `unbounded`:
 *   - a writable bind: nothing bounds what it takes of the host's disk;
 *   - a source that is a socket or holds one at its top, or is neither a file nor a directory;
 *   - / itself, and /proc, /sys, /dev, /run or anything below them, by any name;
 *   - a source that holds one of `forbidden` (NULL-terminated absolute paths:
 *     the engine's and our own directories).
 * Refused in any case: a source that is or lies below one of `forbidden`, and
 * one that holds it with rw: what gc replays as root must not be writable inside.
 *
 * CS_INVALID for the wrong form, CS_NOT_FOUND for a missing source, CS_DENIED
 * for a refusal, CS_IO, CS_LIMIT (memory). Reads the source directory once.
 */
int cs_volume_parse(const char *text, bool unbounded, bool rro, const char *const *forbidden,
		    struct cs_spec_mount *ret, struct cs_err *err);

/*
 * The same, and the source as an O_PATH descriptor, the caller's: by the time
 * that a path is mounted, its owner may have put a link in its place.
 */
int cs_volume_open(const char *text, bool unbounded, bool rro, const char *const *forbidden,
		   struct cs_spec_mount *ret, int *ret_fd, struct cs_err *err);

/*
 * A directory that is to be the run's whole root: its real path (the caller's)
 * and an O_PATH descriptor of it (the caller's). Refused is what is refused of
 * a volume that is read-only, with the same exceptions. CS_INVALID for what is
 * no directory; errors name the path.
 */
int cs_volume_open_root(const char *path, bool unbounded, const char *const *forbidden,
			char **ret_path, int *ret_fd, struct cs_err *err);

/*
 * One tmpfs from DST[:OPTIONS] (tmpfs(5)): size=SIZE (cs_parse_size),
 * nr_inodes=N, mode=OCTAL, uid=N, gid=N, ro rw, exec noexec, nosuid nodev (always on). DST as
 * above. noexec unless exec is given, mode 1777 unless given, as docker run
 * does. A size and an inode limit are always given: default_bytes, and an
 * inode per 4 KiB; "0", which is no limit to the kernel, is refused.
 * *ret_bytes is the size in bytes.
 */
int cs_tmpfs_parse(const char *text, uint64_t default_bytes, struct cs_spec_mount *ret,
		   uint64_t *ret_bytes, struct cs_err *err);

#endif
