#include "shim/files/user.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/sys/path.h"

#define FILE_MAX (1 << 20)
/* (uid_t)-1 means "leave as it is" to the kernel: no user (setresuid(2)) */
#define ID_MAX (UINT32_MAX - 1)

static int read_in_root(int root_fd, const char *path, struct cs_buf *out)
{
	cs_autofd int handle = cs_path_open_in_root(root_fd, path, O_PATH | O_CLOEXEC, 0);
	cs_autofd int fd = -1;
	char self[32];
	struct stat st;

	if (handle < 0)
		return handle;
	/* a root may come from anywhere: what is opened there must not be a device, which opening alone can set off */
	if (fstat(handle, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : cs_file_read_fd(fd, out);
}

/* The i-th colon-separated field of a line as a copy in `field`. */
static bool take_field(const char *line, size_t len, int i, char *field, size_t size)
{
	const char *end = line + len;

	for (; i > 0; i--) {
		line = memchr(line, ':', (size_t)(end - line));
		if (!line)
			return false;
		line++;
	}
	len = (size_t)(end - line);
	if (memchr(line, ':', len))
		len = (size_t)((const char *)memchr(line, ':', len) - line);
	return snprintf(field, size, "%.*s", (int)len, line) < (int)size;
}

/* Finds the line whose field `by` is `want`, and reads field `get` of it as a number. */
static int look_up(int root_fd, const char *path, int by, const char *want, int get, uint32_t *ret)
{
	cs_auto(buf) text = CS_BUF_INIT(FILE_MAX);
	int r = read_in_root(root_fd, path, &text);

	if (r < 0)
		return r;
	for (char *line = text.data; line && *line;) {
		size_t len = strcspn(line, "\n");
		char field[256];

		if (take_field(line, len, by, field, sizeof(field)) && strcmp(field, want) == 0 &&
		    take_field(line, len, get, field, sizeof(field)))
			return cs_parse_u32(field, ret);
		line += len + (line[len] == '\n');
	}
	return -ENOENT;
}

static int parse_group(const char *text, int root_fd, gid_t *ret, struct cs_err *err)
{
	uint32_t number;

	if (cs_parse_u32(text, &number) < 0 &&
	    (root_fd < 0 || look_up(root_fd, "etc/group", 0, text, 2, &number) < 0))
		return cs_fail(err, CS_NOT_FOUND, 0, "no group '%.64s' in the root's /etc/group: give a number",
			       text);
	if (number > ID_MAX)
		return cs_fail(err, CS_INVALID, 0, "group %u is out of range", number);
	*ret = number;
	return 0;
}

int cs_user_parse(const char *text, int root_fd, uid_t *ret_uid, gid_t *ret_gid,
		  struct cs_err *err)
{
	char user[256];
	const char *colon = strchrnul(text, ':');
	uint32_t uid, gid;

	if (colon == text || (colon[0] == ':' && colon[1] == '\0') ||
	    snprintf(user, sizeof(user), "%.*s", (int)(colon - text), text) >= (int)sizeof(user))
		return cs_fail(err, CS_INVALID, 0, "'%.64s' is no user: give UID, UID:GID or a name", text);

	if (cs_parse_u32(user, &uid) == 0) {
		if (root_fd < 0 || look_up(root_fd, "etc/passwd", 2, user, 3, &gid) < 0)
			gid = uid;
	} else if (root_fd < 0 || look_up(root_fd, "etc/passwd", 0, user, 2, &uid) < 0 ||
		   look_up(root_fd, "etc/passwd", 0, user, 3, &gid) < 0) {
		return cs_fail(err, CS_NOT_FOUND, 0, "no user '%.64s' in the root's /etc/passwd: give a number",
			       user);
	}
	if (uid > ID_MAX || gid > ID_MAX)
		return cs_fail(err, CS_INVALID, 0, "user '%.64s' is out of range", user);
	if (*colon == ':' && parse_group(colon + 1, root_fd, &gid, err) < 0)
		return -1;
	*ret_uid = uid;
	*ret_gid = gid;
	return 0;
}
