/*
 * Paths in trees that hostile code wrote: openat2(2) beneath a root, no link
 * followed, no mount crossed, nothing that blocks.
 *
 * Owns how such a tree is entered and removed; knows nothing of what is in it.
 */
#ifndef CS_SYS_PATH_H
#define CS_SYS_PATH_H

#include <stdint.h>
#include <sys/types.h>

#include "shim/base/attr.h"

/*
 * Both take flags and mode of open(2) and add O_CLOEXEC, O_NOCTTY and
 * O_NONBLOCK (a FIFO without a peer must not hold us; without effect on
 * regular files), except with O_PATH, which takes none of them. Magic links
 * of procfs are refused in both. fd (the caller's) or -errno; -EAGAIN when
 * somebody renames so fast that the kernel cannot tell the way.
 */

/* RESOLVE_IN_ROOT: absolute links and ".." stay inside root_fd, as after chroot(2). */
int cs_path_open_in_root(int root_fd, const char *path, int flags, mode_t mode) CS_MUST_CHECK;

/*
 * RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV. A link gives
 * -ELOOP, a mount or a way out of dir_fd -EXDEV.
 */
int cs_path_open_beneath(int dir_fd, const char *path, int flags, mode_t mode) CS_MUST_CHECK;

/*
 * Removes `name`, one component without '/', in dir_fd with everything below.
 * Never follows a link, never opens a file that is no directory (but see
 * below), never enters another mount. Any depth in fixed memory (some 40 KiB)
 * and 17 descriptors; needs no new inode: deep directories are renamed to the
 * top of the tree and removed from there. Immutable and append-only flags
 * (ioctl_iflags(2)) are cleared where we may. Blocks as the file system does.
 *
 * Goes on after a failure, so that as little as possible stays, and returns
 * the first one: -EXDEV a mount in the tree, -EBUSY, -EPERM a flag that we
 * may not clear, -EROFS, … 0 also when the name is not there.
 */
int cs_path_remove_tree(int dir_fd, const char *name) CS_MUST_CHECK;

#endif
