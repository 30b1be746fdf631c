/*
 * The config.json that a job gets, from a description of it (OCI runtime-spec
 * 1.0.2, config.md and config-linux.md; product contract section 4).
 *
 * Pure: nothing here looks at the host. What the host has (root, volumes,
 * what the engine knows) is in the description.
 */
#ifndef CS_OCI_SPEC_SPEC_NEW_H
#define CS_OCI_SPEC_SPEC_NEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "oci-spec/json.h"

struct cs_spec_mount {
	const char *destination; /* absolute, inside */
	const char *type;        /* "bind", "tmpfs", … */
	const char *source;
	const char *options;     /* joined by commas */
};

struct cs_spec_rlimit {
	const char *type; /* "RLIMIT_NOFILE" */
	uint64_t soft, hard;
};

#define CS_UNLIMITED UINT64_MAX

/*
 * All pointers are borrowed for the time of the call. Numbers that are
 * CS_UNLIMITED are left out of the result.
 */
struct cs_spec_plan {
	const struct cs_strv *args;
	const struct cs_strv *env;         /* KEY=VALUE, complete */
	const char *cwd;
	bool terminal;
	uid_t uid;
	gid_t gid;
	const char *hostname;

	const char *root_path;             /* absolute, or relative to the bundle */
	bool root_readonly;
	const struct cs_spec_mount *mounts; /* after the standard ones, in this order */
	size_t n_mounts;
	uint64_t tmp_bytes;                /* size of /tmp; 0: no /tmp mount of its own */
	uint64_t tmp_inodes;               /* nr_inodes of /tmp; 0: not given */
	uint64_t shm_bytes;                /* size of /dev/shm */

	bool network_none;                 /* a new network namespace */
	const char *network_path;          /* join this one, or NULL */
	bool userns;                       /* a user namespace with the mapping below */
	uint32_t userns_host_id, userns_size;

	const struct cs_strv *capabilities; /* "CAP_…" in bounding, effective, permitted; empty: none at all */
	const struct cs_spec_rlimit *rlimits;
	size_t n_rlimits;
	struct cs_json *seccomp;           /* borrowed, copied; NULL: no linux.seccomp */

	const char *cgroups_path;
	uint64_t memory_bytes;
	uint64_t memory_swap_bytes;        /* memory + swap, as the spec counts */
	uint64_t pids;
	uint64_t millicpus;
	const char *cpuset_cpus;           /* or NULL */
	bool oom_group;                    /* cgroup v2: unified memory.oom.group */
};

/* *ret is the caller's (cs_json_free). */
int cs_spec_new(const struct cs_spec_plan *plan, struct cs_json **ret, struct cs_err *err);

#endif
