#include "shim/sys/hold.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "shim/base/attr.h"
#include "shim/sys/signals.h"

struct cs_hold {
	pid_t pid;
	struct cs_signals *signals;
};

static bool stops(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* Lets it go on from a stop that is a tracer's to end (ptrace(2), "Stopped states"). */
static void let_on(pid_t pid, int signal, int event)
{
	if (event != PTRACE_EVENT_STOP)
		ptrace(PTRACE_CONT, pid, NULL, signal); /* delivered as it would have been */
	else if (stops(signal))
		ptrace(PTRACE_LISTEN, pid, NULL, 0);    /* stopped as a whole: stays so until SIGCONT */
	else
		ptrace(PTRACE_CONT, pid, NULL, 0);
}

static void on_signal(struct cs_loop *loop CS_UNUSED, int signal CS_UNUSED, pid_t sender CS_UNUSED, void *arg)
{
	const struct cs_hold *hold = arg;

	/* signals of one number are one: until there is nothing left */
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_PID, (id_t)hold->pid, &info, WSTOPPED | WNOHANG | __WALL) < 0 || info.si_pid == 0)
			return;
		let_on(hold->pid, info.si_status & 0xff, info.si_status >> 8);
	}
}

int cs_hold_new(struct cs_loop *loop, pid_t pid, struct cs_hold **ret)
{
	struct cs_hold *hold = malloc(sizeof(*hold));
	sigset_t set;

	if (!hold)
		return -ENOMEM;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	*hold = (struct cs_hold){ .pid = pid, .signals = cs_signals_new(loop, &set, on_signal, hold) };
	if (!hold->signals || ptrace(PTRACE_SEIZE, pid, NULL, 0) < 0) {
		int r = -errno;

		cs_hold_free(hold);
		return r;
	}
	*ret = hold;
	return 0;
}

int cs_hold_release(struct cs_hold *hold, int *ret_status)
{
	int status;
	pid_t pid;

	do {
		pid = waitpid(hold->pid, &status, WNOHANG | __WALL);
	} while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		return -EAGAIN;
	if (WIFSTOPPED(status)) {
		let_on(hold->pid, WSTOPSIG(status), status >> 16);
		return -EAGAIN;
	}
	*ret_status = status;
	return 0;
}

void cs_hold_free(struct cs_hold *hold)
{
	if (!hold)
		return;
	cs_signals_free(hold->signals);
	free(hold);
}
