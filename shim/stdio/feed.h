/*
 * The caller's stdin → the container's, for `-i`. Fixed memory, back-pressure
 * instead of growth; the write end is closed exactly at the caller's EOF, and
 * no copy of it is made here. The caller's descriptor keeps its flags and what
 * is not fed stays in it, but for one buffer of 16 KiB:
 *
 *   pipe, FIFO   splice(SPLICE_F_NONBLOCK), which waits for nobody
 *   terminal     a description of our own; else one read after POLLIN
 *   socket       recv(MSG_DONTWAIT)
 *   file         read when the container's pipe has room (epoll(7) knows no
 *                regular files); so are /dev/null and other devices without poll
 *
 * The container's side may also be the master of its terminal: what is fed is
 * typed there then. A terminal has no end; that of a caller's file or pipe is typed as the
 * terminal's VEOF character, usually ^D, which a program that reads lines takes for
 * one end. A caller's terminal (in raw mode) passes on what is typed, ^D as well.
 *
 * When the container closes its stdin, the feed stops and says nothing: a
 * program need not read what it is given. A read error is the end of input.
 *
 *     cs_feed_new(loop, STDIN_FILENO, cs_take_fd(&write_end), &feed, &err);
 *     … the container's read end is closed here once the engine has it …
 *     cs_feed_free(feed);
 */
#ifndef CS_STDIO_FEED_H
#define CS_STDIO_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/err.h"
#include "shim/sys/loop.h"

struct cs_feed; /* opaque */

/*
 * Starts with the loop's next round. from_fd is borrowed during the call only;
 * to_fd, the write end of a pipe, or a pseudoterminal's master, whose
 * description is ours alone (it becomes
 * O_NONBLOCK), is consumed, also on failure. CS_IO.
 */
int cs_feed_new(struct cs_loop *loop, int from_fd, int to_fd_consume, struct cs_feed **ret,
		struct cs_err *err);

/* Closes the write end, if that has not happened yet. The loop must still be there. */
void cs_feed_free(struct cs_feed *feed); /* NULL allowed */

/* The write end is closed: EOF was passed on, or the container closed its side. */
bool cs_feed_is_done(const struct cs_feed *feed);

/* Bytes that went into the container's pipe so far. */
uint64_t cs_feed_bytes(const struct cs_feed *feed);

#endif
