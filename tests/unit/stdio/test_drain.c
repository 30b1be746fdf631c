#include "shim/stdio/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "tests/unit/stdio/plumbing.h"

START_TEST(passes_everything)
{
	static char data[200000];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	plumbing_init(&p, -1, &config);
	program_says(&p, "first");
	settle(&p);
	reader_reads(&p, &out);
	ck_assert_str_eq(out.data, "first"); /* no newline, no waiting for one */
	ck_assert_int_eq(p.events[CS_DRAIN_EOF], 0);
	ck_assert(counts_of(&p).last_read_ns > 0);
	cs_buf_reset(&out);

	fill_pattern(data, sizeof(data), 0);
	program_writes(&p, data, sizeof(data)); /* fits: the source was made larger */
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_uint_eq(out.len, sizeof(data));
	ck_pattern(out.data, out.len, 0);
	ck_counts(&p, sizeof(data) + 5, sizeof(data) + 5, 0);
	ck_assert_int_eq(p.events[CS_DRAIN_EOF], 1);
	ck_assert_int_eq(p.events[CS_DRAIN_DONE], 1);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 0);
	ck_assert(cs_drain_at_eof(p.drain));
	ck_assert(!counts_of(&p).truncated);
	plumbing_release(&p);
}
END_TEST

/* written, cap: what is past it is dropped, what is not is not, and only the byte past it raises CAP. */
static void check_cap(size_t written, uint64_t cap, size_t pieces)
{
	static char data[200000];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	size_t kept = CS_MIN(written, cap);

	config.cap_bytes = cap;
	plumbing_init(&p, -1, &config);
	fill_pattern(data, written, 0);
	for (size_t done = 0; done < written;) {
		size_t n = CS_MIN(written - done, pieces);

		program_writes(&p, data + done, n);
		done += n;
		if (done % 3 == 0)
			cs_loop_turn(p.loop, 0);
	}
	settle(&p);
	if (cap < 60000) /* the sink's pipe holds it */
		ck_assert_int_eq(p.events[CS_DRAIN_CAP], written > cap);
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_uint_eq(out.len, kept);
	if (kept > 0)
		ck_pattern(out.data, out.len, 0);
	ck_counts(&p, written, kept, written - kept);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], written > cap);
	ck_assert(counts_of(&p).truncated == (written > cap));
	plumbing_release(&p);
}

START_TEST(cap_is_exact)
{
	static const uint64_t caps[] = { 0, 1, 100, 4095, 4096, 4097, 50000, 65536, 100001 };

	for (size_t i = 0; i < CS_ARRAY_LEN(caps); i++) {
		check_cap(caps[i], caps[i], 200000);
		check_cap(caps[i] + 1, caps[i], 200000);
		check_cap(caps[i] + 70000, caps[i], 200000);
		check_cap(caps[i] + 5000, caps[i], 1009);
		if (caps[i] > 0)
			check_cap(caps[i] - 1, caps[i], 200000);
	}
	check_cap(3000, 1000, 1);
}
END_TEST

START_TEST(cap_is_reported_by_the_byte_past_it)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_drain_config config = { .cap_bytes = 5, .rate_bytes_per_s = UINT64_MAX };
	struct plumbing p;

	plumbing_init(&p, -1, &config);
	program_says(&p, "12345");
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 0);
	program_says(&p, "6");
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 1);
	program_says(&p, "789");
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 1);
	cs_drain_note(p.drain, "caisson: that was all");
	settle(&p);
	reader_reads(&p, &out);
	ck_assert_str_eq(out.data, "12345caisson: that was all\n");
	ck_counts(&p, 9, 5, 4);
	plumbing_release(&p);
}
END_TEST

START_TEST(slow_reader_stops_the_program)
{
	cs_auto(buf) out = CS_BUF_INIT(2 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	size_t written = 0, more;

	plumbing_init(&p, -1, &config);
	do {
		more = fill_pipe(p.program);
		written += more;
		settle(&p);
	} while (more > 0);
	/* the source's pipe, the sink's, and one buffer at most: nothing else */
	ck_assert_uint_le(written, (1024 + 64 + 64) * 1024);
	ck_assert(cs_drain_is_blocked(p.drain));
	ck_assert(!cs_drain_is_idle(p.drain));
	ck_assert_uint_le(counts_of(&p).kept_bytes, 64 * 1024);
	program_ends(&p);
	ck_assert_int_eq(cs_loop_turn(p.loop, cs_clock_deadline_ns(20 * CS_NSEC_PER_MSEC)), 0);
	run_to_done(&p, &out);
	ck_assert_uint_eq(out.len, written);
	ck_counts(&p, written, written, 0);
	plumbing_release(&p);
}
END_TEST

START_TEST(two_drains_one_sink)
{
	/* 2>&1: one descriptor, two sinks, one epoll set, and a reader that is slow at first */
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	static char data[150000];
	struct plumbing a, b;
	size_t from_a = 0;
	int pipe[2];

	ck_assert_int_eq(cs_fd_pipe(pipe, 0), 0);
	plumbing_init(&a, pipe[1], &config);
	plumbing_init(&b, pipe[1], &config);
	/* one loop for both */
	cs_drain_free(b.drain);
	cs_close_fd(&b.program);
	cs_loop_free(b.loop);
	{
		struct cs_err err = CS_ERR_INIT;
		struct cs_sink *sink;
		int source[2];

		ck_ok(cs_sink_new_fd(pipe[1], &sink, &err), err);
		ck_assert_int_eq(cs_fd_pipe(source, O_NONBLOCK), 0);
		ck_ok(cs_drain_new(a.loop, source[0], sink, &config, NULL, NULL, &b.drain, &err),
		      err);
		b.program = source[1];
		b.loop = a.loop;
	}
	memset(data, 'a', sizeof(data));
	program_writes(&a, data, sizeof(data));
	memset(data, 'b', sizeof(data));
	program_writes(&b, data, sizeof(data));
	settle(&a);
	ck_assert(cs_drain_is_blocked(a.drain) && cs_drain_is_blocked(b.drain));
	program_ends(&a);
	program_ends(&b);
	cs_close_fd(&pipe[1]);
	a.reader = pipe[0];
	ck_assert_int_eq(cs_fd_set_nonblock(a.reader, true), 0);
	run_to_done(&a, &out);
	while (!cs_drain_is_done(b.drain)) {
		reader_reads(&a, &out);
		ck_assert_int_gt(cs_loop_turn(a.loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)),
				 0);
	}
	reader_reads(&a, &out);
	ck_assert_uint_eq(out.len, 2 * sizeof(data));
	for (size_t i = 0; i < out.len; i++)
		from_a += out.data[i] == 'a';
	ck_assert_uint_eq(from_a, sizeof(data));
	cs_drain_free(b.drain);
	plumbing_release(&a);
}
END_TEST

START_TEST(broken_sink_becomes_drops)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	static char data[100000];
	struct plumbing p;

	config.cap_bytes = 150000;
	plumbing_init(&p, -1, &config);
	program_says(&p, "seen by the reader");
	settle(&p);
	cs_close_fd(&p.reader);
	program_writes(&p, data, sizeof(data));
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_SINK_BROKEN], 1);
	ck_assert_int_eq(p.errnum, EPIPE);
	ck_assert_int_eq(counts_of(&p).sink_errnum, EPIPE);
	ck_counts(&p, 18 + sizeof(data), 18, sizeof(data));
	ck_assert(!counts_of(&p).truncated);
	cs_drain_note(p.drain, "to nobody");
	/* the cap still holds for a program that nobody reads */
	program_writes(&p, data, sizeof(data));
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_SINK_BROKEN], 1);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 1);
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_counts(&p, 18 + 2 * sizeof(data), 18, 2 * sizeof(data));
	plumbing_release(&p);
}
END_TEST

START_TEST(reader_goes_while_blocked)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	size_t written = 0, more;

	plumbing_init(&p, -1, &config);
	do {
		more = fill_pipe(p.program);
		written += more;
		settle(&p);
	} while (more > 0);
	cs_close_fd(&p.reader);
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_assert_int_eq(p.errnum, EPIPE);
	ck_assert_uint_eq(counts_of(&p).seen_bytes, written);
	ck_assert_uint_eq(counts_of(&p).kept_bytes + counts_of(&p).dropped_bytes, written);
	ck_assert_uint_gt(counts_of(&p).dropped_bytes, 0);
	plumbing_release(&p);
}
END_TEST

START_TEST(full_disk)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	static char data[100000];
	cs_autofd int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct plumbing p;

	ck_assert_int_ge(fd, 0);
	plumbing_init(&p, fd, &config);
	program_writes(&p, data, sizeof(data));
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_assert_int_eq(p.errnum, ENOSPC);
	ck_counts(&p, sizeof(data), 0, sizeof(data));
	plumbing_release(&p);
}
END_TEST

START_TEST(rate_drops_and_counts)
{
	static char data[100000];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	/* nothing is gained within the test */
	config.rate_bytes_per_s = 0;
	config.burst_bytes = 10000;
	plumbing_init(&p, -1, &config);
	fill_pattern(data, sizeof(data), 0);
	program_writes(&p, data, 10000);
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_RATE_DROP], 0);
	program_writes(&p, data + 10000, 1);
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_RATE_DROP], 1);
	program_writes(&p, data, sizeof(data));
	settle(&p);
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_uint_eq(out.len, 10000);
	ck_pattern(out.data, out.len, 0);
	ck_counts(&p, 110001, 10000, 100001);
	ck_assert_int_eq(p.events[CS_DRAIN_RATE_DROP], 1);
	ck_assert(counts_of(&p).truncated);
	plumbing_release(&p);
}
END_TEST

START_TEST(rate_recovers)
{
	static char data[200000];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	config.rate_bytes_per_s = 1000000;
	config.burst_bytes = 20000; /* full again after 20 ms */
	plumbing_init(&p, -1, &config);
	program_writes(&p, data, sizeof(data));
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_RATE_DROP], 1);
	/* the silence of settle() has filled it */
	program_says(&p, "back again");
	settle(&p);
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_uint_ge(out.len, 20010);
	ck_assert_str_eq(out.data + out.len - 10, "back again");
	ck_assert_int_eq(p.events[CS_DRAIN_RATE_DROP], 1);
	plumbing_release(&p);
}
END_TEST

START_TEST(rate_by_cost)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	config.rate_bytes_per_s = 0;
	config.burst_bytes = 1000; /* 10 lines of "y": 98 each */
	config.cost = cs_bucket_cost_json_file;
	plumbing_init(&p, -1, &config);
	for (int i = 0; i < 5000; i++)
		program_says(&p, "y\n");
	program_ends(&p);
	run_to_done(&p, &out);
	/* the 20 tokens left pay for the eleventh y, not for its newline */
	ck_assert_str_eq(out.data, "y\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny");
	ck_counts(&p, 10000, 21, 9979);
	ck_assert_int_eq(p.events[CS_DRAIN_RATE_DROP], 1);
	plumbing_release(&p);
}
END_TEST

START_TEST(a_bucket_for_two)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct cs_bucket bucket;
	struct plumbing first, second;

	cs_bucket_init(&bucket, 0, 1000, cs_clock_now_ns());
	config.bucket = &bucket;
	plumbing_init(&first, -1, &config);
	plumbing_init(&second, -1, &config);
	program_says(&first, "eight...");
	program_ends(&first);
	run_to_done(&first, &out);
	ck_assert_uint_eq(bucket.level, 992);
	for (int i = 0; i < 100; i++)
		program_says(&second, "and twelve..");
	program_ends(&second);
	run_to_done(&second, &out);
	ck_counts(&second, 1200, 992, 208);
	ck_assert_uint_eq(bucket.level, 0);
	plumbing_release(&first);
	plumbing_release(&second);
}
END_TEST

START_TEST(note_waits_behind_the_stream)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_drain_config config = { .cap_bytes = 100000, .rate_bytes_per_s = UINT64_MAX };
	static char data[150000];
	struct plumbing p;

	plumbing_init(&p, -1, &config);
	fill_pattern(data, sizeof(data), 0);
	program_writes(&p, data, sizeof(data));
	settle(&p);
	ck_assert(cs_drain_is_blocked(p.drain));
	while (p.events[CS_DRAIN_CAP] == 0) {
		reader_reads(&p, &out);
		settle(&p);
	}
	cs_drain_note(p.drain, "the end\n");
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_uint_eq(out.len, 100008);
	ck_pattern(out.data, 100000, 0);
	ck_assert_str_eq(out.data + 100000, "the end\n");
	ck_counts(&p, 150000, 100000, 50000);
	cs_drain_note(p.drain, "after the end"); /* best effort, still */
	reader_reads(&p, &out);
	ck_assert_str_eq(out.data + 100008, "after the end\n");
	plumbing_release(&p);
}
END_TEST

START_TEST(is_freed_from_its_callback)
{
	cs_auto(buf) out = CS_BUF_INIT(16);
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;

	plumbing_init(&p, -1, &config);
	p.free_on_done = true;
	program_says(&p, "bye");
	program_ends(&p);
	run_to_done(&p, &out);
	plumbing_release(&p);
}
END_TEST

/*
 * Memory of this process that is its own, in KiB. VmHWM is kept per CPU in
 * batches and wrong by up to 256 KiB; this is counted page by page
 * (proc(5), smaps_rollup).
 */
static unsigned long private_kib(void)
{
	cs_auto(buf) rollup = CS_BUF_INIT(64 * 1024);
	const char *line;

	ck_assert_int_eq(cs_file_read(AT_FDCWD, "/proc/self/smaps_rollup", &rollup), 0);
	line = strstr(rollup.data, "Private_Dirty:");
	ck_assert_ptr_nonnull(line);
	return strtoul(line + sizeof("Private_Dirty:"), NULL, 10);
}

static unsigned long pass_megabytes(int sink_fd, uint64_t cap, int megabytes)
{
	static char block[1 << 20];
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	unsigned long after;
	pid_t child;

	config.cap_bytes = cap;
	plumbing_init(&p, sink_fd, &config);
	child = fork();
	if (child == 0) {
		int r = cs_fd_set_nonblock(p.program, false);

		for (int i = 0; i < megabytes && r == 0; i++)
			r = cs_fd_write_all(p.program, block, sizeof(block));
		_exit(r == 0 ? 0 : 1);
	}
	program_ends(&p);
	run_to_done(&p, NULL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_uint_eq(counts_of(&p).seen_bytes, (uint64_t)megabytes << 20);
	after = private_kib();
	plumbing_release(&p);
	return after;
}

/* A sanitizer keeps freed memory back: nothing to measure then. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAS_ASAN 1
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

START_TEST(memory_is_flat)
{
	cs_autofd int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	static const uint64_t caps[] = { UINT64_MAX, 4096 };

	for (size_t i = 0; i < CS_ARRAY_LEN(caps) && !HAS_ASAN; i++) {
		unsigned long before = pass_megabytes(null_fd, caps[i], 2);

		ck_assert_uint_le(pass_megabytes(null_fd, caps[i], 200), before + 64);
	}
}
END_TEST

static void on_gone(struct cs_loop *loop CS_UNUSED, int fd CS_UNUSED, uint32_t events CS_UNUSED,
		    void *arg)
{
	++*(int *)arg;
}

static void check_gone(struct cs_loop *loop, int ours, int *theirs)
{
	struct cs_source source;
	int calls = 0, watch_fd;

	ck_assert_int_eq(cs_drain_watch_reader(loop, ours, on_gone, &calls, &source, &watch_fd), 0);
	ck_assert_int_eq(cs_loop_turn(loop, 0), 0);
	cs_close_fd(theirs);
	ck_assert_int_eq(cs_loop_turn(loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)), 1);
	ck_assert_int_eq(cs_loop_turn(loop, cs_clock_deadline_ns(CS_NSEC_PER_MSEC)), 0);
	ck_assert_int_eq(calls, 1);
	cs_loop_remove(loop, &source);
	cs_close_fd(&watch_fd);
}

START_TEST(gone_reader_is_seen)
{
	struct cs_loop *loop = cs_loop_new();
	struct cs_source source;
	int fds[2], watch_fd;

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	check_gone(loop, fds[1], &fds[0]);
	cs_close_fd(&fds[1]);

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	check_gone(loop, fds[1], &fds[0]);
	cs_close_fd(&fds[1]);

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	ck_assert_int_eq(cs_drain_watch_reader(loop, fds[0], on_gone, NULL, &source, &watch_fd),
			 -ENOTSUP);
	cs_close_fd(&fds[0]);
	cs_close_fd(&fds[1]);
	fds[0] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(cs_drain_watch_reader(loop, fds[0], on_gone, NULL, &source, &watch_fd),
			 -ENOTSUP);
	cs_close_fd(&fds[0]);
	ck_assert_int_eq(cs_drain_watch_reader(loop, fds[0], on_gone, NULL, &source, &watch_fd),
			 -EBADF);
	cs_loop_free(loop);
}
END_TEST

START_TEST(refuses_what_is_no_pipe)
{
	struct cs_drain_config config = CS_DRAIN_CONFIG_INIT;
	struct cs_loop *loop = cs_loop_new();
	struct cs_err err = CS_ERR_INIT;
	struct cs_drain *drain;
	struct cs_sink *sink;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_ok(cs_sink_new_null(&sink, &err), err);
	ck_fails(cs_drain_new(loop, fd, sink, &config, NULL, NULL, &drain, &err), err,
		 "is not a pipe");
	ck_assert_int_eq(err.kind, CS_INVALID);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1); /* consumed */
	cs_drain_free(NULL);
	cs_loop_free(loop);
}
END_TEST

CS_UNIT_SUITE(drain, passes_everything, cap_is_exact, cap_is_reported_by_the_byte_past_it,
	      slow_reader_stops_the_program, two_drains_one_sink, broken_sink_becomes_drops,
	      reader_goes_while_blocked, full_disk, rate_drops_and_counts, rate_recovers,
	      rate_by_cost, a_bucket_for_two, note_waits_behind_the_stream, is_freed_from_its_callback,
	      memory_is_flat, gone_reader_is_seen, refuses_what_is_no_pipe)
