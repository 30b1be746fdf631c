#include "shim/sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* A directory of the test's own; the tests run in a process each. */
static char top_name[] = "/tmp/caisson-path-XXXXXX";
static int top = -1;

static void make_top(void)
{
	ck_assert_ptr_nonnull(mkdtemp(top_name));
	top = open(top_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(top, 0);
}

static void drop_top(void)
{
	close(top);
	ck_assert_int_eq(rmdir(top_name), 0);
}

static void make_dir(const char *name)
{
	ck_assert_int_eq(mkdirat(top, name, 0755), 0);
}

static void make_file(const char *name)
{
	int fd = openat(top, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static bool exists(const char *name)
{
	return faccessat(top, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void expect_open(int fd)
{
	ck_assert_int_ge(fd, 0);
	close(fd);
}

START_TEST(in_root_keeps_links_inside)
{
	cs_autofd int root = -1;
	struct stat inside, found;
	int fd;

	make_top();
	make_dir("root");
	make_dir("root/etc");
	make_file("root/etc/passwd");
	make_file("secret");
	ck_assert_int_eq(symlinkat("/etc/passwd", top, "root/absolute"), 0);
	ck_assert_int_eq(symlinkat("../../../secret", top, "root/up"), 0);
	root = openat(top, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(fstatat(top, "root/etc/passwd", &inside, 0), 0);
	fd = cs_path_open_in_root(root, "/absolute", O_RDONLY, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &found), 0);
	ck_assert_uint_eq(found.st_ino, inside.st_ino);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	ck_assert_int_eq(cs_path_open_in_root(root, "up", O_RDONLY, 0), -ENOENT);
	expect_open(cs_path_open_in_root(root, "../../etc/../etc/passwd", O_PATH, 0));
	expect_open(cs_path_open_in_root(root, "new", O_WRONLY | O_CREAT | O_EXCL, 0600));
	ck_assert(exists("root/new"));
	ck_assert_int_eq(cs_path_remove_tree(top, "root"), 0);
	ck_assert_int_eq(cs_path_remove_tree(top, "secret"), 0);
	drop_top();
}
END_TEST

START_TEST(beneath_follows_nothing)
{
	make_top();
	make_dir("a");
	make_file("a/f");
	ck_assert_int_eq(symlinkat("a", top, "link"), 0);
	ck_assert_int_eq(mkfifoat(top, "fifo", 0600), 0);
	expect_open(cs_path_open_beneath(top, "a/f", O_RDONLY, 0600));
	ck_assert_int_eq(cs_path_open_beneath(top, "link/f", O_RDONLY, 0), -ELOOP);
	ck_assert_int_eq(cs_path_open_beneath(top, "link", O_RDONLY, 0), -ELOOP);
	expect_open(cs_path_open_beneath(top, "link", O_PATH | O_NOFOLLOW, 0));
	ck_assert_int_eq(cs_path_open_beneath(top, "/a/f", O_RDONLY, 0), -EXDEV);
	ck_assert_int_eq(cs_path_open_beneath(top, "a/../..", O_RDONLY, 0), -EXDEV);
	/* nobody writes to it: blocking would be for ever */
	expect_open(cs_path_open_beneath(top, "fifo", O_RDONLY, 0));
	ck_assert_int_eq(cs_path_open_beneath(top, "fifo", O_WRONLY, 0), -ENXIO);
	ck_assert_int_eq(cs_path_remove_tree(top, "a"), 0);
	ck_assert_int_eq(cs_path_remove_tree(top, "link"), 0);
	ck_assert_int_eq(cs_path_remove_tree(top, "fifo"), 0);
	drop_top();
}
END_TEST

START_TEST(remove_takes_one_component)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "/tmp", "a/" };

	make_top();
	for (size_t i = 0; i < CS_ARRAY_LEN(bad); i++)
		ck_assert_int_eq(cs_path_remove_tree(top, bad[i]), -EINVAL);
	ck_assert_int_eq(cs_path_remove_tree(top, "nowhere"), 0);
	drop_top();
}
END_TEST

START_TEST(remove_follows_no_link)
{
	make_top();
	make_dir("outside");
	make_file("outside/precious");
	make_dir("tree");
	make_dir("tree/sub");
	ck_assert_int_eq(symlinkat("../outside", top, "tree/link"), 0);
	ck_assert_int_eq(symlinkat("../../outside/precious", top, "tree/sub/link"), 0);
	ck_assert_int_eq(symlinkat("outside", top, "direct"), 0);
	ck_assert_int_eq(mkfifoat(top, "tree/sub/fifo", 0600), 0);
	ck_assert_int_eq(cs_path_remove_tree(top, "tree"), 0);
	ck_assert_int_eq(cs_path_remove_tree(top, "direct"), 0);
	ck_assert(!exists("tree"));
	ck_assert(!exists("direct"));
	ck_assert(exists("outside/precious"));
	ck_assert_int_eq(cs_path_remove_tree(top, "outside"), 0);
	drop_top();
}
END_TEST

static void make_chain(unsigned depth, const char *part)
{
	cs_autofd int cur = dup(top);

	for (unsigned i = 0; i < depth; i++) {
		int next;

		ck_assert_int_eq(mkdirat(cur, part, 0755), 0);
		next = openat(cur, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert_int_ge(next, 0);
		close(cur);
		cur = next;
	}
}

/* Deeper than PATH_MAX and than the descriptors that there are; names as long as they get. */
START_TEST(remove_any_depth)
{
	struct rlimit files = { .rlim_cur = 64, .rlim_max = 64 };
	char longest[256];

	make_top();
	memset(longest, 'n', 255);
	longest[255] = '\0';
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	make_chain(3000, "d");
	ck_assert_int_eq(cs_path_remove_tree(top, "d"), 0);
	ck_assert(!exists("d"));
	make_chain(100, longest);
	ck_assert_int_eq(cs_path_remove_tree(top, longest), 0);
	ck_assert(!exists(longest));
	drop_top();
}
END_TEST

/* The name under which deep directories are moved up is taken by others. */
START_TEST(remove_any_depth_among_odd_names)
{
	char name[64];

	make_top();
	make_chain(60, "d");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "d/caisson-rm.%u", i);
		if (i % 2 == 0)
			make_file(name);
		else
			make_dir(name);
		snprintf(name, sizeof(name), "d/caisson-rm.%u/x", i);
		if (i % 4 == 1)
			make_dir(name);
	}
	ck_assert_int_eq(cs_path_remove_tree(top, "d"), 0);
	ck_assert(!exists("d"));
	drop_top();
}
END_TEST

START_TEST(remove_wide)
{
	char name[64];

	make_top();
	make_dir("w");
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "w/%s%u", i % 3 == 0 ? "directory-with-a-longish-name-" : "f", i);
		if (i % 3 == 0)
			make_dir(name);
		else
			make_file(name);
		snprintf(name, sizeof(name), "w/directory-with-a-longish-name-%u/f", i);
		if (i % 6 == 0)
			make_file(name);
	}
	ck_assert_int_eq(cs_path_remove_tree(top, "w"), 0);
	ck_assert(!exists("w"));
	drop_top();
}
END_TEST

/* What may not be removed stays alone; the error says why. */
START_TEST(remove_goes_on_after_a_failure)
{
	/* root is kept out of nothing; each test is a process of its own */
	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	make_top();
	make_dir("t");
	make_dir("t/closed");
	make_file("t/closed/stays");
	make_dir("t/open");
	make_file("t/open/f");
	make_chain(40, "d");
	ck_assert_int_eq(renameat(top, "d", top, "t/open/d"), 0);
	ck_assert_int_eq(fchmodat(top, "t/closed", 0500, 0), 0);
	ck_assert_int_eq(cs_path_remove_tree(top, "t"), -EACCES);
	ck_assert(exists("t/closed/stays"));
	ck_assert(!exists("t/open"));
	ck_assert_int_eq(fchmodat(top, "t/closed", 0700, 0), 0);
	ck_assert_int_eq(cs_path_remove_tree(top, "t"), 0);
	drop_top();
}
END_TEST

CS_UNIT_SUITE(path, in_root_keeps_links_inside, beneath_follows_nothing, remove_takes_one_component,
	      remove_follows_no_link, remove_any_depth, remove_any_depth_among_odd_names, remove_wide,
	      remove_goes_on_after_a_failure)
