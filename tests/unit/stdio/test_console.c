/* A terminal as the source of a drain, as the target of a feed, and the relay around both. */
#include "shim/stdio/console.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/sys/pty.h"
#include "tests/unit/stdio/plumbing.h"

/* The drain's plumbing with a terminal as its source: p.program is the container's end, in raw mode. */
static struct cs_console *relay_init(struct plumbing *p, const struct cs_console_config *config,
				     const struct cs_drain_config *drain_config, bool raw)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_console *console;
	struct cs_sink *sink;
	int master, slave, output, reader[2];

	*p = (struct plumbing){ .loop = cs_loop_new() };
	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	if (raw)
		ck_assert_int_eq(cs_pty_make_raw(slave), 0);
	ck_assert_int_eq(cs_fd_set_nonblock(slave, true), 0);
	p->program = slave;
	ck_ok(cs_console_new(p->loop, master, config, &console, &err), err);
	ck_ok(cs_console_output(console, &output, &err), err);
	ck_assert_int_eq(fcntl(output, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(cs_fd_pipe(reader, 0), 0);
	ck_assert_int_eq(cs_fd_set_nonblock(reader[0], true), 0);
	p->reader = reader[0];
	ck_ok(cs_sink_new_fd(reader[1], &sink, &err), err);
	cs_close_fd(&reader[1]);
	ck_ok(cs_drain_new(p->loop, output, sink, drain_config, plumbing_on_event, p, &p->drain, &err), err);
	return console;
}

static void relay_release(struct plumbing *p, struct cs_console *console)
{
	cs_drain_free(p->drain);
	p->drain = NULL;
	cs_console_free(console);
	plumbing_release(p);
}

/* Writes all of it, turning and reading where the terminal is full. */
static void program_pours(struct plumbing *p, const char *data, size_t len, struct cs_buf *out)
{
	while (len > 0) {
		ssize_t n = write(p->program, data, len);

		if (n > 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert_int_gt(cs_loop_turn(p->loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)), 0);
		reader_reads(p, out);
	}
}

START_TEST(all_of_it_and_the_end_F046)
{
	static char data[300000];
	const size_t lengths[] = { 0, 1, 4095, 4096, 4097, 8192, 12288, 65536, sizeof(data) };
	struct cs_console_config config = CS_CONSOLE_CONFIG_INIT;
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;

	fill_pattern(data, sizeof(data), 0);
	for (size_t i = 0; i < CS_ARRAY_LEN(lengths); i++) {
		cs_auto(buf) out = CS_BUF_INIT(1 << 20);
		struct plumbing p;
		struct cs_console *console = relay_init(&p, &config, &drain, true);

		program_pours(&p, data, lengths[i], &out);
		program_ends(&p);
		cs_console_hang_up(console);
		run_to_done(&p, &out);
		ck_assert(cs_drain_at_eof(p.drain));
		ck_counts(&p, lengths[i], lengths[i], 0);
		ck_assert_uint_eq(out.len, lengths[i]);
		ck_pattern(out.data, out.len, 0);
		ck_assert_int_eq(p.events[CS_DRAIN_EOF], 1);
		relay_release(&p, console);
	}
}
END_TEST

START_TEST(held_open_until_the_hang_up)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_console_config config = CS_CONSOLE_CONFIG_INIT;
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console = relay_init(&p, &config, &drain, true);
	char path[64];

	ck_assert_int_eq(ttyname_r(p.program, path, sizeof(path)), 0);
	program_says(&p, "before ");
	program_ends(&p); /* a program that closes its three */
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_EOF], 0);
	ck_assert(cs_drain_is_idle(p.drain));
	p.program = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	program_says(&p, "after");
	cs_console_hang_up(console);
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_EOF], 0); /* somebody has it open still */
	program_ends(&p);
	run_to_done(&p, &out);
	ck_assert_str_eq(out.data, "before after");
	relay_release(&p, console);
}
END_TEST

START_TEST(cap_to_the_byte)
{
	static char data[200000];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_console_config config = CS_CONSOLE_CONFIG_INIT;
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console;

	drain.cap_bytes = 100001;
	fill_pattern(data, sizeof(data), 0);
	console = relay_init(&p, &config, &drain, true);
	program_pours(&p, data, 100001, &out);
	settle(&p);
	reader_reads(&p, &out);
	settle(&p);
	reader_reads(&p, &out);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 0);
	ck_assert_uint_eq(out.len, 100001);
	program_says(&p, "x");
	settle(&p);
	ck_assert_int_eq(p.events[CS_DRAIN_CAP], 1);
	program_pours(&p, data, sizeof(data), &out);
	program_ends(&p);
	cs_console_hang_up(console);
	run_to_done(&p, &out);
	ck_assert_uint_eq(out.len, 100001);
	ck_pattern(out.data, out.len, 0);
	ck_counts(&p, 100002 + sizeof(data), 100001, 1 + sizeof(data));
	ck_assert(counts_of(&p).truncated);
	relay_release(&p, console);
}
END_TEST

START_TEST(rate_bucket)
{
	static char data[64 * 1024];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_console_config config = CS_CONSOLE_CONFIG_INIT;
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console;
	struct cs_drain_counts counts;

	drain.rate_bytes_per_s = 1;
	drain.burst_bytes = 10000;
	console = relay_init(&p, &config, &drain, true);
	program_pours(&p, data, sizeof(data), &out);
	program_ends(&p);
	cs_console_hang_up(console);
	run_to_done(&p, &out);
	counts = counts_of(&p);
	ck_assert_uint_eq(counts.seen_bytes, sizeof(data));
	ck_assert_uint_eq(counts.kept_bytes + counts.dropped_bytes, sizeof(data));
	ck_assert_uint_ge(counts.kept_bytes, 10000);
	ck_assert_uint_lt(counts.kept_bytes, 10100);
	ck_assert_uint_eq(out.len, counts.kept_bytes);
	ck_assert_int_ge(p.events[CS_DRAIN_RATE_DROP], 1);
	relay_release(&p, console);
}
END_TEST

START_TEST(a_slow_reader_stops_the_program)
{
	static char data[400000];
	struct cs_console_config config = CS_CONSOLE_CONFIG_INIT;
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console = relay_init(&p, &config, &drain, true);
	size_t written = 0;
	ssize_t n;
	int rounds = 0;

	/* nobody reads: the sink's pipe, one buffer, and the terminal's queues fill, and that is all */
	do {
		while ((n = write(p.program, data, 4096)) > 0)
			written += (size_t)n;
		settle(&p);
		rounds = cs_drain_is_blocked(p.drain) ? rounds + 1 : 0;
	} while (rounds < 3);
	ck_assert_uint_lt(written, 200000);
	ck_assert_int_eq(write(p.program, "x", 1), -1);
	ck_assert(cs_drain_is_blocked(p.drain));

	cs_console_hang_up(console);
	cs_drain_flush_give_up(p.drain);
	program_ends(&p);
	while (!p.events[CS_DRAIN_DONE])
		ck_assert_int_gt(cs_loop_turn(p.loop, cs_clock_deadline_ns(CS_NSEC_PER_SEC)), 0);
	ck_assert(counts_of(&p).sink_stalled);
	ck_counts(&p, written, counts_of(&p).kept_bytes, written - counts_of(&p).kept_bytes);
	relay_release(&p, console);
}
END_TEST

START_TEST(stop_reads_what_is_there)
{
	static char data[9000];
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	struct cs_console_config config = CS_CONSOLE_CONFIG_INIT;
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console = relay_init(&p, &config, &drain, true);
	size_t written = 0;
	ssize_t n;

	/* both queues are full, and only one is counted */
	fill_pattern(data, sizeof(data), 0);
	while (written < sizeof(data) && (n = write(p.program, data + written, sizeof(data) - written)) > 0)
		written += (size_t)n;
	ck_assert_uint_gt(written, 4096);
	cs_console_hang_up(console); /* somebody inside still has it open */
	cs_drain_stop(p.drain);
	run_to_done(&p, &out);
	ck_assert(!cs_drain_at_eof(p.drain));
	ck_assert_uint_eq(out.len, written);
	ck_pattern(out.data, out.len, 0);
	relay_release(&p, console);
}
END_TEST

/* --- what is typed ------------------------------------------------------------- */

/* What the program reads from its terminal until it gets an end, or `len` bytes. */
static void program_reads(struct plumbing *p, struct cs_buf *got, size_t len)
{
	char piece[4096];
	ssize_t n;

	while (got->len < len) {
		n = read(p->program, piece, sizeof(piece));
		if (n == 0)
			return;
		if (n > 0) {
			ck_assert_int_eq(cs_buf_add(got, piece, (size_t)n), 0);
			continue;
		}
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert_int_gt(cs_loop_turn(p->loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)), 0);
	}
}

static void check_typed(const char *text, int from_fd)
{
	cs_auto(buf) got = CS_BUF_INIT(4096);
	cs_auto(buf) out = CS_BUF_INIT(4096);
	struct cs_console_config config = { .input_fd = from_fd, .size_fd = -1 };
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console = relay_init(&p, &config, &drain, false);

	program_reads(&p, &got, SIZE_MAX);
	ck_assert_uint_eq(got.len, strlen(text));
	ck_assert_mem_eq(got.data ? got.data : "", text, got.len);
	/* one end, and the terminal is still there */
	ck_assert_int_eq(read(p.program, (char[1]){ 0 }, 1), -1);
	ck_assert_int_eq(errno, EAGAIN);
	program_says(&p, "!");
	while (out.len == 0 || out.data[out.len - 1] != '!') {
		ck_assert_int_gt(cs_loop_turn(p.loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC)), 0);
		reader_reads(&p, &out);
	}
	relay_release(&p, console);
}

static int pipe_with(const char *text)
{
	int fds[2];

	ck_assert_int_eq(cs_fd_pipe(fds, 0), 0);
	ck_assert_int_eq(cs_fd_write_all(fds[1], text, strlen(text)), 0);
	cs_close_fd(&fds[1]);
	return fds[0];
}

START_TEST(the_end_of_a_pipe_is_typed)
{
	const char *const texts[] = { "", "line\n", "no newline", "two\nlines", "a\n\n" };

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++) {
		cs_autofd int pipe_fd = pipe_with(texts[i]);
		cs_autofd int file_fd = memfd_create("test", MFD_CLOEXEC);

		check_typed(texts[i], pipe_fd);
		ck_assert_int_eq(cs_fd_write_all(file_fd, texts[i], strlen(texts[i])), 0);
		ck_assert_int_eq(lseek(file_fd, 0, SEEK_SET), 0);
		check_typed(texts[i], file_fd);
	}
}
END_TEST

START_TEST(much_input_waits_for_the_program)
{
	static char data[100000];
	cs_auto(buf) got = CS_BUF_INIT(1 << 20);
	cs_autofd int file_fd = memfd_create("test", MFD_CLOEXEC);
	struct cs_console_config config = { .input_fd = file_fd, .size_fd = -1 };
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console;

	fill_pattern(data, sizeof(data), 0);
	ck_assert_int_eq(cs_fd_write_all(file_fd, data, sizeof(data)), 0);
	ck_assert_int_eq(lseek(file_fd, 0, SEEK_SET), 0);
	console = relay_init(&p, &config, &drain, true);
	settle(&p);
	ck_assert_int_le(lseek(file_fd, 0, SEEK_CUR), 48 * 1024);
	/* in raw mode the character for the end is one like others */
	program_reads(&p, &got, sizeof(data) + 1);
	ck_pattern(got.data, sizeof(data), 0);
	ck_assert_int_eq(got.data[sizeof(data)], 4);
	relay_release(&p, console);
}
END_TEST

START_TEST(a_callers_terminal)
{
	cs_auto(buf) got = CS_BUF_INIT(4096);
	cs_autofd int caller = -1, tty = -1;
	struct cs_console_config config;
	struct cs_drain_config drain = CS_DRAIN_CONFIG_INIT;
	struct plumbing p;
	struct cs_console *console;
	struct winsize size = { .ws_row = 30, .ws_col = 100 }, seen;
	int flags;

	ck_assert_int_eq(cs_pty_open(&caller, &tty), 0);
	ck_assert_int_eq(cs_pty_make_raw(tty), 0);
	flags = fcntl(tty, F_GETFL);
	ck_assert_int_eq(ioctl(caller, TIOCSWINSZ, &size), 0);
	config = (struct cs_console_config){ .input_fd = tty, .size_fd = tty };
	console = relay_init(&p, &config, &drain, false);
	ck_assert_int_eq(ioctl(p.program, TIOCGWINSZ, &seen), 0);
	ck_assert_int_eq(seen.ws_row, 30);
	size.ws_col = 77;
	ck_assert_int_eq(ioctl(caller, TIOCSWINSZ, &size), 0);
	cs_console_follow_size(console);
	ck_assert_int_eq(ioctl(p.program, TIOCGWINSZ, &seen), 0);
	ck_assert_int_eq(seen.ws_col, 77);

	/* ^D is a byte like others to us, and an end to the program */
	ck_assert_int_eq(write(caller, "ab\n\004", 4), 4);
	program_reads(&p, &got, SIZE_MAX);
	ck_assert_str_eq(got.data, "ab\n");
	ck_assert_int_eq(write(caller, "c\n", 2), 2);
	program_reads(&p, &got, 5);
	ck_assert_str_eq(got.data, "ab\nc\n");
	/* its hang-up ends nothing inside */
	cs_close_fd(&caller);
	settle(&p);
	ck_assert_int_eq(read(p.program, (char[1]){ 0 }, 1), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(fcntl(tty, F_GETFL), flags);
	relay_release(&p, console);
}
END_TEST

START_TEST(what_is_no_master)
{
	struct cs_console_config config = CS_CONSOLE_CONFIG_INIT;
	struct cs_loop *loop = cs_loop_new();
	struct cs_console *console;
	struct cs_err err = CS_ERR_INIT;
	int master, slave;

	ck_assert_int_eq(cs_pty_open(&master, &slave), 0);
	ck_fails(cs_console_new(loop, slave, &config, &console, &err), err, "not the master");
	ck_assert_int_eq(fcntl(slave, F_GETFD), -1);
	cs_err_clear(&err);
	config.input_fd = 1000; /* not open */
	ck_fails(cs_console_new(loop, master, &config, &console, &err), err, "Bad file descriptor");
	ck_assert_int_eq(fcntl(master, F_GETFD), -1);
	cs_console_free(NULL);
	cs_loop_free(loop);
}
END_TEST

CS_UNIT_SUITE(console, all_of_it_and_the_end_F046, held_open_until_the_hang_up, cap_to_the_byte, rate_bucket,
	      a_slow_reader_stops_the_program, stop_reads_what_is_there, the_end_of_a_pipe_is_typed,
	      much_input_waits_for_the_program, a_callers_terminal, what_is_no_master)
