/*
 * Where drained bytes go: one interface, a row a kind of descriptor.
 *
 * A sink never blocks and never changes the flags of a descriptor that it was
 * given. Pipes and FIFOs are written through a description of our own
 * (/proc/self/fd/N opened again with O_NONBLOCK) or, where that cannot be had,
 * with splice(SPLICE_F_NONBLOCK) and writes of at most PIPE_BUF after POLLOUT;
 * terminals the same; sockets with MSG_DONTWAIT; regular files are written
 * directly, with O_APPEND respected; a memory sink keeps head, tail or both of
 * what it got in a memfd. A null sink takes everything.
 */
#ifndef CS_STDIO_SINK_H
#define CS_STDIO_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/err.h"

struct cs_sink; /* opaque */

/* fd is borrowed and must live as long as the sink. */
int cs_sink_new_fd(int fd, struct cs_sink **ret, struct cs_err *err);
/* Makes or truncates a file: O_NOFOLLOW, mode 0644, never opens a FIFO without a reader. */
int cs_sink_new_file(const char *path, struct cs_sink **ret, struct cs_err *err);
int cs_sink_new_null(struct cs_sink **ret, struct cs_err *err);

enum cs_capture { CS_CAPTURE_HEAD, CS_CAPTURE_TAIL, CS_CAPTURE_BOTH };
/* Keeps at most limit bytes (head: the first, tail: the last, both: half and half) in a memfd. */
int cs_sink_new_capture(enum cs_capture which, uint64_t limit_bytes, struct cs_sink **ret,
			struct cs_err *err);
/* What a capture kept; both: head, then tail, *ret_gap bytes were left out between (at *ret_gap_at). */
int cs_sink_captured(const struct cs_sink *sink, struct cs_buf *out, uint64_t *ret_gap_bytes,
		     uint64_t *ret_gap_at);

void cs_sink_free(struct cs_sink *sink); /* NULL allowed */

#endif
