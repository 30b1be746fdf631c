#include "shim/oci/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/clock.h"
#include "shim/base/file.h"
#include "shim/sys/loop.h"
#include "shim/sys/pidref.h"
#include "shim/sys/signals.h"
#include "shim/sys/spawn.h"

#define FDS_MAX 256
/* What one that was sent SIGTERM may take before SIGKILL. */
#define TERM_GRACE_NS (2 * CS_NSEC_PER_SEC)

struct watch {
	const struct cs_oci_child *child;
	struct cs_pidref process;
	struct cs_loop *loop;
	struct cs_signals *signals;
	struct cs_source exit_source, timer;
	bool timed_out;
};

void cs_oci_die_with_caller(void)
{
	cs_auto(buf) status = CS_BUF_INIT(16 * 1024);
	char path[64];
	int signal = 0;
	pid_t parent = getppid();

	if (prctl(PR_GET_PDEATHSIG, &signal) < 0 || signal != 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)parent);
	if (cs_file_read(AT_FDCWD, path, &status) < 0 || !status.data || !strstr(status.data, "\nThreads:\t1\n"))
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* it may have died before that */
	if (getppid() != parent)
		raise(SIGTERM);
}

static void kill_group(struct watch *watch)
{
	if (watch->child->own_group)
		kill(-watch->process.pid, SIGKILL); /* our unreaped child leads it: the number is nobody else's */
	cs_pidref_kill(&watch->process, SIGKILL);
}

static void on_exit_seen(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg CS_UNUSED)
{
	cs_loop_quit(loop);
}

static void on_deadline(struct cs_loop *loop CS_UNUSED, void *arg)
{
	struct watch *watch = arg;

	watch->timed_out = true;
	kill_group(watch);
}

static void on_signal(struct cs_loop *loop, int signal, pid_t sender CS_UNUSED, void *arg)
{
	struct watch *watch = arg;

	cs_pidref_kill(&watch->process, signal);
	/* of a container half made an engine's own handler makes no better one */
	if (watch->child->own_group && signal == SIGTERM)
		cs_loop_set_timer(loop, watch->timer, cs_clock_deadline_ns(TERM_GRACE_NS));
}

/* What a terminal or a caller may send, and an engine in the foreground passes on. */
static void forwarded(sigset_t *set)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGALRM };

	sigemptyset(set);
	for (size_t i = 0; i < CS_ARRAY_LEN(signals); i++)
		sigaddset(set, signals[i]);
}

static int watch_child(struct watch *watch, struct cs_err *err)
{
	sigset_t set;
	int r;

	forwarded(&set);
	watch->signals = cs_signals_new(watch->loop, &set, on_signal, watch);
	if (!watch->signals)
		return cs_fail(err, CS_IO, errno, "signals");
	r = cs_loop_add_fd(watch->loop, watch->process.fd, EPOLLIN, CS_PRIO_EXIT, on_exit_seen, watch, &watch->exit_source);
	if (r == 0)
		r = cs_loop_add_timer(watch->loop, cs_clock_deadline_ns(watch->child->timeout_ns), on_deadline, watch,
				      &watch->timer);
	if (r == 0)
		r = cs_loop_run(watch->loop);
	return r < 0 ? cs_fail(err, CS_IO, -r, "event loop") : 0;
}

static int start(struct watch *watch, const sigset_t *mask, struct cs_err *err)
{
	const struct cs_oci_child *child = watch->child;
	struct cs_spawn_fd fds[3 + FDS_MAX];
	struct cs_spawn spawn = {
		.argv = child->argv,
		.fds = fds,
		.mask = mask,
		.new_pgroup = child->own_group,
		.die_with_us = true,
	};

	for (int fd = 0; fd < 3; fd++)
		fds[spawn.n_fds++] = (struct cs_spawn_fd){ .from = child->stdio ? child->stdio[fd] : fd, .to = fd };
	for (int fd = 3; fd < (int)(3 + CS_MIN(child->preserve_fds, FDS_MAX)); fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			fds[spawn.n_fds++] = (struct cs_spawn_fd){ .from = fd, .to = fd };
	return cs_spawn(&spawn, &watch->process, err);
}

int cs_oci_wait_for(const struct cs_pidref *process, int *ret_status, struct cs_err *err)
{
	static const struct cs_oci_child endless = { .timeout_ns = CS_NEVER };
	struct watch watch = { .child = &endless, .process = *process, .loop = cs_loop_new() };
	int r = watch.loop ? watch_child(&watch, err) : cs_fail(err, CS_IO, errno, "event loop");

	cs_signals_free(watch.signals);
	cs_loop_free(watch.loop);
	if (r < 0)
		return -1;
	r = cs_pidref_reap(process, ret_status);
	return r < 0 ? cs_fail(err, CS_IO, -r, "process %d", (int)process->pid) : 0;
}

int cs_oci_child_run(const struct cs_oci_child *child, int *ret_status, struct cs_err *err)
{
	struct watch watch = { .child = child, .process = CS_PIDREF_INIT };
	sigset_t mask;
	int status = 0, r = cs_signals_block(&mask);

	watch.loop = r == 0 ? cs_loop_new() : NULL;
	if (!watch.loop)
		return cs_fail(err, CS_IO, r < 0 ? -r : errno, "event loop");
	r = start(&watch, &mask, err);
	if (r == 0) {
		r = watch_child(&watch, err);
		if (r < 0)
			kill_group(&watch);
		cs_pidref_wait_dead(&watch.process, CS_NEVER);
		if (child->own_group && watch.timed_out)
			kill_group(&watch);
		cs_pidref_reap(&watch.process, &status);
	}
	if (r == 0 && watch.timed_out)
		r = cs_fail(err, CS_TIMEOUT, 0, "%s did not answer in time", child->argv[0]);
	cs_signals_free(watch.signals);
	cs_loop_free(watch.loop);
	cs_pidref_release(&watch.process);
	if (r == 0)
		*ret_status = status;
	return r;
}
