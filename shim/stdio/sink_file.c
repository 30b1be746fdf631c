#include "shim/stdio/sink_int.h"

#include <errno.h>
#include <fcntl.h>

int cs_sink_new_file(const char *path, struct cs_sink **ret, struct cs_err *err)
{
	/* O_NONBLOCK: a FIFO without a reader fails instead of waiting; regular files do not know it (open(2)) */
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		      0644);

	if (fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "open '%s'", path);
	if (cs__sink_wrap_consume(fd, ret, err) < 0)
		return cs_wrap(err, "'%s'", path);
	return 0;
}

int cs_sink_new_null(struct cs_sink **ret, struct cs_err *err)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return cs_fail(err, CS_IO, errno, "open '/dev/null'");
	return cs__sink_wrap_consume(fd, ret, err);
}
