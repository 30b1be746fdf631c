#include "shim/base/clock.h"
#include "shim/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

START_TEST(pipes_and_copies_are_cloexec)
{
	int fds[2], copy;

	ck_assert_int_eq(cs_fd_pipe(fds, O_NONBLOCK), 0);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
	ck_assert(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	copy = cs_fd_dup(fds[0], 100);
	ck_assert_int_ge(copy, 100);
	ck_assert_int_eq(fcntl(copy, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(cs_fd_set_cloexec(copy, false), 0);
	ck_assert_int_eq(fcntl(copy, F_GETFD), 0);
	ck_assert_int_eq(cs_fd_set_nonblock(fds[0], false), 0);
	ck_assert(!(fcntl(fds[0], F_GETFL) & O_NONBLOCK));
	close(copy);
	close(fds[0]);
	close(fds[1]);
	ck_assert_int_eq(cs_fd_dup(-1, 0), -EBADF);
	ck_assert_int_eq(cs_fd_set_nonblock(-1, true), -EBADF);
	ck_assert_int_eq(cs_fd_set_cloexec(-1, true), -EBADF);
}
END_TEST

START_TEST(close_empties_and_keeps_errno)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), number = fd, taken;

	errno = E2BIG;
	cs_close_fd(&fd);
	ck_assert_int_eq(errno, E2BIG);
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(fcntl(number, F_GETFD), -1);
	errno = E2BIG;
	cs_close_fd(&fd);
	ck_assert_int_eq(errno, E2BIG);

	fd = 77;
	taken = cs_take_fd(&fd);
	ck_assert_int_eq(taken, 77);
	ck_assert_int_eq(fd, -1);
}
END_TEST

static void on_alarm(int signal CS_UNUSED)
{
}

/* A child that feeds the pipe in two halves, and one that drains it: more than a pipe holds goes through. */
START_TEST(all_is_written_and_read_through_a_small_pipe)
{
	static char out[300000], in[300000];
	struct sigaction action = { .sa_handler = on_alarm };
	int fds[2], status;
	pid_t child;

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)(i * 7 + i / 251);
	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	sigaction(SIGUSR1, &action, NULL); /* no SA_RESTART: a call under way gets EINTR */
	child = fork();
	if (child == 0) {
		close(fds[0]);
		kill(getppid(), SIGUSR1);
		_exit(cs_fd_write_all(fds[1], out, sizeof(out)) == 0 ? 0 : 1);
	}
	close(fds[1]);
	ck_assert_int_eq(cs_fd_read_all(fds[0], in, sizeof(in)), sizeof(in));
	ck_assert_int_eq(memcmp(in, out, sizeof(in)), 0);
	ck_assert_int_eq(cs_fd_read_all(fds[0], in, sizeof(in)), 0);
	while (waitpid(child, &status, 0) < 0)
		ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(status, 0);
	close(fds[0]);
}
END_TEST

START_TEST(short_reads_and_errors_are_told)
{
	char buf[10];
	int fds[2];

	ck_assert_int_eq(cs_fd_pipe(fds, O_NONBLOCK), 0);
	ck_assert_int_eq(cs_fd_read_all(fds[0], buf, sizeof(buf)), -EAGAIN);
	ck_assert_int_eq(cs_fd_write_all(fds[1], "abc", 3), 0);
	ck_assert_int_eq(cs_fd_write_all(fds[1], "", 0), 0);
	close(fds[1]);
	ck_assert_int_eq(cs_fd_read_all(fds[0], buf, sizeof(buf)), 3);
	ck_assert_int_eq(cs_fd_write_all(fds[0], "x", 1), -EBADF);
	close(fds[0]);
}
END_TEST

/* In a child: closes some of 0, 1, 2 and looks at what takes their places. */
START_TEST(missing_stdio_becomes_null)
{
	for (int missing = 0; missing < 8; missing++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			for (int fd = 0; fd <= 2; fd++)
				if (missing & 1 << fd)
					close(fd);
			if (cs_fd_fill_stdio() < 0)
				_exit(1);
			for (int fd = 0; fd <= 2; fd++) {
				char path[64], link[64] = "";

				if (fcntl(fd, F_GETFD) != 0)
					_exit(2);
				snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
				if (missing & 1 << fd &&
				    (readlink(path, link, sizeof(link) - 1) < 0 ||
				     strcmp(link, "/dev/null") != 0))
					_exit(3);
			}
			_exit(0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_msg(status == 0, "missing %d: status %d", missing, status);
	}
}
END_TEST

static void assert_cloexec_from(int lowest)
{
	int null = open("/dev/null", O_RDONLY);

	ck_assert_int_eq(dup2(null, 50), 50);
	ck_assert_int_eq(dup2(null, 51), 51);
	ck_assert_int_eq(dup2(null, 300), 300);
	ck_assert_int_eq(cs_fd_cloexec_from(lowest), 0);
	ck_assert_int_eq(fcntl(50, F_GETFD), 0);
	ck_assert_int_eq(fcntl(51, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(300, F_GETFD), FD_CLOEXEC);
	close(null);
}

START_TEST(cloexec_from)
{
	assert_cloexec_from(51);
}
END_TEST

START_TEST(cloexec_from_without_close_range)
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
	assert_cloexec_from(51);
}
END_TEST

START_TEST(waits_for_bytes_for_the_end_and_not_for_ever)
{
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_eq(cs_fd_wait_readable(fds[0], cs_clock_deadline_ns(CS_NSEC_PER_MSEC)), -ETIMEDOUT);
	ck_assert_int_eq(cs_fd_write_all(fds[1], "x", 1), 0);
	ck_assert_int_eq(cs_fd_wait_readable(fds[0], 0), 0);
	ck_assert_int_eq(read(fds[0], (char[1]){ 0 }, 1), 1);
	cs_close_fd(&fds[1]);
	ck_assert_int_eq(cs_fd_wait_readable(fds[0], CS_NEVER), 0);
	cs_close_fd(&fds[0]);
}
END_TEST

CS_UNIT_SUITE(fd, waits_for_bytes_for_the_end_and_not_for_ever, pipes_and_copies_are_cloexec, close_empties_and_keeps_errno,
	      all_is_written_and_read_through_a_small_pipe, short_reads_and_errors_are_told,
	      missing_stdio_becomes_null, cloexec_from, cloexec_from_without_close_range)
