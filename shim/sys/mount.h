/*
 * Mounts and mount namespaces (mount(2), mount_setattr(2), mount_namespaces(7)).
 */
#ifndef CS_SYS_MOUNT_H
#define CS_SYS_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/err.h"

/* A mount namespace of our own, in which everything is a slave: the host's mounts come in, ours do not go out. */
int cs_mount_new_namespace(struct cs_err *err);

/* A tmpfs at path with a size and inode limit (0: none given), mode, nosuid,nodev; noexec when asked. */
int cs_mount_tmpfs(const char *path, uint64_t size_bytes, uint64_t inodes, mode_t mode, bool noexec,
		   struct cs_err *err);

/* Overlay at path: one lower, upper and work (overlayfs.rst). The names may hold any byte: fsconfig, with mount(2) where that is missing. */
int cs_mount_overlay(const char *path, const char *lower, const char *upper, const char *work,
		     struct cs_err *err);

/* Detaches everything mounted at or below path, deepest first; 0 when there is nothing. */
int cs_mount_detach_all(const char *path, struct cs_err *err);

/*
 * Hybrid cgroup hosts: hides the v2 mount beside the v1 hierarchies, in our
 * namespace only: /sys/fs/cgroup is made private, `unified` is unmounted.
 */
int cs_mount_hide_unified(struct cs_err *err);

#endif
