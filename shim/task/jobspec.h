/*
 * Settings and an engine → the config.json of a job and the root it names.
 *
 * `caisson run` and `caisson bundle` both come here: a bundle that was written
 * is the one that would have run. What cannot work with the engine is refused
 * here, before anything is made.
 */
#ifndef CS_TASK_JOBSPEC_H
#define CS_TASK_JOBSPEC_H

#include "oci-spec/json.h"
#include "shim/base/err.h"
#include "shim/engine/engine.h"
#include "shim/files/init.h"
#include "shim/sys/cgroup.h"
#include "shim/task/exit.h"
#include "shim/task/rlimits.h"
#include "shim/task/settings.h"

struct cs_jobspec_plan {
	const struct cs_settings *settings;
	const struct cs_engine *engine;
	const struct cs_cgroup_host *host;
	const struct cs_strv *args;     /* the command */
	const char *id;
	const char *cgroups_path;
	const char *rootfs_dir;         /* an empty directory: becomes the root, or stays empty with --rootfs DIR */
	const char *root_path;          /* how config.json names rootfs_dir: "rootfs" or absolute */
	const char *pins_dir;           /* an empty directory of our mount namespace, where volumes and --rootfs are held against their owners; NULL: config.json has their own paths, as a bundle must */
	int cache_fd;                   /* for a filter compiled beforehand; -1: config.json has none, as a bundle for any host must */
	const char *const *forbidden;   /* directories that no volume may show; NULL-terminated */
};

/* What is needed later of what was decided. */
struct cs_jobspec {
	struct cs_json *config;     /* owned */
	struct cs_rlimits rlimits;
	char *lower;                /* the directory below the overlay that the root is; owned, NULL: no overlay */
	char *missing_point;        /* the mount point for whose sake there is one; owned, else NULL */
	uid_t uid;                  /* as seen on the host */
	gid_t gid;
	uint64_t pids;              /* as given to the kernel; CS_UNLIMITED: none */
	uint64_t memory_bytes, memory_swap_bytes, millicpus;
	const char *cpuset_cpus;    /* the settings'; NULL: none is to be in force */
	const struct cs_init *init; /* process 1 in place of the command; NULL: the command itself */
	struct cs_strv warnings;
};

void cs_jobspec_release(struct cs_jobspec *spec);

/*
 * On failure *ret_kind says which kind of start failure it is. Fills
 * rootfs_dir for `--rootfs host`.
 */
int cs_jobspec_make(const struct cs_jobspec_plan *plan, struct cs_jobspec *ret,
		    enum cs_start_kind *ret_kind, struct cs_err *err);

/*
 * Puts the init, if there is one, before the command in config.json. A step of
 * its own, so that until then the command can be asked for (cs_resolve_command).
 */
int cs_jobspec_put_init(struct cs_jobspec *spec, struct cs_err *err);

/* TERM beside a terminal: what every one can do, and every image knows; the caller's own name may be strange to it. */
#define CS_JOBSPEC_TERM "xterm"

/* --env-file and --env, laid over env. */
int cs_jobspec_add_env(const struct cs_settings *settings, struct cs_strv *env, struct cs_err *err);

/* CS_INVALID, naming it, for an argument or a variable that config.json cannot hold. */
int cs_jobspec_check_text(const struct cs_strv *args, const struct cs_strv *env, struct cs_err *err);

/* Is the limit of that name ("memory", …) among --best-effort? */
bool cs_jobspec_best_effort(const struct cs_settings *settings, const char *name);

#endif
