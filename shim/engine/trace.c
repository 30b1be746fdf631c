#include "shim/engine/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/engine/trace_tree.h"

#define SOCKET_NAME "trace.sock"
#define CONFIG_NAME "trace.json"

/* What we ask for is a few hundred bytes a packet. */
#define PACKET_MAX 4096

/* A flood from the guest must not keep the loop from its other sources. */
#define PACKETS_PER_EVENT 64

/* More than a socket's buffer holds, so a pump of a dead sandbox takes in all; a live one may send for ever. */
#define PACKETS_PER_PUMP 8192

/* One container is expected. Others push out the oldest, so a made-up id cannot keep the true one out. */
#define ENDS_MAX 4

/* Version 1 of the session's protocol, as a message with one field. */
static const unsigned char hello[] = { 0x08, 0x01 };

enum trace_state { TRACE_LISTENS, TRACE_GREETS, TRACE_STREAMS, TRACE_ENDED };

struct trace_end {
	char container[129];
	int32_t status;
};

struct cs_trace {
	struct cs_loop *loop;
	struct cs_source source;
	enum trace_state state;
	int fd;     /* listener, then connection */
	int dir_fd;
	char *config_path;
	struct trace_end ends[ENDS_MAX];
	size_t next_end;
	struct cs_trace_tree *tree; /* of the container that spoke first */
	char container[129];
	uint32_t dropped;
	bool connected; /* the greeting was answered */
};

static void drop_socket(struct cs_trace *trace)
{
	cs_loop_remove(trace->loop, &trace->source);
	cs_close_fd(&trace->fd);
}

static void end_session(struct cs_trace *trace, const char *why)
{
	cs_log_debug("trace session ends: %s", why);
	drop_socket(trace);
	trace->state = TRACE_ENDED;
}

/* --- packets -------------------------------------------------------------- */

static void note_end(struct cs_trace *trace, const struct cs_trace_packet *packet)
{
	struct trace_end *end = NULL;

	for (size_t i = 0; i < CS_ARRAY_LEN(trace->ends) && !end; i++)
		if (strcmp(trace->ends[i].container, packet->container) == 0)
			end = &trace->ends[i];
	if (!end) {
		end = &trace->ends[trace->next_end];
		trace->next_end = (trace->next_end + 1) % CS_ARRAY_LEN(trace->ends);
		memcpy(end->container, packet->container, sizeof(end->container));
	}
	end->status = packet->status;
}

static void take_packet(struct cs_trace *trace, const void *data, size_t len)
{
	struct cs_trace_packet packet;

	if (cs_trace_parse(data, len, &packet) < 0)
		return;
	if (packet.dropped > trace->dropped)
		trace->dropped = packet.dropped;
	if (trace->container[0] == '\0')
		memcpy(trace->container, packet.container, sizeof(trace->container));
	if (packet.container[0] != '\0' && strcmp(packet.container, trace->container) == 0)
		cs_trace_tree_note(trace->tree, &packet);
	if (packet.kind == CS_TRACE_EXIT && packet.group == 1 && packet.container[0] != '\0')
		note_end(trace, &packet);
}

/* The engine says its version and waits for ours: create hangs until it has it. */
static void greet(struct cs_trace *trace, const unsigned char *data, size_t len)
{
	if (len < sizeof(hello) || data[0] != hello[0]) {
		end_session(trace, "no greeting");
	} else if (send(trace->fd, hello, sizeof(hello), MSG_DONTWAIT | MSG_NOSIGNAL) !=
		   (ssize_t)sizeof(hello)) {
		end_session(trace, "cannot answer the greeting");
	} else {
		trace->state = TRACE_STREAMS;
		trace->connected = true;
	}
}

/* One message; false when there is no other now. */
static bool receive(struct cs_trace *trace)
{
	unsigned char data[PACKET_MAX];
	ssize_t n;

	do
		n = recv(trace->fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		end_session(trace, n == 0 ? "its end" : strerror(errno));
		return false;
	}
	if ((size_t)n > sizeof(data))
		return true; /* longer than anything asked for */
	if (trace->state == TRACE_GREETS)
		greet(trace, data, (size_t)n);
	else
		take_packet(trace, data, (size_t)n);
	return trace->state == TRACE_STREAMS;
}

static void receive_some(struct cs_trace *trace, size_t max)
{
	for (size_t i = 0; i < max && receive(trace); i++)
		;
}

static void on_packets(struct cs_loop *loop, int fd, uint32_t events, void *arg)
{
	(void)loop;
	(void)fd;
	(void)events;
	receive_some(arg, PACKETS_PER_EVENT);
}

/* --- the connection ---------------------------------------------------------- */

static void on_connect(struct cs_loop *loop, int fd, uint32_t events, void *arg)
{
	struct cs_trace *trace = arg;
	cs_autofd int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (conn < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			end_session(trace, strerror(errno));
		return;
	}
	/* one sandbox, one session: nobody else is listened to */
	drop_socket(trace);
	unlinkat(trace->dir_fd, SOCKET_NAME, 0);
	trace->state = TRACE_GREETS;
	if (cs_loop_add_fd(loop, conn, EPOLLIN, CS_PRIO_IO, on_packets, trace, &trace->source) < 0)
		end_session(trace, "cannot watch it");
	else
		trace->fd = cs_take_fd(&conn);
}

/* sun_path holds 107 bytes, a run's directory may be longer: then by way of a descriptor of process `pid`. */
static int socket_path(const char *dir, int dir_fd, const char *pid, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/%s", dir, SOCKET_NAME);

	if (n < (int)size)
		return 0;
	n = snprintf(path, size, "/proc/%s/fd/%d/%s", pid, dir_fd, SOCKET_NAME);
	return n < (int)size ? 0 : -ENAMETOOLONG;
}

static int listen_at(struct cs_trace *trace, const char *dir, struct cs_err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int r = socket_path(dir, trace->dir_fd, "self", address.sun_path, sizeof(address.sun_path));

	if (r < 0)
		return cs_fail(err, CS_INVALID, -r, "trace socket in '%s'", dir);
	trace->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (trace->fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "trace socket");
	if (bind(trace->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return cs_fail(err, errno == EADDRINUSE ? CS_EXISTS : cs_err_kind_of_errno(errno), errno,
			       "bind '%s/%s'", dir, SOCKET_NAME);
	/* from here on it is ours to remove: cs_trace_free goes by the state */
	trace->state = TRACE_LISTENS;
	if (listen(trace->fd, 1) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "listen at '%s/%s'", dir, SOCKET_NAME);
	r = cs_loop_add_fd(trace->loop, trace->fd, EPOLLIN, CS_PRIO_IO, on_connect, trace, &trace->source);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "watch '%s/%s'", dir, SOCKET_NAME) : 0;
}

static int write_config(const struct cs_trace *trace, const char *dir, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(8192);
	char endpoint[sizeof(((struct sockaddr_un *)0)->sun_path)], pid[16];
	int r;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	r = socket_path(dir, trace->dir_fd, pid, endpoint, sizeof(endpoint));
	if (r < 0)
		return cs_fail(err, CS_INVALID, -r, "trace socket in '%s'", dir);
	cs_buf_adds(&text, "{\"trace_session\":{\"name\":\"Default\",\"points\":["
			   "{\"name\":\"sentry/task_exit\",\"context_fields\":[\"thread_id\",\"group_id\",\"container_id\"]},"
			   "{\"name\":\"sentry/clone\",\"context_fields\":[\"thread_id\",\"group_id\",\"container_id\"]}],"
			   "\"sinks\":[{\"name\":\"remote\",\"config\":{\"endpoint\":\"");
	cs_buf_add_json_escaped(&text, endpoint, strlen(endpoint));
	/* a session that cannot be had costs the exactness of one number, not the run */
	cs_buf_adds(&text, "\"},\"ignore_setup_error\":true}]}}\n");
	if (text.failed)
		return cs_fail(err, CS_LIMIT, ENOMEM, "trace configuration");
	r = cs_file_write_atomic(trace->dir_fd, CONFIG_NAME, text.data, text.len, 0600, false);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "write '%s/%s'", dir, CONFIG_NAME) : 0;
}

int cs_trace_new(struct cs_loop *loop, const char *dir, struct cs_trace **ret, struct cs_err *err)
{
	struct cs_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return cs_fail(err, CS_LIMIT, ENOMEM, "trace session");
	*trace = (struct cs_trace){ .loop = loop, .fd = -1, .dir_fd = -1, .state = TRACE_ENDED, .tree = cs_trace_tree_new() };
	if (!trace->tree) {
		cs_fail(err, CS_LIMIT, ENOMEM, "trace session");
	} else if (asprintf(&trace->config_path, "%s/%s", dir, CONFIG_NAME) < 0) {
		trace->config_path = NULL;
		cs_fail(err, CS_LIMIT, ENOMEM, "trace session");
	} else if ((trace->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		cs_fail(err, cs_err_kind_of_errno(errno), errno, "open '%s'", dir);
	} else if (listen_at(trace, dir, err) == 0 && write_config(trace, dir, err) == 0) {
		*ret = trace;
		return 0;
	}
	cs_trace_free(trace);
	return -1;
}

void cs_trace_free(struct cs_trace *trace)
{
	int saved = errno;

	if (!trace)
		return;
	if (trace->state == TRACE_LISTENS)
		unlinkat(trace->dir_fd, SOCKET_NAME, 0);
	drop_socket(trace);
	cs_close_fd(&trace->dir_fd);
	cs_trace_tree_free(trace->tree);
	free(trace->config_path);
	free(trace);
	errno = saved;
}

/* --- asking -------------------------------------------------------------------- */

const char *cs_trace_config_path(const struct cs_trace *trace)
{
	return trace->config_path;
}

const struct cs_trace_tree *cs_trace_processes(const struct cs_trace *trace)
{
	return trace->tree;
}

void cs_trace_pump(struct cs_trace *trace)
{
	if (trace->state == TRACE_STREAMS)
		receive_some(trace, PACKETS_PER_PUMP);
}

int cs_trace_init_status(const struct cs_trace *trace, const char *id, int *ret_status)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(trace->ends); i++)
		if (id[0] != '\0' && strcmp(trace->ends[i].container, id) == 0) {
			*ret_status = trace->ends[i].status;
			return 0;
		}
	return -ENODATA;
}

bool cs_trace_is_connected(const struct cs_trace *trace)
{
	return trace->connected;
}

uint64_t cs_trace_dropped(const struct cs_trace *trace)
{
	return trace->dropped;
}
