#include "shim/cli/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/sys/spawn.h"

/* /dev/null in place of the stdio descriptors from `from` to `to`. */
static int put_null(int from, int to)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = from; fd <= to; fd++)
		if (null_fd < 0 || dup2(null_fd, fd) < 0)
			return -errno;
	cs_close_fd(&null_fd);
	return 0;
}

static int become_supervisor(int report_fd, const int *keep, size_t n_keep, struct cs_detach *ret, struct cs_err *err)
{
	int kept[8], r;
	size_t n = 0;

	if (n_keep >= CS_ARRAY_LEN(kept))
		return cs_fail(err, CS_BUG, 0, "descriptors to keep");
	for (size_t i = 0; i < n_keep; i++)
		kept[n++] = keep[i];
	kept[n++] = report_fd;
	cs_fd_close_except(3, kept, n);
	setsid();
	r = put_null(STDIN_FILENO, STDOUT_FILENO);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "/dev/null");
	ret->report_fd = report_fd;
	return 0;
}

int cs_detach_started(const char *id, void *arg)
{
	struct cs_detach *detach = arg;
	char text[CS_ID_MAX + 1] = "";
	int r;

	snprintf(text, sizeof(text), "%s", id);
	/* SIGPIPE is ignored: the caller's going is an error like any other */
	r = cs_fd_write_all(detach->report_fd, text, sizeof(text));
	cs_close_fd(&detach->report_fd);
	if (r < 0)
		return -1;
	if (put_null(STDERR_FILENO, STDERR_FILENO) < 0 || chdir("/") < 0)
		cs_log_debug("detach: %s", strerror(errno)); /* something of the caller's stays open */
	return 0;
}

/* What the supervisor ended with instead of a start. */
static int failed_start(const struct cs_pidref *child, int *ret_code, struct cs_err *err)
{
	int status = -1;

	cs_pidref_wait_dead(child, CS_NEVER);
	if (cs_pidref_reap(child, &status) < 0 || !WIFEXITED(status))
		return cs_fail(err, CS_STATE, 0, "the supervisor of the run was killed before it could start");
	*ret_code = WEXITSTATUS(status);
	/* it has told of the program's start in no way, so this is none */
	if (*ret_code == 0)
		return cs_fail(err, CS_BUG, 0, "the supervisor of the run ended without a word");
	return 1;
}

static int wait_for_start(int report_fd, const struct cs_pidref *child, struct cs_detach *ret, int *ret_code,
			  struct cs_err *err)
{
	ssize_t n = cs_fd_read_all(report_fd, ret->id, sizeof(ret->id));

	if (n != (ssize_t)sizeof(ret->id))
		return failed_start(child, ret_code, err);
	ret->id[sizeof(ret->id) - 1] = '\0';
	*ret_code = 0;
	return 1;
}

int cs_detach(const sigset_t *mask, const int *keep, size_t n_keep, struct cs_detach *ret, int *ret_code,
	      struct cs_err *err)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	int fds[2], r = cs_fd_pipe(fds, 0);

	if (r < 0)
		return cs_fail(err, CS_IO, -r, "detach: pipe");
	*ret = (struct cs_detach){ .report_fd = -1 };
	r = cs_spawn_fork(&child);
	if (r == 0)
		return become_supervisor(fds[1], keep, n_keep, ret, err);
	cs_close_fd(&fds[1]);
	if (r < 0) {
		cs_fail(err, CS_LIMIT, -r, "detach: fork");
	} else {
		sigprocmask(SIG_SETMASK, mask, NULL);
		r = wait_for_start(fds[0], &child, ret, ret_code, err);
	}
	cs_close_fd(&fds[0]);
	cs_pidref_release(&child);
	return r < 0 ? -1 : 1;
}
