#include "shim/sys/signals.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shim/base/attr.h"
#include "shim/base/fd.h"

struct cs_signals {
	struct cs_loop *loop;
	struct cs_source source;
	int fd;
	cs_signals_fn *fn;
	void *arg;
};

/* Blocked, a fault kills all the same, and one that somebody else sends would wait for nobody. */
static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS };

int cs_signals_block(sigset_t *ret_old)
{
	sigset_t set, old;

	sigfillset(&set);
	for (size_t i = 0; i < CS_ARRAY_LEN(faults); i++)
		sigdelset(&set, faults[i]);
	sigdelset(&set, SIGPIPE); /* ignored and blocked, it would stay pending for ever */
	if (sigprocmask(SIG_SETMASK, &set, &old) < 0)
		return -errno;
	/* Ignored SIGCHLD is inherited through exec, and the kernel then reaps our children in our place. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return -errno;
	*ret_old = old;
	return 0;
}

/* One a round: fn may free us, and what is left comes next round. */
static void on_readable(struct cs_loop *loop, int fd, uint32_t events CS_UNUSED, void *arg)
{
	struct cs_signals *signals = arg;
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return;
	signals->fn(loop, (int)info.ssi_signo, (pid_t)info.ssi_pid, signals->arg);
}

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int cs_signals_open(const sigset_t *set)
{
	sigset_t wanted = *set;
	int fd;

	for (int signal = 1; signal <= SIGRTMAX; signal++)
		if (sigismember(&wanted, signal) == 1 && is_ignored(signal))
			sigdelset(&wanted, signal);
	fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

struct cs_signals *cs_signals_new(struct cs_loop *loop, const sigset_t *set, cs_signals_fn *fn,
				  void *arg)
{
	struct cs_signals *signals = malloc(sizeof(*signals));
	int r;

	if (!signals)
		return NULL;
	*signals = (struct cs_signals){ .loop = loop, .fd = -1, .fn = fn, .arg = arg };
	r = cs_signals_open(set);
	signals->fd = r < 0 ? -1 : r;
	if (r >= 0)
		r = cs_loop_add_fd(loop, signals->fd, EPOLLIN, CS_PRIO_SIGNAL, on_readable, signals,
				   &signals->source);
	if (r < 0) {
		cs_signals_free(signals);
		errno = -r;
		return NULL;
	}
	return signals;
}

void cs_signals_free(struct cs_signals *signals)
{
	if (!signals)
		return;
	cs_loop_remove(signals->loop, &signals->source);
	cs_close_fd(&signals->fd);
	free(signals);
}
