/*
 * The attendant without an engine: the test is the verb and its caller, and a
 * forked process is the container. No group of its own: a limit ends the one process.
 */
#ifndef CS_TESTS_UNIT_TASK_STAGE_H
#define CS_TESTS_UNIT_TASK_STAGE_H

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
#include "shim/sys/path.h"
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

static inline int64_t patience(void)
{
	return cs_clock_deadline_ns(20 * CS_NSEC_PER_SEC);
}

static inline void make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	*ret_read = fds[0];
	*ret_write = fds[1];
}

/* What is free of bounds; a test sets those that it is about. */
static inline void set_stage(bool is_exec)
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

static inline void set_up(void)
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
static inline void run_program(const char *script)
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

static inline void arm(void)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_attendant_arm(&s.attendant, &s.program, NULL, NULL, &err), err);
	ck_assert_int_eq(s.attendant.socket, -1);
}

/* What `start` does. */
static inline void begin_program(void)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_attendant_begin(s.dir_fd, NULL, &err), err);
	ck_assert_int_eq(waitpid(s.program.pid, NULL, WUNTRACED), s.program.pid);
	ck_assert_int_eq(cs_pidref_kill(&s.program, SIGCONT), 0);
}

/* Reads one pipe to its end. */
static inline void read_to_end(int fd, struct cs_buf *ret)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		cs_buf_add(ret, piece, (size_t)n);
	ck_assert_int_eq((int)n, 0);
}

/* Its parent is what knows the exit status, so the test reaps at once. */
static inline int reap_program(void)
{
	int status = -1;

	ck_assert_int_eq(cs_pidref_wait_dead(&s.program, patience()), 0);
	ck_assert_int_eq(cs_pidref_reap(&s.program, &status), 0);
	cs_pidref_release(&s.program);
	return status;
}

/* Every process of the attendant has ended and was reaped, here or by it. */
static inline void await_attendant(void)
{
	int64_t deadline = patience();

	ck_assert_int_eq(cs_attendant_await(s.dir_fd, deadline), 0);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	ck_assert_int_eq(errno, ECHILD);
}

static inline struct cs_json *record(void)
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

static inline const char *text_of(const struct cs_json *json, const char *path)
{
	const char *text = cs_json_string(cs_json_get(json, path));

	return text ? text : "(null)";
}

static inline int64_t number_of(const struct cs_json *json, const char *path)
{
	int64_t n = -1;

	cs_json_get_i64(cs_json_get(json, path), &n);
	return n;
}

static inline void clear_stage(void)
{
	int tmp;

	cs_close_fd(&s.out);
	cs_close_fd(&s.err);
	cs_close_fd(&s.dir_fd);
	tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(cs_path_remove_tree(tmp, s.state + strlen("/tmp/")), 0);
	close(tmp);
}

#endif
