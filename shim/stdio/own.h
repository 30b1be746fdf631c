/*
 * A description of our own for a file that the caller gave us, so that it can
 * be used without blocking and without touching the flags of the caller's.
 * For shim/stdio only.
 */
#ifndef CS_STDIO_OWN_H
#define CS_STDIO_OWN_H

/*
 * Opens the pipe, FIFO or terminal behind fd once more with O_NONBLOCK
 * (/proc/self/fd, proc_pid_fd(5)). access: O_RDONLY or O_WRONLY, which fd must
 * allow as well: root could open what the caller gave for the other direction.
 * A new CLOEXEC descriptor, or -1 where it cannot be had: no /proc, another
 * user's file, the master of a terminal (opening that makes a new one, ptmx(4)).
 */
int cs__own_open(int fd, int access);

#endif
