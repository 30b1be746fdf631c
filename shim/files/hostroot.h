/*
 * `--rootfs host`: a root made from this host's /usr, for running its own
 * compilers and interpreters in a sandbox (contract section 4).
 *
 * The skeleton directory gets symlinks and the few files made for the run;
 * everything else is a list of read-only bind mounts for config.json. Nothing
 * of /home, /root, /var, /run comes in.
 */
#ifndef CS_FILES_HOSTROOT_H
#define CS_FILES_HOSTROOT_H

#include <sys/types.h>

#include "oci-spec/spec_new.h"

struct cs_hostroot {
	struct cs_spec_mount *mounts; /* owned, with their strings */
	size_t n_mounts;
};

void cs_hostroot_release(struct cs_hostroot *root);

struct cs_hostroot_plan {
	const char *hostname;
	uid_t uid;          /* gets a passwd and a group line */
	gid_t gid;
	const char *bind_options; /* "rbind,rro" or "bind,ro", by what the engine can */
};

/*
 * Fills the empty directory rootfs_fd: directories for the standard mount
 * points, /bin, /sbin, /lib* as symlinks where the host has symlinks, /etc/passwd, group, hosts,
 * nsswitch.conf, hostname, resolv.conf. The mounts go to ret.
 */
int cs_hostroot_make(int rootfs_fd, const struct cs_hostroot_plan *plan, struct cs_hostroot *ret,
		     struct cs_err *err);

#endif
