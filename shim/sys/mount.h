/*
 * Mounts and mount namespaces (mount(2), mount_namespaces(7)).
 *
 * Owns the system calls and their order. Mounts are things that outlive a
 * function; whoever makes one says when it goes. In a namespace made by
 * cs_mount_new_namespace that is the death of its last process.
 */
#ifndef CS_SYS_MOUNT_H
#define CS_SYS_MOUNT_H

#include <stdint.h>
#include <sys/types.h>

#include "shim/base/err.h"
#include "shim/sys/cgroup.h"

/*
 * A mount namespace of our own, in which everything is a slave: the host's
 * mounts come in, ours do not go out. For the whole (single-threaded) process.
 */
int cs_mount_new_namespace(struct cs_err *err);

/*
 * The mount namespace that we are in, to come back to: a descriptor, CLOEXEC,
 * the caller's, or -errno. It keeps that namespace, its mounts included, for as
 * long as it is open.
 */
int cs_mount_open_namespace(void);

/*
 * Into the namespace of that descriptor (setns(2)), for the whole process,
 * which must share its directories with nobody; they become the root of it.
 * 0 or -errno.
 */
int cs_mount_enter_namespace(int namespace_fd);

/*
 * A tmpfs at path (a directory; the last link is followed) with a size and
 * inode limit (0: none given, so the kernel's half of memory), mode, and
 * flags of mount(2) such as MS_NOSUID | MS_NODEV. tmpfs(5).
 */
int cs_mount_tmpfs(const char *path, uint64_t size_bytes, uint64_t inodes, mode_t mode,
		   unsigned long flags, struct cs_err *err);

/*
 * What fd refers to (O_PATH will do; it must have been opened in this mount
 * namespace), with all mounts below it, at path: a directory over a
 * directory, anything else over a file. By descriptor, so that it is what the
 * caller looked at, whatever its name leads to by now.
 */
int cs_mount_bind_fd(int fd, const char *path, struct cs_err *err);

/*
 * A view of the file that path leads to which nobody can write through: a
 * read-only mount of it alone that is in no namespace (open_tree(2),
 * mount_setattr(2), Linux 5.12) and ends with the last user of the
 * descriptor, O_PATH and CLOEXEC, the caller's. -errno.
 */
int cs_mount_open_readonly(const char *path);

/*
 * Overlay at path, nodev: one lower, upper and work (overlayfs.rst; upper and
 * work in one mount). The names may hold any byte and have any length that
 * open(2) takes: they are handed over as descriptors below /proc/self/fd,
 * which is also what mountinfo shows of them.
 */
int cs_mount_overlay(const char *path, const char *lower, const char *upper, const char *work,
		     struct cs_err *err);

/*
 * Detaches (MNT_DETACH) everything mounted at or below path in our namespace,
 * stacked mounts too, deepest first; 0 when there is nothing, or no path.
 * Links in path are followed. CS_INVALID for a path that is not absolute or is "/".
 */
int cs_mount_detach_all(const char *path, struct cs_err *err);

/*
 * Hybrid cgroup hosts: takes the v2 mount from beside the v1 hierarchies, in
 * our namespace only: the mount that holds it (/sys/fs/cgroup) is made private,
 * then it is moved onto the directory `aside`, where the caller covers it with
 * a mount of its own. Propagation elsewhere stays. *host, which says where it is,
 * is without it afterwards. Other layouts: nothing to do, 0. To be
 * called after cs_mount_new_namespace: in the namespace of pid 1,
 * which is the host's, CS_STATE (where we may look at that one's).
 */
int cs_mount_hide_unified(struct cs_cgroup_host *host, const char *aside, struct cs_err *err);

/*
 * The same for a process that is to become an engine: a mount namespace of
 * its own in which nothing else differs, propagation neither (a volume of a
 * container may be shared with the host). Detaches the v2 mount, which waits
 * for an RCU grace period, some ms. Other layouts: nothing to do, 0.
 */
int cs_mount_leave_unified(const struct cs_cgroup_host *host, struct cs_err *err);

#endif
