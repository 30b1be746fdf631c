#include "shim/stdio/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/stdio/sink_int.h"
#include "tests/unit/stdio/plumbing.h"

static char scratch_dir[32];

static const char *scratch(const char *name)
{
	static char path[PATH_MAX];

	if (scratch_dir[0] == '\0') {
		snprintf(scratch_dir, sizeof(scratch_dir), "/tmp/cs-test-sink-XXXXXX");
		ck_assert_ptr_nonnull(mkdtemp(scratch_dir));
	}
	snprintf(path, sizeof(path), "%s/%s", scratch_dir, name);
	return path;
}

static void scratch_remove(const char *name)
{
	unlink(scratch(name));
	rmdir(scratch_dir);
	scratch_dir[0] = '\0';
}

/* A stream through a drain into fd: `len` bytes of the pattern, with small pieces first. */
static void stream_into(int fd, size_t len, struct plumbing *p, int reader)
{
	static char data[250000];
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;

	plumbing_init(p, fd, &config);
	p->reader = reader;
	fill_pattern(data, len, 0);
	program_writes(p, data, 1);
	settle(p);
	program_writes(p, data + 1, 99);
	settle(p);
	program_writes(p, data + 100, len - 100);
	program_ends(p);
}

START_TEST(flags_of_a_shared_description)
{
	/* the shell, its other children and we have one open file description: nobody's flags change */
	static const int kinds[] = { 0, O_NONBLOCK };

	for (size_t i = 0; i < CS_ARRAY_LEN(kinds); i++) {
		cs_auto(buf) out = CS_BUF_INIT(1 << 20);
		struct plumbing p;
		int fds[2], flags;

		ck_assert_int_eq(cs_fd_pipe(fds, kinds[i]), 0);
		flags = fcntl(fds[1], F_GETFL);
		ck_assert_int_eq(flags & O_NONBLOCK, kinds[i]);
		stream_into(fds[1], 200000, &p, cs_fd_dup(fds[0], 3));
		ck_assert_int_eq(fcntl(fds[1], F_GETFL), flags);
		settle(&p); /* blocked: the pipe is full, we are not stuck */
		ck_assert(cs_drain_is_blocked(p.drain));
		ck_assert_int_eq(fcntl(fds[1], F_GETFL), flags);
		ck_assert_int_eq(fcntl(fds[0], F_GETFL) & O_NONBLOCK, kinds[i]);
		while (!cs_drain_is_done(p.drain)) {
			char piece[4096];
			struct pollfd ready = { .fd = fds[0], .events = POLLIN };

			while (poll(&ready, 1, 0) == 1) {
				ssize_t n = read(fds[0], piece, sizeof(piece));

				ck_assert_int_eq(cs_buf_add(&out, piece, (size_t)n), 0);
			}
			ck_assert_int_gt(
				cs_loop_turn(p.loop, cs_clock_deadline_ns(CS_NSEC_PER_SEC)), 0);
		}
		ck_assert_int_eq(fcntl(fds[1], F_GETFL), flags);
		ck_assert_int_eq(fcntl(fds[0], F_GETFL) & O_NONBLOCK, kinds[i]);
		/* the pipe is the caller's: not even its size is ours */
		ck_assert_int_eq(fcntl(fds[1], F_GETPIPE_SZ), 65536);
		cs_close_fd(&fds[0]);
		cs_close_fd(&fds[1]);
		plumbing_release(&p);
	}
}
END_TEST

START_TEST(pipe_without_a_description_of_our_own)
{
	/* what happens where /proc is missing: the same with the caller's blocking description */
	struct cs_err err = CS_ERR_INIT;
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	static char data[200000];
	struct cs_sink *sink;
	struct plumbing p;
	int fds[2];

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	ck_ok(cs_sink_new_fd(fds[1], &sink, &err), err);
	cs_close_fd(&sink->fd);
	sink->fd = fds[1];
	sink->asks = true;
	sink->piece_max = PIPE_BUF;
	sink->copies = true;
	plumbing_init_sink(&p, sink, &config);
	p.reader = fds[0];
	ck_assert_int_eq(cs_fd_set_nonblock(p.reader, true), 0);
	fill_pattern(data, sizeof(data), 0);
	program_writes(&p, data, sizeof(data));
	settle(&p);
	ck_assert(cs_drain_is_blocked(p.drain));
	sink->copies = false; /* splice from here on */
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_uint_eq(out.len, sizeof(data));
	ck_pattern(out.data, out.len, 0);
	plumbing_release(&p);
}
END_TEST

START_TEST(small_pieces_do_not_fill_slots)
{
	/* 16 splices of a byte would fill the pipe; 5000 bytes one by one must fit */
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	plumbing_init(&p, -1, &config);
	for (int i = 0; i < 5000; i++) {
		program_writes(&p, "x", 1);
		ck_assert_int_ge(cs_loop_turn(p.loop, cs_clock_deadline_ns(CS_NSEC_PER_SEC)), 1);
	}
	settle(&p);
	ck_assert(!cs_drain_is_blocked(p.drain));
	ck_counts(&p, 5000, 5000, 0);
	plumbing_release(&p);
}
END_TEST

static void check_file(int flags, const char *before)
{
	cs_auto(buf) content = CS_BUF_INIT(1 << 20);
	size_t prefix = strlen(before);
	struct plumbing p;
	int fd = open(scratch("file"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(cs_fd_write_all(fd, before, prefix), 0);
	if (flags & O_APPEND) {
		cs_close_fd(&fd);
		fd = open(scratch("file"), O_WRONLY | O_APPEND | O_CLOEXEC);
	}
	stream_into(fd, 200000, &p, -1);
	run_to_done(&p, NULL);
	ck_counts(&p, 200000, 200000, 0);
	/* the offset is shared with the caller, who may write on behind us */
	ck_assert_int_eq(write(fd, "!", 1), 1);
	cs_close_fd(&fd);
	ck_assert_int_eq(cs_file_read(AT_FDCWD, scratch("file"), &content), 0);
	ck_assert_uint_eq(content.len, prefix + 200001);
	ck_assert_mem_eq(content.data, before, prefix);
	ck_pattern(content.data + prefix, 200000, 0);
	ck_assert_int_eq(content.data[content.len - 1], '!');
	plumbing_release(&p);
	scratch_remove("file");
}

START_TEST(regular_files)
{
	check_file(0, "");
	check_file(0, "before");
	check_file(O_APPEND, "before");
}
END_TEST

START_TEST(full_tmpfs)
{
	/* a disk that fills in the middle: what got in counts as kept, and the program goes on (F065) */
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	static char data[200000];
	struct plumbing p;
	struct stat st;
	int fd;

	scratch("");
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", scratch_dir, "tmpfs", 0, "size=64k") < 0) {
		scratch_remove("none");
		return;
	}
	fd = open(scratch("log"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	plumbing_init(&p, fd, &config);
	program_writes(&p, data, 1000);
	settle(&p);
	program_writes(&p, data, sizeof(data));
	settle(&p);
	ck_assert_int_eq(p.errnum, ENOSPC);
	program_writes(&p, data, sizeof(data));
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_assert_int_eq(p.events[CS_DRAIN_SINK_BROKEN], 1);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 65536);
	ck_counts(&p, 1000 + 2 * sizeof(data), 65536, 1000 + 2 * sizeof(data) - 65536);
	cs_close_fd(&fd);
	plumbing_release(&p);
	ck_assert_int_eq(umount2(scratch_dir, MNT_DETACH), 0);
	scratch_remove("none");
}
END_TEST

START_TEST(file_too_large)
{
	/* EFBIG in the middle of a write: what got in counts as kept, the rest as dropped */
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	static char data[100000];
	struct plumbing p;
	struct stat st;
	cs_autofd int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(ftruncate(fd, 12288), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	plumbing_init(&p, fd, &config);
	program_writes(&p, data, sizeof(data));
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_assert_int_eq(p.errnum, EPERM);
	ck_assert_int_eq(p.events[CS_DRAIN_SINK_BROKEN], 1);
	ck_assert_uint_eq(counts_of(&p).kept_bytes, (uint64_t)lseek(fd, 0, SEEK_CUR));
	ck_assert_uint_eq(counts_of(&p).kept_bytes + counts_of(&p).dropped_bytes, sizeof(data));
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 12288);
	plumbing_release(&p);
}
END_TEST

START_TEST(sockets)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };

	for (size_t i = 0; i < CS_ARRAY_LEN(types); i++) {
		cs_auto(buf) out = CS_BUF_INIT(1 << 20);
		struct plumbing p;
		int fds[2], flags;

		ck_assert_int_eq(socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, fds), 0);
		ck_assert_int_eq(cs_fd_set_nonblock(fds[0], true), 0);
		flags = fcntl(fds[1], F_GETFL);
		stream_into(fds[1], 250000, &p, fds[0]);
		settle(&p);
		ck_assert(cs_drain_is_blocked(p.drain)); /* and did not block */
		run_to_done(&p, &out);
		ck_assert_uint_eq(out.len, 250000);
		ck_pattern(out.data, out.len, 0);
		ck_assert_int_eq(fcntl(fds[1], F_GETFL), flags);
		cs_close_fd(&fds[1]);
		plumbing_release(&p);
	}
}
END_TEST

START_TEST(socket_peer_closed)
{
	struct plumbing p;
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	cs_close_fd(&fds[0]);
	stream_into(fds[1], 10000, &p, -1);
	run_to_done(&p, NULL);
	ck_assert_int_eq(p.errnum, EPIPE);
	ck_counts(&p, 10000, 0, 10000);
	cs_close_fd(&fds[1]);
	plumbing_release(&p);
}
END_TEST

START_TEST(terminals)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct termios raw;
	struct plumbing p;
	int slave, flags;

	ck_assert_int_ge(master, 0);
	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	ck_assert_int_ge(slave, 0);
	ck_assert_int_eq(tcgetattr(slave, &raw), 0);
	cfmakeraw(&raw);
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &raw), 0);
	flags = fcntl(slave, F_GETFL);
	stream_into(slave, 60000, &p, master);
	settle(&p);
	ck_assert(cs_drain_is_blocked(p.drain));
	run_to_done(&p, &out);
	while (out.len < 60000) { /* a terminal hands on in its own time */
		struct pollfd ready = { .fd = master, .events = POLLIN };

		ck_assert_int_eq(poll(&ready, 1, 10000), 1);
		reader_reads(&p, &out);
	}
	ck_assert_uint_eq(out.len, 60000);
	ck_pattern(out.data, out.len, 0);
	ck_assert_int_eq(fcntl(slave, F_GETFL), flags);
	cs_close_fd(&slave);
	plumbing_release(&p);
}
END_TEST

START_TEST(terminal_master)
{
	/* opening a master again would make another terminal */
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios raw;
	struct plumbing p;
	int slave;

	ck_assert_int_eq(grantpt(master) | unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(slave, 0);
	ck_assert_int_eq(tcgetattr(slave, &raw), 0);
	cfmakeraw(&raw);
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &raw), 0);
	stream_into(master, 1000, &p, slave);
	run_to_done(&p, &out);
	while (out.len < 1000) {
		struct pollfd ready = { .fd = slave, .events = POLLIN };

		ck_assert_int_eq(poll(&ready, 1, 10000), 1);
		reader_reads(&p, &out);
	}
	ck_pattern(out.data, out.len, 0);
	cs_close_fd(&master);
	plumbing_release(&p);
}
END_TEST

START_TEST(null_takes_all)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct cs_err err = CS_ERR_INIT;
	static char data[100000];
	struct cs_sink *sink;
	struct plumbing p;

	ck_ok(cs_sink_new_null(&sink, &err), err);
	plumbing_init_sink(&p, sink, &config);
	program_says(&p, "small");
	settle(&p);
	program_writes(&p, data, sizeof(data));
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_counts(&p, 100005, 100005, 0);
	ck_assert_ptr_eq(cs_drain_sink(p.drain), sink);
	ck_assert_int_eq(cs_sink_captured(sink, NULL, NULL, NULL), -EINVAL);
	plumbing_release(&p);
}
END_TEST

START_TEST(descriptors_that_cannot_be_written)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_sink *sink;
	struct plumbing p;
	int fds[2];

	/* root could open the read end for writing: that would be wrong */
	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	stream_into(fds[0], 5000, &p, -1);
	run_to_done(&p, NULL);
	ck_assert_int_eq(p.errnum, EBADF);
	ck_counts(&p, 5000, 0, 5000);
	plumbing_release(&p);
	cs_close_fd(&fds[0]);
	cs_close_fd(&fds[1]);
	ck_fails(cs_sink_new_fd(fds[0], &sink, &err), err, "Bad file descriptor");
	cs_sink_free(NULL);
}
END_TEST

START_TEST(new_files)
{
	cs_auto(buf) content = CS_BUF_INIT(4096);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct cs_err err = CS_ERR_INIT;
	struct cs_sink *sink;
	struct plumbing p;
	char target[PATH_MAX];
	struct stat st;

	umask(022);
	snprintf(target, sizeof(target), "%s", scratch("out"));
	for (int i = 0; i < 2; i++) { /* made, then truncated */
		ck_ok(cs_sink_new_file(target, &sink, &err), err);
		plumbing_init_sink(&p, sink, &config);
		program_says(&p, i == 0 ? "a long first text" : "second");
		program_ends(&p);
		run_to_done(&p, NULL);
		plumbing_release(&p);
	}
	ck_assert_int_eq(cs_file_read(AT_FDCWD, target, &content), 0);
	ck_assert_str_eq(content.data, "second");
	ck_assert_int_eq(stat(target, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0644);

	ck_assert_int_eq(symlink(target, scratch("link")), 0);
	ck_fails(cs_sink_new_file(scratch("link"), &sink, &err), err, "/link'");
	cs_err_clear(&err);
	ck_assert_int_eq(mkfifo(scratch("fifo"), 0600), 0);
	ck_fails(cs_sink_new_file(scratch("fifo"), &sink, &err), err, "/fifo'");
	ck_assert_int_eq(err.errnum, ENXIO);
	cs_err_clear(&err);
	ck_fails(cs_sink_new_file(scratch_dir, &sink, &err), err, "directory");
	cs_err_clear(&err);
	ck_fails(cs_sink_new_file(scratch("none/x"), &sink, &err), err, "No such file");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	unlink(scratch("link"));
	unlink(scratch("fifo"));
	scratch_remove("out");
}
END_TEST

/* Streams len bytes into a capture and compares with the plain definition of what it keeps. */
static void check_capture(enum cs_capture which, uint64_t limit, size_t len, size_t piece)
{
	static char data[200000];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct cs_err err = CS_ERR_INIT;
	uint64_t gap = 99, gap_at = 99, tail_max, head, tail;
	struct cs_sink *sink;
	struct plumbing p;

	ck_ok(cs_sink_new_capture(which, limit, &sink, &err), err);
	plumbing_init_sink(&p, sink, &config);
	fill_pattern(data, len, 0);
	for (size_t done = 0; done < len; done += CS_MIN(piece, len - done)) {
		program_writes(&p, data + done, CS_MIN(piece, len - done));
		if (piece < 100000)
			ck_assert_int_ge(cs_loop_turn(p.loop, 0), 0);
	}
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_counts(&p, len, len, 0);
	ck_assert_int_eq(cs_sink_captured(sink, &out, &gap, &gap_at), 0);

	tail_max = which == CS_CAPTURE_HEAD ? 0 : which == CS_CAPTURE_TAIL ? limit : limit / 2;
	head = CS_MIN(len, limit - tail_max);
	tail = CS_MIN(len - head, tail_max);
	ck_assert_uint_eq(out.len, head + tail);
	ck_assert_uint_eq(gap, len - head - tail);
	ck_assert_uint_eq(gap_at, head);
	if (out.len > 0) {
		ck_pattern(out.data, head, 0);
		ck_pattern(out.data + head, tail, len - tail);
	}
	plumbing_release(&p);
}

START_TEST(captures)
{
	static const uint64_t limits[] = { 0, 1, 3, 100, 65536, 100001 };
	static const size_t lens[] = { 0, 1, 2, 101, 65537, 199999 };

	for (enum cs_capture which = CS_CAPTURE_HEAD; which <= CS_CAPTURE_BOTH; which++)
		for (size_t i = 0; i < CS_ARRAY_LEN(limits); i++)
			for (size_t j = 0; j < CS_ARRAY_LEN(lens); j++) {
				check_capture(which, limits[i], lens[j], 200000);
				check_capture(which, limits[i], lens[j], 5001);
				if (lens[j] < 200)
					check_capture(which, limits[i], lens[j], 1);
			}
}
END_TEST

START_TEST(captures_are_bounded)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_sink *sink;

	ck_fails(cs_sink_new_capture(CS_CAPTURE_HEAD, CS_CAPTURE_MAX_BYTES + 1, &sink, &err), err,
		 "at most 16777216");
	ck_assert_int_eq(err.kind, CS_LIMIT);
}
END_TEST

CS_UNIT_SUITE(sink, flags_of_a_shared_description, pipe_without_a_description_of_our_own,
	      small_pieces_do_not_fill_slots, regular_files, full_tmpfs, file_too_large, sockets,
	      socket_peer_closed, terminals, terminal_master, null_takes_all,
	      descriptors_that_cannot_be_written, new_files, captures, captures_are_bounded)
