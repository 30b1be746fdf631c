/*
 * Where drained bytes go: one interface, a row a kind of descriptor.
 *
 * A sink never blocks and never changes the flags of a descriptor that it was
 * given: they belong to the open file description, which the caller's shell
 * and its other children share (open(2), fcntl(2) F_SETFL). It works on a
 * descriptor of its own, so the one it was made from may be watched or given
 * to a second sink (2>&1) at will.
 *
 *   pipe, FIFO   a description of our own (/proc/self/fd/N opened again with
 *                O_NONBLOCK), spliced into where much is queued; where it
 *                cannot be had, splice(SPLICE_F_NONBLOCK) and writes of at
 *                most PIPE_BUF after POLLOUT (pipe(7))
 *   terminal     a description of our own; else small writes after POLLOUT
 *   socket       send(MSG_DONTWAIT | MSG_NOSIGNAL)
 *   file         written through the same description: its offset and its
 *                O_APPEND hold; waits for the disk at most
 *   /dev/null    and other devices: written after POLLOUT
 *   capture      a bounded memfd: head, tail or both of what came
 *
 * A sink knows nothing of caps and counts: that is the drain's. SIGPIPE and
 * SIGXFSZ must be ignored in the process: both come back as errors then.
 *
 *     struct cs_sink *sink;
 *     if (cs_sink_new_fd(STDOUT_FILENO, &sink, &err) < 0) …
 *     cs_drain_new(loop, pipe_read_end, sink, &config, on_event, run, &drain, &err);
 */
#ifndef CS_STDIO_SINK_H
#define CS_STDIO_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"

struct cs_sink; /* opaque */

/*
 * A sink on an open descriptor of any kind. fd is borrowed during the call
 * only. A descriptor that is not open for writing makes a sink whose first
 * write fails with EBADF, as it would for any program. CS_IO when fd is not
 * open or descriptors ran out.
 */
int cs_sink_new_fd(int fd, struct cs_sink **ret, struct cs_err *err);

/*
 * Makes or truncates a file, mode 0644 less the umask. Follows no symbolic
 * link in the last part (O_NOFOLLOW), and does not wait for the reader of a
 * FIFO: without one that is ENXIO (fifo(7)). Errors by errno, with the path.
 */
int cs_sink_new_file(const char *path, struct cs_sink **ret, struct cs_err *err);

/* Takes everything and forgets it. */
int cs_sink_new_null(struct cs_sink **ret, struct cs_err *err);

enum cs_capture { CS_CAPTURE_HEAD, CS_CAPTURE_TAIL, CS_CAPTURE_BOTH };

/* No capture may be larger. */
#define CS_CAPTURE_MAX_BYTES (UINT64_C(16) << 20)

/*
 * Keeps at most limit_bytes in a memfd and takes everything: head the first,
 * tail the last, both the first half (the odd byte is its) and the last half.
 * CS_LIMIT above CS_CAPTURE_MAX_BYTES.
 */
int cs_sink_new_capture(enum cs_capture which, uint64_t limit_bytes, struct cs_sink **ret,
			struct cs_err *err);

/*
 * Appends what a capture kept to out: the head, then the tail in the order in
 * which it came. *ret_gap_bytes were left out (0: all is there), and would
 * stand *ret_gap_at bytes behind the start of what was appended. -EINVAL for another
 * kind of sink, -ENOSPC and -ENOMEM of cs_buf_add, -errno of reading.
 */
int cs_sink_captured(const struct cs_sink *sink, struct cs_buf *out, uint64_t *ret_gap_bytes,
		     uint64_t *ret_gap_at);

void cs_sink_free(struct cs_sink *sink); /* NULL allowed */

#endif
