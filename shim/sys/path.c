#include "shim/sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tries while renames elsewhere make RESOLVE_IN_ROOT and RESOLVE_BENEATH give up (openat2(2), EAGAIN). */
#define RENAME_RACES_MAX 32

static int open_resolved(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = { .resolve = resolve | RESOLVE_NO_MAGICLINKS };
	long fd;

	flags |= O_CLOEXEC;
	if ((flags & O_PATH) == 0)
		flags |= O_NOCTTY | O_NONBLOCK;
	how.flags = (unsigned)flags;
	/* openat2, unlike open, refuses a mode that it would not use */
	if ((flags & (O_CREAT | __O_TMPFILE)) != 0)
		how.mode = mode;
	for (unsigned i = 0; i < RENAME_RACES_MAX; i++) {
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return -errno;
}

int cs_path_open_in_root(int root_fd, const char *path, int flags, mode_t mode)
{
	return open_resolved(root_fd, path, flags, mode, RESOLVE_IN_ROOT);
}

int cs_path_open_beneath(int dir_fd, const char *path, int flags, mode_t mode)
{
	return open_resolved(dir_fd, path, flags, mode,
			     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}
