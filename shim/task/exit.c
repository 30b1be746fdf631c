#include "shim/task/exit.h"

#include <sys/wait.h>

#include "shim/base/attr.h"

/* What decides the outward code of a reason. */
enum outward {
	FIXED,   /* the number beside it */
	PROGRAM, /* the program's code, or 128 + its signal */
	CAUSE,   /* what cancelled or stopped */
	START    /* the kind of failure */
};

static const struct {
	const char *word;
	enum outward outward;
	int code;
} reasons[] = {
	[CS_REASON_UNKNOWN]        = { "unknown", FIXED, 125 },
	[CS_REASON_EXITED]         = { "exited", PROGRAM, 125 },
	[CS_REASON_SIGNALED]       = { "signaled", PROGRAM, 125 },
	[CS_REASON_WALL_LIMIT]     = { "wall-limit", FIXED, 124 },
	[CS_REASON_CPU_LIMIT]      = { "cpu-limit", FIXED, 152 },
	[CS_REASON_IDLE_LIMIT]     = { "idle-limit", FIXED, 124 },
	[CS_REASON_OUTPUT_LIMIT]   = { "output-limit", FIXED, 153 },
	[CS_REASON_OOM]            = { "oom", FIXED, 137 },
	[CS_REASON_SECCOMP]        = { "seccomp", FIXED, 159 },
	[CS_REASON_SANDBOX_FAILED] = { "sandbox-failed", FIXED, 125 },
	[CS_REASON_CANCELLED]      = { "cancelled", CAUSE, 125 },
	[CS_REASON_STOPPED]        = { "stopped", CAUSE, 125 },
	[CS_REASON_EXPIRED]        = { "expired", FIXED, 124 },
	[CS_REASON_START_FAILED]   = { "start-failed", START, 125 },
	[CS_REASON_QUEUE_FULL]     = { "queue-full", FIXED, 75 },
	[CS_REASON_QUEUE_TIMEOUT]  = { "queue-timeout", FIXED, 75 },
	[CS_REASON_ENDED]          = { "ended", FIXED, 125 },
};
_Static_assert(CS_ARRAY_LEN(reasons) == CS_REASONS, "a row for every reason");

static const struct {
	const char *word;
	int code;
} start_kinds[] = {
	[CS_START_USAGE]          = { "usage", 125 },
	[CS_START_NOT_FOUND]      = { "not-found", 127 },
	[CS_START_NOT_EXECUTABLE] = { "not-executable", 126 },
	[CS_START_ENGINE]         = { "engine", 125 },
	[CS_START_ENGINE_TIMEOUT] = { "engine-timeout", 125 },
	[CS_START_LIMIT]          = { "limit", 125 },
	[CS_START_SETUP]          = { "setup", 125 },
};
_Static_assert(CS_ARRAY_LEN(start_kinds) == CS_START_KINDS, "a row for every kind");

const char *cs_reason_word(enum cs_reason reason)
{
	return reasons[reason].word;
}

const char *cs_start_kind_word(enum cs_start_kind kind)
{
	return start_kinds[kind].word;
}

struct cs_exit cs_exit_of_status(int raw_status)
{
	struct cs_exit end = CS_EXIT_NONE;

	if (WIFEXITED(raw_status))
		end.code = WEXITSTATUS(raw_status);
	else if (WIFSIGNALED(raw_status))
		end.signal = WTERMSIG(raw_status);
	return end;
}

static int program_code(struct cs_exit end, int fallback)
{
	if (end.code >= 0)
		return end.code;
	return end.signal > 0 ? 128 + end.signal : fallback;
}

int cs_exit_outward(enum cs_reason reason, struct cs_exit end, enum cs_start_kind start_kind,
		    int cause)
{
	switch (reasons[reason].outward) {
	case PROGRAM:
		return program_code(end, reasons[reason].code);
	case CAUSE:
		return cause > 64 ? cause : 128 + cause;
	case START:
		return start_kinds[start_kind].code;
	case FIXED:
		break;
	}
	return reasons[reason].code;
}
