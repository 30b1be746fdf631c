/*
 * Small files, whole: capped reads and atomic writes.
 *
 * Paths are relative to a directory descriptor (AT_FDCWD for the working
 * directory). All return 0 or -errno. For trees that hostile code wrote, see
 * shim/sys/path.h.
 */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/attr.h"
#include "shim/base/buf.h"

/* Appends the file to buf; -EFBIG when it passes what buf may hold. Never blocks on a FIFO. */
int cs_file_read(int dirfd, const char *path, struct cs_buf *buf) CS_MUST_CHECK;

/* The rest of an open descriptor, until EOF. */
int cs_file_read_fd(int fd, struct cs_buf *buf) CS_MUST_CHECK;

/*
 * A file that a person named, which may be a pipe whose writer is still at it
 * ("--env-file <(…)"): that is waited for, -ETIMEDOUT when nothing comes for 10 s.
 */
int cs_file_read_given(const char *path, struct cs_buf *buf) CS_MUST_CHECK;

/* One write(2) to an existing file: procfs, cgroupfs. -EIO for a short write. */
int cs_file_put(int dirfd, const char *path, const char *text) CS_MUST_CHECK;

/*
 * New content in one step: an O_EXCL temporary beside it, write, fsync when
 * `durable`, rename over path. Readers see the old or the new file, never a part.
 */
int cs_file_write_atomic(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
			 bool durable) CS_MUST_CHECK;

/* mkdir of each missing part with `mode`; what exists is left alone. -ENOTDIR when a part is something else. */
int cs_file_mkdirs(const char *path, mode_t mode) CS_MUST_CHECK;

#endif
