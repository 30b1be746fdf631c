/*
 * Pseudoterminals: a pair, what is known of a descriptor, window size, and the
 * raw mode of somebody's terminal (pty(7), ioctl_tty(2), termios(3)).
 *
 * Owns nothing: all descriptors are the caller's. Knows nothing of streams and
 * containers; how a master travels from one process to another is ptysock.h's.
 *
 *     struct cs_pty_mode mode;
 *     if (cs_pty_mode_read(STDIN_FILENO, &mode) == 0 && cs_pty_mode_enter(STDIN_FILENO, &mode) == 0) …
 *     cs_pty_mode_leave(STDIN_FILENO, &mode);
 *
 * All return -errno. No call blocks, but see cs_pty_mode_enter.
 */
#ifndef CS_SYS_PTY_H
#define CS_SYS_PTY_H

#include <stdbool.h>
#include <termios.h>

#include "shim/base/attr.h"

/*
 * A new pair from /dev/ptmx, both ends CLOEXEC, neither the controlling
 * terminal of anybody. Both descriptors are the caller's.
 */
int cs_pty_open(int *ret_master_fd, int *ret_slave_fd) CS_MUST_CHECK;

/*
 * Opens the other end of a master, wherever its devpts is mounted (TIOCGPTPEER,
 * Linux 4.13): a CLOEXEC descriptor, the caller's.
 */
int cs_pty_open_peer(int master_fd) CS_MUST_CHECK;

/* The master of a UNIX 98 pseudoterminal, open for reading and writing. */
bool cs_pty_is_master(int fd);

/*
 * Makes slave_fd the controlling terminal of this process, which must lead a
 * session that has none: SIGWINCH comes here then when the holder of the master changes the size.
 */
int cs_pty_make_controlling(int slave_fd) CS_MUST_CHECK;

/*
 * Lets go of it again. A session leader that exits with one hangs it up, which
 * throws away what the other side has not read yet (tty_ldisc_hangup() in the kernel).
 */
void cs_pty_drop_controlling(int slave_fd);

/*
 * Gives `to` (either end of a pair) the window size of `from`. A size of 0 × 0
 * says that nobody has set one: it is not copied. A size that changes sends
 * SIGWINCH to the foreground process group of `to`.
 */
int cs_pty_copy_size(int from_fd, int to_fd);

/* The window size of a terminal; false when it has none, or is none. */
bool cs_pty_get_size(int fd, unsigned *ret_rows, unsigned *ret_columns);

/* No echo, no line editing, no signals, no output processing: cfmakeraw, termios(3). For a terminal of our own. */
int cs_pty_make_raw(int fd) CS_MUST_CHECK;

/*
 * The character that ends the input of a program that reads lines from the
 * terminal behind a master (VEOF, termios(3)); '\0' when it has none.
 */
char cs_pty_eof_char(int master_fd);

/* What a terminal of somebody else is put back to, and what we set it to. May be sent to another process as it is. */
struct cs_pty_mode {
	struct termios saved, raw;
};

/* Looks only. -ENOTTY when fd is no terminal. */
int cs_pty_mode_read(int fd, struct cs_pty_mode *ret) CS_MUST_CHECK;

/*
 * Raw mode, output processing included, as whatever passes has been processed
 * once already. From the background of fd's own session the kernel sends SIGTTOU
 * (termios(3), tcsetattr): blocked, as all are here, the mode is set all the same; so look first
 * (cs_pty_in_foreground).
 */
int cs_pty_mode_enter(int fd, const struct cs_pty_mode *mode) CS_MUST_CHECK;

/*
 * Puts the terminal back, unless it is no longer in the mode that
 * cs_pty_mode_enter has set: then somebody else, a shell that has found its job dead, has been here since.
 * Does not wait for output, which may be stopped (^S).
 */
int cs_pty_mode_leave(int fd, const struct cs_pty_mode *mode);

/* This process may read from fd and change it: it is in the foreground there, or has another controlling terminal. */
bool cs_pty_in_foreground(int fd);

#endif
