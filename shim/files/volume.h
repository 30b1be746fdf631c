/*
 * `-v SRC:DST[:OPTIONS]` and `--tmpfs DST[:OPTIONS]` as docker run spells them
 * → mounts for config.json, with the refusals of contract section 4.
 */
#ifndef CS_FILES_VOLUME_H
#define CS_FILES_VOLUME_H

#include <stdbool.h>

#include "oci-spec/spec_new.h"

/* Frees the four strings. */
void cs_volume_release(struct cs_spec_mount *mount);

/*
 * Read-only unless OPTIONS holds rw. Without `unbounded` a writable bind is
 * refused; so are, always, sources that are or hold (at their top) a socket,
 * and /, /proc, /sys, /dev, /run and `forbidden` directories (the engine's and ours), or what holds them. A
 * relative SRC, one that does not exist and one behind a symlink are looked at
 * by their real path. rro: the engine knows recursive read-only.
 */
int cs_volume_parse(const char *text, bool unbounded, bool rro, const char *const *forbidden,
		    struct cs_spec_mount *ret, struct cs_err *err);

/* DST[:size=SIZE,nr_inodes=N,mode=…,exec,…]; a size is given when the text has none: default_bytes. *ret_bytes is the size. */
int cs_tmpfs_parse(const char *text, uint64_t default_bytes, struct cs_spec_mount *ret,
		   uint64_t *ret_bytes, struct cs_err *err);

#endif
