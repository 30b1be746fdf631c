#include "shim/task/attendant_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"

int cs__attendant_send(int socket, const struct cs__attendant_head *head, const void *data, size_t len, const int *fds,
		       size_t n_fds)
{
	struct iovec parts[] = {
		{ .iov_base = (void *)(uintptr_t)head, .iov_len = sizeof(*head) },
		{ .iov_base = (void *)(uintptr_t)data, .iov_len = len },
	};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int[CS__ATTENDANT_FDS_MAX]))];
	} control;
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = len > 0 ? 2 : 1 };

	if (n_fds > 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	for (;;) {
		if (sendmsg(socket, &message, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

static void take_fds(struct msghdr *message, struct cs__attendant_packet *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(ret->fds, CMSG_DATA(c), CS_MIN(c->cmsg_len - CMSG_LEN(0), sizeof(ret->fds)));
	}
}

int cs__attendant_receive(int socket, struct cs__attendant_packet *ret, int64_t deadline_ns)
{
	struct iovec parts[] = {
		{ .iov_base = &ret->head, .iov_len = sizeof(ret->head) },
		{ .iov_base = ret->data, .iov_len = CS__ATTENDANT_PACKET_MAX },
	};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int[CS__ATTENDANT_FDS_MAX]))];
	} control;
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n;
	int r;

	for (size_t i = 0; i < CS__ATTENDANT_FDS_MAX; i++)
		ret->fds[i] = -1;
	do {
		r = cs_fd_wait_readable(socket, deadline_ns);
		if (r < 0)
			return r;
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	take_fds(&message, ret);
	if ((size_t)n < sizeof(ret->head) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EPROTO;
	ret->len = (size_t)n - sizeof(ret->head);
	ret->data[ret->len] = '\0';
	return 0;
}

struct cs__attendant_packet *cs__attendant_packet_new(void)
{
	struct cs__attendant_packet *packet = malloc(sizeof(*packet));

	if (!packet)
		return NULL;
	packet->len = 0;
	for (size_t i = 0; i < CS__ATTENDANT_FDS_MAX; i++)
		packet->fds[i] = -1;
	return packet;
}

void cs__attendant_packet_free(struct cs__attendant_packet *packet)
{
	if (!packet)
		return;
	for (size_t i = 0; i < CS__ATTENDANT_FDS_MAX; i++)
		cs_close_fd(&packet->fds[i]);
	free(packet);
}
