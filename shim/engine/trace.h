/*
 * A trace session with gVisor's sandbox: the raw wait status of a container's
 * init, and the processes of its execs.
 *
 * We listen on a SOCK_SEQPACKET socket; the engine connects during create and
 * sends packets until its end. The bytes come from a kernel that the guest
 * may have taken over: parsed strictly, in bounded memory; a broken session only
 * means "status unknown".
 */
#ifndef CS_ENGINE_TRACE_H
#define CS_ENGINE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/err.h"
#include "shim/sys/loop.h"

struct cs_trace; /* opaque */

/* Listens at dir/trace.sock and writes dir/trace.json for --pod-init-config; paths are then in cs_trace_config_path. */
int cs_trace_new(struct cs_loop *loop, const char *dir, struct cs_trace **ret, struct cs_err *err);
void cs_trace_free(struct cs_trace *trace); /* NULL allowed */

const char *cs_trace_config_path(const struct cs_trace *trace);

/* Takes in what is queued, without blocking: before asking, after the sandbox ended. */
void cs_trace_pump(struct cs_trace *trace);

/* Raw wait status of thread group 1 of the container `id`: 0, or -ENODATA when its packet did not come. */
int cs_trace_init_status(const struct cs_trace *trace, const char *id, int *ret_status);

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

/* 0 or -EBADMSG. */
int cs_trace_parse(const void *data, size_t len, struct cs_trace_packet *ret);

#endif
