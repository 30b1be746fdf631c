#include "shim/stdio/feed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "tests/unit/stdio/plumbing.h"

/* The container's side is `stdin_fd`, a nonblocking read end. */
struct feeding {
	struct cs_loop *loop;
	struct cs_feed *feed;
	int stdin_fd;
	struct cs_buf got;
	bool eof;
};

static void feeding_init(struct feeding *f, int from_fd)
{
	struct cs_err err = CS_ERR_INIT;
	int fds[2];

	*f = (struct feeding){ .loop = cs_loop_new(), .got = CS_BUF_INIT(1 << 20) };
	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	f->stdin_fd = fds[0];
	ck_assert_int_eq(cs_fd_set_nonblock(f->stdin_fd, true), 0);
	ck_ok(cs_feed_new(f->loop, from_fd, fds[1], &f->feed, &err), err);
}

static void feeding_release(struct feeding *f)
{
	cs_feed_free(f->feed);
	cs_loop_free(f->loop);
	cs_close_fd(&f->stdin_fd);
	cs_buf_release(&f->got);
}

static void turn(struct feeding *f)
{
	int r;

	do {
		r = cs_loop_turn(f->loop, cs_clock_deadline_ns(2 * CS_NSEC_PER_MSEC));
	} while (r > 0);
	ck_assert_int_eq(r, 0);
}

static void container_reads(struct feeding *f)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(f->stdin_fd, piece, sizeof(piece))) > 0)
		ck_assert_int_eq(cs_buf_add(&f->got, piece, (size_t)n), 0);
	f->eof = n == 0;
}

static void read_to_eof(struct feeding *f)
{
	for (;;) {
		container_reads(f);
		if (f->eof)
			return;
		ck_assert_int_gt(cs_loop_turn(f->loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)),
				 0);
	}
}

/* Descriptors of this process that write to the pipe behind fd (proc_pid_fd(5)). */
static int writers_of(int fd)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat pipe, st;
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	ck_assert_int_eq(fstat(fd, &pipe), 0);
	while ((entry = readdir(dir))) {
		int other = (int)strtoul(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && other != fd && fstat(other, &st) == 0 &&
		    st.st_ino == pipe.st_ino && st.st_dev == pipe.st_dev)
			n++;
	}
	closedir(dir);
	return n;
}

START_TEST(eof_is_passed_on_once)
{
	/* echo hi | cat: EOF comes exactly at the caller's, and nobody keeps a second writer (F043) */
	struct feeding f;
	int caller[2];

	ck_assert_int_eq(cs_fd_pipe(caller, 0), 0);
	feeding_init(&f, caller[0]);
	ck_assert_int_eq(writers_of(f.stdin_fd), 1);
	ck_assert_int_eq(write(caller[1], "hi\n", 3), 3);
	turn(&f);
	container_reads(&f);
	ck_assert_str_eq(f.got.data, "hi\n");
	ck_assert(!f.eof && !cs_feed_is_done(f.feed));
	cs_close_fd(&caller[1]);
	turn(&f);
	container_reads(&f);
	ck_assert(f.eof && cs_feed_is_done(f.feed));
	ck_assert_int_eq(writers_of(f.stdin_fd), 0);
	ck_assert_uint_eq(cs_feed_bytes(f.feed), 3);
	ck_assert_int_eq(fcntl(caller[0], F_GETFL), O_RDONLY);
	cs_close_fd(&caller[0]);
	feeding_release(&f);
}
END_TEST

START_TEST(empty_stdin)
{
	cs_autofd int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct feeding f;

	feeding_init(&f, null_fd);
	read_to_eof(&f);
	ck_assert_uint_eq(f.got.len, 0);
	ck_assert(cs_feed_is_done(f.feed));
	feeding_release(&f);
}
END_TEST

/* What the caller wrote before is fed whole, past every buffer on the way. */
static void check_whole(int from_fd, size_t len, int caller_fd)
{
	static char data[600000];
	struct feeding f;
	size_t written = 0;

	feeding_init(&f, from_fd);
	fill_pattern(data, len, 0);
	while (caller_fd >= 0 && written < len) {
		ssize_t n = write(caller_fd, data + written, CS_MIN(len - written, 7001));

		if (n > 0)
			written += (size_t)n;
		else
			ck_assert_int_eq(errno, EAGAIN);
		ck_assert_int_ge(cs_loop_turn(f.loop, 0), 0);
		if (n < 0)
			container_reads(&f);
	}
	cs_close_fd(&caller_fd);
	read_to_eof(&f);
	ck_assert_uint_eq(f.got.len, len);
	ck_pattern(f.got.data, len, 0);
	ck_assert_uint_eq(cs_feed_bytes(f.feed), len);
	feeding_release(&f);
}

START_TEST(pipes_and_sockets)
{
	int fds[2];

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	ck_assert_int_eq(cs_fd_set_nonblock(fds[1], true), 0);
	check_whole(fds[0], 600000, fds[1]);
	cs_close_fd(&fds[0]);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	ck_assert_int_eq(cs_fd_set_nonblock(fds[1], true), 0);
	check_whole(fds[0], 600000, fds[1]);
	ck_assert_int_eq(fcntl(fds[0], F_GETFL), O_RDWR);
	cs_close_fd(&fds[0]);
}
END_TEST

START_TEST(regular_file)
{
	static char data[600000];
	cs_autofd int fd = memfd_create("test", MFD_CLOEXEC);

	fill_pattern(data, sizeof(data), 0);
	ck_assert_int_eq(cs_fd_write_all(fd, data, sizeof(data)), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	check_whole(fd, sizeof(data), -1);
	/* the offset is the caller's: who reads on behind us finds the end */
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), sizeof(data));
}
END_TEST

START_TEST(full_pipe_is_back_pressure)
{
	static char data[600000];
	cs_autofd int fd = memfd_create("test", MFD_CLOEXEC);
	struct feeding f;
	int caller[2];

	/* a file is not read further than the pipe and one buffer go */
	ck_assert_int_eq(cs_fd_write_all(fd, data, sizeof(data)), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	feeding_init(&f, fd);
	turn(&f);
	ck_assert_int_le(lseek(fd, 0, SEEK_CUR), (64 + 16) * 1024);
	ck_assert(!cs_feed_is_done(f.feed));
	feeding_release(&f);

	/* a caller who is gone does not make a full feed spin */
	ck_assert_int_eq(cs_fd_pipe(caller, 0), 0);
	ck_assert_int_eq(cs_fd_set_nonblock(caller[1], true), 0);
	feeding_init(&f, caller[0]);
	while (fill_pipe(caller[1]) > 0)
		turn(&f);
	cs_close_fd(&caller[1]);
	turn(&f);
	ck_assert_uint_le(cs_feed_bytes(f.feed), 64 * 1024);
	read_to_eof(&f);
	ck_assert_uint_eq(f.got.len, cs_feed_bytes(f.feed));
	cs_close_fd(&caller[0]);
	feeding_release(&f);
}
END_TEST

START_TEST(container_closes_its_stdin)
{
	struct feeding f;
	int caller[2];

	ck_assert_int_eq(cs_fd_pipe(caller, 0), 0);
	feeding_init(&f, caller[0]);
	turn(&f);
	/* seen without anything to feed */
	cs_close_fd(&f.stdin_fd);
	ck_assert_int_eq(cs_loop_turn(f.loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)), 1);
	ck_assert(cs_feed_is_done(f.feed));
	/* what the caller writes stays with the caller */
	ck_assert_int_eq(write(caller[1], "unread", 6), 6);
	turn(&f);
	ck_assert_uint_eq(cs_feed_bytes(f.feed), 0);
	cs_close_fd(&caller[0]);
	cs_close_fd(&caller[1]);
	feeding_release(&f);
}
END_TEST

START_TEST(container_closes_in_the_middle)
{
	struct feeding f;
	int caller[2];

	ck_assert_int_eq(cs_fd_pipe(caller, 0), 0);
	ck_assert_int_eq(cs_fd_set_nonblock(caller[1], true), 0);
	feeding_init(&f, caller[0]);
	fill_pipe(caller[1]);
	cs_close_fd(&f.stdin_fd);
	turn(&f);
	ck_assert(cs_feed_is_done(f.feed));
	cs_close_fd(&caller[0]);
	cs_close_fd(&caller[1]);
	feeding_release(&f);
}
END_TEST

START_TEST(terminal)
{
	struct feeding f;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave, flags;

	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	ck_assert_int_ge(slave, 0);
	flags = fcntl(slave, F_GETFL);
	feeding_init(&f, slave);
	ck_assert_int_eq(write(master, "line\n", 5), 5);
	while (f.got.len < 5) {
		ck_assert_int_gt(cs_loop_turn(f.loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)),
				 0);
		container_reads(&f);
	}
	ck_assert_str_eq(f.got.data, "line\n");
	ck_assert_int_eq(fcntl(slave, F_GETFL), flags);
	ck_assert_int_eq(write(master, "\004", 1), 1); /* ^D */
	read_to_eof(&f);
	ck_assert_str_eq(f.got.data, "line\n");
	ck_assert_int_eq(fcntl(slave, F_GETFL), flags);
	cs_close_fd(&slave);
	cs_close_fd(&master);
	feeding_release(&f);
}
END_TEST

START_TEST(what_cannot_be_read_is_empty)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_feed *feed;
	struct feeding f;
	int fds[2];
	cs_autofd int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	feeding_init(&f, directory);
	read_to_eof(&f);
	ck_assert_uint_eq(f.got.len, 0);
	/* a descriptor that is not open */
	cs_close_fd(&f.stdin_fd);
	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	ck_fails(cs_feed_new(f.loop, f.stdin_fd, fds[1], &feed, &err), err, "Bad file descriptor");
	ck_assert_int_eq(fcntl(fds[1], F_GETFD), -1); /* consumed */
	cs_close_fd(&fds[0]);
	cs_feed_free(NULL);
	feeding_release(&f);
}
END_TEST

CS_UNIT_SUITE(feed, eof_is_passed_on_once, empty_stdin, pipes_and_sockets, regular_file,
	      full_pipe_is_back_pressure, container_closes_its_stdin,
	      container_closes_in_the_middle, terminal, what_cannot_be_read_is_empty)
