/*
 * The caller's stdin → the container's, for `-i`. Fixed memory, back-pressure
 * instead of growth; the write end is closed exactly at the caller's EOF, and
 * no copy of it stays anywhere. The caller's descriptor keeps its flags: it is
 * read through a description of our own where it can be opened again, else
 * with at most one read after POLLIN.
 */
#ifndef CS_STDIO_FEED_H
#define CS_STDIO_FEED_H

#include "shim/base/err.h"
#include "shim/sys/loop.h"

struct cs_feed; /* opaque */

/* from_fd is borrowed, to_fd (write end of a pipe that is ours alone) is consumed, also on failure. */
int cs_feed_new(struct cs_loop *loop, int from_fd, int to_fd_consume, struct cs_feed **ret,
		struct cs_err *err);
void cs_feed_free(struct cs_feed *feed); /* NULL allowed; closes the write end */

#endif
