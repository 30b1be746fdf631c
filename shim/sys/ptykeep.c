#include "shim/sys/ptykeep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/spawn.h"

/* Everything else goes: what the supervisor holds must not live on in here. */
static void keep_open_only(int a, int b)
{
	int low = CS_MIN(a, b), high = CS_MAX(a, b);

	for (int fd = 0; fd < high; fd++)
		if (fd != low)
			close(fd);
	closefrom(high + 1);
}

static CS_NORETURN void keeper_main(const struct cs_ptykeep *keep, int supervisor_fd)
{
	struct pollfd p = { .fd = supervisor_fd, .events = POLLIN };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "caisson-tty");
	prctl(PR_SET_PDEATHSIG, 0);
	keep_open_only(keep->fd, supervisor_fd);
	if (chdir("/") < 0) {
		/* staying would only pin a directory */
	}
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	cs_pty_mode_leave(keep->fd, &keep->mode);
	_exit(0);
}

static int start_keeper(struct cs_ptykeep *keep)
{
	struct cs_pidref us = CS_PIDREF_INIT;
	/* here, where our own pid cannot be somebody else's */
	int r = cs_pidref_open(getpid(), &us);

	if (r == 0)
		r = cs_spawn_fork(&keep->keeper);
	if (r == 0)
		keeper_main(keep, us.fd);
	cs_pidref_release(&us);
	return r < 0 ? r : 0;
}

static void end_keeper(struct cs_ptykeep *keep)
{
	int status;

	cs_pidref_kill(&keep->keeper, SIGKILL);
	if (cs_pidref_wait_dead(&keep->keeper, CS_NEVER) == 0)
		cs_pidref_reap(&keep->keeper, &status);
	cs_pidref_release(&keep->keeper);
	cs_close_fd(&keep->fd);
}

int cs_ptykeep_enter(int fd, struct cs_ptykeep *keep)
{
	int r = cs_pty_mode_read(fd, &keep->mode);

	if (r < 0)
		return r;
	keep->fd = cs_fd_dup(fd, STDERR_FILENO + 1);
	if (keep->fd < 0)
		return keep->fd;
	r = start_keeper(keep);
	if (r == 0)
		r = cs_pty_mode_enter(keep->fd, &keep->mode);
	if (r < 0)
		end_keeper(keep);
	return r;
}

void cs_ptykeep_enter_again(struct cs_ptykeep *keep)
{
	/* a terminal that went away meanwhile says so to whoever reads it */
	if (keep->fd >= 0 && cs_pty_mode_enter(keep->fd, &keep->mode) < 0)
		return;
}

void cs_ptykeep_leave(struct cs_ptykeep *keep)
{
	if (keep->fd < 0)
		return;
	cs_pty_mode_leave(keep->fd, &keep->mode);
	end_keeper(keep);
}
