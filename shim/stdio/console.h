/*
 * The relay around a container's terminal: what is typed, its window size, and
 * its life. What the container prints goes through a drain like everything else:
 * same caps, counters, bucket and sinks.
 *
 *     cs_console_new(loop, cs_take_fd(&master_fd), &config, &console, &err);
 *     cs_console_output(console, &fd, &err);
 *     cs_drain_new(loop, fd, sink, &drain_config, on_event, me, &drain, &err);
 *     … on SIGWINCH:            cs_console_follow_size(console);
 *     … when init has ended:    cs_console_hang_up(console);      (then the drain finds its end)
 *     cs_drain_free(drain); cs_console_free(console);
 *
 * Two faces use it. `caisson run -t` puts the caller's terminal on the other
 * side: in raw mode (pty.h) as the input, and for the size. The attendant puts
 * the slave of a second pair there, whose master its caller gets (ptysock.h):
 *
 *     cs_pty_open(&outer_master, &outer_slave);       the pair of our caller
 *     cs_pty_make_raw(outer_slave);                    nothing is done to a byte twice
 *     cs_pty_copy_size(engines_master, outer_slave);   what config.json's consoleSize says
 *     cs_pty_make_controlling(outer_slave);            so that its SIGWINCH comes to us
 *     cs_console_new(… { .input_fd = outer_slave, .size_fd = outer_slave } …);
 *     sink of the drain: cs_sink_new_fd(outer_slave, …)
 *     cs_ptysock_send(path, outer_master, timeout_ns); close(outer_master)
 *
 * While the relay has not hung up it keeps the container's end open itself, so
 * that a program that closes its three descriptors and opens /dev/tty later finds
 * the terminal as it was: without a holder a master reads EIO, and closing it then sends SIGHUP.
 *
 * A console must not know of containers, engines or limits. Not thread-safe; no
 * call blocks.
 */
#ifndef CS_STDIO_CONSOLE_H
#define CS_STDIO_CONSOLE_H

#include "shim/base/err.h"
#include "shim/sys/loop.h"

struct cs_console; /* opaque */

struct cs_console_config {
	int input_fd; /* what is typed comes from there: feed.h says how each kind is read; -1: nothing is typed */
	int size_fd;  /* the terminal whose window size holds inside; -1: none */
};

#define CS_CONSOLE_CONFIG_INIT ((struct cs_console_config){ .input_fd = -1, .size_fd = -1 })

/*
 * master_fd: of the container's terminal, its description ours alone (it becomes
 * O_NONBLOCK); consumed, also on failure. The descriptors of config are borrowed during the call only. The
 * size is copied at once. CS_INVALID when master_fd is no master, CS_IO.
 */
int cs_console_new(struct cs_loop *loop, int master_fd_consume, const struct cs_console_config *config,
		   struct cs_console **ret, struct cs_err *err);

/* Closes everything: what lives on in the container loses its terminal. The loop must still be there. NULL allowed. */
void cs_console_free(struct cs_console *console);

/* A descriptor of the master for cs_drain_new: CLOEXEC, the caller's. CS_IO. */
int cs_console_output(const struct cs_console *console, int *ret_fd, struct cs_err *err);

/* The window size of size_fd has changed, or may have: passes it on. The foreground inside gets SIGWINCH when it did. */
void cs_console_follow_size(struct cs_console *console);

/*
 * The container's init has ended: nothing is typed any more, and the terminal
 * ends with the last process that has it open; the drain reads to there.
 */
void cs_console_hang_up(struct cs_console *console);

#endif
