/*
 * `--user UID[:GID]|NAME[:GROUP]` → numbers. Names are looked up in the
 * etc/passwd and etc/group of the root that the run sees, never in ours by way of libc.
 */
#ifndef CS_FILES_USER_H
#define CS_FILES_USER_H

#include <sys/types.h>

#include "shim/base/err.h"

/*
 * root_fd: the root's directory (for `--rootfs host`: "/"); -1 when there is
 * none yet, then names are CS_INVALID. The group is, unless given: the passwd
 * line's, else the number of the user. Reads at most 1 MiB of each file, beneath the
 * root. CS_INVALID for a wrong form, CS_NOT_FOUND for an unknown name.
 */
int cs_user_parse(const char *text, int root_fd, uid_t *ret_uid, gid_t *ret_gid,
		  struct cs_err *err);

#endif
