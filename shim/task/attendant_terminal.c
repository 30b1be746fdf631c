/*
 * With a terminal there are two: the engine's, whose master comes to us, and
 * one of ours, whose master goes to the caller. What passes between them passes
 * through the drain.
 */
#include "shim/task/attendant_int.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/pty.h"

/* The engine has sent it before it said that it was done; what is left is to take it. */
#define MASTER_NS (2 * CS_NSEC_PER_SEC)
/* For room in the queue of a caller that accepts when we are done. */
#define SEND_NS (2 * CS_NSEC_PER_SEC)

static void on_signal(struct cs_loop *loop CS_UNUSED, int signal CS_UNUSED, pid_t sender CS_UNUSED, void *arg)
{
	struct cs__attend *a = arg;

	cs_streams_follow_size(a->streams);
}

/* Ours, as the controlling terminal of this session and its stdin, so that a new size is a SIGWINCH to us. */
static int open_outer(struct cs__attend *a)
{
	cs_autofd int slave = -1;
	int r = cs_pty_open(&a->outer_master, &slave);

	if (r == 0)
		r = cs_pty_make_raw(slave); /* nothing is done to a byte twice */
	if (r == 0)
		r = cs_pty_make_controlling(slave);
	if (r == 0 && dup2(slave, STDIN_FILENO) < 0)
		r = -errno;
	return r;
}

int cs__attend_open_terminal(struct cs__attend *a, const char *dir_path, char *ret_console, size_t size, struct cs_err *err)
{
	sigset_t winch;
	char name[32];
	int r = open_outer(a);

	if (r < 0)
		return cs_fail(err, CS_IO, -r, "make a terminal");
	sigemptyset(&winch);
	sigaddset(&winch, SIGWINCH);
	a->signals = cs_signals_new(a->loop, &winch, on_signal, a);
	if (!a->signals)
		return cs_fail(err, CS_IO, errno, "watch the window size");
	/* one of its own for each that is alive in the directory at one time */
	snprintf(name, sizeof(name), "tty-%d", (int)getpid());
	unlinkat(a->dir_fd, name, 0);
	r = cs_ptysock_listen(a->loop, a->dir_fd, name, &a->ptysock);
	if (r == 0)
		r = cs_ptysock_address(a->dir_fd, dir_path, name, ret_console, size);
	return r < 0 ? cs_fail(err, CS_IO, -r, "console socket") : 0;
}

static int take_master(struct cs__attend *a, int *ret)
{
	int64_t deadline = cs_clock_deadline_ns(MASTER_NS);
	int r;

	while ((r = cs_ptysock_take(a->ptysock, ret)) == -EAGAIN && cs_clock_left_ns(deadline) > 0)
		if (cs_loop_turn(a->loop, deadline) < 0)
			return -EIO;
	return r;
}

int cs__attend_connect_terminal(struct cs__attend *a, struct cs_err *err)
{
	int master = -1;
	int r = take_master(a, &master);

	if (r < 0)
		return cs_fail(err, CS_IO, -r, "the engine sent no terminal");
	cs_ptysock_free(a->ptysock);
	a->ptysock = NULL;
	/* what config.json says (consoleSize) */
	cs_pty_copy_size(master, STDIN_FILENO);
	cs_streams_give_terminal(a->streams, master, STDIN_FILENO);
	r = cs_ptysock_send(a->console_socket, a->outer_master, SEND_NS);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "send the terminal to '%s'", a->console_socket);
	cs_close_fd(&a->outer_master);
	return 0;
}
