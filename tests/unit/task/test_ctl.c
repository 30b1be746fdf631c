#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/loop.h"
#include "shim/task/ctl.h"
#include "tests/unit/unit.h"

/* A server in this process, and clients in it too: a turn of the loop between question and answer. */
static char state[64], dir[96];
static int dir_fd;
static struct cs_loop *loop;
static struct cs_ctl *ctl;

struct seen {
	unsigned said, slow, closed;
	void *state;
};
static struct seen seen;

static int say(struct cs_ctl_peer *peer, const struct cs_json *request, struct cs_json *reply, void *arg, struct cs_err *err)
{
	const char *text = cs_json_string(cs_json_member(request, "text"));

	ck_assert_ptr_eq(arg, &seen);
	ck_assert_int_eq(cs_ctl_peer_pid(peer), getpid());
	seen.said++;
	if (!text)
		return cs_fail(err, CS_NOT_FOUND, ENOENT, "no text");
	return cs_json_put(reply, "text", cs_json_new_string(text));
}

/* Turns the loop, as a handler may that needs an engine. */
static int slow(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED, struct cs_json *reply CS_UNUSED,
		void *arg CS_UNUSED, struct cs_err *err CS_UNUSED)
{
	seen.slow++;
	while (cs_loop_turn(loop, cs_clock_now_ns()) > 0)
		;
	return 0;
}

static void closed(void *held, void *arg)
{
	ck_assert_ptr_eq(arg, &seen);
	seen.closed++;
	seen.state = held;
}

static int hold(struct cs_ctl_peer *peer, const struct cs_json *request CS_UNUSED, struct cs_json *reply CS_UNUSED,
		void *arg, struct cs_err *err CS_UNUSED)
{
	ck_assert_ptr_null(cs_ctl_peer_state(peer));
	cs_ctl_peer_hold(peer, arg, closed);
	ck_assert_ptr_eq(cs_ctl_peer_state(peer), arg);
	return 0;
}

static int let_go(struct cs_ctl_peer *peer, const struct cs_json *request CS_UNUSED, struct cs_json *reply CS_UNUSED,
		  void *arg CS_UNUSED, struct cs_err *err CS_UNUSED)
{
	cs_ctl_peer_hold(peer, NULL, NULL);
	return 0;
}

static int large(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED, struct cs_json *reply,
		 void *arg CS_UNUSED, struct cs_err *err CS_UNUSED)
{
	char text[CS_CTL_BYTES_MAX];

	memset(text, 'x', sizeof(text));
	return cs_json_put(reply, "text", cs_json_new_string_n(text, sizeof(text)));
}

static const struct cs_ctl_op ops[] = {
	{ "say", "text|to", say, false },
	{ "slow", NULL, slow, true },
	{ "hold", NULL, hold, false },
	{ "let-go", NULL, let_go, false },
	{ "large", NULL, large, false },
};

static void begin(void)
{
	struct cs_err err = CS_ERR_INIT;

	snprintf(state, sizeof(state), "/tmp/caisson-test-ctl-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state));
	snprintf(dir, sizeof(dir), "%s/runs", state);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	snprintf(dir, sizeof(dir), "%s/runs/web", state);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	seen = (struct seen){ 0 };
	loop = cs_loop_new();
	ck_ok(cs_ctl_open(loop, dir_fd, ops, CS_ARRAY_LEN(ops), &seen, &ctl, &err), err);
}

static void done(void)
{
	cs_ctl_free(ctl);
	ctl = NULL;
	cs_loop_free(loop);
	ck_assert_int_eq(unlinkat(dir_fd, CS_CTL_FILE, 0), 0);
	close(dir_fd);
	ck_assert_int_eq(rmdir(dir), 0);
	*strrchr(dir, '/') = '\0';
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(rmdir(state), 0);
}

static void serve(void)
{
	do {
		while (cs_ctl_work(ctl))
			;
	} while (cs_loop_turn(loop, cs_clock_now_ns()) > 0);
}

static void dial(struct cs_ctl_client *client)
{
	struct cs_err err = CS_ERR_INIT;

	*client = CS_CTL_CLIENT_INIT;
	ck_ok(cs_ctl_connect(state, "web", CS_NSEC_PER_SEC, client, &err), err);
	ck_assert_int_eq(client->pid, getpid());
}

static void send_text(const struct cs_ctl_client *client, const char *text)
{
	ck_assert_int_eq(send(client->fd, text, strlen(text), MSG_DONTWAIT), (ssize_t)strlen(text));
}

/* Sends, serves, and reads what there is: the reply, or its error. */
static int ask(const struct cs_ctl_client *client, const char *text, struct cs_json **ret, struct cs_err *err)
{
	char packet[CS_CTL_BYTES_MAX + 1];
	ssize_t n;

	send_text(client, text);
	serve();
	n = recv(client->fd, packet, sizeof(packet), MSG_DONTWAIT);
	if (n <= 0)
		return cs_fail(err, CS_IO, n < 0 ? errno : 0, "no answer");
	return cs_ctl_parse_reply(packet, (size_t)n, ret, err);
}

START_TEST(a_request_is_answered)
{
	struct cs_ctl_client client;
	cs_autojson struct cs_json *reply = NULL;
	struct cs_err err = CS_ERR_INIT;

	begin();
	dial(&client);
	ck_ok(ask(&client, "{\"op\":\"say\",\"text\":\"hi\"}", &reply, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_member(reply, "text")), "hi");
	cs_ctl_client_release(&client);
	serve();
	done();
}
END_TEST

START_TEST(an_error_comes_back_as_it_was_made)
{
	struct cs_ctl_client client;
	cs_autojson struct cs_json *reply = NULL;
	struct cs_err err = CS_ERR_INIT;

	begin();
	dial(&client);
	ck_fails(ask(&client, "{\"op\":\"say\"}", &reply, &err), err, "no text: No such file or directory");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	/* and the connection goes on */
	cs_err_clear(&err);
	ck_ok(ask(&client, "{\"op\":\"say\",\"text\":\"\"}", &reply, &err), err);
	cs_ctl_client_release(&client);
	done();
}
END_TEST

START_TEST(what_is_no_request_is_refused)
{
	static const struct {
		const char *text, *part;
	} bad[] = {
		{ "x", "request: line 1" },
		{ "[]", "an object with an \"op\"" },
		{ "{}", "an object with an \"op\"" },
		{ "{\"op\":1}", "an object with an \"op\"" },
		{ "{\"op\":\"format\"}", "knows no 'format'" },
		{ "{\"op\":\"say\",\"loud\":true}", "knows no 'loud'" },
		{ "{\"op\":\"say\",\"tex\":\"\"}", "knows no 'tex'" },
		{ "{\"op\":\"say\",\"op\":\"say\"}", "request: line 1" },
		{ "{\"op\":\"slow\",\"text\":\"\"}", "knows no 'text'" },
		{ "{\"op\":\"say\"}{}", "request: line 1" },
	};
	struct cs_ctl_client client;

	begin();
	dial(&client);
	for (size_t i = 0; i < CS_ARRAY_LEN(bad); i++) {
		cs_autojson struct cs_json *reply = NULL;
		struct cs_err err = CS_ERR_INIT;

		ck_fails(ask(&client, bad[i].text, &reply, &err), err, bad[i].part);
	}
	ck_assert_uint_eq(seen.said, 0);
	cs_ctl_client_release(&client);
	done();
}
END_TEST

START_TEST(a_packet_has_a_bound)
{
	struct cs_ctl_client client;
	cs_autojson struct cs_json *reply = NULL;
	struct cs_err err = CS_ERR_INIT;
	char text[CS_CTL_BYTES_MAX + 2];

	begin();
	dial(&client);
	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"op\":\"say\",\"text\":\"\"}", 22);
	text[CS_CTL_BYTES_MAX + 1] = '\0';
	ck_fails(ask(&client, text, &reply, &err), err, "more than 16384 bytes");
	text[CS_CTL_BYTES_MAX] = '\0';
	cs_err_clear(&err);
	ck_ok(ask(&client, text, &reply, &err), err);
	/* a reply that has no room is no reply: the connection ends, the server does not */
	cs_json_free_ptr(&reply);
	ck_fails(ask(&client, "{\"op\":\"large\"}", &reply, &err), err, "no answer");
	cs_ctl_client_release(&client);
	dial(&client);
	cs_err_clear(&err);
	ck_ok(ask(&client, "{\"op\":\"say\",\"text\":\"\"}", &reply, &err), err);
	cs_ctl_client_release(&client);
	done();
}
END_TEST

START_TEST(what_blocks_waits_for_work)
{
	struct cs_ctl_client client, other;
	cs_autojson struct cs_json *reply = NULL, *late = NULL;
	struct cs_err err = CS_ERR_INIT;
	char packet[256];
	ssize_t n;

	begin();
	dial(&client);
	dial(&other);
	send_text(&client, "{\"op\":\"slow\"}");
	while (cs_loop_turn(loop, cs_clock_now_ns()) > 0)
		;
	ck_assert_uint_eq(seen.slow, 0);
	/* a second one of the same peer is read after the first is answered; another peer is served meanwhile */
	send_text(&client, "{\"op\":\"say\",\"text\":\"later\"}");
	send_text(&other, "{\"op\":\"say\",\"text\":\"now\"}");
	ck_assert(cs_ctl_work(ctl));
	ck_assert_uint_eq(seen.slow, 1);
	ck_assert_uint_eq(seen.said, 1);
	ck_assert(!cs_ctl_work(ctl));
	serve();
	ck_assert_uint_eq(seen.said, 2);
	ck_assert_int_gt(n = recv(client.fd, packet, sizeof(packet), MSG_DONTWAIT), 0);
	ck_ok(cs_ctl_parse_reply(packet, (size_t)n, &reply, &err), err);
	ck_assert_ptr_null(cs_json_member(reply, "text"));
	ck_assert_int_gt(n = recv(client.fd, packet, sizeof(packet), MSG_DONTWAIT), 0);
	ck_ok(cs_ctl_parse_reply(packet, (size_t)n, &late, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_member(late, "text")), "later");
	cs_ctl_client_release(&client);
	cs_ctl_client_release(&other);
	done();
}
END_TEST

START_TEST(who_goes_meanwhile_is_forgotten)
{
	struct cs_ctl_client client;

	begin();
	/* before the work */
	dial(&client);
	send_text(&client, "{\"op\":\"slow\"}");
	while (cs_loop_turn(loop, cs_clock_now_ns()) > 0)
		;
	cs_ctl_client_release(&client);
	while (cs_loop_turn(loop, cs_clock_now_ns()) > 0)
		;
	ck_assert(!cs_ctl_work(ctl));
	ck_assert_uint_eq(seen.slow, 0);
	/* while it is done: the handler turns the loop and so learns of it */
	dial(&client);
	send_text(&client, "{\"op\":\"slow\"}");
	while (cs_loop_turn(loop, cs_clock_now_ns()) > 0)
		;
	cs_ctl_client_release(&client);
	ck_assert(cs_ctl_work(ctl));
	ck_assert_uint_eq(seen.slow, 1);
	serve();
	/* without reading its answer */
	dial(&client);
	send_text(&client, "{\"op\":\"say\",\"text\":\"\"}");
	cs_ctl_client_release(&client);
	serve();
	ck_assert_uint_eq(seen.said, 1);
	done();
}
END_TEST

START_TEST(a_hold_is_told_of_the_end)
{
	struct cs_ctl_client client;
	cs_autojson struct cs_json *reply = NULL;
	struct cs_err err = CS_ERR_INIT;

	begin();
	dial(&client);
	ck_ok(ask(&client, "{\"op\":\"hold\"}", &reply, &err), err);
	cs_ctl_client_release(&client);
	while (cs_loop_turn(loop, cs_clock_now_ns()) > 0)
		;
	ck_assert_uint_eq(seen.closed, 0); /* not from the loop */
	ck_assert(cs_ctl_work(ctl));
	ck_assert_uint_eq(seen.closed, 1);
	ck_assert_ptr_eq(seen.state, &seen);
	ck_assert(!cs_ctl_work(ctl));

	cs_json_free_ptr(&reply);
	dial(&client);
	ck_ok(ask(&client, "{\"op\":\"hold\"}", &reply, &err), err);
	cs_json_free_ptr(&reply);
	ck_ok(ask(&client, "{\"op\":\"let-go\"}", &reply, &err), err);
	cs_ctl_client_release(&client);
	serve();
	ck_assert_uint_eq(seen.closed, 1);

	cs_json_free_ptr(&reply);
	dial(&client);
	ck_ok(ask(&client, "{\"op\":\"hold\"}", &reply, &err), err);
	cs_ctl_free(ctl);
	ctl = NULL;
	ck_assert_uint_eq(seen.closed, 2);
	ck_assert_int_eq(cs_ctl_wait_closed(&client, cs_clock_deadline_ns(CS_NSEC_PER_SEC)), 0);
	cs_ctl_client_release(&client);
	done();
}
END_TEST

START_TEST(a_client_has_a_deadline)
{
	struct cs_ctl_client client, *many;
	struct cs_err err = CS_ERR_INIT;
	int64_t before = cs_clock_now_ns();
	size_t n = 0;

	begin();
	/* nobody turns the loop: as if the supervisor was stopped */
	dial(&client);
	ck_fails(cs_ctl_call(&client, cs_ctl_request("slow"), cs_clock_deadline_ns(20 * CS_NSEC_PER_MSEC), NULL, &err), err,
		 "does not answer");
	ck_assert_int_eq(err.kind, CS_TIMEOUT);
	ck_assert_int_eq(cs_ctl_wait_closed(&client, cs_clock_deadline_ns(20 * CS_NSEC_PER_MSEC)), -ETIMEDOUT);
	/* … and so is the queue of those who want to talk to it full at last */
	many = calloc(1024, sizeof(*many));
	cs_err_clear(&err);
	while (n < 1024 && cs_ctl_connect(state, "web", 20 * CS_NSEC_PER_MSEC, &many[n], &err) == 0)
		n++;
	ck_assert_uint_lt(n, 1024);
	ck_assert_int_eq(err.kind, CS_TIMEOUT);
	ck_assert_int_ge(cs_clock_now_ns() - before, 60 * CS_NSEC_PER_MSEC);
	while (n-- > 0)
		cs_ctl_client_release(&many[n]);
	free(many);
	cs_ctl_client_release(&client);
	done();
}
END_TEST

START_TEST(only_so_many_peers)
{
	static struct cs_ctl_client clients[CS_CTL_PEERS_MAX + 1];
	cs_autojson struct cs_json *reply = NULL;
	struct cs_err err = CS_ERR_INIT;
	char packet[256];
	ssize_t n;

	begin();
	for (size_t i = 0; i < CS_ARRAY_LEN(clients); i++) {
		dial(&clients[i]);
		serve();
	}
	ck_assert_int_gt(n = recv(clients[CS_CTL_PEERS_MAX].fd, packet, sizeof(packet), MSG_DONTWAIT), 0);
	ck_fails(cs_ctl_parse_reply(packet, (size_t)n, &reply, &err), err, "256 others");
	ck_assert_int_eq(cs_ctl_wait_closed(&clients[CS_CTL_PEERS_MAX], cs_clock_now_ns()), 0);
	cs_ctl_client_release(&clients[0]);
	serve();
	cs_ctl_client_release(&clients[CS_CTL_PEERS_MAX]);
	dial(&clients[0]);
	cs_err_clear(&err);
	ck_ok(ask(&clients[0], "{\"op\":\"say\",\"text\":\"\"}", &reply, &err), err);
	for (size_t i = 0; i < CS_CTL_PEERS_MAX; i++)
		cs_ctl_client_release(&clients[i]);
	done();
}
END_TEST

/* A client that asked, or asks, one who has refused it hears of the refusal; that is not the end of the run. */
START_TEST(who_is_refused_hears_why)
{
	static struct cs_ctl_client clients[CS_CTL_PEERS_MAX];
	struct cs_err err = CS_ERR_INIT;

	begin();
	for (size_t i = 0; i < CS_ARRAY_LEN(clients); i++) {
		dial(&clients[i]);
		serve();
	}
	for (int asked_first = 0; asked_first <= 1; asked_first++) {
		struct cs_ctl_client late = CS_CTL_CLIENT_INIT;

		dial(&late);
		if (asked_first)
			ck_assert_int_gt(send(late.fd, "{}", 2, MSG_NOSIGNAL), 0);
		serve();
		ck_fails(cs_ctl_call(&late, cs_ctl_request("say"), cs_clock_deadline_ns(CS_NSEC_PER_SEC), NULL, &err), err,
			 "256 others");
		ck_assert_int_eq(err.kind, CS_LIMIT);
		cs_err_clear(&err);
		cs_ctl_client_release(&late);
	}
	for (size_t i = 0; i < CS_ARRAY_LEN(clients); i++)
		cs_ctl_client_release(&clients[i]);
	done();
}
END_TEST

START_TEST(nobody_there)
{
	struct cs_ctl_client client = CS_CTL_CLIENT_INIT;
	struct cs_err err = CS_ERR_INIT;

	begin();
	ck_fails(cs_ctl_connect(state, "other", CS_NSEC_PER_SEC, &client, &err), err, "no run 'other'");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_ctl_free(ctl);
	ctl = NULL;
	cs_err_clear(&err);
	ck_fails(cs_ctl_connect(state, "web", CS_NSEC_PER_SEC, &client, &err), err, "rm -f web");
	ck_assert_int_eq(err.kind, CS_STATE);
	ck_assert_int_eq(client.fd, -1);
	/* a second server does not take the place of another */
	cs_err_clear(&err);
	ck_assert_int_lt(cs_ctl_open(loop, dir_fd, ops, CS_ARRAY_LEN(ops), &seen, &ctl, &err), 0);
	ck_assert_int_eq(err.kind, CS_EXISTS);
	done();
}
END_TEST

CS_UNIT_SUITE(ctl, a_request_is_answered, an_error_comes_back_as_it_was_made, what_is_no_request_is_refused,
	      a_packet_has_a_bound, what_blocks_waits_for_work, who_goes_meanwhile_is_forgotten,
	      a_hold_is_told_of_the_end, a_client_has_a_deadline, only_so_many_peers, who_is_refused_hears_why, nobody_there)
