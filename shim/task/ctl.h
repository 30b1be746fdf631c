/*
 * The control socket of a live run: how another caisson asks its supervisor
 * for something.
 *
 * `<state>/runs/ID/ctl`, AF_UNIX SOCK_SEQPACKET (unix(7)): a request is one
 * packet with one JSON object, and so is its reply; none is larger than
 * CS_CTL_BYTES_MAX.
 *
 *     {"op":"stop","signal":15}   →  {"ok":true}
 *                                 →  {"ok":false,"kind":"state","message":"…"}
 *
 * A peer sends its next request after the reply to the last. It must have our
 * user id (SO_PEERCRED). The socket goes with the run's record; the
 * connections are closed when everything of the run is removed, so the end of
 * a connection tells a client of the end of the run. The other way round a
 * connection can be a leash: cs_ctl_peer_hold.
 *
 * What is asked for, and what it does, is a table of the caller's. Handlers
 * run from the loop and must not block, unless their row says `outside`: those
 * wait until cs_ctl_work is called from outside the loop, which they may turn.
 */
#ifndef CS_TASK_CTL_H
#define CS_TASK_CTL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "oci-spec/json.h"
#include "shim/base/err.h"
#include "shim/base/parse.h"
#include "shim/sys/loop.h"

#define CS_CTL_FILE "ctl"
#define CS_CTL_BYTES_MAX (16 * 1024)
#define CS_CTL_PEERS_MAX 256

/* --- in the supervisor ------------------------------------------------------- */

struct cs_ctl;      /* opaque: the socket and its connections */
struct cs_ctl_peer; /* opaque: one connection */

/*
 * Does what the request asks for; what it puts into reply, an object, is sent.
 * 0, or -1 with err, of which the kind and text are sent. arg is that of
 * cs_ctl_open. The request goes when the handler returns.
 */
typedef int cs_ctl_fn(struct cs_ctl_peer *peer, const struct cs_json *request, struct cs_json *reply, void *arg,
		      struct cs_err *err);

struct cs_ctl_op {
	const char *word;
	const char *keys; /* members that a request may have beside "op": "signal|timeoutNs"; NULL: none */
	cs_ctl_fn *fn;
	bool outside;     /* may block for a short while, and turn the loop: called by cs_ctl_work only */
};

/*
 * Makes the socket in the directory and serves it from the loop. ops and arg
 * are borrowed for the life of the server. Removing the socket is the
 * directory's owner's to do. Errors: CS_EXISTS where the name is taken, CS_IO.
 */
int cs_ctl_open(struct cs_loop *loop, int dir_fd, const struct cs_ctl_op *ops, size_t n_ops, void *arg,
		struct cs_ctl **ret, struct cs_err *err);

/* Closes every connection, each with its hold's function called, and the socket. From outside the loop. NULL allowed. */
void cs_ctl_free(struct cs_ctl *ctl);

/*
 * Does one of the things that wait for being outside the loop: a request whose
 * row says so, or the function of a hold whose connection has ended. False
 * when there is none. The loop's owner calls it before every turn.
 */
bool cs_ctl_work(struct cs_ctl *ctl);

/*
 * A connection as a leash: fn is called with state once after the connection
 * has ended, whoever ended it, from outside the loop (cs_ctl_work,
 * cs_ctl_free); it may do what an `outside` handler may. NULL takes the hold
 * away again without a call.
 */
typedef void cs_ctl_closed_fn(void *state, void *arg);
void cs_ctl_peer_hold(struct cs_ctl_peer *peer, void *state, cs_ctl_closed_fn *fn);
void *cs_ctl_peer_state(const struct cs_ctl_peer *peer); /* NULL: none held */
pid_t cs_ctl_peer_pid(const struct cs_ctl_peer *peer);   /* of who connected; for messages */

/*
 * Reads one request: an object with a known "op" and no member that its row
 * does not name. *ret_request is the caller's. CS_INVALID, CS_LIMIT.
 */
int cs_ctl_parse(const char *text, size_t len, const struct cs_ctl_op *ops, size_t n_ops,
		 struct cs_json **ret_request, const struct cs_ctl_op **ret_op, struct cs_err *err);

/* --- in a client --------------------------------------------------------------- */

struct cs_ctl_client {
	int fd;    /* owned; -1 when empty. Readable when the run is over (or with an answer that nobody waited for) */
	pid_t pid; /* the supervisor; sure to be its number as long as the connection is not closed */
	char id[CS_ID_MAX + 1]; /* of the run, for messages; "": not known */
};

#define CS_CTL_CLIENT_INIT ((struct cs_ctl_client){ .fd = -1 })

void cs_ctl_client_release(struct cs_ctl_client *client);

/*
 * Connects to the run of that id. CS_NOT_FOUND: there is none. CS_STATE:
 * nobody answers for it, its supervisor is dead (or has its socket not made
 * yet). CS_TIMEOUT: the supervisor takes no more connections.
 */
int cs_ctl_connect(const char *state_dir, const char *id, int64_t timeout_ns, struct cs_ctl_client *ret,
		   struct cs_err *err);

/*
 * The same by the directory that the socket is in. 0 or -errno: -ENOENT,
 * -ECONNREFUSED: nobody answers; -EAGAIN for the time.
 */
int cs_ctl_connect_in(int dir_fd, int64_t timeout_ns, struct cs_ctl_client *ret);

/*
 * Sends a request, which is consumed (NULL: CS_LIMIT), and waits for its reply
 * until the deadline (CLOCK_MONOTONIC). *ret (may be NULL) is the caller's. An
 * error reply comes back as it was made. CS_TIMEOUT without one in time: the
 * supervisor is stopped or stuck; CS_STATE when the run ended instead.
 */
int cs_ctl_call(const struct cs_ctl_client *client, struct cs_json *request_consume, int64_t deadline_ns,
		struct cs_json **ret, struct cs_err *err);

/* Sends a request, which is consumed, as the last word of a connection: nobody waits for what comes of it. */
int cs_ctl_tell(struct cs_ctl_client *client, struct cs_json *request_consume, struct cs_err *err);

/* Waits until the connection is closed, which is when the run is over and removed. 0, -ETIMEDOUT, -errno. */
int cs_ctl_wait_closed(const struct cs_ctl_client *client, int64_t deadline_ns);

/* {"op": word}, to be added to; NULL when memory ran out. */
struct cs_json *cs_ctl_request(const char *word);

/* Reads a reply. 0 with the object, the caller's; -1 with the error that it tells, or CS_INVALID for what is no reply. */
int cs_ctl_parse_reply(const char *text, size_t len, struct cs_json **ret, struct cs_err *err);

#endif
