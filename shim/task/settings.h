/*
 * Everything a job can be told, in one struct, and the rows that name it: the
 * flag of `caisson run`, the key of a configuration file or policy, the help
 * line and the manual are one row each (settings_rows.c).
 *
 * Numbers that are CS_OPT_UNLIMITED (durations: CS_NEVER) are lifted limits.
 * Texts and lists are owned by the struct.
 */
#ifndef CS_TASK_SETTINGS_H
#define CS_TASK_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "oci-spec/json.h"
#include "shim/base/opt.h"
#include "shim/base/strv.h"

enum cs_at_output_limit { CS_AT_OUTPUT_KILL, CS_AT_OUTPUT_DISCARD };
enum cs_format { CS_FORMAT_TEXT, CS_FORMAT_JSON };
enum cs_sink_gone { CS_SINK_GONE_CANCEL, CS_SINK_GONE_DROP };
enum cs_exec_escape { CS_ESCAPE_REPORT, CS_ESCAPE_KILL_CONTAINER };
enum cs_bound { CS_BOUND_ALWAYS, CS_BOUND_UNBOUNDED };
enum cs_output_cost { CS_COST_JSON_FILE, CS_COST_BYTES };
enum cs_on_attendant_death { CS_ATTENDANT_END, CS_ATTENDANT_KEEP };
enum cs_capture_choice { CS_KEEP_NONE, CS_KEEP_HEAD, CS_KEEP_TAIL, CS_KEEP_BOTH };

struct cs_settings {
	/* engine */
	char *runtime;
	struct cs_strv runtime_args;
	bool systemd_cgroup;
	int64_t engine_timeout_ns; /* of one call, see cs_engine_timeout_ns */

	/* files */
	char *rootfs;
	uint64_t writable_root_bytes; /* 0: not writable */
	struct cs_strv volumes;
	bool unbounded_volume;
	struct cs_strv tmpfs;
	uint64_t tmp_bytes, tmp_inodes, shm_bytes;

	/* process */
	struct cs_strv env, env_files;
	char *workdir;
	char *user;
	char *hostname;
	bool interactive;
	bool tty;
	bool init;

	/* limits */
	uint64_t memory_bytes, memory_swap_bytes;
	bool oom_group;
	uint64_t millicpus;
	char *cpuset_cpus;
	uint64_t pids;
	struct cs_strv ulimits;
	int64_t timeout_ns, cpu_time_ns, idle_timeout_ns;
	struct cs_strv best_effort;

	/* rights */
	struct cs_strv cap_add;
	char *seccomp;
	struct cs_strv seccomp_allow;
	char *network;
	bool userns;

	/* end */
	int stop_signal;
	int64_t stop_timeout_ns;
	bool die_with_parent;
	bool detach;
	int64_t expire_ns; /* of a detached run */
	int on_sink_gone;
	int exec_escape;
	int on_attendant_death;

	/* output */
	uint64_t output_limit_bytes, stdout_limit_bytes, stderr_limit_bytes;
	int on_output_limit;
	uint64_t output_rate_bytes, output_burst_bytes;
	int64_t drain_timeout_ns, flush_timeout_ns;
	char *stdout_file, *stderr_file;
	int format;
	int capture;
	uint64_t capture_limit_bytes;
	char *result;

	/* containers of a daemon, see tighten.h */
	int bound;
	struct cs_strv confine;
	int64_t exec_timeout_ns;
	uint64_t exec_output_limit_bytes;
	int output_cost;

	/* caisson itself */
	char *id;
	char *policy;
	char *config;
	char *state_dir;
	char *cache_dir;
	bool print_effective;
	bool quiet;
	bool verbose;
};

/* Bytes of --state-dir at most. */
#define CS_STATE_DIR_MAX 200

#define CS_SETTINGS_ROWS_MAX 96

/* Settings with the origin of each row's value. */
struct cs_settings_tree {
	struct cs_settings values;
	unsigned char origins[CS_SETTINGS_ROWS_MAX];
	uint32_t layers[CS_SETTINGS_ROWS_MAX]; /* bits: which of layer_names had a say */
	struct cs_strv layer_names;            /* "policy strict", "file /etc/…"; the last one is being laid */
	unsigned scope; /* of the command that they are for; 0: every row counts */
};

/*
 * Who takes a row (scope of struct cs_opt). A row without one is for run and
 * bundle. What is decided with a session holds for its execs: as flag_only
 * such a row is an exec's own when its flag is given, and the session's else.
 * CS_FOR_DAEMON are containers that somebody else describes (tighten.h).
 */
enum cs_settings_scope {
	CS_FOR_RUN = 1 << 0,
	CS_FOR_EXEC = 1 << 1,
	CS_FOR_CHECK = 1 << 2,
	CS_FOR_RECORDS = 1 << 3, /* ps, gc and all others that only look for runs */
	CS_FOR_DAEMON = 1 << 4
};

extern const struct cs_opt cs_settings_rows[];
extern const size_t cs_settings_n_rows;

/* The option set over a tree, for cs_opt_*. */
struct cs_opt_set cs_settings_set(struct cs_settings_tree *tree);

/* Values before any policy: nothing is limited, nothing is allowed; scope 0. Release with cs_settings_release. */
int cs_settings_init(struct cs_settings_tree *tree, struct cs_err *err);
void cs_settings_release(struct cs_settings_tree *tree);

/* Was the row with this flag name set by anything above built-in and policy? */
bool cs_settings_given(struct cs_settings_tree *tree, const char *name);

/*
 * What is put from now on comes from there: "policy judge". One that cannot be
 * remembered for want of memory or room counts as the one before it.
 */
void cs_settings_layer(struct cs_settings_tree *tree, const char *fmt, ...) CS_PRINTF(2, 3);

/*
 * Fills in what follows from other values unless it was set: swap from memory,
 * CPU time from wall time × CPUs, each stream's cap from the common one.
 */
void cs_settings_resolve(struct cs_settings_tree *tree);

/* Refuses combinations that make no sense together (CS_INVALID). */
int cs_settings_check(struct cs_settings_tree *tree, struct cs_err *err);

/* A line "memory  256m  policy strict" for each row that the command takes: key, value, where it comes from. */
int cs_settings_print(struct cs_settings_tree *tree, struct cs_buf *out);

/* The same as an object: "memory": {"value": "256m", "origin": "policy", "from": ["policy strict"]}. Lists are arrays. */
int cs_settings_json(struct cs_settings_tree *tree, struct cs_json **ret, struct cs_err *err);

#endif
