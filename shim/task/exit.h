/*
 * How a process ended: raw wait status → code, signal, reason, and the code
 * that the outside sees. Every conversion between them lives here (wait(2),
 * caisson(1), caisson-result(5)).
 */
#ifndef CS_TASK_EXIT_H
#define CS_TASK_EXIT_H

#include <stdbool.h>

/* Why a run ended. The order is that of the table in exit.c. */
enum cs_reason {
	CS_REASON_UNKNOWN,        /* neither end nor cause could be had */
	CS_REASON_EXITED,
	CS_REASON_SIGNALED,
	CS_REASON_WALL_LIMIT,
	CS_REASON_CPU_LIMIT,
	CS_REASON_IDLE_LIMIT,
	CS_REASON_OUTPUT_LIMIT,
	CS_REASON_OOM,
	CS_REASON_SECCOMP,        /* init died of SIGSYS */
	CS_REASON_SANDBOX_FAILED, /* the engine's own sandbox died, not the program */
	CS_REASON_CANCELLED,
	CS_REASON_STOPPED,        /* caisson stop, kill or rm from elsewhere */
	CS_REASON_EXPIRED,
	CS_REASON_START_FAILED,
	CS_REASON_QUEUE_FULL,
	CS_REASON_QUEUE_TIMEOUT,
	CS_REASON_ENDED,          /* known to have ended, not known how */
	CS_REASONS
};

/* Why a run could not start, for records and codes. */
enum cs_start_kind {
	CS_START_USAGE,
	CS_START_NOT_FOUND,
	CS_START_NOT_EXECUTABLE,
	CS_START_ENGINE,
	CS_START_ENGINE_TIMEOUT,
	CS_START_LIMIT,
	CS_START_SETUP,
	CS_START_KINDS
};

/* The end of one process. At most one of code and signal is there; -1 means null. */
struct cs_exit {
	int code;
	int signal;
};

#define CS_EXIT_NONE ((struct cs_exit){ .code = -1, .signal = -1 })

const char *cs_reason_word(enum cs_reason reason);
const char *cs_start_kind_word(enum cs_start_kind kind);

/* Of a raw status (waitpid(2)): WIFEXITED → code, WIFSIGNALED → signal. */
struct cs_exit cs_exit_of_status(int raw_status);

/*
 * What the caller's shell sees. `cause` is the signal that cancelled or stopped
 * (CANCELLED: 128 + cause, or the code itself when cause is above 64: 129, 141).
 */
int cs_exit_outward(enum cs_reason reason, struct cs_exit end, enum cs_start_kind start_kind,
		    int cause);

#endif
