/*
 * The result record: what a run was, how it ended, what it used
 * (caisson-result(5), contrib/result.schema.json).
 *
 * Fields never vanish: a number that could not be had is UINT64_MAX here, null
 * in the record, and its name is in "unavailable".
 */
#ifndef CS_TASK_RESULT_H
#define CS_TASK_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "oci-spec/json.h"
#include "oci-spec/resources.h"
#include "shim/base/err.h"
#include "shim/base/parse.h"
#include "shim/base/strv.h"
#include "shim/stdio/drain.h"
#include "shim/sys/cgroup.h"
#include "shim/task/exit.h"

#define CS_RESULT_VERSION 1
#define CS_NO_NUMBER UINT64_MAX

enum cs_oom_scope { CS_OOM_NONE, CS_OOM_OWN, CS_OOM_ANCESTOR };

/* The limits that a record speaks of; the first ones are those of oci-spec/resources.h. */
enum cs_result_limit {
	CS_LIMIT_MEMORY = CS_RES_MEMORY,
	CS_LIMIT_MEMORY_SWAP = CS_RES_MEMORY_SWAP,
	CS_LIMIT_PIDS = CS_RES_PIDS,
	CS_LIMIT_CPU = CS_RES_CPU,
	CS_LIMIT_WALL = CS_RESOURCES, /* no row for cpusets, which are no numbers */
	CS_LIMIT_CPU_TIME,
	CS_LIMIT_IDLE,
	CS_LIMIT_STDOUT,
	CS_LIMIT_STDERR,
	CS_RESULT_LIMITS
};

struct cs_result_limit_value {
	uint64_t asked;    /* CS_NO_NUMBER: unlimited */
	uint64_t in_force; /* CS_NO_NUMBER: not read back */
	const char *by;    /* who enforces it when in_force is not read back, or NULL */
};

/* A stream's counters and, with --capture, what was kept of it. */
struct cs_result_stream {
	struct cs_drain_counts counts;
	bool captured;
	struct cs_buf bytes;      /* valid when captured */
	uint64_t gap_bytes;       /* left out between head and tail */
	uint64_t gap_at;
};

struct cs_result {
	char id[CS_ID_MAX + 1];
	bool in_session;             /* of an exec: the id is its session's, and STOPPED means that the session ended */
	enum cs_reason reason;
	struct cs_exit end;
	int cause;                   /* of CANCELLED and STOPPED, see cs_exit_outward */
	enum cs_start_kind start_kind;
	char error[CS_ERR_TEXT_MAX]; /* "" when there was none */
	char engine_message[CS_ERR_TEXT_MAX];
	char engine_name[32];        /* "" when no engine was found */
	char engine_version[64];

	int64_t began_ns;            /* monotonic, when caisson began */
	int64_t started_wall_ns;     /* wall clock, 0 when it did not start */
	int64_t finished_wall_ns;
	int64_t wall_ns;             /* of the program, 0 when it did not start */
	int64_t queue_ns, setup_ns;

	enum cs_oom_scope oom_scope;
	struct cs_cgroup_usage usage;
	bool has_usage;              /* false: the run never had a cgroup */
	struct cs_result_limit_value limits[CS_RESULT_LIMITS];
	struct cs_result_stream stdout_stream, stderr_stream;
	bool stdio_held;
	struct cs_strv warnings, leftovers;
};

void cs_result_init(struct cs_result *result);
void cs_result_release(struct cs_result *result);

/* The run's id: the given one, or 16 random hexadecimal digits. 0 or -errno. */
int cs_result_choose_id(struct cs_result *result, const char *given);

/*
 * What the group has used, less the CPU time that it had used before start (the engine's
 * part). To be asked while the group is there. NULL: the run never had one.
 */
void cs_result_read_usage(struct cs_result *result, const struct cs_cgroup *cgroup, const struct cs_cgroup_usage *before);

int cs_result_outward(const struct cs_result *result);

/* The record as a tree; *ret is the caller's. */
int cs_result_json(const struct cs_result *result, struct cs_json **ret, struct cs_err *err);

/* One line for people: "ended by the wall limit of 10s", or NULL when there is nothing to say. */
int cs_result_sentence(const struct cs_result *result, struct cs_buf *out);

#endif
