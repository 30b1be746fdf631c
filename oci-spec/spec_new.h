/*
 * The config.json that a job gets, from a description of it (OCI runtime-spec
 * 1.0.2, config.md and config-linux.md).
 *
 * Pure: nothing here looks at the host. What the host has (root, volumes,
 * what the engine knows) is in the description. Every limit and every
 * protection is in the plan or fixed here; nothing is left to what an engine
 * happens to do when a key is absent.
 *
 *     struct cs_spec_plan plan = { .args = &args, .env = &env, .cwd = "/", … };
 *     cs_autojson struct cs_json *config = NULL;
 *     if (cs_spec_new(&plan, &config, err) < 0) …
 *     cs_json_set_string(config, "hostname", …)   further edits, if any
 *     cs_bundle_create(path, config, …)
 */
#ifndef CS_OCI_SPEC_SPEC_NEW_H
#define CS_OCI_SPEC_SPEC_NEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "oci-spec/json.h"
#include "oci-spec/resources.h" /* CS_UNLIMITED */

/* ociVersion of what is made here: what all engines of Debian 12 know. */
#define CS_SPEC_OCI_VERSION "1.0.2"

struct cs_spec_mount {
	const char *destination; /* absolute, inside */
	const char *type;        /* "bind", "tmpfs", … */
	const char *source;
	const char *options;     /* joined by commas */
};

struct cs_spec_rlimit {
	const char *type; /* "RLIMIT_NOFILE" */
	uint64_t soft, hard; /* CS_UNLIMITED is RLIM_INFINITY and is written out */
};

/*
 * All pointers are borrowed for the time of the call. Resource numbers (those
 * of the cgroup) that are CS_UNLIMITED are left out of the result.
 */
struct cs_spec_plan {
	const struct cs_strv *args;        /* at least one */
	const struct cs_strv *env;         /* KEY=VALUE, complete; NULL: none */
	const char *cwd;                   /* absolute */
	bool terminal;
	uid_t uid;
	gid_t gid;                         /* there are no other groups */
	const char *hostname;

	const char *root_path;             /* absolute, or relative to the bundle */
	bool root_readonly;
	const struct cs_spec_mount *mounts; /* after the standard ones, in this order */
	size_t n_mounts;
	uint64_t tmp_bytes;                /* size of /tmp; 0: no /tmp mount of its own */
	uint64_t tmp_inodes;               /* nr_inodes of /tmp; 0: not given */
	uint64_t shm_bytes;                /* size of /dev/shm */
	const struct cs_strv *masked_extra; /* masked beside cs_masked_paths; NULL: none */

	bool network_none;                 /* a new network namespace */
	const char *network_path;          /* join this one, or NULL; neither: the host's */
	bool userns;                       /* a user namespace with the mapping below */
	uint32_t userns_host_id, userns_size; /* ids 0 to size - 1 inside are host_id and up outside */

	/*
	 * "CAP_…" in all five sets; NULL or empty: none in any set. Ambient and
	 * inheritable too, since execve(2) of an ordinary file by a user that is
	 * not 0 keeps ambient capabilities alone (capabilities(7),
	 * "Transformation of capabilities during execve()"): without them adding
	 * one to uid 65534 would change nothing.
	 */
	const struct cs_strv *capabilities;
	const struct cs_spec_rlimit *rlimits;
	size_t n_rlimits;
	struct cs_json *seccomp;           /* borrowed, copied; NULL: no linux.seccomp */

	const struct cs_strv *annotations; /* KEY=VALUE, the first = divides; NULL: none */

	const char *cgroups_path;
	uint64_t memory_bytes;
	uint64_t memory_swap_bytes;        /* memory + swap, as the spec counts */
	uint64_t pids;
	uint64_t millicpus;                /* as a quota in periods of CS_CPU_PERIOD_US */
	const char *cpuset_cpus;           /* cpuset(7) list, or NULL */
	bool oom_group;                    /* unified memory.oom.group: cgroup v2 only, engines refuse it on v1 */
};

/*
 * Makes the tree; *ret is the caller's (cs_json_free). Looks at nothing but the
 * plan and never blocks. CS_LIMIT when memory ran out. What a plan says is not
 * judged here: cs_spec_check does; text that is no UTF-8 is refused when the
 * tree is written.
 */
int cs_spec_new(const struct cs_spec_plan *plan, struct cs_json **ret, struct cs_err *err);

#endif
