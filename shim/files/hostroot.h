/*
 * `--rootfs host`: a root made from this host's /usr, for running its own
 * compilers and interpreters in a sandbox.
 *
 * The skeleton directory gets symlinks, mount points and the few files made
 * for the run; everything else is a list of read-only bind mounts for
 * config.json. Nothing of /home, /root, /var, /run comes in. What is bound is
 * one table, hostroot_rows.c.
 *
 *     fd = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);     // empty, ours alone
 *     cs_hostroot_make(fd, &plan, &root, err);
 *     for (each -v and --tmpfs)
 *             cs_hostroot_add_point(fd, mounts, n, &volume, err);    // those before it
 *     … root.mounts first, then the volumes, into the spec plan …
 *     cs_hostroot_release(&root);
 */
#ifndef CS_FILES_HOSTROOT_H
#define CS_FILES_HOSTROOT_H

#include <stdbool.h>
#include <sys/types.h>

#include "oci-spec/spec_new.h"

struct cs_hostroot {
	struct cs_spec_mount *mounts; /* owned, with their strings; in the order to be mounted */
	size_t n_mounts;
};

/* Frees the mounts and empties root. */
void cs_hostroot_release(struct cs_hostroot *root);

struct cs_hostroot_plan {
	const char *hostname;     /* letters, digits, '-', '.', '_'; at most 64 bytes (hostname(7)) */
	uid_t uid;                /* gets a passwd line; 0 is root's, 65534 nobody's */
	gid_t gid;                /* gets a group line */
	const char *bind_options; /* "rbind,rro" or "bind,ro", by what the engine can; nosuid,nodev are added */
};

/*
 * Fills the empty directory rootfs_fd (O_PATH is enough; borrowed):
 *   - /usr, /etc, /proc, /sys, /dev, /run, /root, all 0755 of the caller, /tmp 1777;
 *   - /bin, /sbin, /lib* as symlinks where the host has symlinks into /usr, else mount points;
 *   - passwd, group, hosts, hostname, nsswitch.conf (files only), an empty
 *     resolv.conf, all 0644 whatever the umask;
 *   - in /etc a mount point for each entry of the table that the host has; an
 *     entry that is a link into /usr becomes such a link and costs no mount.
 * The binds go to *ret, options "…,nosuid,nodev".
 *
 * Home directories: root's is /root (empty), everybody else's /tmp.
 *
 * CS_INVALID for a hostname that would break a line, CS_EXISTS when the
 * directory is not empty, CS_NOT_FOUND when the host has no /usr, else by
 * errno. On failure *ret is untouched and the directory is half full.
 */
int cs_hostroot_make(int rootfs_fd, const struct cs_hostroot_plan *plan, struct cs_hostroot *ret,
		     struct cs_err *err);

/*
 * Makes the mount point of one more mount (a volume, a tmpfs) in the skeleton:
 * a directory or a file, as its source is. Needed for three reasons: with a
 * user namespace the engine could not make it; where the path leads into a
 * bind, even a read-only one, crun 1.8 makes it *on the host*; and runc 1.1
 * gives a tmpfs the mode of its mount point, so that one gets "mode=".
 *
 * `before` are those mounted before it: the host root's, then the volumes
 * before this one. Links of the skeleton are followed (/bin/x is /usr/bin/x).
 * 0 also when the point is there already as the same kind, or lies in a
 * tmpfs. CS_INVALID when it would lie in a bind and is not there, is there as
 * the other kind, or is behind a link of the host; CS_NOT_FOUND for a missing source.
 */
int cs_hostroot_add_point(int rootfs_fd, const struct cs_spec_mount *before, size_t n_before,
			  const struct cs_spec_mount *mount, struct cs_err *err);

/*
 * The same for a directory that nothing is mounted at: the working directory,
 * which runc and crun make where it is missing, and gVisor of 2026 cannot in a
 * root that is read-only. For any root that is ours to write, an overlay's too.
 */
int cs_hostroot_add_directory(int rootfs_fd, const struct cs_spec_mount *before, size_t n_before,
			      const char *path, struct cs_err *err);

#endif
