#include "tests/e2e/sys/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/sys/mount.h"
#include "shim/sys/mountinfo.h"

const char *t_in_files(const char *name)
{
	static char paths[64][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % CS_ARRAY_LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", t_files, name);
	return path;
}

const char *t_make_dir(const char *name)
{
	const char *path = t_in_files(name);

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		t_die("mkdir %s: %s", path, strerror(errno));
	return path;
}

void t_make_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		t_die("create %s: %s", path, strerror(errno));
	close(fd);
}

int t_files_fd(void)
{
	int fd = open(t_files, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	need(fd >= 0);
	return fd;
}

unsigned t_mounts_below(const char *prefix)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_MOUNTINFO_MAX);
	struct cs_mountinfo row;
	unsigned n = 0;
	char *cursor;

	need_int(cs_mountinfo_read(&text), 0);
	cursor = text.data;
	while (cs_mountinfo_next(&cursor, &row) > 0)
		n += cs_mountinfo_is_below(row.point, prefix);
	return n;
}

void t_new_namespace(void)
{
	struct cs_err err = CS_ERR_INIT;

	need_ok(cs_mount_new_namespace(&err), err);
}
