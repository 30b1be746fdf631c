/*
 * The process of an exec: what the session's own config.json says of its
 * process (capabilities, rlimits, noNewPrivileges, environment, user), with
 * the exec's command and flags laid over it.
 */
#ifndef CS_TASK_EXEC_PROCESS_H
#define CS_TASK_EXEC_PROCESS_H

#include "oci-spec/json.h"
#include "shim/base/err.h"
#include "shim/task/settings.h"

struct cs_exec_process_plan {
	struct cs_settings_tree *tree;  /* flags that were given are laid over; others leave the session's */
	const struct cs_json *config;   /* the session's */
	const struct cs_strv *args;     /* the command */
	const struct cs_strv *env;      /* of cs_jobspec_add_env: over the session's */
	int root_fd;                    /* the session's root, for names of users; -1: it cannot be seen, and only numbers will do */
};

struct cs_exec_process {
	struct cs_json *config; /* owned: a copy of the session's, of which "process" is the exec's */
	uid_t uid;              /* as seen on the host */
	gid_t gid;
};

void cs_exec_process_release(struct cs_exec_process *process);

/* CS_INVALID, CS_NOT_FOUND (a user), CS_LIMIT. */
int cs_exec_process_make(const struct cs_exec_process_plan *plan, struct cs_exec_process *ret, struct cs_err *err);

/*
 * Where the working directory leads to inside a live root, links followed:
 * CS_DENIED when that is a descriptor directory of procfs, under any spelling
 * and through any link (CVE-2024-21626), and when procfs cannot tell. What is
 * not there is the engine's to say.
 */
int cs_exec_process_check_cwd(int root_fd, const char *cwd, struct cs_err *err);

#endif
