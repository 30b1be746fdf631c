/*
 * OCI engines: which one, where, what it can do. All differences between
 * runc, crun, runsc, youki and kata-runtime are columns of one table
 * (engine_table.c); code asks what a row says, never what it is called.
 */
#ifndef CS_ENGINE_ENGINE_H
#define CS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "oci-spec/features.h"
#include "oci-spec/resources.h"
#include "shim/base/err.h"
#include "shim/base/strv.h"

/* How a limit is enforced by an engine. */
enum cs_enforce {
	CS_ENFORCE_KERNEL, /* read back from the kernel, must match */
	CS_ENFORCE_ENGINE, /* trusted: reported as inForce null, by the engine */
	CS_ENFORCE_NONE    /* not at all: the run fails unless another bound stands in */
};

/* Things beside the cgroup limits that an engine enforces or does not. */
enum cs_feature_limit {
	CS_FL_SECCOMP,
	CS_FL_TMPFS_SIZE,
	CS_FL_TMPFS_INODES,
	CS_FL_RLIMITS,
	CS_FL_NO_NEW_PRIVS,
	CS_FL_MASKED_PATHS,
	CS_FEATURE_LIMITS
};

/* A row of the table; const, static. */
struct cs_engine_kind {
	const char *name;                  /* "runc" */
	enum cs_enforce enforce[CS_RESOURCES];
	enum cs_enforce enforce_feature[CS_FEATURE_LIMITS];
	uint64_t pids_base, pids_factor;   /* pids.max = base + factor × asked */
	uint64_t memory_min_bytes;         /* smaller limits kill the engine's own part; 0: none known */
	uint64_t memory_idle_bytes;        /* what that part uses, for the message; 0: it leaves before the program runs */
	uint64_t pids_min;                 /* smaller limits break create */
	bool hide_unified;                 /* create needs the v2 mount of a hybrid host out of sight */
	bool trace_session;                /* init's raw status comes from a trace session */
	bool status_is_shell_code;         /* the status of the process we wait for is 128+n for signal n */
	bool own_kernel;                   /* /proc/PID of init is the sandbox, not the program */
	bool needs_delete;                 /* leaves things that only its `delete` removes */
	const char *cloned_env;            /* NAME=VALUE by which it takes the read-only file it was started from for the copy that it would make of itself; NULL */
	const char *seccomp_annotation;    /* takes a compiled filter by this annotation, in base64, or NULL */
	bool has_features_verb;            /* some versions have it; those that do not say so themselves */
	bool inside_pids;                  /* exec --internal-pid-file, kill --pid: numbers as the program sees them */
	bool kill_all;                     /* kill --all */
	bool exec_cgroup;                  /* exec --cgroup, a path below the container's group; seen to work as "/x1" on v1 and v2 */
	const char *const *global_args;    /* always given, before the verb; every version knows them */
	const char *const *optional_args;  /* given when the binary's help names them */
	const char *const *network_none_args; /* global, for a run without network */
	const char *const *network_host_args; /* global, for a run in the host's */
	const char *const *refused_args;   /* flags (without dashes) that switch limits off: not taken from a caller */
	const char *const *lacks_args;     /* flags of runc (without dashes) that it refuses and that change nothing there */
	bool lacks_events;                 /* no `events` */
	const char *state_file;            /* ROOT/ID/ has it for every container; set where the engine's words for "no such container" are none that callers look for */
	const char *state_mark;            /* it keeps containers in files ROOT/ID<mark>….state; NULL: in directories ROOT/ID */
	const char *default_root;          /* --root when nobody gives it */
	const char *xdg_root;              /* the same below $XDG_RUNTIME_DIR, where root too is asked for that; NULL */
	const char *help_arg;              /* prints the global flags */
	const char *version_prefix;        /* what stands before the version in the first line of `--version`, without " :" */
	const char *install;               /* what to do when it is missing */
};

/* Row by name; NULL when unknown. */
const struct cs_engine_kind *cs_engine_kind_by_name(const char *name);
/* i-th row, NULL past the end. */
const struct cs_engine_kind *cs_engine_kind_at(size_t i);

/* An engine found on this host. */
struct cs_engine {
	const struct cs_engine_kind *kind;
	char *path;                  /* owned, absolute */
	char version[64];            /* "1.8.1"; "" when it would not say */
	struct cs_features features;
	struct cs_strv global_args;  /* complete: kind's, optional ones that it knows, the caller's */
};

/* Frees what it owns and empties it; {0} allowed. */
void cs_engine_release(struct cs_engine *engine);

/*
 * Finds an engine by name (in PATH, then /usr/local/sbin, /usr/local/bin, /usr/sbin, /usr/bin,
 * /sbin, /bin) or by path (anything with a '/'; a relative one is made absolute); `kind_name`
 * (may be NULL) says which row a binary of another name is. name NULL: the
 * first of crun, runc. extra_args (may be NULL) go behind the row's.
 *
 * Version, help and features are asked once, each for at most 2 s and 64 KiB
 * (so the first call may block for 6 s), and kept in cache_dirfd (borrowed; -1:
 * no cache), keyed by path, device, inode, size and mtime. A cache that cannot be
 * read or written costs time only. A binary that does not answer is found
 * all the same: its version is "" and its features are not known.
 *
 * CS_NOT_FOUND names what to install; CS_DENIED: there, but not executable;
 * CS_INVALID: no row, or an extra argument that switches limits off. ret is
 * written on success only, to be released by the caller.
 */
int cs_engine_find(const char *name, const char *kind_name, const struct cs_strv *extra_args,
		   int cache_dirfd, struct cs_engine *ret, struct cs_err *err);

/* pids.max for N processes of the program; CS_UNLIMITED (all bits) stays what it is. */
uint64_t cs_engine_pids_limit(const struct cs_engine_kind *kind, uint64_t asked);

/*
 * CS_LIMIT "memory limit 32m is below the minimum for runsc: 64m …" when a limit cannot work
 * with this engine. memory_bytes and pids as the caller asked (before
 * cs_engine_pids_limit); unlimited is all bits.
 */
int cs_engine_check_limits(const struct cs_engine *engine, uint64_t memory_bytes, uint64_t pids,
			   struct cs_err *err);

#endif
