/* The attendant: setup, arm, begin, and the loop in which it lives. */
#include "shim/task/attendant_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/sys/pty.h"
#include "shim/sys/sandbox.h"
#include "shim/task/results.h"

/* How long an engine that its verb has left behind may go on making what must be removed. */
#define ORPHAN_NS (2 * CS_NSEC_PER_SEC)
#define ORPHAN_QUIET_NS (200 * CS_NSEC_PER_MSEC)

/* Of an engine's words, in the reply to a request, which has its own bound. */
#define BEGIN_WORDS_MAX 2048

/* --- what it can do, and no more ------------------------------------------------ */

/* What fork(2) of the C library asks for. */
#define FORK_FLAGS (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/*
 * From arm on. Files are opened (counters and kill files of the cgroup, the
 * record, /proc/PID/cgroup on v1), a second process is forked; nothing is
 * executed, attached to, mounted, bound or connected.
 */
static const struct cs_sandbox_call calls[] = {
	/* streams */
	{ .name = "read" }, { .name = "write" }, { .name = "splice" }, { .name = "pread64" }, { .name = "pwrite64" },
	{ .name = "readv" }, { .name = "writev" }, { .name = "lseek" }, { .name = "ioctl" }, { .name = "fcntl" },
	{ .name = "poll" }, { .name = "ppoll" },
	/* loop */
	{ .name = "epoll_create1" }, { .name = "epoll_ctl" }, { .name = "epoll_wait" }, { .name = "epoll_pwait" },
	{ .name = "timerfd_create" }, { .name = "timerfd_settime" }, { .name = "signalfd4" },
	/* files */
	{ .name = "open" }, { .name = "openat" }, { .name = "close" }, { .name = "close_range" }, { .name = "fstat" },
	{ .name = "newfstatat" }, { .name = "statx" }, { .name = "faccessat" }, { .name = "faccessat2" },
	{ .name = "access" }, { .name = "getdents64" }, { .name = "unlink" }, { .name = "unlinkat" }, { .name = "rmdir" },
	{ .name = "rename" }, { .name = "renameat" }, { .name = "renameat2" }, { .name = "flock" }, { .name = "ftruncate" },
	{ .name = "fsync" }, { .name = "fdatasync" }, { .name = "pipe2" }, { .name = "dup" }, { .name = "dup2" },
	{ .name = "dup3" },
	/* requests, and the second process */
	{ .name = "accept4" }, { .name = "recvfrom" }, { .name = "recvmsg" }, { .name = "sendto" }, { .name = "sendmsg" },
	{ .name = "getsockopt" }, { .name = "shutdown" },
	{ .name = "socketpair", .has_arg0 = true, .arg0 = AF_UNIX },
	{ .name = "clone", .has_arg0 = true, .arg0 = FORK_FLAGS },
	{ .name = "set_robust_list" }, { .name = "rseq" }, { .name = "setsid" },
	{ .name = "prctl", .has_arg0 = true, .arg0 = PR_SET_NAME },
	{ .name = "wait4" }, { .name = "waitid" },
	/* to let go on what is held (shim/sys/hold.h): nothing of it can be looked at or changed */
	{ .name = "ptrace", .has_arg0 = true, .arg0 = PTRACE_CONT },
	{ .name = "ptrace", .has_arg0 = true, .arg0 = PTRACE_LISTEN },
	/* killing: by descriptor only */
	{ .name = "pidfd_open" }, { .name = "pidfd_send_signal" },
	/* the process itself */
	{ .name = "getpid" }, { .name = "gettid" }, { .name = "getuid" }, { .name = "geteuid" },
	{ .name = "rt_sigaction" }, { .name = "rt_sigprocmask" }, { .name = "rt_sigreturn" }, { .name = "sigaltstack" },
	{ .name = "restart_syscall" }, { .name = "brk" }, { .name = "mmap" }, { .name = "munmap" }, { .name = "mremap" },
	{ .name = "mprotect" }, { .name = "madvise" }, { .name = "futex" }, { .name = "getrandom" },
	{ .name = "clock_gettime" }, { .name = "clock_nanosleep" }, { .name = "nanosleep" }, { .name = "sched_yield" },
	{ .name = "exit" }, { .name = "exit_group" },
};

int cs__attend_confine(struct cs_err *err)
{
	/* to end what belongs to other users, and is not in a group of v2 */
	static const int keep[] = { CAP_KILL };

	if (cs_sandbox_harden_self(err) < 0 || cs_sandbox_keep_capabilities(keep, CS_ARRAY_LEN(keep), err) < 0 ||
	    cs_sandbox_filter(calls, CS_ARRAY_LEN(calls), err) < 0)
		return -1;
	/* the verb's heap and the filter's compiler */
	malloc_trim(0);
	return 0;
}

/* --- setup ------------------------------------------------------------------------ */

/* Nothing of the verb's stays: /dev/null for stdio, no directory, no signals. */
static void let_go(int socket)
{
	cs_fd_close_all_but(&socket, 1);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fd != socket && open("/dev/null", O_RDWR) != fd)
			_exit(1); /* cannot be: all lower ones are open */
	if (chdir("/") < 0) {
		/* the root is always there; staying where we are would only pin a directory */
	}
}

/* -1: "" there. */
static char *text_at(const char *text)
{
	return text[0] ? strdup(text) : NULL;
}

/* The packed texts one by one; false when they are not whole. */
static bool unpack(const struct cs__attendant_packet *packet, const char *texts[static CS__ATTENDANT_TEXTS])
{
	const char *p = packet->data, *end = packet->data + packet->len;

	for (size_t i = 0; i < CS__ATTENDANT_TEXTS; i++) {
		texts[i] = p;
		p = p < end ? memchr(p, '\0', (size_t)(end - p)) : NULL;
		if (!p)
			return false;
		p++;
	}
	return true;
}

static void on_streams(enum cs_streams_event event, void *arg)
{
	struct cs__attend *a = arg;

	/* readers come and go: dockerd may be restarted */
	if (event == CS_STREAMS_CAP && a->bounds.kill_at_output_limit)
		cs__attend_decide(a, CS_REASON_OUTPUT_LIMIT, 0);
}

/* A sink on what the caller gave; /dev/null where it cannot be written (go-runc's null stdio is open for reading). */
static int make_sink(int fd, struct cs_sink **ret, struct cs_err *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
		return cs_sink_new_null(ret, err);
	return cs_sink_new_fd(fd, ret, err);
}

static void open_level(struct cs__attend *a, const char *state_dir)
{
	int r;

	if (a->bounds.rate_per_s == UINT64_MAX)
		return;
	if (a->is_exec) /* to a client, not into a log */
		r = cs_level_open_own(a->bounds.rate_per_s, a->bounds.burst, &a->level);
	else
		r = cs_level_open(state_dir, a->key, a->bounds.rate_per_s, a->bounds.burst, &a->level);
	if (r < 0)
		cs_log_debug("output bucket: %s", strerror(-r));
}

static int open_streams(struct cs__attend *a, const struct cs__attendant_packet *packet, struct cs_err *err)
{
	const uint64_t caps[CS_STREAMS] = { a->bounds.stdout_limit_bytes, a->bounds.stderr_limit_bytes };
	struct cs_streams_plan plan = {
		.interactive = a->terminal, /* our stdin is the caller's terminal then */
		.terminal = a->terminal,
		.mark_cap = !a->bounds.kill_at_output_limit,
		.mark_rate = true,
		.uid = packet->head.u.setup.uid,
		.gid = packet->head.u.setup.gid,
	};

	for (size_t i = 0; i < CS_STREAMS; i++) {
		plan.drain[i] = CS_DRAIN_CONFIG_INIT;
		plan.drain[i].cap_bytes = caps[i];
		plan.drain[i].bucket = a->level.bucket;
		plan.drain[i].rate_bytes_per_s = a->bounds.rate_per_s;
		plan.drain[i].burst_bytes = a->bounds.burst;
		if (a->bounds.cost_json_file)
			plan.drain[i].cost = cs_bucket_cost_json_file;
	}
	if (make_sink(a->terminal ? STDIN_FILENO : packet->fds[1], &plan.sinks_consume[CS_STREAM_OUT], err) < 0)
		return -1;
	if (make_sink(a->terminal ? STDERR_FILENO : packet->fds[2], &plan.sinks_consume[CS_STREAM_ERR], err) < 0) {
		cs_sink_free(plan.sinks_consume[CS_STREAM_OUT]);
		return -1;
	}
	return cs_streams_open(a->loop, &plan, on_streams, a, &a->streams, err);
}

static int begin_streams(struct cs__attend *a, struct cs_err *err)
{
	if (cs_streams_begin(a->streams, err) < 0)
		return -1;
	a->begun = true;
	a->start_ns = cs_clock_now_ns();
	a->started_wall_ns = cs_clock_wall_ns();
	return 0;
}

/* Opens a->cgroup_path, if there is one. */
static int open_cgroup(struct cs__attend *a, struct cs_err *err)
{
	struct cs_cgroup_host host;
	struct cs_cgroup *cgroup;

	if (!a->cgroup_path)
		return 0;
	if (cs_cgroup_host_read(&host, err) < 0 || cs_cgroup_open(&host, a->cgroup_path, &cgroup, err) < 0)
		return -1;
	a->cgroup = cgroup;
	return 0;
}

static void on_socket(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct cs__attend *a = arg;

	a->socket_ready = true;
}

static int do_begin(struct cs_ctl_peer *peer, const struct cs_json *request, struct cs_json *reply, void *arg,
		    struct cs_err *err);

static const struct cs_ctl_op ops[] = {
	{ "begin", NULL, do_begin, false },
};

static int make_terminal(struct cs__attend *a, const char *const texts[static CS__ATTENDANT_TEXTS],
			 struct cs_buf *ret_console, struct cs_err *err)
{
	char console[sizeof(((struct cs_attendant_stdio *)0)->console)];

	a->console_socket = text_at(texts[CS__ATTENDANT_CONSOLE]);
	if (!a->console_socket)
		return cs_fail(err, CS_INVALID, 0, "a terminal, and nobody to give it to");
	if (cs__attend_open_terminal(a, texts[CS__ATTENDANT_DIR_PATH], console, sizeof(console), err) < 0)
		return -1;
	return cs_buf_adds(ret_console, console) < 0 ? cs_fail(err, CS_LIMIT, ENOMEM, "console socket") : 0;
}

static int setup(struct cs__attend *a, struct cs__attendant_packet *packet, struct cs_buf *ret_console, struct cs_err *err)
{
	const char *texts[CS__ATTENDANT_TEXTS];
	int r;

	if (packet->head.word != CS__ATTENDANT_SETUP || packet->fds[0] < 0 || packet->fds[1] < 0 ||
	    packet->fds[2] < 0 || !unpack(packet, texts))
		return cs_fail(err, CS_INVALID, 0, "not a setup");
	a->bounds = packet->head.u.setup.bounds;
	a->is_exec = packet->head.u.setup.is_exec;
	a->terminal = packet->head.u.setup.terminal;
	a->hold_end = packet->head.u.setup.hold_end;
	a->dir_fd = cs_take_fd(&packet->fds[0]);
	a->id = text_at(texts[CS__ATTENDANT_ID]);
	a->engine_name = text_at(texts[CS__ATTENDANT_ENGINE_NAME]);
	a->engine_version = text_at(texts[CS__ATTENDANT_ENGINE_VERSION]);
	a->cgroup_path = text_at(texts[CS__ATTENDANT_CGROUP]);
	a->key = cs_container_key(texts[CS__ATTENDANT_ENGINE_ROOT], texts[CS__ATTENDANT_ID]);
	a->results_fd = cs_results_open(texts[CS__ATTENDANT_STATE_DIR], true);
	if (a->results_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(-a->results_fd), -a->results_fd, "results in '%s'",
			       texts[CS__ATTENDANT_STATE_DIR]);
	a->loop = cs_loop_new();
	if (!a->loop)
		return cs_fail(err, CS_IO, errno, "loop");
	r = cs_loop_add_fd(a->loop, a->socket, EPOLLIN, CS_PRIO_SIGNAL, on_socket, a, &a->socket_source);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "loop");
	open_level(a, texts[CS__ATTENDANT_STATE_DIR]);
	if (a->terminal && make_terminal(a, texts, ret_console, err) < 0)
		return -1;
	if (open_streams(a, packet, err) < 0)
		return -1;
	if (!a->is_exec)
		return cs_ctl_open(a->loop, a->dir_fd, ops, CS_ARRAY_LEN(ops), a, &a->ctl, err);
	if (open_cgroup(a, err) < 0)
		return -1;
	/* its program runs, and writes, as soon as the engine has made it; a terminal holds that back until it is ours */
	if (a->terminal)
		return 0;
	return cs__attend_confine(err) < 0 ? -1 : begin_streams(a, err);
}

/* --- answers ------------------------------------------------------------------------- */

static void answer(struct cs__attend *a, const struct cs_err *err, const struct cs_buf *words, const int *fds, size_t n)
{
	struct cs__attendant_head head;
	bool failed = cs_err_is_set(err);

	memset(&head, 0, sizeof(head));
	head.word = CS__ATTENDANT_ANSWER;
	head.u.answer.kind = err->kind;
	head.u.answer.errnum = err->errnum;
	/* a verb that is gone is seen by the loop */
	cs__attendant_send(a->socket, &head, failed ? err->text : words ? words->data : NULL,
			   failed ? strlen(err->text) : words ? words->len : 0, fds, failed ? 0 : n);
}

/* What it made there, and no more: an exec's is the directory of a container whose own attendant lives on. */
static void leave_dir(struct cs__attend *a)
{
	cs_ptysock_free(cs_take_ptr(&a->ptysock));
	if (!a->ctl)
		return;
	cs_ctl_free(cs_take_ptr(&a->ctl));
	unlinkat(a->dir_fd, CS_CTL_FILE, 0);
}

/* Setup as asked; leaves when that fails. */
static void be_set_up(struct cs__attend *a)
{
	struct cs__attendant_packet *packet = cs__attendant_packet_new();
	cs_auto(buf) console = CS_BUF_INIT(256);
	struct cs_err err = CS_ERR_INIT;

	if (!packet || cs__attendant_receive(a->socket, packet, CS_NEVER) < 0)
		_exit(0);
	if (setup(a, packet, &console, &err) < 0) {
		leave_dir(a);
		answer(a, &err, NULL, NULL, 0);
		_exit(1);
	}
	cs__attendant_packet_free(packet);
	/* beside a terminal the engine keeps the verb's: nothing of the program's comes there */
	answer(a, &err, &console, cs_streams_child_fds(a->streams) + 1, a->terminal ? 0 : 2);
	cs_streams_close_child_ends(a->streams);
}

/* --- arm, dismiss, orphaned -------------------------------------------------------------- */

/*
 * A caller's shim reads a terminal until it hears of the process's end, and no
 * longer (containerd's ShutdownConsole): what passes through us would often come too late.
 */
static void hold_end(struct cs__attend *a)
{
	int r = a->terminal && a->hold_end ? cs_hold_new(a->loop, a->process.pid, &a->hold) : 0;

	if (r < 0) /* somebody else traces it: all but the last lines is as ever. Or it has ended already */
		cs_log_debug("the end is not held: %s", strerror(-r));
}

static int do_arm(struct cs__attend *a, struct cs__attendant_packet *packet, struct cs_err *err)
{
	int r;

	if (packet->fds[0] < 0)
		return cs_fail(err, CS_INVALID, 0, "not an arm");
	a->process = (struct cs_pidref){ .pid = packet->head.u.arm.pid, .fd = cs_take_fd(&packet->fds[0]) };
	if (!a->is_exec && packet->len > 0) {
		free(a->cgroup_path);
		a->cgroup_path = strdup(packet->data);
		if (!a->cgroup_path)
			return cs_fail(err, CS_LIMIT, ENOMEM, "arm");
	}
	if (!a->cgroup && open_cgroup(a, err) < 0)
		return -1;
	if (a->terminal && cs__attend_connect_terminal(a, err) < 0)
		return -1;
	hold_end(a);
	/* an exec with pipes is, since before its program could write */
	if (!a->begun && cs__attend_confine(err) < 0)
		return -1;
	if (a->is_exec && !a->begun) {
		if (begin_streams(a, err) < 0)
			return -1;
		/* it may have ended already: the caller hears of that when the verb has gone */
		cs_streams_catch_up(a->streams);
	}
	r = cs__attend_watch_process(a);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "watch the process");
	return cs__attend_start_second(a, err);
}

static int begin_limits(struct cs__attend *a, struct cs_err *err)
{
	struct cs_limits_plan plan = {
		.start_ns = a->start_ns,
		.timeout_ns = a->bounds.timeout_ns,
		.cpu_time_ns = a->cgroup ? a->bounds.cpu_time_ns : CS_NEVER,
		.idle_timeout_ns = a->bounds.idle_timeout_ns,
		.millicpus = a->bounds.millicpus,
		.cgroup = a->cgroup,
		.streams = a->streams,
	};

	if (a->cgroup && !a->is_exec)
		cs_cgroup_usage(a->cgroup, &a->base_usage);
	plan.cpu_base_ns = a->base_usage.cpu_total_ns == UINT64_MAX ? 0 : a->base_usage.cpu_total_ns;
	if (cs_limits_new(a->loop, &plan, cs__attend_on_limit, a, &a->limits, err) < 0)
		return -1;
	cs__attend_tell_begun(a);
	return 0;
}

/* Our end is closed in the verb's eyes: it has what it waited for. */
static void close_socket(struct cs__attend *a)
{
	cs_loop_remove(a->loop, &a->socket_source);
	cs_close_fd(&a->socket);
}

static void arm(struct cs__attend *a, struct cs__attendant_packet *packet)
{
	struct cs_err err = CS_ERR_INIT;
	cs_auto(buf) words = CS_BUF_INIT(CS__ATTENDANT_WORDS_MAX);

	if (do_arm(a, packet, &err) < 0 || (a->is_exec && begin_limits(a, &err) < 0)) {
		leave_dir(a);
		answer(a, &err, NULL, NULL, 0);
		cs__attend_dismiss_second(a);
		_exit(1);
	}
	if (!a->is_exec) {
		cs_streams_engine_words(a->streams, &words);
		cs_streams_forget_words(a->streams);
	}
	answer(a, &err, &words, NULL, 0);
	close_socket(a);
	cs__attend_carry_out(a);
}

static CS_NORETURN void be_dismissed(struct cs__attend *a)
{
	struct cs_err none = CS_ERR_INIT;
	cs_auto(buf) words = CS_BUF_INIT(CS__ATTENDANT_WORDS_MAX);
	bool held;

	if (a->begun)
		cs_streams_finish(a->streams, 0, a->bounds.flush_timeout_ns, &held);
	else
		cs_streams_engine_words(a->streams, &words);
	leave_dir(a);
	answer(a, &none, &words, NULL, 0);
	_exit(0);
}

/* Ends and removes the group, should it be there. False when there was nothing. */
static bool end_group(const char *path, int64_t deadline_ns)
{
	struct cs_cgroup_host host;
	struct cs_cgroup *cgroup = NULL;
	struct cs_err err = CS_ERR_INIT;

	if (cs_cgroup_host_read(&host, &err) < 0 || cs_cgroup_open(&host, path, &cgroup, &err) < 0)
		return false;
	cs_cgroup_kill(cgroup, deadline_ns);
	cs_cgroup_free(cgroup);
	cs_cgroup_remove(&host, path, deadline_ns, NULL);
	return true;
}

/*
 * The verb died before it could say what became of the engine's call. The
 * engine dies with it, but its children may be on their way into the group:
 * look until there has been nothing for a while.
 */
static CS_NORETURN void be_orphaned(struct cs__attend *a)
{
	int64_t deadline = cs_clock_deadline_ns(ORPHAN_NS), quiet = cs_clock_deadline_ns(ORPHAN_QUIET_NS);
	int64_t nap_ns = CS_NAP_NS;

	while (a->cgroup_path && cs_clock_left_ns(deadline) > 0 && cs_clock_left_ns(quiet) > 0) {
		if (end_group(a->cgroup_path, deadline))
			quiet = cs_clock_deadline_ns(ORPHAN_QUIET_NS);
		/* nobody tells when a cgroup appears */
		cs_clock_nap(&nap_ns, deadline);
	}
	leave_dir(a);
	_exit(0);
}

static void serve_socket(struct cs__attend *a)
{
	struct cs__attendant_packet *packet = cs__attendant_packet_new();
	int r = packet ? cs__attendant_receive(a->socket, packet, 0) : -ENOMEM;

	a->socket_ready = false;
	if (r < 0)
		be_orphaned(a);
	if (packet->head.word == CS__ATTENDANT_ARM)
		arm(a, packet);
	else
		be_dismissed(a);
	cs__attendant_packet_free(packet);
	malloc_trim(0);
}

/* --- begin ---------------------------------------------------------------------------------- */

/* What the engine said since arm goes to `start`, which has an engine's stderr of its own. */
static int do_begin(struct cs_ctl_peer *peer CS_UNUSED, const struct cs_json *request CS_UNUSED, struct cs_json *reply,
		    void *arg, struct cs_err *err)
{
	struct cs__attend *a = arg;
	cs_auto(buf) words = CS_BUF_INIT(BEGIN_WORDS_MAX);

	if (a->process.fd < 0 || a->process_dead)
		return cs_fail(err, CS_STATE, 0, a->process_dead ? "the container has ended" : "the container is not made yet");
	if (a->limits)
		return 0;
	if (a->begun)
		return cs_fail(err, CS_STATE, 0, "its limits could not be set up");
	cs_streams_engine_words(a->streams, &words);
	if (begin_streams(a, err) < 0 || begin_limits(a, err) < 0)
		return -1;
	if (cs_json_put(reply, "words", cs_json_new_words(words.data ? words.data : "")) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "reply");
	return 0;
}

/* --- the life of it ----------------------------------------------------------------------------- */

CS_NORETURN void cs__attendant_main(int socket)
{
	struct cs__attend a = CS__ATTEND_INIT;
	sigset_t before;

	cs_signals_block(&before);
	setsid();
	prctl(PR_SET_NAME, "caisson-attend");
	a.socket = socket;
	let_go(socket);
	be_set_up(&a);
	malloc_trim(0);
	while (!a.process_dead) {
		if (a.socket_ready)
			serve_socket(&a);
		else if (cs_loop_turn(a.loop, CS_NEVER) < 0)
			_exit(1); /* nothing can be watched any more: the second one takes over */
		cs_ctl_work(a.ctl);
	}
	cs__attend_finish(&a);
	leave_dir(&a);
	if (a.terminal)
		cs_pty_drop_controlling(STDIN_FILENO);
	cs__attend_dismiss_second(&a);
	_exit(0);
}
