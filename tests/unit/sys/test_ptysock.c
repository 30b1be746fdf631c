#include "shim/sys/ptysock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/path.h"
#include "shim/sys/pty.h"
#include "tests/unit/unit.h"

struct desk {
	struct cs_loop *loop;
	char top[64], dir[600];
	int dir_fd;
	struct cs_ptysock *sock;
	char address[108];
};

/* depth: how many directories of 60 bytes lie on the way. */
static void desk_init(struct desk *d, int depth)
{
	*d = (struct desk){ .loop = cs_loop_new(), .dir_fd = -1 };
	snprintf(d->top, sizeof(d->top), "/tmp/cs-ptysock-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(d->top));
	snprintf(d->dir, sizeof(d->dir), "%s", d->top);
	for (int i = 0; i < depth; i++)
		snprintf(d->dir + strlen(d->dir), sizeof(d->dir) - strlen(d->dir), "/%060d", i);
	ck_assert_int_eq(cs_file_mkdirs(d->dir, 0700), 0);
	d->dir_fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(d->dir_fd, 0);
	ck_assert_int_eq(cs_ptysock_listen(d->loop, d->dir_fd, "tty.sock", &d->sock), 0);
	ck_assert_int_eq(cs_ptysock_address(d->dir_fd, d->dir, "tty.sock", d->address, sizeof(d->address)), 0);
}

static void desk_release(struct desk *d)
{
	cs_ptysock_free(d->sock);
	ck_assert_int_eq(faccessat(d->dir_fd, "tty.sock", F_OK, 0), -1);
	cs_close_fd(&d->dir_fd);
	cs_loop_free(d->loop);
	ck_assert_int_eq(chdir("/tmp"), 0);
	ck_assert_int_eq(cs_path_remove_tree(AT_FDCWD, d->top + strlen("/tmp/")), 0);
}

/* Turns until something is known. */
static int outcome(struct desk *d, int *ret_fd)
{
	int r;

	while ((r = cs_ptysock_take(d->sock, ret_fd)) == -EAGAIN)
		ck_assert_int_gt(cs_loop_turn(d->loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)), 0);
	return r;
}

/* A plain client, as a stranger would write one: connected to the address that engines get. */
static int stranger(const struct desk *d)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, d->address, sizeof(address.sun_path));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void send_fds(int socket_fd, const int *fds, size_t n)
{
	char control[CMSG_SPACE(8 * sizeof(int))] = { 0 }, byte = 'x';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n > 0) {
		struct cmsghdr *header;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(header), fds, n * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(socket_fd, &message, 0), 1);
}

static int open_count(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void check_travel(int depth)
{
	cs_autofd int master = -1, slave = -1, got = -1;
	char path[700], text[8];
	struct stat st;
	struct desk d;

	desk_init(&d, depth);
	ck_assert_int_eq(fstatat(d.dir_fd, "tty.sock", &st, 0), 0);
	ck_assert_int_eq(st.st_mode & 077, 0);
	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	ck_assert_int_eq(cs_ptysock_take(d.sock, &got), -EAGAIN);
	snprintf(path, sizeof(path), "%s/tty.sock", d.dir);
	ck_assert_int_eq(cs_ptysock_send(path, master, CS_NSEC_PER_SEC), 0);
	cs_close_fd(&master);
	ck_assert_int_eq(outcome(&d, &got), 0);
	ck_assert_int_eq(fcntl(got, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(write(slave, "x", 1), 1);
	ck_assert_int_eq(read(got, text, sizeof(text)), 1);
	ck_assert_int_eq(cs_ptysock_take(d.sock, &got), -ENOENT);
	/* nobody is let in any more */
	ck_assert_int_eq(cs_ptysock_send(path, slave, CS_NSEC_PER_SEC), -ECONNREFUSED);
	desk_release(&d);
}

START_TEST(a_master_travels)
{
	check_travel(0);
}
END_TEST

START_TEST(long_paths_F064)
{
	struct desk d;
	int master, slave, fd, got = -1;

	check_travel(5);
	/* the address for an engine is short, whatever the path */
	desk_init(&d, 5);
	ck_assert_int_eq(strncmp(d.address, "/proc/", 6), 0);
	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	fd = stranger(&d);
	send_fds(fd, &master, 1);
	ck_assert_int_eq(outcome(&d, &got), 0);
	cs_close_fd(&got);
	cs_close_fd(&fd);
	cs_close_fd(&master);
	cs_close_fd(&slave);
	desk_release(&d);
	ck_assert_int_eq(cs_ptysock_address(3, "/a", "b", (char[3]){ 0 }, 3), -ENAMETOOLONG);
}
END_TEST

/* What n of these give, and none of them stays open. */
static void check_refused(const int *fds, size_t n, int expected)
{
	struct desk d;
	int fd, got = -1, before;

	desk_init(&d, 0);
	fd = stranger(&d);
	before = open_count();
	send_fds(fd, fds, n);
	ck_assert_int_eq(outcome(&d, &got), expected);
	ck_assert_int_eq(got, -1);
	ck_assert_int_eq(open_count(), before - 1); /* the listener is closed */
	ck_assert_int_eq(cs_ptysock_take(d.sock, &got), expected);
	cs_close_fd(&fd);
	desk_release(&d);
}

START_TEST(strictly_one_master)
{
	cs_autofd int master = -1, slave = -1, null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int many[8];

	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	for (size_t i = 0; i < CS_ARRAY_LEN(many); i++)
		many[i] = master;
	check_refused(many, 0, -EPROTO);
	check_refused(many, 2, -EPROTO);
	check_refused(many, 8, -EPROTO);
	check_refused(&slave, 1, -ENOTTY);
	check_refused(&null_fd, 1, -ENOTTY);
}
END_TEST

START_TEST(who_says_nothing)
{
	struct desk d;
	int fd, got = -1;

	desk_init(&d, 0);
	fd = stranger(&d);
	ck_assert_int_eq(cs_loop_turn(d.loop, cs_clock_deadline_ns(CS_NSEC_PER_SEC)), 1);
	ck_assert_int_eq(cs_ptysock_take(d.sock, &got), -EAGAIN);
	cs_close_fd(&fd);
	ck_assert_int_eq(outcome(&d, &got), -ECONNRESET);
	desk_release(&d);
}
END_TEST

START_TEST(a_name_that_is_taken)
{
	struct cs_ptysock *second;
	struct desk d;

	desk_init(&d, 0);
	ck_assert_int_eq(cs_ptysock_listen(d.loop, d.dir_fd, "tty.sock", &second), -EADDRINUSE);
	ck_assert_int_eq(faccessat(d.dir_fd, "tty.sock", F_OK, 0), 0); /* of the first one, still there */
	ck_assert_int_eq(cs_ptysock_send("/tmp/cs-no-such-socket", d.dir_fd, CS_NSEC_PER_SEC), -ENOENT);
	cs_ptysock_free(NULL);
	desk_release(&d);
}
END_TEST

CS_UNIT_SUITE(ptysock, a_master_travels, long_paths_F064, strictly_one_master, who_says_nothing,
	      a_name_that_is_taken)
