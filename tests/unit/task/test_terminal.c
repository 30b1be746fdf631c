/* What comes of the console socket, whatever the engine does with it. */
#include "shim/task/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/pty.h"
#include "shim/sys/ptysock.h"
#include "tests/unit/unit.h"

struct waiting {
	char dir[64];
	struct cs_loop *loop;
	struct cs_terminal *terminal;
	struct cs_err err;
};

static void waiting_init(struct waiting *w)
{
	*w = (struct waiting){ .loop = cs_loop_new(), .err = CS_ERR_INIT };
	snprintf(w->dir, sizeof(w->dir), "/tmp/cs-terminal-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	ck_ok(cs_terminal_new(w->loop, w->dir, &w->terminal, &w->err), w->err);
	ck_assert_int_eq(strncmp(cs_terminal_socket(w->terminal), w->dir, strlen(w->dir)), 0);
}

static void waiting_release(struct waiting *w)
{
	cs_terminal_free(w->terminal);
	ck_assert_int_eq(rmdir(w->dir), 0); /* the socket is gone */
	cs_loop_free(w->loop);
}

static int receive(struct waiting *w, int64_t timeout_ns, const bool *cancelled, int *ret_fd)
{
	return cs_terminal_receive(w->terminal, cs_clock_deadline_ns(timeout_ns), cancelled, ret_fd, &w->err);
}

START_TEST(a_terminal_comes)
{
	struct waiting w;
	int master, slave, got = -1;

	waiting_init(&w);
	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	ck_assert_int_eq(cs_ptysock_send(cs_terminal_socket(w.terminal), master, CS_NSEC_PER_SEC), 0);
	ck_ok(receive(&w, 10 * CS_NSEC_PER_SEC, NULL, &got), w.err);
	ck_assert(cs_pty_is_master(got));
	cs_close_fd(&got);
	cs_close_fd(&master);
	cs_close_fd(&slave);
	waiting_release(&w);
}
END_TEST

START_TEST(something_else_comes)
{
	struct waiting w;
	int got = -1;
	cs_autofd int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	waiting_init(&w);
	ck_assert_int_eq(cs_ptysock_send(cs_terminal_socket(w.terminal), null_fd, CS_NSEC_PER_SEC), 0);
	ck_fails(receive(&w, 10 * CS_NSEC_PER_SEC, NULL, &got), w.err, "not the master of a terminal");
	ck_assert_int_eq(w.err.kind, CS_ENGINE);
	waiting_release(&w);
}
END_TEST

START_TEST(a_connection_without_a_word)
{
	struct waiting w;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int got = -1, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	waiting_init(&w);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", cs_terminal_socket(w.terminal));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cs_close_fd(&fd);
	ck_fails(receive(&w, 10 * CS_NSEC_PER_SEC, NULL, &got), w.err, "sent no terminal");
	waiting_release(&w);
}
END_TEST

START_TEST(nothing_comes)
{
	const bool cancelled = true;
	struct waiting w;
	int got = -1;

	waiting_init(&w);
	ck_fails(receive(&w, 5 * CS_NSEC_PER_MSEC, NULL, &got), w.err, "no terminal in time");
	ck_assert_int_eq(w.err.kind, CS_TIMEOUT);
	waiting_release(&w);
	waiting_init(&w);
	ck_fails(receive(&w, 10 * CS_NSEC_PER_SEC, &cancelled, &got), w.err, "cancelled");
	ck_assert_int_eq(w.err.kind, CS_STATE);
	waiting_release(&w);
}
END_TEST

START_TEST(no_directory)
{
	struct cs_loop *loop = cs_loop_new();
	struct cs_terminal *terminal;
	struct cs_err err = CS_ERR_INIT;

	ck_fails(cs_terminal_new(loop, "/no/such/directory", &terminal, &err), err, "'/no/such/directory'");
	cs_terminal_free(NULL);
	cs_loop_free(loop);
}
END_TEST

CS_UNIT_SUITE(terminal, a_terminal_comes, something_else_comes, a_connection_without_a_word, nothing_comes, no_directory)
