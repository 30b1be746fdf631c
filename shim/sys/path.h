/*
 * Paths in trees that hostile code wrote: openat2(2) beneath a root, no link
 * followed, no mount crossed, nothing that blocks.
 */
#ifndef CS_SYS_PATH_H
#define CS_SYS_PATH_H

#include <stdint.h>
#include <sys/types.h>

#include "shim/base/err.h"

/* openat2 with RESOLVE_IN_ROOT: absolute links and ".." stay inside root_fd. fd or -errno. */
int cs_path_open_in_root(int root_fd, const char *path, int flags, mode_t mode);

/* openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV. fd or -errno. */
int cs_path_open_beneath(int dir_fd, const char *path, int flags, mode_t mode);

/*
 * Removes `name` in dir_fd with everything below. Never follows a link, never
 * enters another mount (-EXDEV names what it met), any depth in fixed memory
 * and descriptors, needs no new inode. 0 also when it is not there.
 */
int cs_path_remove_tree(int dir_fd, const char *name);

#endif
