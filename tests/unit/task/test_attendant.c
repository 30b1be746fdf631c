/*
 * The attendant without an engine: the test is the verb and its caller, and a
 * forked process is the container. No group of its own: a limit ends the one process.
 */
#include "shim/task/attendant.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/stdio/bucket.h"
#include "shim/sys/pty.h"
#include "shim/sys/ptysock.h"
#include "shim/sys/spawn.h"
#include "shim/task/results.h"
#include "tests/unit/unit.h"

#define ROOT "/run/engine"

static struct stage {
	char state[64], dir[96];
	int dir_fd;
	int out, err;          /* read ends of the caller's pipes */
	int out_end, err_end;  /* and what the verb has as 1 and 2 */
	struct cs_attendant attendant;
	pid_t attendant_pid;
	struct cs_attendant_plan plan;
	struct cs_attendant_stdio stdio;
	struct cs_pidref program;
} s;

static int64_t patience(void)
{
	return cs_clock_deadline_ns(20 * CS_NSEC_PER_SEC);
}

static void make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	*ret_read = fds[0];
	*ret_write = fds[1];
}

/* What is free of bounds; a test sets those that it is about. */
static void set_stage(bool is_exec)
{
	struct cs_err err = CS_ERR_INIT;

	memset(&s, 0, sizeof(s));
	/* what the attendant leaves behind comes to us, as it would to containerd's shim */
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	snprintf(s.state, sizeof(s.state), "/tmp/caisson-test-attend-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(s.state));
	snprintf(s.dir, sizeof(s.dir), "%s/container", s.state);
	ck_assert_int_eq(mkdir(s.dir, 0700), 0);
	s.dir_fd = open(s.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_pipe(&s.out, &s.out_end);
	make_pipe(&s.err, &s.err_end);
	s.plan = (struct cs_attendant_plan){
		.id = "web1", .engine_root = ROOT, .engine_name = "runc", .state_dir = s.state, .dir_fd = s.dir_fd,
		.dir_path = s.dir, .is_exec = is_exec, .stdout_fd = s.out_end, .stderr_fd = s.err_end,
		.uid = geteuid(), .gid = getegid(),
		.bounds = { .timeout_ns = CS_NEVER, .cpu_time_ns = CS_NEVER, .idle_timeout_ns = CS_NEVER,
			    .millicpus = UINT64_MAX, .stdout_limit_bytes = UINT64_MAX, .stderr_limit_bytes = UINT64_MAX,
			    .rate_per_s = UINT64_MAX, .drain_timeout_ns = 100 * CS_NSEC_PER_MSEC,
			    .flush_timeout_ns = 500 * CS_NSEC_PER_MSEC },
	};
	ck_ok(cs_attendant_fork(&s.attendant, &err), err);
	s.attendant_pid = s.attendant.process.pid;
}

static void set_up(void)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_attendant_setup(&s.attendant, &s.plan, &s.stdio, &err), err);
	ck_assert_int_ge(s.stdio.out_fd, 0);
	ck_assert_int_ge(s.stdio.err_fd, 0);
	ck_assert_str_eq(s.stdio.console, "");
	/* the verb ends soon: what it has of the caller's goes with it */
	cs_close_fd(&s.out_end);
	cs_close_fd(&s.err_end);
}

/* The container's init, with the engine's stdio: a shell, which a create leaves waiting for start. */
static void run_program(const char *script)
{
	int r = cs_spawn_fork(&s.program);

	if (r == 0) {
		sigset_t none;
		char text[256];

		snprintf(text, sizeof(text), "%s%s", s.plan.is_exec ? "" : "kill -STOP $$; ", script);

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(s.stdio.out_fd, 1);
		dup2(s.stdio.err_fd, 2);
		execl("/bin/sh", "sh", "-c", text, (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(r, 1);
	cs_close_fd(&s.stdio.out_fd);
	cs_close_fd(&s.stdio.err_fd);
}

static void arm(void)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_attendant_arm(&s.attendant, &s.program, NULL, NULL, &err), err);
	ck_assert_int_eq(s.attendant.socket, -1);
}

/* What `start` does. */
static void begin_program(void)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_attendant_begin(s.dir_fd, NULL, &err), err);
	ck_assert_int_eq(waitpid(s.program.pid, NULL, WUNTRACED), s.program.pid);
	ck_assert_int_eq(cs_pidref_kill(&s.program, SIGCONT), 0);
}

/* Reads one pipe to its end. */
static void read_to_end(int fd, struct cs_buf *ret)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		cs_buf_add(ret, piece, (size_t)n);
	ck_assert_int_eq((int)n, 0);
}

/* Its parent is what knows the exit status, so the test reaps at once. */
static int reap_program(void)
{
	int status = -1;

	ck_assert_int_eq(cs_pidref_wait_dead(&s.program, patience()), 0);
	ck_assert_int_eq(cs_pidref_reap(&s.program, &status), 0);
	cs_pidref_release(&s.program);
	return status;
}

/* Every process of the attendant has ended and was reaped, here or by it. */
static void await_attendant(void)
{
	int64_t deadline = patience();

	ck_assert_int_eq(cs_attendant_await(s.dir_fd, deadline), 0);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	ck_assert_int_eq(errno, ECHILD);
}

static struct cs_json *record(void)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_RESULTS_FILE_BYTES);
	cs_autofd int results = cs_results_open(s.state, false);
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_assert_int_ge(results, 0);
	if (cs_results_read(results, cs_container_key(ROOT, "web1"), &text) < 0)
		return NULL;
	ck_ok(cs_json_parse(text.data, text.len, "record", &json, &err), err);
	return json;
}

static const char *text_of(const struct cs_json *json, const char *path)
{
	const char *text = cs_json_string(cs_json_get(json, path));

	return text ? text : "(null)";
}

static int64_t number_of(const struct cs_json *json, const char *path)
{
	int64_t n = -1;

	cs_json_get_i64(cs_json_get(json, path), &n);
	return n;
}

static void clear_stage(void)
{
	char command[128];

	cs_close_fd(&s.out);
	cs_close_fd(&s.err);
	cs_close_fd(&s.dir_fd);
	snprintf(command, sizeof(command), "rm -rf %s", s.state);
	ck_assert_int_eq(system(command), 0);
}

/* --- the plain way ------------------------------------------------------------------ */

START_TEST(streams_pass_and_a_record_is_left)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	cs_auto(buf) errors = CS_BUF_INIT(4096);
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("echo out; echo err >&2; exit 7");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 7 << 8);
	read_to_end(s.out, &out);
	read_to_end(s.err, &errors);
	ck_assert_str_eq(out.data, "out\n");
	ck_assert_str_eq(errors.data, "err\n");
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "id"), "web1");
	ck_assert_str_eq(text_of(json, "engine.name"), "runc");
	ck_assert_int_eq(number_of(json, "stdout.keptBytes"), 4);
	ck_assert_int_eq(number_of(json, "stderr.keptBytes"), 4);
	/* before Linux 6.15 it is not known how */
	if (strcmp(text_of(json, "reason"), "ended") != 0) {
		ck_assert_str_eq(text_of(json, "reason"), "exited");
		ck_assert_int_eq(number_of(json, "exitCode"), 7);
	}
	clear_stage();
}
END_TEST

START_TEST(the_engines_words_are_passed_on_and_not_counted)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	cs_auto(buf) words = CS_BUF_INIT(4096);
	cs_autojson struct cs_json *json = NULL;
	struct cs_err err = CS_ERR_INIT;

	set_stage(false);
	set_up();
	ck_assert_int_eq((int)write(s.stdio.err_fd, "early warning\n", 14), 14);
	run_program("echo program");
	ck_ok(cs_attendant_arm(&s.attendant, &s.program, NULL, &words, &err), err);
	ck_assert_str_eq(words.data, "early warning\n");
	cs_buf_reset(&words);
	ck_ok(cs_attendant_begin(s.dir_fd, &words, &err), err);
	ck_assert_uint_eq(words.len, 0);
	ck_assert_int_eq(waitpid(s.program.pid, NULL, WUNTRACED), s.program.pid);
	cs_pidref_kill(&s.program, SIGCONT);
	reap_program();
	read_to_end(s.out, &out);
	read_to_end(s.err, &out);
	ck_assert_str_eq(out.data, "program\n");
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.seenBytes"), 8);
	ck_assert_int_eq(number_of(json, "stderr.seenBytes"), 0);
	clear_stage();
}
END_TEST

START_TEST(dismissed_it_gives_the_words_back_and_leaves)
{
	cs_auto(buf) words = CS_BUF_INIT(4096);
	cs_auto(buf) out = CS_BUF_INIT(4096);
	char path[128];

	set_stage(false);
	set_up();
	ck_assert_int_eq((int)write(s.stdio.err_fd, "no such file\n", 13), 13);
	cs_close_fd(&s.stdio.out_fd);
	cs_close_fd(&s.stdio.err_fd);
	cs_attendant_dismiss(&s.attendant, &words);
	ck_assert_str_eq(words.data, "no such file\n");
	read_to_end(s.err, &out);
	ck_assert_uint_eq(out.len, 0);
	snprintf(path, sizeof(path), "%s/ctl", s.dir);
	ck_assert_int_ne(access(path, F_OK), 0);
	await_attendant();
	ck_assert_ptr_null(record());
	cs_attendant_dismiss(&s.attendant, NULL); /* once more does no harm */
	clear_stage();
}
END_TEST

START_TEST(a_dismissed_execs_words_have_gone_to_the_caller)
{
	char text[64];

	set_stage(true);
	set_up();
	ck_assert_int_eq((int)write(s.stdio.err_fd, "exec failed\n", 12), 12);
	cs_close_fd(&s.stdio.out_fd);
	cs_close_fd(&s.stdio.err_fd);
	cs_attendant_dismiss(&s.attendant, NULL);
	ck_assert_int_eq(cs_fd_set_nonblock(s.err, true), 0);
	ck_assert_int_eq((int)read(s.err, text, sizeof(text)), 12);
	await_attendant();
	clear_stage();
}
END_TEST

START_TEST(the_verb_dies_before_arm)
{
	set_stage(false);
	set_up();
	cs_close_fd(&s.attendant.socket);
	cs_pidref_release(&s.attendant.process);
	await_attendant();
	cs_close_fd(&s.stdio.out_fd);
	cs_close_fd(&s.stdio.err_fd);
	clear_stage();
}
END_TEST

/* --- limits --------------------------------------------------------------------------- */

static void run_to_limit(bool is_exec, const char *script, const char *reason)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	cs_autojson struct cs_json *json = NULL;

	set_up();
	run_program(script);
	arm();
	if (!is_exec)
		begin_program();
	ck_assert_int_eq(reap_program(), SIGKILL);
	read_to_end(s.out, &out);
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "reason"), reason);
	clear_stage();
}

START_TEST(wall_time_ends_a_silent_one)
{
	set_stage(false);
	s.plan.bounds.timeout_ns = 200 * CS_NSEC_PER_MSEC;
	run_to_limit(false, "exec >/dev/null 2>&1; trap '' TERM; exec sleep 99", "wall-limit");
}
END_TEST

START_TEST(wall_time_ends_an_exec)
{
	set_stage(true);
	s.plan.bounds.timeout_ns = 200 * CS_NSEC_PER_MSEC;
	run_to_limit(true, "exec sleep 99", "wall-limit");
}
END_TEST

START_TEST(idle_time)
{
	set_stage(false);
	s.plan.bounds.idle_timeout_ns = 200 * CS_NSEC_PER_MSEC;
	run_to_limit(false, "echo once; exec sleep 99", "idle-limit");
}
END_TEST

START_TEST(output_cap)
{
	cs_autojson struct cs_json *json = NULL;
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);

	set_stage(false);
	s.plan.bounds.stdout_limit_bytes = 1000;
	s.plan.bounds.kill_at_output_limit = true;
	set_up();
	run_program("exec yes");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), SIGKILL);
	read_to_end(s.out, &out);
	ck_assert_uint_eq(out.len, 1000);
	await_attendant();
	json = record();
	ck_assert_str_eq(text_of(json, "reason"), "output-limit");
	ck_assert_int_eq(number_of(json, "stdout.keptBytes"), 1000);
	clear_stage();
}
END_TEST

START_TEST(output_cap_of_an_exec_that_is_faster_than_its_verb)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);

	set_stage(true);
	s.plan.bounds.stdout_limit_bytes = 1000;
	s.plan.bounds.kill_at_output_limit = true;
	set_up();
	run_program("exec yes");
	/* the cap has been reached when all of it is here */
	while (out.len < 1000) {
		char piece[1000];
		ssize_t n = read(s.out, piece, sizeof(piece));

		ck_assert_int_gt((int)n, 0);
		cs_buf_add(&out, piece, (size_t)n);
	}
	arm();
	ck_assert_int_eq(reap_program(), SIGKILL);
	await_attendant();
	clear_stage();
}
END_TEST

/* A life of a container that writes 300 lines: what of it gets through. */
static size_t life(uint64_t rate, uint64_t burst)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	cs_auto(buf) errors = CS_BUF_INIT(1 << 20);
	size_t lines = 0;

	s.plan.bounds.rate_per_s = rate;
	s.plan.bounds.burst = burst;
	s.plan.bounds.cost_json_file = true;
	set_up();
	run_program("i=0; while [ $i -lt 300 ]; do echo y; i=$((i+1)); done");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 0);
	read_to_end(s.out, &out);
	read_to_end(s.err, &errors);
	await_attendant();
	for (size_t i = 0; i < out.len; i++)
		lines += out.data[i] == '\n';
	ck_assert(lines == 300 || strstr(errors.data, "caisson: stdout passes"));
	return lines;
}

START_TEST(a_restart_does_not_refill_the_bucket)
{
	char state[64];

	set_stage(false);
	memcpy(state, s.state, sizeof(state));
	ck_assert_uint_ge(life(1, 20000), 100);
	/* the same container, once more */
	cs_close_fd(&s.out);
	cs_close_fd(&s.err);
	make_pipe(&s.out, &s.out_end);
	make_pipe(&s.err, &s.err_end);
	s.plan.stdout_fd = s.out_end;
	s.plan.stderr_fd = s.err_end;
	{
		struct cs_err err = CS_ERR_INIT;

		ck_ok(cs_attendant_fork(&s.attendant, &err), err);
	}
	ck_assert_uint_le(life(1, 20000), 1);
	clear_stage();
}
END_TEST

/* --- sinks ------------------------------------------------------------------------------ */

START_TEST(a_reader_that_goes_ends_nothing)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("i=0; while [ $i -lt 3000 ]; do echo some line of some length; i=$((i+1)); done; exit 3");
	cs_close_fd(&s.out);
	cs_close_fd(&s.err);
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 3 << 8);
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.seenBytes"), 3000 * 25);
	clear_stage();
}
END_TEST

START_TEST(a_reader_that_reads_nothing_is_given_up)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("dd if=/dev/zero bs=1000 count=300 2>/dev/null");
	arm();
	begin_program();
	/* more than the caller's pipe holds, less than ours */
	ck_assert_int_eq(reap_program(), 0);
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.seenBytes"), 300000);
	ck_assert_int_gt(number_of(json, "stdout.droppedBytes"), 0);
	clear_stage();
}
END_TEST

START_TEST(flags_of_the_callers_descriptors_stay)
{
	int out = -1, before;

	set_stage(false);
	out = cs_fd_dup(s.out_end, 3);
	before = fcntl(out, F_GETFL);
	set_up();
	run_program("echo hello");
	arm();
	begin_program();
	reap_program();
	ck_assert_int_eq(fcntl(out, F_GETFL), before);
	cs_close_fd(&out);
	await_attendant();
	clear_stage();
}
END_TEST

START_TEST(null_stdio_that_is_open_for_reading_only)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	cs_close_fd(&s.out_end);
	s.out_end = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s.plan.stdout_fd = s.out_end;
	set_up();
	run_program("echo to nobody || exit 9");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 0);
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.keptBytes"), 10);
	clear_stage();
}
END_TEST

/* --- terminals ------------------------------------------------------------------------------ */

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

/* --- the attendant's own end ------------------------------------------------------------ */

static void kill_the_attendant(void)
{
	ck_assert_int_eq(kill(s.attendant_pid, SIGKILL), 0);
}

START_TEST(killed_it_takes_the_container_along)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("exec sleep 99");
	arm();
	begin_program();
	kill_the_attendant();
	ck_assert_int_eq(reap_program(), SIGKILL);
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "reason"), "cancelled");
	clear_stage();
}
END_TEST

START_TEST(killed_before_start_too)
{
	struct cs_err err = CS_ERR_INIT;

	set_stage(false);
	set_up();
	run_program("exec sleep 99");
	arm();
	kill_the_attendant();
	ck_assert_int_eq(reap_program(), SIGKILL);
	ck_assert_int_lt(cs_attendant_begin(s.dir_fd, NULL, &err), 0);
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	await_attendant();
	clear_stage();
}
END_TEST

START_TEST(kept_it_stays_under_its_wall_limit)
{
	cs_autojson struct cs_json *json = NULL;
	int64_t began = cs_clock_now_ns();

	set_stage(false);
	s.plan.bounds.at_death = CS_ATTENDANT_KEEP;
	s.plan.bounds.timeout_ns = 700 * CS_NSEC_PER_MSEC;
	set_up();
	run_program("exec sleep 99");
	arm();
	begin_program();
	kill_the_attendant();
	ck_assert_int_eq(reap_program(), SIGKILL);
	ck_assert_int_ge(cs_clock_now_ns() - began, 700 * CS_NSEC_PER_MSEC);
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "reason"), "wall-limit");
	clear_stage();
}
END_TEST

START_TEST(stopped_it_is_not_waited_for)
{
	set_stage(false);
	s.plan.bounds.timeout_ns = 100 * CS_NSEC_PER_MSEC;
	set_up();
	run_program("exec sleep 99");
	arm();
	begin_program();
	ck_assert_int_eq(kill(s.attendant_pid, SIGSTOP), 0);
	ck_assert_int_eq(reap_program(), SIGKILL);
	ck_assert_int_eq(kill(s.attendant_pid, SIGCONT), 0);
	await_attendant();
	clear_stage();
}
END_TEST

CS_UNIT_SUITE(attendant, streams_pass_and_a_record_is_left, the_engines_words_are_passed_on_and_not_counted,
	      dismissed_it_gives_the_words_back_and_leaves, a_dismissed_execs_words_have_gone_to_the_caller,
	      the_verb_dies_before_arm, wall_time_ends_a_silent_one, wall_time_ends_an_exec, idle_time, output_cap,
	      output_cap_of_an_exec_that_is_faster_than_its_verb,
	      a_restart_does_not_refill_the_bucket, a_reader_that_goes_ends_nothing,
	      a_reader_that_reads_nothing_is_given_up, flags_of_the_callers_descriptors_stay,
	      null_stdio_that_is_open_for_reading_only, a_terminal_is_relayed,
	      the_size_of_a_terminal_follows, a_late_reader_of_a_terminal_loses_nothing, the_end_is_heard_of_after_the_last_word, signals_pass_through_a_hold, a_terminal_under_a_bucket,
	      a_silent_one_with_a_terminal, an_engine_that_sends_no_terminal, killed_it_takes_the_container_along, killed_before_start_too,
	      kept_it_stays_under_its_wall_limit, stopped_it_is_not_waited_for)
