#include "shim/sys/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "shim/base/buf.h"
#include "shim/base/file.h"

#define CHILDREN_MAX ((size_t)1 << 20) /* bytes of the list: some 100,000 children */

int cs_reaper_become(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static bool is_known(const pid_t *known, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (known[i] == pid)
			return true;
	return false;
}

/* waitid that never blocks: the pid, 0 when nobody is dead (or no such child), -errno. */
static pid_t wait_now(idtype_t type, id_t id, int options)
{
	siginfo_t info = { 0 };
	int r;

	do
		r = waitid(type, id, &info, WEXITED | WNOHANG | options);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == ECHILD ? 0 : -errno;
	return info.si_pid;
}

/*
 * The peek always shows the same zombie, and a known one hides those behind
 * it: then each child is asked for by number, from the kernel's list of them
 * (proc(5), /proc/PID/task/TID/children). The list may lack some that come or
 * go meanwhile, and the file is missing without CONFIG_PROC_CHILDREN; the next
 * sweep has them.
 */
static int sweep_list(const pid_t *known, size_t n)
{
	cs_auto(buf) list = CS_BUF_INIT(CHILDREN_MAX);
	char *at, *end;
	int reaped = 0, r;

	r = cs_file_read(AT_FDCWD, "/proc/thread-self/children", &list);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (at = list.data; at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		if (pid <= 0 || is_known(known, n, pid))
			continue;
		r = wait_now(P_PID, (id_t)pid, 0);
		if (r < 0)
			return r;
		reaped += r > 0;
	}
	return reaped;
}

int cs_reaper_sweep(const pid_t *known, size_t n)
{
	int reaped = 0, r;

	for (;;) {
		pid_t pid = wait_now(P_ALL, 0, WNOWAIT);

		if (pid <= 0)
			return pid < 0 ? pid : reaped;
		if (is_known(known, n, pid))
			break;
		r = wait_now(P_PID, (id_t)pid, 0);
		if (r < 0)
			return r;
		reaped += r > 0;
	}
	r = sweep_list(known, n);
	return r < 0 ? r : reaped + r;
}
