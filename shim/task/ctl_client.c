#include "shim/task/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"

void cs_ctl_client_release(struct cs_ctl_client *client)
{
	cs_close_fd(&client->fd);
	client->pid = 0;
}

struct cs_json *cs_ctl_request(const char *word)
{
	struct cs_json *request = cs_json_new_object();

	if (cs_json_put(request, "op", cs_json_new_string(word)) < 0)
		cs_json_free_ptr(&request);
	return request;
}

/* --- connecting -------------------------------------------------------------------- */

/* SO_SNDTIMEO bounds the wait for a place in the backlog too (socket(7); unix_stream_connect() in the kernel). */
static int bound_connect(int fd, int64_t timeout_ns)
{
	struct timeval tv = { .tv_sec = (time_t)(timeout_ns / CS_NSEC_PER_SEC),
			      .tv_usec = (suseconds_t)(timeout_ns % CS_NSEC_PER_SEC / CS_NSEC_PER_USEC) };

	if (tv.tv_sec == 0 && tv.tv_usec == 0)
		tv.tv_usec = 1; /* 0 would be for ever */
	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0 ? -errno : 0;
}

static int connect_in(int fd, int dir_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" CS_CTL_FILE, dir_fd);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static int fail_silent(const char *id, struct cs_err *err)
{
	if (id[0] == '\0')
		return cs_fail(err, CS_TIMEOUT, 0, "it does not answer: it is stopped or stuck");
	return cs_fail(err, CS_TIMEOUT, 0, "the supervisor of '%s' does not answer: it is stopped or stuck; 'caisson rm -f %s' ends it all the same",
		       id, id);
}

static int fail_connect(const char *id, int errnum, struct cs_err *err)
{
	switch (errnum) {
	case ENOENT:
	case ECONNREFUSED:
		return cs_fail(err, CS_STATE, 0, "nobody answers for the run '%s': it is just beginning or ending, or its supervisor was killed; 'caisson rm -f %s' removes what it left",
			       id, id);
	case EAGAIN:
		return fail_silent(id, err);
	default:
		return cs_fail(err, cs_err_kind_of_errno(errnum), errnum, "control socket of '%s'", id);
	}
}

int cs_ctl_connect_in(int dir_fd, int64_t timeout_ns, struct cs_ctl_client *ret)
{
	cs_autofd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred who;
	socklen_t len = sizeof(who);
	int r = fd < 0 ? -errno : bound_connect(fd, timeout_ns);

	if (r == 0)
		r = connect_in(fd, dir_fd);
	if (r < 0)
		return r;
	/* of who called listen(2): unix(7), SO_PEERCRED */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return -errno;
	*ret = (struct cs_ctl_client){ .fd = cs_take_fd(&fd), .pid = who.pid };
	return 0;
}

int cs_ctl_connect(const char *state_dir, const char *id, int64_t timeout_ns, struct cs_ctl_client *ret,
		   struct cs_err *err)
{
	cs_autofree char *path = NULL;
	cs_autofd int dir_fd = -1;
	int r;

	if (asprintf(&path, "%s/runs/%s", state_dir, id) < 0) {
		path = NULL;
		return cs_fail(err, CS_LIMIT, ENOMEM, "control socket");
	}
	dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir_fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return cs_fail(err, CS_NOT_FOUND, 0, "no run '%s' is live: 'caisson ps' lists them", id);
	if (dir_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "run '%s'", id);
	r = cs_ctl_connect_in(dir_fd, timeout_ns, ret);
	if (r < 0)
		return fail_connect(id, -r, err);
	snprintf(ret->id, sizeof(ret->id), "%s", id);
	return 0;
}

/* --- asking ----------------------------------------------------------------------------- */

static enum cs_err_kind kind_of_word(const char *word)
{
	for (int kind = CS_OK + 1; word && kind < CS_ERR_KINDS; kind++)
		if (strcmp(cs_err_row((enum cs_err_kind)kind)->word, word) == 0)
			return (enum cs_err_kind)kind;
	return CS_BUG;
}

int cs_ctl_parse_reply(const char *text, size_t len, struct cs_json **ret, struct cs_err *err)
{
	cs_autojson struct cs_json *reply = NULL;
	const char *message;
	bool ok;

	if (len > CS_CTL_BYTES_MAX)
		return cs_fail(err, CS_LIMIT, 0, "reply: more than %d bytes", CS_CTL_BYTES_MAX);
	if (cs_json_parse(text, len, "reply", &reply, err) < 0)
		return -1;
	if (cs_json_get_bool(cs_json_member(reply, "ok"), &ok) < 0)
		return cs_fail(err, CS_INVALID, 0, "reply: an object with \"ok\" is wanted");
	message = cs_json_string(cs_json_member(reply, "message"));
	if (!ok)
		return cs_fail(err, kind_of_word(cs_json_string(cs_json_member(reply, "kind"))), 0, "%s",
			       message ? message : "refused without a reason");
	*ret = cs_take_ptr(&reply);
	return 0;
}

static int fail_over(const struct cs_ctl_client *client, struct cs_err *err)
{
	return cs_fail(err, CS_STATE, 0, client->id[0] ? "'%s' ended meanwhile" : "it ended meanwhile%s", client->id);
}

static int receive(const struct cs_ctl_client *client, int64_t deadline_ns, struct cs_json **ret, struct cs_err *err)
{
	char packet[CS_CTL_BYTES_MAX];
	bool reset = false;
	ssize_t n;
	int r;

	do {
		r = cs_fd_wait_readable(client->fd, deadline_ns);
		if (r == -ETIMEDOUT)
			return fail_silent(client->id, err);
		if (r < 0)
			return cs_fail(err, CS_IO, -r, "control socket");
		n = recv(client->fd, packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC);
		/* told once, and before what was sent until then: a refusal by who hung up without reading us */
		if (n < 0 && errno == ECONNRESET && !reset)
			reset = true, errno = EAGAIN;
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return fail_over(client, err);
	if (n < 0)
		return cs_fail(err, CS_IO, errno, "control socket");
	return cs_ctl_parse_reply(packet, (size_t)n, ret, err);
}

static int send_request(const struct cs_ctl_client *client, struct cs_json *request_consume, struct cs_err *err)
{
	cs_autojson struct cs_json *request = request_consume;
	cs_auto(buf) text = CS_BUF_INIT(CS_CTL_BYTES_MAX);

	if (!request)
		return cs_fail(err, CS_LIMIT, ENOMEM, "request");
	if (cs_json_write(request, CS_JSON_COMPACT, &text, err) < 0)
		return cs_wrap(err, "request");
	/* one request at a time: there is room for it. Who has hung up may have said why: that is read as the reply */
	if (send(client->fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		return cs_fail(err, CS_IO, errno, "control socket");
	return 0;
}

int cs_ctl_tell(struct cs_ctl_client *client, struct cs_json *request_consume, struct cs_err *err)
{
	int r = send_request(client, request_consume, err);

	cs_ctl_client_release(client);
	return r;
}

int cs_ctl_call(const struct cs_ctl_client *client, struct cs_json *request_consume, int64_t deadline_ns,
		struct cs_json **ret, struct cs_err *err)
{
	cs_autojson struct cs_json *reply = NULL;

	if (send_request(client, request_consume, err) < 0)
		return -1;
	if (receive(client, deadline_ns, &reply, err) < 0)
		return -1;
	if (ret)
		*ret = cs_take_ptr(&reply);
	return 0;
}

int cs_ctl_wait_closed(const struct cs_ctl_client *client, int64_t deadline_ns)
{
	char byte;

	for (;;) {
		int r = cs_fd_wait_readable(client->fd, deadline_ns);
		ssize_t n;

		if (r < 0)
			return r;
		n = recv(client->fd, &byte, sizeof(byte), MSG_DONTWAIT);
		/* an answer that came too late for who had asked is passed over */
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return 0;
	}
}
