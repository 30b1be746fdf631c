/*
 * Descriptors: made CLOEXEC, closed once, read and written whole.
 *
 * All return -errno on failure and retry EINTR, except close, which is never
 * retried (close(2): the descriptor is gone either way on Linux).
 */
#ifndef CS_BASE_FD_H
#define CS_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shim/base/attr.h"

/* A CLOEXEC pipe: fds[0] to read, fds[1] to write; both owned by the caller. flags: O_NONBLOCK or 0. */
int cs_fd_pipe(int fds[static 2], int flags) CS_MUST_CHECK;

/* O_NONBLOCK on a description that is ours alone; never on an inherited one. */
int cs_fd_set_nonblock(int fd, bool on) CS_MUST_CHECK;

/* FD_CLOEXEC on or off. */
int cs_fd_set_cloexec(int fd, bool on) CS_MUST_CHECK;

/* A CLOEXEC copy at `lowest` or above (fcntl F_DUPFD_CLOEXEC). */
int cs_fd_dup(int fd, int lowest) CS_MUST_CHECK;

/*
 * Opens /dev/null on each of 0, 1, 2 that is closed, so that no later open
 * lands there. First thing in a main.
 */
int cs_fd_fill_stdio(void) CS_MUST_CHECK;

/* Blocks until it is readable, closed at the other end, or, as a pidfd, dead: 0. -ETIMEDOUT, -errno. */
int cs_fd_wait_readable(int fd, int64_t deadline_ns) CS_MUST_CHECK;

/* Writes all of it; blocks as the descriptor does. 0 or -errno. */
int cs_fd_write_all(int fd, const void *data, size_t len) CS_MUST_CHECK;

/* Reads until len bytes or EOF; the number read or -errno. */
ssize_t cs_fd_read_all(int fd, void *data, size_t len) CS_MUST_CHECK;

/* Closes all but the n named (-1 is none), in any order: for a process that begins as another's copy. */
void cs_fd_close_all_but(const int *keep, size_t n);

/* FD_CLOEXEC on all from `lowest` up: close_range(2), or a walk of /proc/self/fd where that is missing. */
int cs_fd_cloexec_from(int lowest) CS_MUST_CHECK;

/* Closes all from `lowest` up but those n. For a process of our own that was forked (no list of them is read). */
void cs_fd_close_except(int lowest, const int *keep, size_t n);

#endif
