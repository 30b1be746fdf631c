#include "shim/sys/ptysock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/sys/pty.h"

/* Room for more than the one that is right, so that a second one is seen, and closed. */
#define FDS_MAX 4
/* The message beside it is the terminal's name, of PATH_MAX bytes at most; nobody needs it. */
#define NAME_BYTES 4096

struct cs_ptysock {
	struct cs_loop *loop;
	struct cs_source source;
	int fd;     /* the listening socket, then the connection, then -1 */
	int dir_fd; /* ours */
	char *name;
	bool bound; /* the name is there, and ours */
	int master_fd;
	int result; /* what cs_ptysock_take says */
};

/* --- addresses --------------------------------------------------------------- */

static int set_address(struct sockaddr_un *ret, const char *path)
{
	size_t len = strlen(path);

	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, len);
	return 0;
}

int cs_ptysock_address(int dir_fd, const char *dir, const char *name, char *ret, size_t size)
{
	struct sockaddr_un address;
	int len = snprintf(ret, size, "%s/%s", dir, name);

	if (len >= 0 && (size_t)len >= sizeof(address.sun_path))
		len = snprintf(ret, size, "/proc/%d/fd/%d/%s", (int)getpid(), dir_fd, name);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

/* --- listening --------------------------------------------------------------- */

static void finish(struct cs_ptysock *sock, int result)
{
	cs_loop_remove(sock->loop, &sock->source);
	cs_close_fd(&sock->fd);
	sock->result = result;
}

/* All descriptors of a message; how many. No more than FDS_MAX fit, and the kernel closes what does not. */
static size_t descriptors(struct msghdr *message, int fds[static FDS_MAX])
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t len = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		len = CS_MIN(len / sizeof(int), FDS_MAX - n);
		memcpy(fds + n, CMSG_DATA(c), len * sizeof(int));
		n += len;
	}
	return n;
}

/* The one descriptor of a message, or -errno with all of them closed. */
static int only_descriptor(struct msghdr *message)
{
	int fds[FDS_MAX];
	size_t n = descriptors(message, fds);
	int r = 0;

	if (n != 1 || message->msg_flags & MSG_CTRUNC)
		r = -EPROTO;
	else if (!cs_pty_is_master(fds[0]))
		r = -ENOTTY;
	if (r == 0)
		return fds[0];
	for (size_t i = 0; i < n; i++)
		cs_close_fd(&fds[i]);
	return r;
}

static void receive(struct cs_ptysock *sock)
{
	char name[NAME_BYTES];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = name, .iov_len = sizeof(name) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n;
	int fd;

	do {
		n = recvmsg(sock->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		finish(sock, n < 0 ? -errno : -ECONNRESET);
		return;
	}
	fd = only_descriptor(&message);
	sock->master_fd = fd < 0 ? -1 : fd;
	finish(sock, fd < 0 ? fd : 0);
}

static void on_connection(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events CS_UNUSED,
			  void *arg)
{
	receive(arg);
}

static void on_listener(struct cs_loop *loop, int fd, uint32_t events CS_UNUSED, void *arg)
{
	struct cs_ptysock *sock = arg;
	int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), r;

	if (connection < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			finish(sock, -errno);
		return;
	}
	/* who comes second is refused */
	cs_loop_remove(loop, &sock->source);
	cs_close_fd(&sock->fd);
	sock->fd = connection;
	r = cs_loop_add_fd(loop, connection, EPOLLIN, CS_PRIO_IO, on_connection, sock, &sock->source);
	if (r < 0)
		finish(sock, r);
}

static int start(struct cs_ptysock *sock)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct sockaddr_un address;
	mode_t before;
	int r = snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", sock->dir_fd, sock->name);

	if (r < 0 || (size_t)r >= sizeof(path))
		return -ENAMETOOLONG;
	r = set_address(&address, path);
	if (r < 0)
		return r;
	sock->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock->fd < 0)
		return -errno;
	/* the mode of the name is what is left of 0777 (unix(7)), from the moment on when it is there */
	before = umask(077);
	r = bind(sock->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(before);
	if (r < 0)
		return r;
	sock->bound = true;
	if (listen(sock->fd, 1) < 0)
		return -errno;
	return cs_loop_add_fd(sock->loop, sock->fd, EPOLLIN, CS_PRIO_IO, on_listener, sock, &sock->source);
}

int cs_ptysock_listen(struct cs_loop *loop, int dir_fd, const char *name, struct cs_ptysock **ret)
{
	struct cs_ptysock *sock = malloc(sizeof(*sock));
	int r;

	if (!sock)
		return -ENOMEM;
	*sock = (struct cs_ptysock){ .loop = loop, .fd = -1, .master_fd = -1, .result = -EAGAIN };
	sock->dir_fd = cs_fd_dup(dir_fd, 3);
	sock->name = strdup(name);
	r = sock->dir_fd < 0 ? sock->dir_fd : sock->name ? start(sock) : -ENOMEM;
	if (r < 0) {
		cs_ptysock_free(sock);
		return r;
	}
	*ret = sock;
	return 0;
}

void cs_ptysock_free(struct cs_ptysock *sock)
{
	if (!sock)
		return;
	finish(sock, sock->result);
	if (sock->bound)
		unlinkat(sock->dir_fd, sock->name, 0);
	cs_close_fd(&sock->dir_fd);
	cs_close_fd(&sock->master_fd);
	free(sock->name);
	free(sock);
}

int cs_ptysock_take(struct cs_ptysock *sock, int *ret_master_fd)
{
	if (sock->result < 0)
		return sock->result;
	*ret_master_fd = cs_take_fd(&sock->master_fd);
	sock->result = -ENOENT;
	return 0;
}

/* --- sending ----------------------------------------------------------------- */

/* A socket that is connected to whoever listens at path, of any length. */
static int connect_to(const char *path, int64_t timeout_ns)
{
	cs_autofd int target = open(path, O_PATH | O_CLOEXEC);
	cs_autofd int fd = -1;
	struct timeval wait = { .tv_sec = timeout_ns / CS_NSEC_PER_SEC,
				.tv_usec = timeout_ns % CS_NSEC_PER_SEC / 1000 };
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	struct sockaddr_un address;
	int r;

	if (target < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", target);
	r = set_address(&address, link);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* a connect waits as long as a send may (socket(7), SO_SNDTIMEO) */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return cs_take_fd(&fd);
}

int cs_ptysock_send(const char *path, int master_fd, int64_t timeout_ns)
{
	cs_autofd int fd = connect_to(path, timeout_ns);
	/* receivers expect a name beside the descriptor; this is the one that engines give */
	char name[] = "/dev/ptmx";
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = name, .iov_len = strlen(name) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header;
	ssize_t n;

	if (fd < 0)
		return fd;
	memset(&control, 0, sizeof(control));
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &master_fd, sizeof(int));
	do {
		n = sendmsg(fd, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}
