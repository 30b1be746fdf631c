#include "shim/files/init.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/files/resolve_int.h"
#include "shim/sys/path.h"

static const char *const dashes[] = { "--", NULL };

/* In order of preference; tini-static and docker-init are tini (its Debian package has the first, Docker's brings the other). */
static const struct cs_init rows[] = {
	{ "catatonit", "/usr/bin/catatonit", dashes },
	{ "catatonit", "/usr/libexec/podman/catatonit", dashes },
	{ "catatonit", "/usr/libexec/catatonit/catatonit", dashes },
	{ "tini", "/usr/bin/tini-static", dashes },
	{ "docker-init", "/usr/bin/docker-init", dashes },
	{ "docker-init", "/usr/libexec/docker/docker-init", dashes },
	{ "tini", "/usr/bin/tini", dashes },
	{ "tini", "/usr/local/bin/tini", dashes },
	{ "tini", "/sbin/tini", dashes },
};

const struct cs_init *cs_init_at(size_t i)
{
	return i < CS_ARRAY_LEN(rows) ? &rows[i] : NULL;
}

/* CS__FORMAT_NONE for whatever cannot be run at all. */
static enum cs__format look(int root_fd, const char *path)
{
	cs_autofd int fd = cs_path_open_in_root(root_fd, path, O_RDONLY, 0);
	enum cs__format format;
	char interpreter[PATH_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 0555) != 0555 ||
	    cs__format_read(fd, &format, interpreter) < 0)
		return CS__FORMAT_NONE;
	return format;
}

int cs_init_find(int root_fd, bool foreign, const struct cs_init **ret, struct cs_err *err)
{
	const char *dynamic = NULL;

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		enum cs__format format = look(root_fd, rows[i].path);

		if (format == CS__FORMAT_STATIC || (format == CS__FORMAT_ELF && !foreign)) {
			*ret = &rows[i];
			return 0;
		}
		if (format == CS__FORMAT_ELF && !dynamic)
			dynamic = rows[i].path;
	}
	if (dynamic)
		return cs_fail(err, CS_NOT_FOUND, 0, "'%s' is dynamically linked, and another root has not its libraries: "
						     "install catatonit, or a static tini", dynamic);
	return cs_fail(err, CS_NOT_FOUND, 0, "none is installed: apt-get install catatonit (or tini)");
}
