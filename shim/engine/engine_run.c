/* One run of a child: spawn, drain, deadline, end of the group. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/engine/engine_call.h"
#include "shim/engine/engine_int.h"
#include "shim/sys/mount.h"
#include "shim/sys/spawn.h"

#define GAP_TEXT "\n[… output left out …]\n"
#define HEAD_MAX (CS_ENGINE_OUTPUT_MAX / 2)
#define TAIL_MAX (CS_ENGINE_OUTPUT_MAX / 2 - sizeof(GAP_TEXT))

/* SIGKILL ends a process at once, unless it sits in an uninterruptible sleep. */
#define KILL_GRACE_NS CS_NSEC_PER_SEC

/* One stream: its first bytes, and a ring of its last. */
struct capture {
	int fd; /* our end, -1 at EOF */
	struct cs_source source;
	struct cs_buf head;
	char *tail; /* TAIL_MAX, made when head is full */
	uint64_t tail_seen;
};

struct state {
	struct cs_loop *loop;
	struct capture streams[2];
	struct cs_pidref child;
	struct cs_source exit_source;
	bool dead;
};

void cs__run_result_release(struct cs__run_result *result)
{
	cs_buf_release(&result->output);
	cs_buf_release(&result->errors);
	*result = (struct cs__run_result){ 0 };
}

/* --- captures ------------------------------------------------------------ */

static void capture_add(struct capture *capture, const char *data, size_t len)
{
	size_t n = CS_MIN(len, HEAD_MAX - capture->head.len);

	/* what no memory is there for is lost like what is past the cap: the child is drained */
	if (n > 0 && cs_buf_add(&capture->head, data, n) < 0)
		return;
	data += n;
	len -= n;
	if (len > 0 && !capture->tail)
		capture->tail = malloc(TAIL_MAX);
	while (len > 0 && capture->tail) {
		size_t at = capture->tail_seen % TAIL_MAX;

		n = CS_MIN(len, TAIL_MAX - at);
		memcpy(capture->tail + at, data, n);
		capture->tail_seen += n;
		data += n;
		len -= n;
	}
}

static void capture_close(struct cs_loop *loop, struct capture *capture)
{
	cs_loop_remove(loop, &capture->source);
	cs_close_fd(&capture->fd);
}

/* Takes in at most `max` bytes: how many, 0 at EOF, -errno (-EAGAIN: nothing is there). */
static ssize_t capture_read(struct capture *capture, size_t max)
{
	char chunk[16 * 1024];
	ssize_t n;

	do
		n = read(capture->fd, chunk, CS_MIN(max, sizeof(chunk)));
	while (n < 0 && errno == EINTR);
	if (n > 0)
		capture_add(capture, chunk, (size_t)n);
	return n < 0 ? -errno : n;
}

static void on_output(struct cs_loop *loop, int fd, uint32_t events, void *arg)
{
	struct capture *capture = arg;
	ssize_t n = capture_read(capture, SIZE_MAX);

	(void)fd;
	(void)events;
	if (n == 0 || (n < 0 && n != -EAGAIN))
		capture_close(loop, capture);
}

/* What the dead left in the pipe, and no more: another holder may write for ever. */
static void capture_rest(struct capture *capture)
{
	int queued = 0;
	ssize_t n;

	if (capture->fd < 0 || ioctl(capture->fd, FIONREAD, &queued) < 0)
		return;
	for (size_t left = (size_t)CS_MAX(queued, 0); left > 0; left -= (size_t)n) {
		n = capture_read(capture, left);
		if (n <= 0)
			break;
	}
}

/* Head, a word on the gap, tail. */
static void capture_take(struct capture *capture, struct cs_buf *ret)
{
	*ret = capture->head;
	ret->max = CS_ENGINE_OUTPUT_MAX;
	capture->head = (struct cs_buf)CS_BUF_INIT(HEAD_MAX);
	if (capture->tail_seen > TAIL_MAX) {
		size_t at = capture->tail_seen % TAIL_MAX;

		cs_buf_add(ret, GAP_TEXT, sizeof(GAP_TEXT) - 1);
		cs_buf_add(ret, capture->tail + at, TAIL_MAX - at);
		cs_buf_add(ret, capture->tail, at);
	} else if (capture->tail_seen > 0) {
		cs_buf_add(ret, capture->tail, capture->tail_seen);
	}
}

static int capture_open(struct cs_loop *loop, struct capture *capture, int *ret_write, struct cs_err *err)
{
	int fds[2], r = cs_fd_pipe(fds, 0);

	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "pipe");
	capture->fd = fds[0];
	*ret_write = fds[1];
	/* the two ends are two descriptions: the child's stays blocking */
	r = cs_fd_set_nonblock(capture->fd, true);
	if (r == 0)
		r = cs_loop_add_fd(loop, capture->fd, EPOLLIN, CS_PRIO_IO, on_output, capture,
				   &capture->source);
	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "watch the engine's output") : 0;
}

/* --- the child ------------------------------------------------------------ */

int cs__run_environ(struct cs_strv *ret)
{
	static const char *const kept[] = { "PATH", "HOME", "LANG", "TMPDIR", "DBUS_SYSTEM_BUS_ADDRESS" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < CS_ARRAY_LEN(kept); i++) {
		const char *value = getenv(kept[i]);

		if (value)
			r = cs_strv_addf(ret, "%s=%s", kept[i], value);
	}
	if (r == 0 && !getenv("PATH"))
		r = cs_strv_add(ret, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	return r;
}

static void on_exit_event(struct cs_loop *loop, int fd, uint32_t events, void *arg)
{
	struct state *state = arg;

	(void)fd;
	(void)events;
	state->dead = true;
	cs_loop_remove(loop, &state->exit_source);
}

/*
 * Environment and image of the child. What a container can open of its engine
 * (/proc/self/exe, until its program is executed) must not lead to the host's
 * binary (CVE-2019-5736). An engine that would copy itself for that is handed a
 * view that cannot be written; where there is none to be had, it does as ever.
 */
static int what_to_exec(const struct cs__run *run, struct cs_strv *env, int *ret_image)
{
	int r = cs__run_environ(env);

	if (r < 0 || !run->cloned_env)
		return r;
	*ret_image = cs_mount_open_readonly(run->argv[0]);
	return *ret_image < 0 ? 0 : cs_strv_add(env, run->cloned_env);
}

static int start(struct state *state, const struct cs__run *run, struct cs_err *err)
{
	cs_auto(strv) env = CS_STRV_INIT;
	cs_autofd int null = -1, out = -1, errors = -1, image = -1;
	struct cs_spawn_fd fds[3];
	struct cs_spawn spawn = {
		.argv = run->argv,
		.fds = fds,
		.n_fds = 3,
		.new_pgroup = true,
		.die_with_us = true,
		.cgroup_procs_fds = run->cgroup_procs_fds,
		.n_cgroup_procs_fds = run->n_cgroup_procs_fds,
	};
	int r;

	if (run->stdio) {
		for (int i = 0; i < 3; i++)
			fds[i] = (struct cs_spawn_fd){ run->stdio[i], i };
	} else {
		null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (null < 0)
			return cs_fail(err, cs_err_kind_of_errno(errno), errno, "open '/dev/null'");
		if (capture_open(state->loop, &state->streams[0], &out, err) < 0 ||
		    capture_open(state->loop, &state->streams[1], &errors, err) < 0)
			return -1;
		fds[0] = (struct cs_spawn_fd){ null, 0 };
		fds[1] = (struct cs_spawn_fd){ out, 1 };
		fds[2] = (struct cs_spawn_fd){ errors, 2 };
	}
	r = what_to_exec(run, &env, &image);
	if (r < 0)
		return cs_fail(err, CS_LIMIT, -r, "environment");
	spawn.envp = cs_strv_v(&env);
	spawn.image_fd = image;
	spawn.has_image = image >= 0;
	return cs_spawn(&spawn, &state->child, err);
}

/* Turns until the child is dead, or what comes before: enum cs__run_end, or -errno of a loop that cannot wait. */
static int serve(struct state *state, int64_t deadline_ns, const bool *cancelled)
{
	while (!state->dead) {
		int r;

		if (cancelled && *cancelled)
			return CS__RUN_CANCELLED;
		if (cs_clock_left_ns(deadline_ns) == 0)
			return CS__RUN_TIMED_OUT;
		r = cs_loop_turn(state->loop, deadline_ns);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return CS__RUN_EXITED;
}

/* Exited with 0. Looked at without reaping: the group's number is ours only while the leader is there. */
static bool succeeded(const struct cs_pidref *child)
{
	siginfo_t info = { 0 };

	return waitid(P_PIDFD, (id_t)child->fd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_code == CLD_EXITED && info.si_status == 0;
}

/* Ends what has to end: the group, and a leader that did not by itself. Its status, when that could be had. */
static void finish(struct state *state, int end, struct cs__run_result *ret)
{
	/* what an engine leaves on purpose stays: runsc's gofer lives in the group of its create */
	if (end != CS__RUN_EXITED || !succeeded(&state->child))
		kill(-state->child.pid, SIGKILL);
	if (end != CS__RUN_EXITED) {
		/* it may have joined another group */
		cs_pidref_kill(&state->child, SIGKILL);
		serve(state, cs_clock_deadline_ns(KILL_GRACE_NS), NULL);
	}
	ret->stuck = cs_pidref_reap(&state->child, &ret->status) < 0;
	ret->end = end < 0 ? CS__RUN_CANCELLED : (enum cs__run_end)end;
}

static void release(struct state *state)
{
	cs_loop_remove(state->loop, &state->exit_source);
	for (size_t i = 0; i < CS_ARRAY_LEN(state->streams); i++) {
		capture_close(state->loop, &state->streams[i]);
		cs_buf_release(&state->streams[i].head);
		free(state->streams[i].tail);
	}
	cs_pidref_release(&state->child);
}

int cs__run(struct cs_loop *loop, const struct cs__run *run, struct cs__run_result *ret,
	    struct cs_err *err)
{
	int64_t deadline_ns = cs_clock_deadline_ns(run->timeout_ns);
	struct state state = { .loop = loop, .child = CS_PIDREF_INIT };
	struct cs__run_result result = { 0 };
	int end;

	for (size_t i = 0; i < CS_ARRAY_LEN(state.streams); i++)
		state.streams[i] = (struct capture){ .fd = -1, .head = CS_BUF_INIT(HEAD_MAX) };
	if (start(&state, run, err) < 0) {
		release(&state);
		return -1;
	}
	end = cs_loop_add_fd(loop, state.child.fd, EPOLLIN, CS_PRIO_EXIT, on_exit_event, &state,
			     &state.exit_source);
	if (end == 0)
		end = serve(&state, deadline_ns, run->cancelled);
	finish(&state, end, &result);
	for (size_t i = 0; i < CS_ARRAY_LEN(state.streams); i++)
		capture_rest(&state.streams[i]);
	capture_take(&state.streams[0], &result.output);
	capture_take(&state.streams[1], &result.errors);
	release(&state);
	if (end < 0) {
		cs__run_result_release(&result);
		return cs_fail(err, CS_IO, -end, "wait for '%s'", run->argv[0]);
	}
	*ret = result;
	return 0;
}
