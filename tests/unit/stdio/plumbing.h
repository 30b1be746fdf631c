/*
 * One drain between two pipes, all in one process: the test is the program
 * that writes and the reader behind the sink, and says when the loop turns.
 */
#ifndef CS_TESTS_STDIO_PLUMBING_H
#define CS_TESTS_STDIO_PLUMBING_H

#include "shim/base/buf.h"
#include "shim/stdio/drain.h"
#include "tests/unit/unit.h"

struct plumbing {
	struct cs_loop *loop;
	struct cs_drain *drain;
	int program; /* write end of the source */
	int reader;  /* read end of the sink's pipe, -1 where the sink is another */
	unsigned events[CS_DRAIN_DONE + 1]; /* how often each was reported */
	int errnum;
	bool free_on_done;
};

/* The callback of the drain, which counts: for a test that makes it by itself. */
cs_drain_fn plumbing_on_event;

/* sink_fd: a descriptor for the sink, or -1 for a pipe to `reader`. */
void plumbing_init(struct plumbing *p, int sink_fd, const struct cs_drain_config *config);
/* The same around a sink of any kind. */
void plumbing_init_sink(struct plumbing *p, struct cs_sink *sink,
			const struct cs_drain_config *config);
void plumbing_release(struct plumbing *p);

/* Writes all of it to the source without turning the loop; it must fit. */
void program_writes(struct plumbing *p, const void *data, size_t len);
void program_says(struct plumbing *p, const char *text);
void program_ends(struct plumbing *p);

/* Whatever the sink's pipe holds now is appended to out. */
void reader_reads(struct plumbing *p, struct cs_buf *out);

/* Turns the loop until nothing happens for a moment. */
void settle(struct plumbing *p);

/* Turns and reads until DONE. */
void run_to_done(struct plumbing *p, struct cs_buf *out);

struct cs_drain_counts counts_of(const struct plumbing *p);

/* seen = kept + dropped, and these. */
#define ck_counts(p, seen, kept, dropped) \
	do { \
		struct cs_drain_counts c_ = counts_of(p); \
		ck_assert_uint_eq(c_.seen_bytes, (seen)); \
		ck_assert_uint_eq(c_.kept_bytes, (kept)); \
		ck_assert_uint_eq(c_.dropped_bytes, (dropped)); \
	} while (0)

/* len bytes in which each place can be told from its neighbours. */
void fill_pattern(char *data, size_t len, uint64_t from);
void ck_pattern(const char *data, size_t len, uint64_t from);

/* A nonblocking pipe that is full to the last slot; returns what it holds. */
size_t fill_pipe(int write_fd);

#endif
