#include "tests/unit/files/tree.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/fd.h"

static char *next_text(void)
{
	static char texts[8][PATH_MAX * 2];
	static unsigned at;

	return texts[at++ % CS_ARRAY_LEN(texts)];
}

void cs_tree_init(struct cs_tree *tree)
{
	const char *base = getenv("TMPDIR");
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/caisson-unit-XXXXXX", base && *base ? base : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(name));
	ck_assert_int_eq(chmod(name, 0755), 0);
	ck_assert_ptr_nonnull(realpath(name, tree->path));
	tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(tree->fd, 0);
}

static int remove_one(const char *path, const struct stat *st CS_UNUSED, int flag CS_UNUSED,
		      struct FTW *ftw CS_UNUSED)
{
	return remove(path);
}

void cs_tree_release(struct cs_tree *tree)
{
	nftw(tree->path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	cs_close_fd(&tree->fd);
}

const char *cs_tree_at(const struct cs_tree *tree, const char *path)
{
	char *text = next_text();

	snprintf(text, PATH_MAX * 2, "%s/%s", tree->path, path);
	return text;
}

static void make_parents(const struct cs_tree *tree, const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdirat(tree->fd, part, 0755) == 0)
			ck_assert_int_eq(fchmodat(tree->fd, part, 0755, 0), 0);
	}
}

void cs_tree_dir(const struct cs_tree *tree, const char *path, mode_t mode)
{
	make_parents(tree, path);
	ck_assert_int_eq(mkdirat(tree->fd, path, 0700), 0);
	ck_assert_int_eq(fchmodat(tree->fd, path, mode, 0), 0);
}

void cs_tree_bytes(const struct cs_tree *tree, const char *path, const void *data, size_t len,
		   mode_t mode)
{
	cs_autofd int fd = -1;

	make_parents(tree, path);
	fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_msg(fd >= 0, "%s", path);
	ck_assert_int_eq(cs_fd_write_all(fd, data, len), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
}

void cs_tree_file(const struct cs_tree *tree, const char *path, const char *text, mode_t mode)
{
	cs_tree_bytes(tree, path, text, strlen(text), mode);
}

void cs_tree_link(const struct cs_tree *tree, const char *path, const char *target)
{
	make_parents(tree, path);
	ck_assert_int_eq(symlinkat(target, tree->fd, path), 0);
}

void cs_tree_socket(const struct cs_tree *tree, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	cs_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_parents(tree, path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", cs_tree_at(tree, path));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

void cs_tree_fifo(const struct cs_tree *tree, const char *path)
{
	make_parents(tree, path);
	ck_assert_int_eq(mkfifoat(tree->fd, path, 0777), 0);
	ck_assert_int_eq(fchmodat(tree->fd, path, 0777, 0), 0);
}

const char *cs_tree_text(const struct cs_tree *tree, const char *path)
{
	cs_autofd int fd = openat(tree->fd, path, O_RDONLY | O_CLOEXEC);
	char *text = next_text();
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = cs_fd_read_all(fd, text, PATH_MAX);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return text;
}

const char *cs_tree_target(const struct cs_tree *tree, const char *path)
{
	char *text = next_text();
	ssize_t n = readlinkat(tree->fd, path, text, PATH_MAX);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}
