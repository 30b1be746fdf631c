/* What the host root is made of: tables, and the maker with another host for tests. */
#ifndef CS_FILES_HOSTROOT_INT_H
#define CS_FILES_HOSTROOT_INT_H

#include <stddef.h>

#include "shim/base/buf.h"
#include "shim/files/hostroot.h"

/* Empty directories. */
struct cs__hostroot_dir {
	const char *path;
	mode_t mode; /* what engines that look at it give the mount there */
};
extern const struct cs__hostroot_dir cs__hostroot_dirs[];
extern const size_t cs__hostroot_n_dirs;

/* NULL-terminated lists of paths relative to the root. */
extern const char *const cs__hostroot_top[];  /* beside /usr */
extern const char *const cs__hostroot_etc[];  /* below /etc; the last part may be a pattern (fnmatch(3)) */

/* A file made for the run, and what adds its text. */
struct cs__hostroot_file {
	const char *path;
	int (*write)(const struct cs_hostroot_plan *plan, struct cs_buf *text);
};
extern const struct cs__hostroot_file cs__hostroot_files[];
extern const size_t cs__hostroot_n_files;

/* cs_hostroot_make of another host, whose root is the directory `host` ("" for this one). */
int cs__hostroot_make_from(const char *host, int rootfs_fd, const struct cs_hostroot_plan *plan,
			   struct cs_hostroot *ret, struct cs_err *err);

#endif
