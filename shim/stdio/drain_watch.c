#include "shim/stdio/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"

/* A socket, or an end of a pipe that is written to: what says POLLERR or POLLHUP when its reader goes. */
static int can_tell(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISSOCK(st.st_mode))
		return 0;
	return S_ISFIFO(st.st_mode) && (flags & O_ACCMODE) == O_WRONLY ? 0 : -ENOTSUP;
}

int cs_drain_watch_reader(struct cs_loop *loop, int fd, cs_loop_fd_fn *fn, void *arg,
			  struct cs_source *ret_source, int *ret_watch_fd)
{
	cs_autofd int copy = -1;
	int r = can_tell(fd);

	if (r < 0)
		return r;
	copy = cs_fd_dup(fd, STDERR_FILENO + 1);
	if (copy < 0)
		return copy;
	/* the condition stays, so a level-triggered event would come in every round */
	r = cs_loop_add_fd(loop, copy, EPOLLONESHOT, CS_PRIO_IO, fn, arg, ret_source);
	if (r < 0)
		return r;
	*ret_watch_fd = cs_take_fd(&copy);
	return 0;
}
