/*
 * A trace session with gVisor's sandbox: which processes there are inside, and
 * the raw wait status of a container's init, which the engine itself tells only as a shell code (`exit 137` and a
 * death by signal 9 are the same there).
 *
 * We listen on a SOCK_SEQPACKET socket; the engine connects during create,
 * exchanges versions and sends packets until its end. The bytes come from a
 * kernel that the guest may have taken over: parsed strictly, in fixed memory;
 * a broken session only means "status unknown", and nothing here ever waits.
 *
 *     cs_trace_new(loop, run_dir, &trace, err);
 *     args.trace_config = cs_trace_config_path(trace);
 *     cs_engine_call(loop, create) …       the loop answers the handshake
 *     … the sandbox has ended …
 *     cs_trace_pump(trace);
 *     if (cs_trace_init_status(trace, id, &status) < 0) … ambiguous
 */
#ifndef CS_ENGINE_TRACE_H
#define CS_ENGINE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/err.h"
#include "shim/sys/loop.h"

struct cs_trace; /* opaque */
struct cs_trace_tree;

/*
 * Listens at dir/trace.sock and writes dir/trace.json for --pod-init-config.
 * dir: absolute, ours alone (0700); it may be longer than a socket address, the
 * engine then gets a way through our /proc/PID/fd. The socket file goes once the
 * engine has connected, trace.json with the directory. *ret is the caller's,
 * to be freed before the loop. CS_EXISTS: a session is there already.
 */
int cs_trace_new(struct cs_loop *loop, const char *dir, struct cs_trace **ret, struct cs_err *err);
/* Ends the session and removes the socket file if it is still there. NULL allowed. */
void cs_trace_free(struct cs_trace *trace);

/* Absolute path of trace.json; borrowed from trace. */
const char *cs_trace_config_path(const struct cs_trace *trace);

/* Takes in what is queued, without blocking and at most a fixed number of packets: before asking, after the sandbox ended. */
void cs_trace_pump(struct cs_trace *trace);

/*
 * Raw wait status (waitpid(2)) of init, thread group 1 of the container `id`: 0,
 * or -ENODATA when its packet did not come. Of a group with threads each end is
 * told; the last one counts, so ask after the sandbox ended.
 */
int cs_trace_init_status(const struct cs_trace *trace, const char *id, int *ret_status);

/* What is known of its processes (trace_tree.h); borrowed. Pump first. */
const struct cs_trace_tree *cs_trace_processes(const struct cs_trace *trace);

/* Has a sandbox shaken hands? Then a status that did not come was never sent, or was dropped. */
bool cs_trace_is_connected(const struct cs_trace *trace);

/* Messages the sandbox dropped because the socket was full. */
uint64_t cs_trace_dropped(const struct cs_trace *trace);

/* --- the parser alone, pure, for tests and fuzzing ---------------------- */

enum cs_trace_kind { CS_TRACE_OTHER, CS_TRACE_START, CS_TRACE_CLONE, CS_TRACE_EXIT };

struct cs_trace_packet {
	enum cs_trace_kind kind;
	uint32_t dropped;
	uint64_t thread, group;          /* of the context */
	char container[129];
	int32_t status;                  /* EXIT: raw */
	uint64_t new_thread, new_group;  /* CLONE */
};

/*
 * One packet: header, then a protobuf message (wire format as in the Protocol
 * Buffers documentation, "Encoding"). Kinds that nobody asks for here are OTHER, with
 * nothing but `dropped` filled. Fields that are absent are 0. 0, or -EBADMSG
 * with ret untouched: lengths that do not fit, numbers out of range, a container
 * id that is none, a status that waitpid(2) cannot give.
 */
int cs_trace_parse(const void *data, size_t len, struct cs_trace_packet *ret);

#endif
