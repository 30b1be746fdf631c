#include "shim/stdio/console.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/stdio/feed.h"
#include "shim/sys/pty.h"

struct cs_console {
	int master_fd;
	int peer_fd; /* the container's end, held open; -1: hung up, or the kernel cannot */
	int size_fd; /* a duplicate, or -1 */
	struct cs_feed *feed; /* NULL: nothing is typed */
};

static int start(struct cs_console *console, struct cs_loop *loop, const struct cs_console_config *config,
		 struct cs_err *err)
{
	int r = cs_fd_set_nonblock(console->master_fd, true);

	if (r < 0)
		return cs_fail(err, CS_IO, -r, "make the terminal's descriptor nonblocking");
	console->peer_fd = cs_pty_open_peer(console->master_fd);
	if (console->peer_fd < 0) /* Linux < 4.13: the end is when the program closes it first */
		cs_log_debug("hold a terminal open: %s", strerror(-console->peer_fd));
	if (config->size_fd >= 0) {
		console->size_fd = cs_fd_dup(config->size_fd, STDERR_FILENO + 1);
		if (console->size_fd < 0)
			return cs_fail(err, CS_IO, -console->size_fd, "duplicate descriptor %d", config->size_fd);
		cs_console_follow_size(console);
	}
	if (config->input_fd >= 0) {
		/* one of its own, since a descriptor may stand in the epoll set once only */
		int to_fd = cs_fd_dup(console->master_fd, STDERR_FILENO + 1);

		if (to_fd < 0)
			return cs_fail(err, CS_IO, -to_fd, "duplicate the terminal's descriptor");
		return cs_feed_new(loop, config->input_fd, to_fd, &console->feed, err);
	}
	return 0;
}

int cs_console_new(struct cs_loop *loop, int master_fd_consume, const struct cs_console_config *config,
		   struct cs_console **ret, struct cs_err *err)
{
	struct cs_console *console = malloc(sizeof(*console));

	if (!console) {
		cs_close_fd(&master_fd_consume);
		return cs_fail(err, CS_IO, ENOMEM, "make a console");
	}
	*console = (struct cs_console){ .master_fd = master_fd_consume, .peer_fd = -1, .size_fd = -1 };
	if (!cs_pty_is_master(master_fd_consume)) {
		cs_console_free(console);
		return cs_fail(err, CS_INVALID, 0, "descriptor %d is not the master of a terminal", master_fd_consume);
	}
	if (start(console, loop, config, err) < 0) {
		cs_console_free(console);
		return -1;
	}
	*ret = console;
	return 0;
}

void cs_console_free(struct cs_console *console)
{
	if (!console)
		return;
	cs_console_hang_up(console);
	cs_close_fd(&console->size_fd);
	cs_close_fd(&console->master_fd);
	free(console);
}

int cs_console_output(const struct cs_console *console, int *ret_fd, struct cs_err *err)
{
	int fd = cs_fd_dup(console->master_fd, STDERR_FILENO + 1);

	if (fd < 0)
		return cs_fail(err, CS_IO, -fd, "duplicate the terminal's descriptor");
	*ret_fd = fd;
	return 0;
}

void cs_console_follow_size(struct cs_console *console)
{
	int r = console->size_fd < 0 ? 0 : cs_pty_copy_size(console->size_fd, console->master_fd);

	if (r < 0)
		cs_log_debug("window size: %s", strerror(-r));
}

void cs_console_hang_up(struct cs_console *console)
{
	cs_feed_free(cs_take_ptr(&console->feed));
	cs_close_fd(&console->peer_fd);
}
