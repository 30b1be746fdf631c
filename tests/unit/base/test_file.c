#include "shim/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "tests/unit/unit.h"

/* A directory of its own for each test, emptied and removed at its end. */
struct scratch {
	char path[64];
	int fd;
};

static struct scratch scratch_new(void)
{
	struct scratch s = { .path = "/tmp/caisson-test-file-XXXXXX" };

	ck_assert_ptr_nonnull(mkdtemp(s.path));
	s.fd = open(s.path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(s.fd, 0);
	return s;
}

/* Number of entries; each is removed when asked (tests make flat trees). */
static int entries(const struct scratch *s, bool remove)
{
	DIR *dir = opendir(s->path);
	struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		n++;
		if (remove && unlinkat(s->fd, entry->d_name, 0) < 0)
			unlinkat(s->fd, entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
	return n;
}

static void scratch_end(struct scratch *s)
{
	entries(s, true);
	close(s->fd);
	ck_assert_int_eq(rmdir(s->path), 0);
}

static void assert_content(const struct scratch *s, const char *name, const char *want)
{
	cs_auto(buf) buf = CS_BUF_INIT(65536);

	ck_assert_int_eq(cs_file_read(s->fd, name, &buf), 0);
	ck_assert_str_eq(buf.data ? buf.data : "", want);
}

START_TEST(atomic_write_makes_and_replaces)
{
	struct scratch s = scratch_new();
	struct stat st;

	umask(022);
	ck_assert_int_eq(cs_file_write_atomic(s.fd, "f", "one", 3, 0640, false), 0);
	assert_content(&s, "f", "one");
	ck_assert_int_eq(fstatat(s.fd, "f", &st, 0), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(cs_file_write_atomic(s.fd, "f", "second", 6, 0600, true), 0);
	assert_content(&s, "f", "second");
	ck_assert_int_eq(cs_file_write_atomic(s.fd, "f", "", 0, 0600, true), 0);
	assert_content(&s, "f", "");
	ck_assert_int_eq(entries(&s, false), 1);
	scratch_end(&s);
}
END_TEST

START_TEST(atomic_write_that_fails_leaves_nothing)
{
	struct scratch s = scratch_new();

	ck_assert_int_eq(mkdirat(s.fd, "d", 0755), 0);
	ck_assert_int_eq(cs_file_write_atomic(s.fd, "d", "x", 1, 0600, false), -EISDIR);
	ck_assert_int_eq(cs_file_write_atomic(s.fd, "none/f", "x", 1, 0600, false), -ENOENT);
	ck_assert_int_eq(entries(&s, false), 1);
	scratch_end(&s);
}
END_TEST

START_TEST(atomic_write_replaces_a_link_and_not_its_target)
{
	struct scratch s = scratch_new();

	ck_assert_int_eq(cs_file_write_atomic(s.fd, "target", "old", 3, 0600, false), 0);
	ck_assert_int_eq(symlinkat("target", s.fd, "link"), 0);
	ck_assert_int_eq(cs_file_write_atomic(s.fd, "link", "new", 3, 0600, false), 0);
	assert_content(&s, "target", "old");
	assert_content(&s, "link", "new");
	scratch_end(&s);
}
END_TEST

START_TEST(read_is_capped)
{
	struct scratch s = scratch_new();
	cs_auto(buf) exact = CS_BUF_INIT(10);
	cs_auto(buf) small = CS_BUF_INIT(9);

	ck_assert_int_eq(cs_file_write_atomic(s.fd, "f", "0123456789", 10, 0600, false), 0);
	ck_assert_int_eq(cs_file_read(s.fd, "f", &exact), 0);
	ck_assert_uint_eq(exact.len, 10);
	ck_assert_int_eq(cs_file_read(s.fd, "f", &small), -EFBIG);
	ck_assert_int_eq(cs_file_read(s.fd, "none", &exact), -ENOENT);
	ck_assert_int_eq(cs_file_read(s.fd, ".", &exact), -EISDIR);
	scratch_end(&s);
}
END_TEST

START_TEST(read_of_a_fifo_does_not_wait_for_its_writer)
{
	struct scratch s = scratch_new();
	cs_auto(buf) buf = CS_BUF_INIT(100);
	cs_autofd int both = -1;

	ck_assert_int_eq(mkfifoat(s.fd, "fifo", 0600), 0);
	ck_assert_int_eq(cs_file_read(s.fd, "fifo", &buf), 0);
	both = openat(s.fd, "fifo", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	ck_assert_int_eq(cs_file_read(s.fd, "fifo", &buf), -EAGAIN);
	scratch_end(&s);
}
END_TEST

START_TEST(put_writes_what_exists)
{
	struct scratch s = scratch_new();

	ck_assert_int_eq(cs_file_put(s.fd, "f", "x"), -ENOENT);
	ck_assert_int_eq(cs_file_write_atomic(s.fd, "f", "old", 3, 0600, false), 0);
	ck_assert_int_eq(cs_file_put(s.fd, "f", "n"), 0);
	/* as procfs wants it: no truncation */
	assert_content(&s, "f", "nld");
	scratch_end(&s);
}
END_TEST

START_TEST(mkdirs_makes_what_is_missing)
{
	struct scratch s = scratch_new();
	char path[128];
	struct stat st;

	umask(022);
	snprintf(path, sizeof(path), "%s/a", s.path);
	ck_assert_int_eq(cs_file_mkdirs(path, 0711), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0711);
	snprintf(path, sizeof(path), "%s//a/b//c/", s.path);
	ck_assert_int_eq(cs_file_mkdirs(path, 0700), 0);
	ck_assert_int_eq(cs_file_mkdirs(path, 0755), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0700);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/a/b", s.path);
	rmdir(path);
	ck_assert_int_eq(cs_file_mkdirs("/", 0700), 0);
	ck_assert_int_eq(cs_file_mkdirs("", 0700), -ENOENT);
	scratch_end(&s);
}
END_TEST

START_TEST(mkdirs_does_not_take_a_file_for_a_directory)
{
	struct scratch s = scratch_new();
	char path[128];

	ck_assert_int_eq(cs_file_write_atomic(s.fd, "f", "", 0, 0600, false), 0);
	snprintf(path, sizeof(path), "%s/f", s.path);
	ck_assert_int_eq(cs_file_mkdirs(path, 0700), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/f/d", s.path);
	ck_assert_int_eq(cs_file_mkdirs(path, 0700), -ENOTDIR);
	/* a link to a directory is one */
	ck_assert_int_eq(symlinkat("/tmp", s.fd, "l"), 0);
	snprintf(path, sizeof(path), "%s/l", s.path);
	ck_assert_int_eq(cs_file_mkdirs(path, 0700), 0);
	scratch_end(&s);
}
END_TEST

/* A pipe by name, as a shell gives it for <(…): empty at first, and then not. */
START_TEST(a_pipe_that_was_given_is_waited_for)
{
	cs_auto(buf) buf = CS_BUF_INIT(64);
	char path[64];
	int fds[2], go[2], status;
	pid_t child;

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(pipe(go), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	child = fork();
	if (child == 0) {
		char byte;

		_exit(read(go[0], &byte, 1) != 1 || write(fds[1], "late", 4) != 4);
	}
	close(fds[1]);
	ck_assert_int_eq(cs_file_read(AT_FDCWD, path, &buf), -EAGAIN);
	ck_assert_int_eq(write(go[1], "", 1), 1);
	ck_assert_int_eq(cs_file_read_given(path, &buf), 0);
	ck_assert_str_eq(buf.data, "late");
	close(go[0]);
	close(go[1]);
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	close(fds[0]);
}
END_TEST

CS_UNIT_SUITE(file, a_pipe_that_was_given_is_waited_for, atomic_write_makes_and_replaces, atomic_write_that_fails_leaves_nothing,
	      atomic_write_replaces_a_link_and_not_its_target, read_is_capped,
	      read_of_a_fifo_does_not_wait_for_its_writer, put_writes_what_exists,
	      mkdirs_makes_what_is_missing, mkdirs_does_not_take_a_file_for_a_directory)
