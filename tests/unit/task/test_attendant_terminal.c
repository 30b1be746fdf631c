/* The attendant with a terminal: the relay, its size, and when the caller hears of the end. */
#include "tests/unit/task/stage.h"

/* The caller listens for the terminal of its container; the test is the engine too. */
static struct {
	struct cs_loop *loop;
	struct cs_ptysock *sock;
	int callers;  /* master that the caller got */
	int engines;  /* slave of the engine's */
} t;

static void set_terminal_stage(bool is_exec)
{
	char path[128];
	static char console[128];

	set_stage(is_exec);
	t.loop = cs_loop_new();
	ck_assert_ptr_nonnull(t.loop);
	ck_assert_int_eq(cs_ptysock_listen(t.loop, s.dir_fd, "callers", &t.sock), 0);
	snprintf(path, sizeof(path), "%s/callers", s.dir);
	memcpy(console, path, sizeof(console));
	s.plan.terminal = true;
	s.plan.console_socket = console;
}

static void set_up_terminal(void)
{
	struct cs_err err = CS_ERR_INIT;
	int master;

	ck_ok(cs_attendant_setup(&s.attendant, &s.plan, &s.stdio, &err), err);
	ck_assert_int_eq(s.stdio.out_fd, -1);
	ck_assert_int_eq(s.stdio.err_fd, -1);
	ck_assert_str_ne(s.stdio.console, "");
	ck_assert_int_eq(cs_pty_open(&master, &t.engines), 0);
	ck_assert_int_eq(cs_ptysock_send(s.stdio.console, master, CS_NSEC_PER_SEC), 0);
	cs_close_fd(&master);
	s.stdio.out_fd = cs_fd_dup(t.engines, 3);
	s.stdio.err_fd = cs_fd_dup(t.engines, 3);
	cs_close_fd(&s.out_end);
	cs_close_fd(&s.err_end);
}

/* After arm it has been sent. */
static void take_terminal(void)
{
	int r;

	cs_close_fd(&t.engines);
	while ((r = cs_ptysock_take(t.sock, &t.callers)) == -EAGAIN)
		ck_assert_int_gt(cs_loop_turn(t.loop, patience()), 0);
	ck_assert_int_eq(r, 0);
}

/* EIO is how a master says that the other side is gone (pty(7)). */
static void read_terminal_to_end(struct cs_buf *ret)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(t.callers, piece, sizeof(piece))) > 0)
		cs_buf_add(ret, piece, (size_t)n);
	ck_assert(n < 0 && errno == EIO);
}

static void read_terminal_until(const char *text, struct cs_buf *ret)
{
	char piece[4096];
	ssize_t n;

	while (!ret->data || !strstr(ret->data, text)) {
		n = read(t.callers, piece, sizeof(piece));
		ck_assert_int_gt((int)n, 0);
		cs_buf_add(ret, piece, (size_t)n);
	}
}

static void clear_terminal_stage(void)
{
	cs_close_fd(&t.callers);
	cs_ptysock_free(t.sock);
	cs_loop_free(t.loop);
	clear_stage();
}

START_TEST(a_terminal_is_relayed)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	cs_autojson struct cs_json *json = NULL;

	set_terminal_stage(false);
	set_up_terminal();
	run_program("exec <&2; echo ready; read line; echo \"got $line\"; exit 5");
	arm();
	take_terminal();
	begin_program();
	read_terminal_until("ready\r\n", &out);
	ck_assert_int_eq((int)write(t.callers, "hello\r", 6), 6);
	ck_assert_int_eq(reap_program(), 5 << 8);
	read_terminal_to_end(&out);
	ck_assert_ptr_nonnull(strstr(out.data, "hello\r\n"));     /* its echo */
	ck_assert_ptr_nonnull(strstr(out.data, "got hello\r\n")); /* \r typed is \n read */
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_int_eq(number_of(json, "stdout.keptBytes"), (int64_t)out.len);
	clear_terminal_stage();
}
END_TEST

START_TEST(the_size_of_a_terminal_follows)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct winsize size = { .ws_row = 33, .ws_col = 77 }, seen;
	int64_t deadline = patience(), nap_ns = CS_NAP_NS;
	int inner;

	set_terminal_stage(true);
	set_up_terminal();
	inner = cs_fd_dup(t.engines, 3);
	run_program("exec <&2; echo ready; read line; stty size");
	arm();
	take_terminal();
	read_terminal_until("ready", &out);
	ck_assert_int_eq(ioctl(t.callers, TIOCSWINSZ, &size), 0);
	/* a size and a key go different ways; the key must not be the first */
	while (ioctl(inner, TIOCGWINSZ, &seen) == 0 && seen.ws_col != 77 && cs_clock_left_ns(deadline) > 0)
		cs_clock_nap(&nap_ns, deadline);
	close(inner);
	ck_assert_int_eq((int)write(t.callers, "\r", 1), 1);
	ck_assert_int_eq(reap_program(), 0);
	read_terminal_to_end(&out);
	ck_assert_msg(strstr(out.data, "33 77"), "%s", out.data);
	await_attendant();
	clear_terminal_stage();
}
END_TEST

START_TEST(a_late_reader_of_a_terminal_loses_nothing)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);

	set_terminal_stage(false);
	set_up_terminal();
	run_program("i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done");
	arm();
	take_terminal();
	begin_program();
	ck_assert_int_eq(reap_program(), 0);
	await_attendant();
	/* all of it has gone, and what it printed waits for us */
	read_terminal_to_end(&out);
	ck_assert_msg(strstr(out.data, "line 99\r\n"), "%s", out.data);
	clear_terminal_stage();
}
END_TEST

/* What containerd's shim does: it reads until it hears of the end, and then what is there at that moment. */
static void hear_of_the_end(bool is_exec, const char *script, const char *last)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	char piece[4096];
	ssize_t n;

	set_terminal_stage(is_exec);
	s.plan.hold_end = true;
	set_up_terminal();
	run_program(script);
	arm();
	take_terminal();
	if (!is_exec)
		begin_program();
	ck_assert_int_eq(cs_fd_set_nonblock(t.callers, true), 0);
	ck_assert_int_eq(waitpid(s.program.pid, NULL, 0), s.program.pid);
	while ((n = read(t.callers, piece, sizeof(piece))) > 0)
		cs_buf_add(&out, piece, (size_t)n);
	ck_assert_msg(out.data && strstr(out.data, last), "'%s' without '%s'", out.data ? out.data : "", last);
	cs_pidref_release(&s.program);
	await_attendant();
	clear_terminal_stage();
}

#define ENDS 20

START_TEST(the_end_is_heard_of_after_the_last_word)
{
	for (int i = 0; i < ENDS; i++)
		hear_of_the_end(i % 2, "echo last word", "last word\r\n");
}
END_TEST

START_TEST(signals_pass_through_a_hold)
{
	hear_of_the_end(false, "trap 'echo term; exit 3' TERM; kill -TERM $$; echo not here", "term\r\n");
}
END_TEST

START_TEST(a_terminal_under_a_bucket)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	uint64_t cost;

	set_terminal_stage(false);
	s.plan.bounds.rate_per_s = 1;
	s.plan.bounds.burst = 20000;
	s.plan.bounds.cost_json_file = true;
	set_up_terminal();
	run_program("i=0; while [ $i -lt 3000 ]; do echo y; i=$((i+1)); done");
	arm();
	take_terminal();
	begin_program();
	read_terminal_to_end(&out);
	reap_program();
	ck_assert_ptr_nonnull(strstr(out.data, "\r\ncaisson: stdout passes"));
	cs_bucket_cost_json_file(out.data, out.len, UINT64_MAX, &cost);
	ck_assert_uint_le(cost, 20000 + 30);
	await_attendant();
	clear_terminal_stage();
}
END_TEST

START_TEST(a_silent_one_with_a_terminal)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);

	set_terminal_stage(false);
	s.plan.bounds.timeout_ns = 200 * CS_NSEC_PER_MSEC;
	set_up_terminal();
	run_program("exec </dev/null >/dev/null 2>&1; exec sleep 99");
	arm();
	take_terminal();
	begin_program();
	ck_assert_int_eq(reap_program(), SIGKILL);
	read_terminal_to_end(&out);
	await_attendant();
	clear_terminal_stage();
}
END_TEST

START_TEST(an_engine_that_sends_no_terminal)
{
	struct cs_err err = CS_ERR_INIT;

	set_terminal_stage(false);
	ck_ok(cs_attendant_setup(&s.attendant, &s.plan, &s.stdio, &err), err);
	s.stdio.out_fd = cs_fd_dup(2, 3);
	s.stdio.err_fd = cs_fd_dup(2, 3);
	run_program("exec sleep 99");
	ck_fails(cs_attendant_arm(&s.attendant, &s.program, NULL, NULL, &err), err, "terminal");
	cs_pidref_kill(&s.program, SIGKILL);
	ck_assert_int_eq(reap_program(), SIGKILL);
	await_attendant();
	clear_terminal_stage();
}
END_TEST

CS_UNIT_SUITE(attendant_terminal, a_terminal_is_relayed, the_size_of_a_terminal_follows,
	      a_late_reader_of_a_terminal_loses_nothing, the_end_is_heard_of_after_the_last_word,
	      signals_pass_through_a_hold, a_terminal_under_a_bucket, a_silent_one_with_a_terminal,
	      an_engine_that_sends_no_terminal)
