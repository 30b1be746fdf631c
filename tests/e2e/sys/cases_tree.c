/* Removal of trees with what only root can make. */
#include "tests/e2e/sys/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/sys/mount.h"
#include "shim/sys/path.h"

static void case_tree_odd_files(void)
{
	int dir = t_files_fd(), fd;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *outside = t_in_files("outside");
	int r;

	t_make_dir("tree");
	t_make_dir("tree/locked");
	t_make_dir("tree/locked/in");
	t_make_file(t_in_files("tree/locked/in/f"));
	t_make_file(outside);
	need(symlink(t_files, t_in_files("tree/link")) == 0);
	need(symlink("/nowhere", t_in_files("tree/dangling")) == 0);
	need(link(outside, t_in_files("tree/hard")) == 0);
	need(mkfifo(t_in_files("tree/fifo"), 0600) == 0);
	need(mknod(t_in_files("tree/null"), S_IFCHR | 0600, makedev(1, 3)) == 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", t_in_files("tree/socket"));
	need(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	close(fd);
	need(chmod(t_in_files("tree/locked/in"), 0) == 0 && chmod(t_in_files("tree/locked"), 0) == 0);
	r = cs_path_remove_tree(dir, "tree");
	need_int(r, 0);
	need(access(t_in_files("tree"), F_OK) < 0 && access(outside, F_OK) == 0);
	need_int(cs_path_remove_tree(dir, "outside"), 0);
	close(dir);
}

static bool set_flags(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	need(fd >= 0);
	r = ioctl(fd, FS_IOC_SETFLAGS, &flags);
	close(fd);
	return r == 0;
}

static void case_tree_immutable(void)
{
	int dir = t_files_fd();

	t_make_dir("tree");
	t_make_dir("tree/in");
	t_make_file(t_in_files("tree/in/immutable"));
	t_make_file(t_in_files("tree/in/append"));
	if (!set_flags(t_in_files("tree/in/immutable"), FS_IMMUTABLE_FL)) {
		need_int(cs_path_remove_tree(dir, "tree"), 0);
		t_skip("no such flags here");
	}
	need(set_flags(t_in_files("tree/in/append"), FS_APPEND_FL));
	need(set_flags(t_in_files("tree/in"), FS_APPEND_FL));
	need(set_flags(t_in_files("tree"), FS_IMMUTABLE_FL));
	need_int(cs_path_remove_tree(dir, "tree"), 0);
	need(access(t_in_files("tree"), F_OK) < 0);
	close(dir);
}

/* A mount in the tree stays whole, and everything beside it goes. */
static void case_tree_mount(void)
{
	struct cs_err err = CS_ERR_INIT;
	int dir;

	t_new_namespace();
	dir = t_files_fd(); /* one of before would lead into the old namespace, where nothing is mounted */
	t_make_dir("tree");
	t_make_dir("tree/a");
	t_make_dir("tree/mount");
	t_make_file(t_in_files("tree/a/f"));
	t_make_file(t_in_files("tree/bound"));
	need_ok(cs_mount_tmpfs(t_in_files("tree/mount"), 0, 0, 0755, 0, &err), err);
	need(mount("/dev/null", t_in_files("tree/bound"), NULL, MS_BIND, NULL) == 0);
	t_make_file(t_in_files("tree/mount/precious"));
	need_int(cs_path_remove_tree(dir, "tree"), -EXDEV);
	need(access(t_in_files("tree/mount/precious"), F_OK) == 0);
	need(access(t_in_files("tree/a"), F_OK) < 0);
	need_int(cs_path_open_beneath(dir, "tree/mount/precious", O_RDONLY, 0), -EXDEV);
	need_ok(cs_mount_detach_all(t_in_files("tree"), &err), err);
	need_int(cs_path_remove_tree(dir, "tree"), 0);
	close(dir);
}

/* No inode is left on the tmpfs, and the tree is deeper than descriptors go. */
static void case_tree_deep_without_inodes(void)
{
	struct cs_err err = CS_ERR_INIT;
	unsigned depth = 0;
	int dir, cur;

	t_new_namespace();
	need_ok(cs_mount_tmpfs(t_files, 0, 12000, 0755, 0, &err), err);
	dir = t_files_fd();
	cur = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	need(mkdirat(cur, "d", 0755) == 0);
	for (;;) {
		int next = openat(cur, depth == 0 ? "d" : "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		need(next >= 0);
		close(cur);
		cur = next;
		depth++;
		if (mkdirat(cur, "deeper", 0755) < 0)
			break;
	}
	need(errno == ENOSPC && depth > 10000);
	close(cur);
	need_int(cs_path_remove_tree(dir, "d"), 0);
	need(access(t_in_files("d"), F_OK) < 0);
	close(dir);
}

const struct t_case t_tree_cases[] = {
	{ "tree-odd-files", case_tree_odd_files },
	{ "tree-immutable", case_tree_immutable },
	{ "tree-mount", case_tree_mount },
	{ "tree-deep-without-inodes", case_tree_deep_without_inodes },
	{ NULL, NULL },
};
