/* The session with a sandbox that is played by the test. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/file.h"
#include "shim/engine/trace.h"
#include "tests/unit/unit.h"

static const unsigned char hello[] = { 0x08, 0x01 };

struct stage {
	char dir[400];
	struct cs_loop *loop;
	struct cs_trace *trace;
	int fd; /* the sandbox's end */
};

static void set_up(struct stage *stage, const char *below)
{
	struct cs_err err = CS_ERR_INIT;
	char top[] = "/tmp/caisson-trace-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(stage->dir, sizeof(stage->dir), "%s%s", top, below);
	ck_assert_int_eq(cs_file_mkdirs(stage->dir, 0700), 0);
	stage->fd = -1;
	stage->loop = cs_loop_new();
	ck_assert_ptr_nonnull(stage->loop);
	ck_ok(cs_trace_new(stage->loop, stage->dir, &stage->trace, &err), err);
}

static void tear_down(struct stage *stage)
{
	char path[512];

	cs_close_fd(&stage->fd);
	cs_trace_free(stage->trace);
	cs_loop_free(stage->loop);
	snprintf(path, sizeof(path), "%s/trace.sock", stage->dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/trace.json", stage->dir);
	ck_assert_int_eq(unlink(path), 0);
	for (char *slash; strcmp(stage->dir, "/tmp") != 0; *slash = '\0') {
		ck_assert_int_eq(rmdir(stage->dir), 0);
		slash = strrchr(stage->dir, '/');
	}
}

/* As the engine does: by the address in the file. */
static void connect_as_engine(struct stage *stage)
{
	cs_autojson struct cs_json *config = NULL;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct cs_err err = CS_ERR_INIT;
	const char *endpoint;

	ck_ok(cs_json_read_file(AT_FDCWD, cs_trace_config_path(stage->trace), &config, &err), err);
	endpoint = cs_json_string(cs_json_get(config, "trace_session.sinks.0.config.endpoint"));
	ck_assert_ptr_nonnull(endpoint);
	ck_assert_uint_lt(strlen(endpoint), sizeof(address.sun_path));
	memcpy(address.sun_path, endpoint, strlen(endpoint));
	stage->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(stage->fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void turn(struct stage *stage)
{
	ck_assert_int_ge(cs_loop_turn(stage->loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)), 1);
}

static void shake_hands(struct stage *stage)
{
	unsigned char answer[8];

	connect_as_engine(stage);
	turn(stage);
	ck_assert_int_eq(send(stage->fd, hello, sizeof(hello), 0), sizeof(hello));
	turn(stage);
	ck_assert_int_eq(recv(stage->fd, answer, sizeof(answer), MSG_DONTWAIT), sizeof(hello));
	ck_assert_mem_eq(answer, hello, sizeof(hello));
}

static void send_exit(struct stage *stage, const char *id, unsigned group, unsigned status, unsigned char dropped)
{
	unsigned char data[200] = { 8, 0, 5, 0, dropped, 0, 0, 0, 0x0a, 0, 0x10, (unsigned char)group,
				    0x20, (unsigned char)group, 0x32, (unsigned char)strlen(id) };
	size_t n = 16;

	memcpy(data + n, id, strlen(id));
	n += strlen(id);
	data[9] = (unsigned char)(n - 10);
	data[n++] = 0x10;
	for (; status > 0x7f; status >>= 7)
		data[n++] = (unsigned char)(status | 0x80);
	data[n++] = (unsigned char)status;
	ck_assert_int_eq(send(stage->fd, data, n, MSG_NOSIGNAL), (ssize_t)n);
}

START_TEST(init_status_comes_from_group_1_of_the_container)
{
	struct stage stage;
	int status = -1;

	set_up(&stage, "");
	ck_assert_int_eq(cs_trace_init_status(stage.trace, "c1", &status), -ENODATA);
	shake_hands(&stage);
	send_exit(&stage, "c1", 2, 9, 0);
	send_exit(&stage, "c1", 1, 137 << 8, 0);
	send_exit(&stage, "c2", 1, 0, 5);
	ck_assert_int_eq(close(cs_take_fd(&stage.fd)), 0);
	cs_trace_pump(stage.trace);
	ck_assert_int_eq(cs_trace_init_status(stage.trace, "c1", &status), 0);
	ck_assert_int_eq(status, 137 << 8);
	ck_assert_int_eq(cs_trace_init_status(stage.trace, "c", &status), -ENODATA);
	ck_assert_int_eq(cs_trace_init_status(stage.trace, "", &status), -ENODATA);
	ck_assert_uint_eq(cs_trace_dropped(stage.trace), 5);
	tear_down(&stage);
}
END_TEST

/* A thread of init that ends early tells a status as well; the group's is told last. */
START_TEST(last_thread_of_init_tells_the_status)
{
	struct stage stage;
	int status = -1;

	set_up(&stage, "");
	shake_hands(&stage);
	send_exit(&stage, "c1", 1, 0, 0);
	send_exit(&stage, "c1", 1, 7 << 8, 0);
	turn(&stage);
	ck_assert_int_eq(cs_trace_init_status(stage.trace, "c1", &status), 0);
	ck_assert_int_eq(status, 7 << 8);
	tear_down(&stage);
}
END_TEST

START_TEST(F064_directory_longer_than_a_socket_address)
{
	struct stage stage;
	char below[202] = "/";

	memset(below + 1, 'd', 200);
	set_up(&stage, below);
	shake_hands(&stage);
	tear_down(&stage);
}
END_TEST

START_TEST(garbage_never_ends_in_a_status)
{
	static unsigned char data[5000];
	struct stage stage;
	int status = -1;

	set_up(&stage, "");
	shake_hands(&stage);
	memset(data, 0xff, sizeof(data));
	for (size_t len = 1; len < sizeof(data); len = len * 3 + 1)
		ck_assert_int_eq(send(stage.fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
	ck_assert_int_eq(send(stage.fd, data, sizeof(data), MSG_NOSIGNAL), sizeof(data));
	/* the session goes on behind it */
	send_exit(&stage, "c1", 1, 9, 0);
	cs_trace_pump(stage.trace);
	ck_assert_int_eq(cs_trace_init_status(stage.trace, "c1", &status), 0);
	ck_assert_int_eq(status, 9);
	tear_down(&stage);
}
END_TEST

START_TEST(made_up_containers_do_not_keep_the_true_one_out)
{
	struct stage stage;
	char id[16];
	int status = -1;

	set_up(&stage, "");
	shake_hands(&stage);
	for (int i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "x%d", i);
		send_exit(&stage, id, 1, 0, 0);
	}
	send_exit(&stage, "c1", 1, 9, 0);
	cs_trace_pump(stage.trace);
	ck_assert_int_eq(cs_trace_init_status(stage.trace, "c1", &status), 0);
	tear_down(&stage);
}
END_TEST

START_TEST(wrong_greeting_ends_the_session)
{
	struct stage stage;
	char byte;

	set_up(&stage, "");
	connect_as_engine(&stage);
	turn(&stage);
	ck_assert_int_eq(send(stage.fd, "GET", 3, 0), 3);
	turn(&stage);
	ck_assert_int_eq(recv(stage.fd, &byte, 1, MSG_DONTWAIT), 0);
	cs_trace_pump(stage.trace);
	tear_down(&stage);
}
END_TEST

START_TEST(second_session_in_a_directory_is_refused)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_trace *other;
	struct stage stage;

	set_up(&stage, "");
	ck_fails(cs_trace_new(stage.loop, stage.dir, &other, &err), err, "trace.sock");
	ck_assert_int_eq(err.kind, CS_EXISTS);
	/* the first is as it was */
	shake_hands(&stage);
	tear_down(&stage);
}
END_TEST

CS_UNIT_SUITE(trace, init_status_comes_from_group_1_of_the_container, last_thread_of_init_tells_the_status,
	      F064_directory_longer_than_a_socket_address, garbage_never_ends_in_a_status,
	      made_up_containers_do_not_keep_the_true_one_out, wrong_greeting_ends_the_session,
	      second_session_in_a_directory_is_refused)
