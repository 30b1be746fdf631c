#include "shim/task/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oci-spec/json_edit.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/sys/ptykeep.h"
#include "shim/sys/ptysock.h"
#include "shim/sys/signals.h"

#define SOCKET_NAME "tty.sock"

struct cs_terminal {
	struct cs_loop *loop;
	int dir_fd; /* open as long as the address may go by way of it */
	struct cs_ptysock *sock;
	char address[108]; /* of a struct sockaddr_un */
	struct cs_ptykeep keep;
	struct cs_signals *signals;
	struct cs_streams *streams;
};

int cs_terminal_wait_foreground(struct cs_err *err)
{
	sigset_t set, before;

	if (!isatty(STDIN_FILENO) || cs_pty_in_foreground(STDIN_FILENO))
		return 0;
	sigemptyset(&set);
	sigaddset(&set, SIGTTIN);
	/* to the whole group, as the kernel does it: a shell stops and continues a job as one */
	sigprocmask(SIG_UNBLOCK, &set, &before);
	kill(0, SIGTTIN);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!cs_pty_in_foreground(STDIN_FILENO))
		return cs_fail(err, CS_STATE, 0, "-i -t: caisson is in the background of its terminal: "
						 "bring it to the foreground, or leave -i out");
	return 0;
}

int cs_terminal_new(struct cs_loop *loop, const char *dir, struct cs_terminal **ret, struct cs_err *err)
{
	struct cs_terminal *terminal = malloc(sizeof(*terminal));
	int r;

	if (!terminal)
		return cs_fail(err, CS_IO, ENOMEM, "console socket");
	*terminal = (struct cs_terminal){ .loop = loop, .keep = CS_PTYKEEP_INIT };
	terminal->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = terminal->dir_fd < 0 ? -errno : cs_ptysock_listen(loop, terminal->dir_fd, SOCKET_NAME, &terminal->sock);
	if (r == 0)
		r = cs_ptysock_address(terminal->dir_fd, dir, SOCKET_NAME, terminal->address,
				       sizeof(terminal->address));
	if (r < 0) {
		cs_terminal_free(terminal);
		return cs_fail(err, CS_IO, -r, "console socket in '%s'", dir);
	}
	*ret = terminal;
	return 0;
}

void cs_terminal_free(struct cs_terminal *terminal)
{
	if (!terminal)
		return;
	cs_ptykeep_leave(&terminal->keep);
	cs_log_to_raw_terminal(false);
	cs_signals_free(terminal->signals);
	cs_ptysock_free(terminal->sock);
	cs_close_fd(&terminal->dir_fd);
	free(terminal);
}

const char *cs_terminal_socket(const struct cs_terminal *terminal)
{
	return terminal->address;
}

/* What the engine did wrong, by what cs_ptysock_take says. */
static const char *blame(int r)
{
	switch (r) {
	case -EPROTO:
		return "sent something else than one descriptor";
	case -ENOTTY:
		return "sent a descriptor that is not the master of a terminal";
	case -ECONNRESET:
		return "sent no terminal";
	default:
		return NULL;
	}
}

int cs_terminal_receive(struct cs_terminal *terminal, int64_t deadline_ns, const bool *cancelled, int *ret_master_fd,
			struct cs_err *err)
{
	int r, turned = 1;

	while ((r = cs_ptysock_take(terminal->sock, ret_master_fd)) == -EAGAIN && turned >= 0 &&
	       cs_clock_left_ns(deadline_ns) > 0) {
		if (cancelled && *cancelled)
			return cs_fail(err, CS_STATE, 0, "console socket: cancelled");
		turned = cs_loop_turn(terminal->loop, deadline_ns);
	}
	cs_ptysock_free(cs_take_ptr(&terminal->sock));
	if (r == -EAGAIN)
		return cs_fail(err, turned < 0 ? CS_IO : CS_TIMEOUT, turned < 0 ? -turned : 0,
			       "console socket: the engine sent no terminal in time");
	if (r < 0 && blame(r))
		return cs_fail(err, CS_ENGINE, 0, "console socket: the engine %s", blame(r));
	return r < 0 ? cs_fail(err, CS_IO, -r, "console socket") : 0;
}

int cs_terminal_size_fd(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			return fd;
	return -1;
}

int cs_terminal_put_size(struct cs_json *config, struct cs_err *err)
{
	unsigned rows, columns;

	if (!cs_pty_get_size(cs_terminal_size_fd(), &rows, &columns))
		return 0;
	return cs_json_set_u64(config, "process.consoleSize.height", rows, err) < 0 ||
			       cs_json_set_u64(config, "process.consoleSize.width", columns, err) < 0
		       ? -1 : 0;
}

static void on_signal(struct cs_loop *loop CS_UNUSED, int signal, pid_t sender CS_UNUSED, void *arg)
{
	struct cs_terminal *terminal = arg;

	/* continued in the background, the terminal is somebody else's */
	if (signal == SIGCONT && cs_pty_in_foreground(STDIN_FILENO))
		cs_ptykeep_enter_again(&terminal->keep);
	cs_streams_follow_size(terminal->streams);
}

int cs_terminal_attach(struct cs_terminal *terminal, bool interactive, struct cs_streams *streams,
		       struct cs_err *err)
{
	sigset_t set;
	int r = 0;

	terminal->streams = streams;
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGCONT);
	terminal->signals = cs_signals_new(terminal->loop, &set, on_signal, terminal);
	if (!terminal->signals)
		return cs_fail(err, CS_IO, errno, "watch the size of the terminal");
	if (!interactive || !isatty(STDIN_FILENO))
		return 0;
	r = cs_ptykeep_enter(STDIN_FILENO, &terminal->keep);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "raw mode of the terminal");
	cs_log_to_raw_terminal(isatty(STDERR_FILENO));
	return 0;
}
