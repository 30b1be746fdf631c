/*
 * The three standard streams of one process: pipes, sinks, drains, stdin, and
 * the two waits at the end.
 *
 *     open → child_fds to the engine's create → close_child_ends
 *     → engine_words (what the engine said so far) → begin → … → finish
 *
 * A process with a terminal has one stream: what it prints is stdout, stderr
 * stays empty. The pipes are the engine's alone then, and the terminal's master,
 * which the engine sends through a console socket, is given between its create and begin:
 *
 *     open (plan.terminal) → … → give_terminal → begin → follow_size … → finish
 *
 * Until `begin` everything that arrives is the engine's: it is read all the time
 * (an engine that prints a megabyte must not block), kept up to a bound, and never
 * delivered nor counted. With `hold` it stays in the pipes, to be delivered from
 * begin on; engine_words then tells what an engine that failed had to say.
 */
#ifndef CS_TASK_STREAMS_H
#define CS_TASK_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"
#include "shim/stdio/drain.h"
#include "shim/sys/loop.h"

struct cs_streams; /* opaque */

enum cs_stream { CS_STREAM_OUT, CS_STREAM_ERR, CS_STREAMS };

enum cs_streams_event {
	CS_STREAMS_CAP,        /* a stream offered the byte past its cap */
	CS_STREAMS_READER_GONE /* nobody reads stdout nor stderr any more */
};

typedef void cs_streams_fn(enum cs_streams_event event, void *arg);

struct cs_streams_plan {
	bool hold;                           /* nothing is read before begin: the program may run already (exec has no start) */
	bool interactive;                    /* stdin from fd 0, else /dev/null */
	bool terminal;                       /* the process has one */
	bool watch_readers;                  /* report CS_STREAMS_READER_GONE for fds 1 and 2 */
	bool mark_cap, mark_rate;            /* say in stderr's sink that a cap is reached; that a rate is passed */
	uid_t uid;                           /* owner of the pipes, so that /dev/stdout can be opened again inside */
	gid_t gid;
	struct cs_drain_config drain[CS_STREAMS];
	struct cs_sink *sinks_consume[CS_STREAMS];
};

/* The sinks are taken over in every case. */
int cs_streams_open(struct cs_loop *loop, const struct cs_streams_plan *plan, cs_streams_fn *fn,
		    void *arg, struct cs_streams **ret, struct cs_err *err);
void cs_streams_free(struct cs_streams *streams); /* NULL allowed */

/* stdin, stdout, stderr for the engine; borrowed. */
const int *cs_streams_child_fds(const struct cs_streams *streams);
/* Once the container has them: ours are closed, so that its end is seen. */
void cs_streams_close_child_ends(struct cs_streams *streams);

/* What arrived before begin, both streams together, stderr's last. */
void cs_streams_engine_words(struct cs_streams *streams, struct cs_buf *out);

/* They have been passed on. */
void cs_streams_forget_words(struct cs_streams *streams);

/*
 * The master of the process's terminal, consumed; size_fd (borrowed during
 * begin; -1: none) is the terminal whose window size it takes over.
 */
void cs_streams_give_terminal(struct cs_streams *streams, int master_fd_consume, int size_fd);

/* The window size there may have changed. No-op without a terminal. NULL allowed. */
void cs_streams_follow_size(struct cs_streams *streams);

/* From here on it is the program's. */
int cs_streams_begin(struct cs_streams *streams, struct cs_err *err);

/* Monotonic time of the last byte seen of either; 0: none yet. */
int64_t cs_streams_last_byte_ns(const struct cs_streams *streams);

/*
 * The process has ended: nothing is passed on to it any more, and a terminal
 * that nobody else has open comes to its end. For who looks whether somebody has; finish does it
 * too.
 */
void cs_streams_hang_up(struct cs_streams *streams);

/*
 * Takes what has been written by now, and delivers what of it can be delivered
 * at once. From outside the loop, which is turned; waits for nothing.
 */
void cs_streams_catch_up(struct cs_streams *streams);

/*
 * After the end of the process: turns the loop until both streams are done.
 * Reading ends at EOF or when nothing came for drain_timeout while somebody
 * holds the stream (*ret_held); flushing ends when the sink took nothing for
 * flush_timeout.
 */
void cs_streams_finish(struct cs_streams *streams, int64_t drain_timeout_ns,
		       int64_t flush_timeout_ns, bool *ret_held);

/* Neither wait goes on, of a finish that is under way or to come: called from its loop. NULL allowed. */
void cs_streams_hurry(struct cs_streams *streams);

/* NULL before begin, and for stderr beside a terminal. */
struct cs_drain *cs_streams_drain(const struct cs_streams *streams, enum cs_stream which);

#endif
