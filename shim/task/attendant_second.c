/*
 * The second process: it watches the attendant as the attendant watches the
 * container, and costs a few pages. It hears when the program starts and when
 * all is done; should the attendant die in between, or be stopped past the wall
 * limit, it does what is to be done then. Killed itself, it is replaced.
 */
#include "shim/task/attendant_int.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/sys/spawn.h"

/* How much later than the attendant it keeps the wall limit: for one that is stopped. */
#define GRACE_NS (2 * CS_NSEC_PER_SEC)

/* One that ends sooner than this, or cannot be made, is not replaced before. */
#define RESTART_NS (1 * CS_NSEC_PER_SEC)

enum word { BEGUN, DONE };

struct message {
	enum word word;
	int64_t start_ns, started_wall_ns;
	struct cs_cgroup_usage base_usage;
};

/* --- in the second process ----------------------------------------------------- */

struct second {
	struct cs__attend *a;
	struct cs_pidref first;
	struct cs_source first_source, socket_source, wall;
	int socket;
	bool first_dead, done;
};

static void on_first(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct second *s = arg;

	s->first_dead = true;
	cs_loop_remove(loop, &s->first_source);
}

/* The attendant is stopped or stuck. It may come back, and then finds the end of it. */
static void on_wall(struct cs_loop *loop CS_UNUSED, void *arg)
{
	struct second *s = arg;

	struct cs__attend *a = s->a;

	if (a->cgroup)
		cs_cgroup_kill(a->cgroup, cs_clock_deadline_ns(CS_NSEC_PER_SEC));
	cs_pidref_kill(&a->process, SIGKILL);
	/* of a process that it traces (cs_hold_new) the parent hears when it lets go, which one that is stopped never does */
	if (a->terminal && a->hold_end) {
		cs__attend_decide(a, CS_REASON_WALL_LIMIT, 0);
		cs_pidref_kill(&s->first, SIGKILL);
	}
}

static void note_begun(struct second *s, const struct message *message)
{
	struct cs__attend *a = s->a;
	int64_t wall;

	a->begun = true;
	a->start_ns = message->start_ns;
	a->started_wall_ns = message->started_wall_ns;
	a->base_usage = message->base_usage;
	if (!__builtin_add_overflow(a->start_ns, a->bounds.timeout_ns, &wall) &&
	    !__builtin_add_overflow(wall, GRACE_NS, &wall))
		cs_loop_set_timer(a->loop, s->wall, wall);
}

static void on_message(struct cs_loop *loop, int fd, uint32_t events CS_UNUSED, void *arg)
{
	struct second *s = arg;
	struct message message;
	ssize_t n = recv(fd, &message, sizeof(message), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(message)) {
		if (message.word == BEGUN)
			note_begun(s, &message);
		else
			s->done = true;
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		/* closed: its pidfd tells the rest */
		cs_loop_remove(loop, &s->socket_source);
	}
}

/* From the copy of an attendant to a process of its own: a loop, the cgroup by descriptors of its own, nothing else. */
static int settle_in(struct second *s)
{
	struct cs__attend *a = s->a;
	int keep[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, s->socket, s->first.fd, a->process.fd, a->results_fd };
	struct cs_cgroup_host host;
	struct cs_err err = CS_ERR_INIT;
	int r;

	/* what they point at is the attendant's; the descriptors go, the memory stays as it is and is never written */
	a->streams = NULL;
	a->ctl = NULL;
	a->signals = NULL;
	a->hold = NULL;
	a->limits = NULL;
	a->cgroup = NULL;
	a->dir_fd = a->socket = a->second_socket = -1;
	a->kill_timer = a->process_source = a->second_source = a->second_timer = (struct cs_source){ 0 };
	/* the caller's terminal, it may be */
	if (dup2(STDOUT_FILENO, STDIN_FILENO) < 0)
		return -errno;
	cs_fd_close_all_but(keep, CS_ARRAY_LEN(keep));
	a->loop = cs_loop_new();
	if (!a->loop)
		return -errno;
	if (a->cgroup_path && (cs_cgroup_host_read(&host, &err) < 0 ||
			       cs_cgroup_open(&host, a->cgroup_path, &a->cgroup, &err) < 0))
		return -ENOENT;
	r = cs_loop_add_fd(a->loop, s->socket, EPOLLIN, CS_PRIO_IO, on_message, s, &s->socket_source);
	if (r == 0)
		r = cs_loop_add_fd(a->loop, s->first.fd, EPOLLIN, CS_PRIO_EXIT, on_first, s, &s->first_source);
	if (r == 0)
		r = cs_loop_add_timer(a->loop, CS_NEVER, on_wall, s, &s->wall);
	return r;
}

static void keep_limits(struct cs__attend *a)
{
	struct cs_limits_plan plan = {
		.start_ns = a->start_ns,
		.timeout_ns = a->bounds.timeout_ns,
		.cpu_time_ns = a->cgroup ? a->bounds.cpu_time_ns : CS_NEVER,
		.cpu_base_ns = a->base_usage.cpu_total_ns == UINT64_MAX ? 0 : a->base_usage.cpu_total_ns,
		.idle_timeout_ns = CS_NEVER, /* its output is seen by nobody */
		.millicpus = a->bounds.millicpus,
		.cgroup = a->cgroup,
	};
	struct cs_err err = CS_ERR_INIT;

	if (cs_limits_new(a->loop, &plan, cs__attend_on_limit, a, &a->limits, &err) < 0)
		cs__attend_decide(a, CS_REASON_CANCELLED, SIGKILL);
}

/* The attendant was killed. */
static void take_over(struct second *s)
{
	struct cs__attend *a = s->a;
	struct cs_err err = CS_ERR_INIT;

	a->took_over = true;
	cs_loop_remove(a->loop, &s->wall);
	if (cs__attend_watch_process(a) < 0 || a->bounds.at_death == CS_ATTENDANT_END)
		cs__attend_decide(a, CS_REASON_CANCELLED, SIGKILL);
	if (a->decided) /* by the attendant perhaps, before it made us */
		cs__attend_carry_out(a);
	else if (a->begun)
		keep_limits(a);
	/* so that whoever kills this one too gains nothing */
	if (cs__attend_start_second(a, &err) < 0)
		cs_log_debug("%s", err.text);
	else if (a->begun)
		cs__attend_tell_begun(a);
	while (!a->process_dead && cs_loop_turn(a->loop, CS_NEVER) >= 0)
		;
	cs__attend_finish(a);
	cs__attend_dismiss_second(a);
}

static CS_NORETURN void second_main(struct cs__attend *a, struct cs_pidref first, int socket)
{
	struct second s = { .a = a, .first = first, .socket = socket };

	prctl(PR_SET_NAME, "caisson-second");
	setsid();
	if (settle_in(&s) < 0)
		_exit(1);
	for (;;) {
		if (cs_loop_turn(a->loop, CS_NEVER) < 0)
			_exit(1);
		/* a last word counts, even of one who died right after it */
		while (s.first_dead && s.socket_source.generation != 0 && !s.done)
			if (cs_loop_turn(a->loop, 0) <= 0)
				break;
		if (s.done)
			_exit(0);
		if (s.first_dead) {
			cs_loop_remove(a->loop, &s.socket_source);
			take_over(&s);
			_exit(0);
		}
	}
}

/* --- in the attendant -------------------------------------------------------------- */

static void replace_second(struct cs_loop *loop, void *arg)
{
	struct cs__attend *a = arg;
	struct cs_err err = CS_ERR_INIT;

	cs_loop_remove(loop, &a->second_timer);
	if (cs__attend_start_second(a, &err) == 0) {
		if (a->begun)
			cs__attend_tell_begun(a);
		return;
	}
	cs_log_debug("%s", err.text);
	if (cs_loop_add_timer(loop, cs_clock_deadline_ns(RESTART_NS), replace_second, a, &a->second_timer) < 0)
		cs_log_debug("no second process any more");
}

static void on_second(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct cs__attend *a = arg;
	int64_t due;
	int status;

	cs_loop_remove(loop, &a->second_source);
	cs_pidref_reap(&a->second, &status);
	cs_pidref_release(&a->second);
	cs_close_fd(&a->second_socket);
	if (__builtin_add_overflow(a->second_since_ns, RESTART_NS, &due) || cs_clock_left_ns(due) == 0 ||
	    cs_loop_add_timer(loop, due, replace_second, a, &a->second_timer) < 0)
		replace_second(loop, a);
}

int cs__attend_start_second(struct cs__attend *a, struct cs_err *err)
{
	struct cs_pidref self = CS_PIDREF_INIT;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return cs_fail(err, CS_IO, errno, "second process: socket pair");
	/* opened here, where our own pid cannot be somebody else's */
	r = cs_pidref_open(getpid(), &self);
	if (r == 0)
		r = cs_spawn_fork(&a->second);
	if (r == 0)
		second_main(a, self, pair[1]);
	cs_pidref_release(&self);
	cs_close_fd(&pair[1]);
	if (r > 0)
		r = cs_loop_add_fd(a->loop, a->second.fd, EPOLLIN, CS_PRIO_EXIT, on_second, a, &a->second_source);
	a->second_socket = pair[0];
	a->second_since_ns = cs_clock_now_ns();
	if (r < 0) {
		cs__attend_dismiss_second(a);
		return cs_fail(err, CS_IO, -r, "second process");
	}
	return 0;
}

static void tell(struct cs__attend *a, enum word word)
{
	struct message message;

	if (a->second_socket < 0)
		return;
	memset(&message, 0, sizeof(message));
	message.word = word;
	message.start_ns = a->start_ns;
	message.started_wall_ns = a->started_wall_ns;
	message.base_usage = a->base_usage;
	if (send(a->second_socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		cs_log_debug("second process: %s", strerror(errno));
}

void cs__attend_tell_begun(struct cs__attend *a)
{
	tell(a, BEGUN);
}

void cs__attend_dismiss_second(struct cs__attend *a)
{
	cs_loop_remove(a->loop, &a->second_source);
	cs_loop_remove(a->loop, &a->second_timer);
	tell(a, DONE);
	cs_close_fd(&a->second_socket);
	cs_pidref_release(&a->second);
}
