/*
 * The cache directory: what is dear to find out and cheap to keep, such as
 * what an engine says of itself and compiled system call filters. Losing it
 * costs time, never more; what is in it is believed, so only root may write it.
 */
#ifndef CS_TASK_CACHE_H
#define CS_TASK_CACHE_H

#include "oci-spec/json.h"
#include "shim/base/buf.h"
#include "shim/base/err.h"

/* Makes it (0700) when it is missing. A CLOEXEC descriptor, the caller's; -errno where it cannot be had or others may write it. */
int cs_cache_open(const char *path);

/*
 * The program of a seccomp profile (the form of linux.seccomp) in base64,
 * compiled once and kept with the text that it was made from, which is compared
 * byte by byte. cache_fd -1: compiled anew. CS_UNSUPPORTED for a profile that
 * is more than a program (cs_profile_compile).
 */
int cs_cache_filter(int cache_fd, const struct cs_json *profile, struct cs_buf *ret_base64,
		    struct cs_err *err);

#endif
