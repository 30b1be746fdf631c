#include "tests/unit/stdio/plumbing.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shim/base/fd.h"

void plumbing_on_event(struct cs_drain *drain, enum cs_drain_event event, int errnum, void *arg)
{
	struct plumbing *p = arg;

	p->events[event]++;
	if (errnum != 0)
		p->errnum = errnum;
	if (event == CS_DRAIN_DONE && p->free_on_done) {
		cs_drain_free(drain);
		p->drain = NULL;
	}
}

void plumbing_init_sink(struct plumbing *p, struct cs_sink *sink,
			const struct cs_drain_config *config)
{
	struct cs_err err = CS_ERR_INIT;
	int source[2];

	*p = (struct plumbing){ .loop = cs_loop_new(), .reader = -1 };
	ck_assert_ptr_nonnull(p->loop);
	ck_assert_int_eq(cs_fd_pipe(source, 0), 0);
	p->program = source[1];
	ck_assert_int_eq(cs_fd_set_nonblock(p->program, true), 0);
	ck_ok(cs_drain_new(p->loop, source[0], sink, config, plumbing_on_event, p, &p->drain, &err), err);
}

void plumbing_init(struct plumbing *p, int sink_fd, const struct cs_drain_config *config)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_sink *sink;
	int pipe[2] = { -1, -1 };

	if (sink_fd < 0) {
		ck_assert_int_eq(cs_fd_pipe(pipe, 0), 0);
		ck_assert_int_eq(cs_fd_set_nonblock(pipe[0], true), 0);
		sink_fd = pipe[1];
	}
	ck_ok(cs_sink_new_fd(sink_fd, &sink, &err), err);
	cs_close_fd(&pipe[1]);
	plumbing_init_sink(p, sink, config);
	p->reader = pipe[0];
}

void plumbing_release(struct plumbing *p)
{
	cs_drain_free(p->drain);
	cs_loop_free(p->loop);
	cs_close_fd(&p->program);
	cs_close_fd(&p->reader);
}

void program_writes(struct plumbing *p, const void *data, size_t len)
{
	ck_assert_int_eq(cs_fd_write_all(p->program, data, len), 0);
}

void program_says(struct plumbing *p, const char *text)
{
	program_writes(p, text, strlen(text));
}

void program_ends(struct plumbing *p)
{
	cs_close_fd(&p->program);
}

void reader_reads(struct plumbing *p, struct cs_buf *out)
{
	char piece[4096];
	ssize_t n;

	while (p->reader >= 0 && (n = read(p->reader, piece, sizeof(piece))) > 0)
		ck_assert_int_eq(cs_buf_add(out, piece, (size_t)n), 0);
}

void settle(struct plumbing *p)
{
	int r;

	/* longer than a drain may leave its source alone (1 ms) */
	do {
		r = cs_loop_turn(p->loop, cs_clock_deadline_ns(20 * CS_NSEC_PER_MSEC));
	} while (r > 0);
	ck_assert_int_eq(r, 0);
}

void run_to_done(struct plumbing *p, struct cs_buf *out)
{
	while (!p->events[CS_DRAIN_DONE]) {
		int r;

		reader_reads(p, out);
		r = cs_loop_turn(p->loop, cs_clock_deadline_ns(10 * CS_NSEC_PER_SEC));
		ck_assert_msg(r > 0, "nothing happens any more: %d", r);
	}
	reader_reads(p, out);
}

struct cs_drain_counts counts_of(const struct plumbing *p)
{
	struct cs_drain_counts counts;

	cs_drain_counts(p->drain, &counts);
	return counts;
}

/* 251 is prime, so that a slip by a power of two shows; the block number tells blocks apart. */
static char pattern_at(uint64_t at)
{
	return (char)(at % 251 ^ at / 65536);
}

void fill_pattern(char *data, size_t len, uint64_t from)
{
	for (size_t i = 0; i < len; i++)
		data[i] = pattern_at(from + i);
}

void ck_pattern(const char *data, size_t len, uint64_t from)
{
	for (size_t i = 0; i < len; i++)
		if (data[i] != pattern_at(from + i))
			ck_abort_msg("byte %zu of %zu is wrong", i, len);
}

size_t fill_pipe(int write_fd)
{
	static const char zeros[4096];
	size_t total = 0;
	ssize_t n;

	while ((n = write(write_fd, zeros, sizeof(zeros))) > 0)
		total += (size_t)n;
	ck_assert_int_eq(errno, EAGAIN);
	return total;
}
