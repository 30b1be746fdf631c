#include "shim/task/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"

/* Connections that wait to be taken; more are held up (unix(7)). */
#define BACKLOG 64

struct cs_ctl_peer {
	struct cs_ctl *ctl;
	struct cs_ctl_peer *next, *prev;
	int fd; /* -1: the connection has ended, and what is left is to be done outside the loop */
	pid_t pid;
	struct cs_source source;
	struct cs_json *request; /* one that waits for cs_ctl_work, or is being done by it */
	const struct cs_ctl_op *op;
	bool busy;               /* its handler is running */
	void *state;
	cs_ctl_closed_fn *closed;
};

struct cs_ctl {
	struct cs_loop *loop;
	int fd;
	struct cs_source source;
	bool shut; /* out of descriptors: nobody is taken in until somebody goes */
	const struct cs_ctl_op *ops;
	size_t n_ops;
	void *arg;
	struct cs_ctl_peer *peers;
	size_t n_peers;
	size_t n_waiting; /* peers with something for cs_ctl_work */
};

/* --- requests -------------------------------------------------------------------- */

static bool names_key(const char *keys, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = keys; p && *p; p += strcspn(p, "|"), p += *p == '|')
		if (strncmp(p, key, len) == 0 && (p[len] == '|' || p[len] == '\0'))
			return true;
	return false;
}

int cs_ctl_parse(const char *text, size_t len, const struct cs_ctl_op *ops, size_t n_ops,
		 struct cs_json **ret_request, const struct cs_ctl_op **ret_op, struct cs_err *err)
{
	cs_autojson struct cs_json *request = NULL;
	const struct cs_ctl_op *op = NULL;
	const struct cs_json *child;
	const char *word, *key;

	if (len > CS_CTL_BYTES_MAX)
		return cs_fail(err, CS_LIMIT, 0, "request: more than %d bytes", CS_CTL_BYTES_MAX);
	if (cs_json_parse(text, len, "request", &request, err) < 0)
		return -1;
	word = cs_json_string(cs_json_member(request, "op"));
	if (!word)
		return cs_fail(err, CS_INVALID, 0, "request: an object with an \"op\" is wanted");
	for (size_t i = 0; i < n_ops && !op; i++)
		if (strcmp(ops[i].word, word) == 0)
			op = &ops[i];
	if (!op)
		return cs_fail(err, CS_UNSUPPORTED, 0, "request: the supervisor knows no '%.64s': is it of another version?", word);
	cs_json_each_member(key, child, request)
		if (strcmp(key, "op") != 0 && !names_key(op->keys, key))
			return cs_fail(err, CS_UNSUPPORTED, 0, "request '%s': the supervisor knows no '%.64s' of it: is it of another version?",
				       op->word, key);
	*ret_request = cs_take_ptr(&request);
	*ret_op = op;
	return 0;
}

static struct cs_json *error_reply(const struct cs_err *err)
{
	struct cs_json *reply = cs_json_new_object();
	int r = 0;

	r |= cs_json_put(reply, "ok", cs_json_new_bool(false));
	r |= cs_json_put(reply, "kind", cs_json_new_string(cs_err_row(err->kind)->word));
	r |= cs_json_put(reply, "message", cs_json_new_words(err->text));
	if (r < 0)
		cs_json_free_ptr(&reply);
	return reply;
}

static int send_reply(const struct cs_ctl_peer *peer, const struct cs_json *reply)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_CTL_BYTES_MAX);
	struct cs_err err = CS_ERR_INIT;

	if (!reply || cs_json_write(reply, CS_JSON_COMPACT, &text, &err) < 0)
		return -EMSGSIZE;
	return send(peer->fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* --- peers ------------------------------------------------------------------------- */

static void forget(struct cs_ctl *ctl, struct cs_ctl_peer *peer)
{
	if (peer->prev)
		peer->prev->next = peer->next;
	else
		ctl->peers = peer->next;
	if (peer->next)
		peer->next->prev = peer->prev;
	ctl->n_peers--;
	free(peer);
	if (ctl->shut)
		ctl->shut = cs_loop_set_enabled(ctl->loop, ctl->source, true) < 0;
}

static bool is_waiting(const struct cs_ctl_peer *peer)
{
	return peer->request || (peer->fd < 0 && peer->closed);
}

/* Keeps the count of those that cs_ctl_work is for: call with what it was before a change. */
static void recount(struct cs_ctl_peer *peer, bool before)
{
	bool now = is_waiting(peer);

	if (before && !now)
		peer->ctl->n_waiting--;
	if (!before && now)
		peer->ctl->n_waiting++;
}

/* The connection's end. The peer stays as long as there is something to do for it. */
static void hang_up(struct cs_ctl_peer *peer)
{
	bool before = is_waiting(peer);

	cs_loop_remove(peer->ctl->loop, &peer->source);
	cs_close_fd(&peer->fd);
	/* nobody waits for what has not begun yet */
	if (!peer->busy)
		cs_json_free_ptr(&peer->request);
	recount(peer, before);
	if (!peer->busy && !peer->closed)
		forget(peer->ctl, peer);
}

static void answer(struct cs_ctl_peer *peer, const struct cs_json *reply)
{
	int r = peer->fd < 0 ? 0 : send_reply(peer, reply);

	if (r == 0)
		return;
	/* who does not take one packet is not waiting for it */
	cs_log_debug("control socket: process %d: %s", (int)peer->pid, strerror(-r));
	if (peer->fd >= 0)
		hang_up(peer);
}

static void answer_error(struct cs_ctl_peer *peer, const struct cs_err *err)
{
	cs_autojson struct cs_json *reply = error_reply(err);

	answer(peer, reply);
}

/* Calls the handler. The peer may be gone when it returns. */
static void handle(struct cs_ctl_peer *peer, const struct cs_ctl_op *op, const struct cs_json *request)
{
	cs_autojson struct cs_json *reply = cs_json_new_object();
	struct cs_err err = CS_ERR_INIT;

	if (cs_json_put(reply, "ok", cs_json_new_bool(true)) < 0)
		cs_fail(&err, CS_LIMIT, ENOMEM, "reply");
	else if (op->fn(peer, request, reply, peer->ctl->arg, &err) < 0 && !cs_err_is_set(&err))
		cs_fail(&err, CS_BUG, 0, "request '%s'", op->word);
	if (cs_err_is_set(&err))
		answer_error(peer, &err);
	else
		answer(peer, reply);
}

static void take(struct cs_ctl_peer *peer, const char *text, size_t len)
{
	cs_autojson struct cs_json *request = NULL;
	const struct cs_ctl_op *op;
	struct cs_err err = CS_ERR_INIT;

	if (cs_ctl_parse(text, len, peer->ctl->ops, peer->ctl->n_ops, &request, &op, &err) < 0) {
		answer_error(peer, &err);
		return;
	}
	if (op->outside) {
		peer->request = cs_take_ptr(&request);
		peer->op = op;
		recount(peer, false);
		/* one at a time: of this peer only its going is of interest until the answer */
		cs_loop_set_events(peer->ctl->loop, peer->source, 0);
		return;
	}
	handle(peer, op, request);
}

static void on_peer(struct cs_loop *loop CS_UNUSED, int fd, uint32_t events, void *arg)
{
	struct cs_ctl_peer *peer = arg;
	char packet[CS_CTL_BYTES_MAX];
	ssize_t n = -1;

	if (!(events & EPOLLIN) && peer->request) {
		hang_up(peer);
		return;
	}
	/* MSG_TRUNC: the length that it had, so that what was cut is seen; descriptors sent along are closed by the kernel */
	n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		hang_up(peer);
	else
		take(peer, packet, (size_t)n);
}

/* --- the socket --------------------------------------------------------------------- */

static void add_peer(struct cs_ctl *ctl, int fd_consume)
{
	cs_autofd int fd = fd_consume;
	struct cs_ctl_peer *peer;
	struct ucred who;
	socklen_t len = sizeof(who);

	/* the directory keeps others out; this is for one that was handed a descriptor */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 || who.uid != geteuid())
		return;
	peer = ctl->n_peers < CS_CTL_PEERS_MAX ? calloc(1, sizeof(*peer)) : NULL;
	if (!peer) {
		struct cs_ctl_peer refused = { .ctl = ctl, .fd = fd };
		struct cs_err err = CS_ERR_INIT;
		cs_autojson struct cs_json *reply = NULL;

		cs_fail(&err, CS_LIMIT, 0, "%d others talk to this supervisor already", CS_CTL_PEERS_MAX);
		reply = error_reply(&err);
		if (send_reply(&refused, reply) < 0)
			cs_log_debug("control socket: too many peers");
		return;
	}
	*peer = (struct cs_ctl_peer){ .ctl = ctl, .fd = cs_take_fd(&fd), .pid = who.pid, .next = ctl->peers };
	if (cs_loop_add_fd(ctl->loop, peer->fd, EPOLLIN, CS_PRIO_IO, on_peer, peer, &peer->source) < 0) {
		cs_close_fd(&peer->fd);
		free(peer);
		return;
	}
	if (ctl->peers)
		ctl->peers->prev = peer;
	ctl->peers = peer;
	ctl->n_peers++;
}

static void on_listen(struct cs_loop *loop, int fd, uint32_t events CS_UNUSED, void *arg)
{
	struct cs_ctl *ctl = arg;
	int peer_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (peer_fd >= 0) {
		add_peer(ctl, peer_fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		cs_log_debug("control socket: accept: %s", strerror(errno));
		ctl->shut = cs_loop_set_enabled(loop, ctl->source, false) == 0;
	}
}

/* The name through the directory's descriptor: it may be deeper than an address can say (unix(7), sun_path). */
static int bind_in(int fd, int dir_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" CS_CTL_FILE, dir_fd);
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

int cs_ctl_open(struct cs_loop *loop, int dir_fd, const struct cs_ctl_op *ops, size_t n_ops, void *arg,
		struct cs_ctl **ret, struct cs_err *err)
{
	struct cs_ctl *ctl = calloc(1, sizeof(*ctl));
	int r;

	if (!ctl)
		return cs_fail(err, CS_LIMIT, ENOMEM, "control socket");
	*ctl = (struct cs_ctl){ .loop = loop, .ops = ops, .n_ops = n_ops, .arg = arg };
	ctl->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = ctl->fd < 0 ? -errno : bind_in(ctl->fd, dir_fd);
	if (r == 0 && listen(ctl->fd, BACKLOG) < 0)
		r = -errno;
	if (r == 0)
		r = cs_loop_add_fd(loop, ctl->fd, EPOLLIN, CS_PRIO_IO, on_listen, ctl, &ctl->source);
	if (r < 0) {
		cs_ctl_free(ctl);
		return cs_fail(err, r == -EADDRINUSE ? CS_EXISTS : CS_IO, -r, "control socket");
	}
	*ret = ctl;
	return 0;
}

/* The last of a peer whose connection has ended: what it holds is let go. */
static void finish(struct cs_ctl *ctl, struct cs_ctl_peer *peer)
{
	bool before = is_waiting(peer);
	cs_ctl_closed_fn *closed = peer->closed;

	peer->closed = NULL;
	recount(peer, before);
	/* kept in the list meanwhile: fn may turn the loop, and so walk it */
	peer->busy = true;
	if (closed)
		closed(peer->state, ctl->arg);
	forget(ctl, peer);
}

void cs_ctl_free(struct cs_ctl *ctl)
{
	if (!ctl)
		return;
	cs_loop_remove(ctl->loop, &ctl->source);
	ctl->shut = false;
	cs_close_fd(&ctl->fd);
	for (struct cs_ctl_peer *peer = ctl->peers; peer; peer = peer->next) {
		cs_loop_remove(ctl->loop, &peer->source);
		cs_close_fd(&peer->fd);
		cs_json_free_ptr(&peer->request);
	}
	while (ctl->peers) {
		ctl->peers->prev = NULL; /* as it is: said for the analyzer */
		finish(ctl, ctl->peers);
	}
	free(ctl);
}

/* --- outside the loop ------------------------------------------------------------------- */

static void do_request(struct cs_ctl_peer *peer)
{
	struct cs_ctl *ctl = peer->ctl;
	bool before;

	peer->busy = true;
	handle(peer, peer->op, peer->request);
	peer->busy = false;
	before = is_waiting(peer);
	cs_json_free_ptr(&peer->request);
	recount(peer, before);
	if (peer->fd >= 0)
		cs_loop_set_events(ctl->loop, peer->source, EPOLLIN);
	else if (!peer->closed)
		forget(peer->ctl, peer);
}

bool cs_ctl_work(struct cs_ctl *ctl)
{
	struct cs_ctl_peer *peer;

	if (!ctl || ctl->n_waiting == 0)
		return false;
	for (peer = ctl->peers; peer && (peer->busy || !is_waiting(peer)); peer = peer->next)
		;
	if (!peer)
		return false;
	if (peer->request)
		do_request(peer);
	else
		finish(peer->ctl, peer);
	return true;
}

void cs_ctl_peer_hold(struct cs_ctl_peer *peer, void *state, cs_ctl_closed_fn *fn)
{
	bool before = is_waiting(peer);

	peer->state = fn ? state : NULL;
	peer->closed = fn;
	recount(peer, before);
}

void *cs_ctl_peer_state(const struct cs_ctl_peer *peer)
{
	return peer->state;
}

pid_t cs_ctl_peer_pid(const struct cs_ctl_peer *peer)
{
	return peer->pid;
}
