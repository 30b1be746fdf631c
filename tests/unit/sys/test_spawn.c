#include "shim/sys/spawn.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "tests/unit/sys/children.h"

/* --- what every test needs ------------------------------------------------- */

static int null_fd(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static int text_fd(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(cs_fd_write_all(fd, text, strlen(text)), 0);
	return fd;
}

/* All that is in a memfd, the caller's. */
static char *content(int fd)
{
	struct cs_buf buf = CS_BUF_INIT(65536);

	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(cs_file_read_fd(fd, &buf), 0);
	return buf.data ? cs_buf_take(&buf) : strdup("");
}

/* Runs it with stdout and stderr in a memfd and its other descriptors as given: what it wrote. */
static char *output_of(struct cs_spawn *spawn)
{
	cs_autofd int out = text_fd(""), null = null_fd();
	struct cs_spawn_fd fds[8] = { { null, 0 }, { out, 1 }, { out, 2 } };
	struct cs_pidref child = CS_PIDREF_INIT;
	struct cs_err err = CS_ERR_INIT;
	struct cs_spawn s = *spawn;

	ck_assert_uint_le(s.n_fds + 3, CS_ARRAY_LEN(fds));
	for (size_t i = 0; i < s.n_fds; i++)
		fds[3 + i] = s.fds[i];
	s.fds = fds;
	s.n_fds += 3;
	ck_ok(cs_spawn(&s, &child, &err), err);
	ck_assert_int_eq(finish(&child), 0);
	return content(out);
}

static char *output_of_shell(struct cs_spawn *spawn, const char *script)
{

	spawn->argv = ARGV("/bin/sh", "-c", script);
	return output_of(spawn);
}

/* A file in the directory for temporary things, removed with its name. */
static void make_file(char path[static 64], const char *text, mode_t mode)
{
	cs_autofd int fd = -1;

	snprintf(path, 64, "/tmp/caisson-test-spawn-XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(cs_fd_write_all(fd, text, strlen(text)), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
}

/* --- failures -------------------------------------------------------------- */

/* Starts `path`, which must fail and leave neither child nor descriptor. */
static void refuse(const char *path, enum cs_err_kind kind, int errnum, const char *text)
{
	struct cs_spawn s = { .argv = ARGV(path) };
	struct cs_pidref child = { .pid = 4711, .fd = -1 };
	struct cs_err err = CS_ERR_INIT;
	int before = null_fd(), after;

	close(before);
	ck_fails(cs_spawn(&s, &child, &err), err, text);
	ck_assert_int_eq(err.kind, kind);
	ck_assert_int_eq(err.errnum, errnum);
	ck_assert_int_eq(child.pid, 4711);
	assert_no_children();
	after = null_fd();
	ck_assert_int_eq(after, before);
	close(after);
}

START_TEST(exec_that_fails_says_why)
{
	char path[64];

	refuse("/nonexistent/program", CS_NOT_FOUND, ENOENT,
	       "exec '/nonexistent/program': No such file or directory");
	refuse("/dev/null/program", CS_NOT_FOUND, ENOTDIR, "Not a directory");
	refuse("/tmp", CS_DENIED, EACCES, "exec '/tmp': Permission denied");
	make_file(path, "#!/bin/sh\n", 0644);
	refuse(path, CS_DENIED, EACCES, "Permission denied");
	unlink(path);
	make_file(path, "#!/nonexistent/interpreter\n", 0755);
	refuse(path, CS_NOT_FOUND, ENOENT, "its interpreter or loader: No such file");
	unlink(path);
	make_file(path, "\1\2\3\4", 0755);
	refuse(path, CS_IO, ENOEXEC, "Exec format error");
	unlink(path);
}
END_TEST

START_TEST(name_without_slash_is_no_path)
{
	refuse("sh", CS_BUG, 0, "a path is needed");
}
END_TEST

START_TEST(earlier_steps_are_named)
{
	cs_autofd int null = null_fd(), reading = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct cs_spawn_fd bad[] = { { null, 0 }, { 1000, 1 } }, beyond[] = { { null, -1 } };
	const struct {
		struct cs_spawn spawn;
		enum cs_err_kind kind;
		int errnum;
		const char *text;
	} rows[] = {
		{ { .has_cwd = true, .cwd_fd = null },
		  CS_IO,
		  ENOTDIR,
		  "change to the working directory" },
		{ { .has_cwd = true, .cwd_fd = -1 },
		  CS_IO,
		  EBADF,
		  "change to the working directory" },
		{ { .fds = bad, .n_fds = 2 }, CS_IO, EBADF, "place descriptor 1000 at 1" },
		{ { .fds = beyond, .n_fds = 1 }, CS_BUG, 0, "no descriptor can be at -1" },
		{ { .cgroup_procs_fds = &reading, .n_cgroup_procs_fds = 1 },
		  CS_IO,
		  EBADF,
		  "enter the cgroup" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_spawn s = rows[i].spawn;
		struct cs_pidref child = CS_PIDREF_INIT;
		struct cs_err err = CS_ERR_INIT;

		s.argv = ARGV("/bin/true");
		ck_fails(cs_spawn(&s, &child, &err), err, rows[i].text);
		ck_assert_int_eq(err.kind, rows[i].kind);
		ck_assert_int_eq(err.errnum, rows[i].errnum);
		assert_no_children();
	}
}
END_TEST

START_TEST(no_descriptor_left_for_the_pidfd_is_a_limit)
{
	struct cs_spawn s = { .argv = ARGV("/bin/true") };
	struct cs_pidref child = CS_PIDREF_INIT;
	struct cs_err err = CS_ERR_INIT;
	struct rlimit limit, none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_fails(cs_spawn(&s, &child, &err), err, "make a process: Too many open files");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

/* --- descriptors ----------------------------------------------------------- */

/* Three texts at 40, 41, 42 go to `to` as `from` says; the child reads them there. */
static void shuffle(const int from[static 3], const int to[static 3])
{
	struct cs_spawn_fd fds[3];
	char paths[3][32], want[4] = { 0 };
	struct cs_spawn s = { .argv = ARGV("/bin/cat", paths[0], paths[1], paths[2]),
			      .fds = fds,
			      .n_fds = 3 };
	cs_autofree char *got = NULL;

	for (int i = 0; i < 3; i++) {
		fds[i] = (struct cs_spawn_fd){ from[i], to[i] };
		snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", to[i]);
		want[i] = (char)('a' + from[i] - 40);
	}
	got = output_of(&s);
	ck_assert_msg(strcmp(got, want) == 0, "{%d,%d,%d} to {%d,%d,%d}: '%s', not '%s'", from[0],
		      from[1], from[2], to[0], to[1], to[2], got, want);
}

START_TEST(descriptors_overlap_in_every_way)
{
	static const char *const texts[] = { "a", "b", "c" };

	for (int i = 0; i < 3; i++) {
		cs_autofd int fd = text_fd(texts[i]);

		ck_assert_int_eq(dup3(fd, 40 + i, O_CLOEXEC), 40 + i);
	}
	/* every choice of sources, for every order of targets */
	for (int c = 0; c < 27; c++) {
		const int from[] = { 40 + c % 3, 40 + c / 3 % 3, 40 + c / 9 };

		for (int t = 0; t < 64; t++) {
			const int to[] = { 40 + t % 4, 40 + t / 4 % 4, 40 + t / 16 };
			bool plain = from[0] == 40 && from[1] == 41 && from[2] == 42;
			bool high = to[0] == 43 || to[1] == 43 || to[2] == 43;

			if (to[0] != to[1] && to[1] != to[2] && to[0] != to[2] && (plain || !high))
				shuffle(from, to);
		}
	}
}
END_TEST

/* ls shows what it was given and, lowest free, its own directory. */
static void assert_nothing_leaks(void)
{
	cs_autofd int null = null_fd();
	struct cs_spawn_fd fds[] = { { null, 60 }, { null, 62 }, { null, 64 } };
	struct cs_spawn s = { .argv = ARGV("/bin/ls", "/proc/self/fd"), .fds = fds, .n_fds = 3 };
	cs_autofree char *got = NULL;

	/* inheritable ones below, between and above the targets */
	ck_assert_int_eq(dup2(null, 50), 50);
	ck_assert_int_eq(dup2(null, 61), 61);
	ck_assert_int_eq(dup2(null, 63), 63);
	ck_assert_int_eq(dup2(null, 65), 65);
	ck_assert_int_eq(dup2(null, 200), 200);
	got = output_of(&s);
	ck_assert_str_eq(got, "0\n1\n2\n3\n60\n62\n64\n");
}

START_TEST(nothing_else_is_inherited)
{
	assert_nothing_leaks();
}
END_TEST

START_TEST(nothing_else_is_inherited_without_close_range)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = CS_ARRAY_LEN(code), .filter = code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	ck_assert_int_eq(syscall(SYS_close_range, 1000, 1000, 0), -1);
	/* more than one block of directory entries */
	for (int fd = 300; fd < 500; fd++)
		ck_assert_int_eq(dup2(0, fd), fd);
	assert_nothing_leaks();
}
END_TEST

/* --- the rest of what a child is given ------------------------------------- */

static void ignore(int signal CS_UNUSED)
{
}

START_TEST(child_has_default_signals_and_the_mask_asked_for)
{
	struct cs_spawn s = { .argv = ARGV("/bin/grep", "-E", "^Sig(Blk|Ign)",
					   "/proc/self/status") };
	cs_autofree char *plain = NULL, *masked = NULL;
	sigset_t set;
	const struct {
		void (*handler)(int);
		long rest[15];
	} raw_ignore = { .handler = SIG_IGN };

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* libc's own, 32 and 33, come ignored from some parents */
	ck_assert_int_eq(syscall(SYS_rt_sigaction, 32, &raw_ignore, NULL, _NSIG / 8), 0);
	signal(SIGUSR2, ignore);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	plain = output_of(&s);
	ck_assert_str_eq(plain, "SigBlk:\t0000000000000000\n"
				"SigIgn:\t0000000000000000\n");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	s.mask = &set;
	masked = output_of(&s);
	ck_assert_ptr_nonnull(strstr(masked, "SigBlk:\t0000000000000200\n"));
}
END_TEST

START_TEST(our_own_mask_is_as_it_was)
{
	struct cs_spawn s = { .argv = ARGV("/bin/true") };
	sigset_t set, now;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	free(output_of(&s));
	sigprocmask(SIG_SETMASK, NULL, &now);
	for (int signal = 1; signal < 32; signal++)
		ck_assert_int_eq(sigismember(&now, signal), signal == SIGUSR2);
}
END_TEST

START_TEST(child_starts_in_its_directory_with_its_environment)
{
	cs_autofd int dir = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cs_spawn s = { .has_cwd = true, .cwd_fd = dir, .envp = ARGV("ONLY=this") };
	cs_autofree char *got = output_of_shell(&s, "readlink /proc/self/cwd; echo $ONLY $HOME");

	ck_assert_str_eq(got, "/usr\nthis\n");
}
END_TEST

START_TEST(path_and_argv0_may_differ)
{
	struct cs_spawn s = { .path = "/bin/sh", .argv = ARGV("name", "-c", "echo $0") };
	cs_autofree char *got = output_of(&s);

	ck_assert_str_eq(got, "name\n");
}
END_TEST

/* The image is executed and not inherited, wherever its number lies; path is what remains when it cannot be. */
START_TEST(image_goes_before_path)
{
	cs_autofd int image = open("/bin/ls", O_PATH | O_CLOEXEC), null = null_fd();
	struct cs_spawn_fd fds[] = { { null, 60 } };
	struct cs_spawn s = { .path = "/nonexistent", .argv = ARGV("ls", "/proc/self/fd"),
			      .image_fd = image, .has_image = true, .fds = fds, .n_fds = 1 };
	char script[64];

	for (int at = 58; at <= 62; at++) {
		cs_autofree char *got = NULL;

		s.image_fd = fcntl(image, F_DUPFD_CLOEXEC, at);
		got = output_of(&s);
		ck_assert_str_eq(got, "0\n1\n2\n3\n60\n");
		close(s.image_fd);
	}
	/* a script cannot be: its interpreter would not find what is closed at exec */
	make_file(script, "#!/bin/sh\necho path\n", 0755);
	s = (struct cs_spawn){ .path = script, .argv = ARGV("script"), .has_image = true };
	s.image_fd = open(script, O_RDONLY | O_CLOEXEC);
	cs_autofree char *got = output_of(&s);
	close(s.image_fd);
	unlink(script);
	ck_assert_str_eq(got, "path\n");
}
END_TEST

START_TEST(child_leads_a_group_before_we_go_on)
{
	cs_autofd int null = null_fd();
	struct cs_spawn_fd fds[] = { { -1, 0 }, { null, 1 } };
	struct cs_spawn s = { .argv = ARGV("/bin/cat"), .fds = fds, .n_fds = 2 };
	struct cs_pidref child = CS_PIDREF_INIT;
	struct cs_err err = CS_ERR_INIT;

	for (int group = 0; group <= 1; group++) {
		int pipe[2];

		ck_assert_int_eq(cs_fd_pipe(pipe, 0), 0);
		fds[0].from = pipe[0];
		s.new_pgroup = group;
		ck_ok(cs_spawn(&s, &child, &err), err);
		ck_assert_int_eq(getpgid(child.pid), group ? child.pid : getpgrp());
		close(pipe[0]);
		close(pipe[1]); /* the last writer: cat sees the end */
		ck_assert_int_eq(finish(&child), 0);
	}
}
END_TEST

START_TEST(child_enters_its_cgroups_itself)
{
	cs_autofd int one = text_fd(""), two = text_fd("");
	const int procs[] = { one, two };
	struct cs_spawn s = { .cgroup_procs_fds = procs, .n_cgroup_procs_fds = 2 };
	cs_autofree char *got = output_of_shell(&s, "echo here");
	cs_autofree char *first = content(one), *second = content(two);

	ck_assert_str_eq(got, "here\n");
	ck_assert_str_eq(first, "0");
	ck_assert_str_eq(second, "0");
}
END_TEST

/* Starts a cat that would stay for ever, tells that, and stays as well. */
static void supervise(int in, int out, bool die_with_us)
{
	struct cs_spawn_fd fds[] = { { in, 0 }, { out, 1 } };
	struct cs_spawn s = {
		.argv = ARGV("/bin/cat"), .fds = fds, .n_fds = 2, .die_with_us = die_with_us
	};
	struct cs_pidref child = CS_PIDREF_INIT;
	struct cs_err err = CS_ERR_INIT;

	if (cs_spawn(&s, &child, &err) < 0 ||
	    cs_fd_write_all(out, &child.pid, sizeof(child.pid)) < 0)
		_exit(1);
	for (;;)
		pause();
}

START_TEST(child_dies_with_us_when_asked)
{
	for (int die = 0; die <= 1; die++) {
		struct cs_pidref parent = CS_PIDREF_INIT, child = CS_PIDREF_INIT;
		int in[2], out[2], r;
		char byte = 'x';
		pid_t pid;

		ck_assert_int_eq(cs_fd_pipe(in, 0), 0);
		ck_assert_int_eq(cs_fd_pipe(out, 0), 0);
		r = cs_spawn_fork(&parent);
		if (r == 0)
			supervise(in[0], out[1], die);
		ck_assert_int_eq(r, 1);
		close(out[1]);
		ck_assert_int_eq(cs_fd_read_all(out[0], &pid, sizeof(pid)), sizeof(pid));
		ck_assert_int_eq(cs_pidref_open(pid, &child), 0);
		ck_assert_int_eq(cs_pidref_kill(&parent, SIGKILL), 0);
		ck_assert_int_eq(finish(&parent), SIGKILL);
		if (!die) {
			/* it still does its work, until its input ends */
			ck_assert_int_eq(cs_fd_write_all(in[1], &byte, 1), 0);
			wait_readable(out[0]);
			ck_assert_int_eq(cs_fd_read_all(out[0], &byte, 1), 1);
			close(in[1]);
		}
		ck_assert_int_eq(cs_pidref_wait_dead(&child, patience()), 0);
		wait_readable(out[0]);
		ck_assert_int_eq(cs_fd_read_all(out[0], &byte, 1), 0);
		cs_pidref_release(&child);
		close(in[0]);
		close(out[0]);
		if (die)
			close(in[1]);
	}
}
END_TEST

START_TEST(many_in_a_row_leave_nothing)
{
	struct cs_spawn s = { .argv = ARGV("/bin/true") };
	struct cs_err err = CS_ERR_INIT;
	int before = null_fd(), after;

	close(before);
	for (int i = 0; i < 100; i++) {
		struct cs_pidref child = CS_PIDREF_INIT;

		ck_ok(cs_spawn(&s, &child, &err), err);
		ck_assert_int_eq(finish(&child), 0);
	}
	after = null_fd();
	ck_assert_int_eq(after, before);
	close(after);
	assert_no_children();
}
END_TEST

START_TEST(fork_gives_a_pidref_to_the_parent_only)
{
	struct cs_pidref child = CS_PIDREF_INIT;
	int r = cs_spawn_fork(&child);

	if (r == 0)
		_exit(child.fd == -1 && child.pid == 0 ? 7 : 1);
	ck_assert_int_eq(r, 1);
	ck_assert_int_eq(finish(&child), 7 << 8);
}
END_TEST

CS_UNIT_SUITE(spawn, exec_that_fails_says_why, name_without_slash_is_no_path,
	      earlier_steps_are_named, no_descriptor_left_for_the_pidfd_is_a_limit,
	      descriptors_overlap_in_every_way, nothing_else_is_inherited,
	      nothing_else_is_inherited_without_close_range,
	      child_has_default_signals_and_the_mask_asked_for, our_own_mask_is_as_it_was,
	      child_starts_in_its_directory_with_its_environment, path_and_argv0_may_differ, image_goes_before_path,
	      child_leads_a_group_before_we_go_on, child_enters_its_cgroups_itself,
	      child_dies_with_us_when_asked, many_in_a_row_leave_nothing,
	      fork_gives_a_pidref_to_the_parent_only)
