/*
 * Between exec.c (the walk), exec_setup.c (what an exec stands on),
 * exec_end.c (how it ended) and exec_session.c (the supervisor's side).
 */
#ifndef CS_TASK_EXEC_INT_H
#define CS_TASK_EXEC_INT_H

#include "shim/task/ctl.h"
#include "shim/task/exec.h"
#include "shim/task/exec_process.h"
#include "shim/task/job_int.h"

/* What an answer may take: the supervisor may be ending another exec's tree, and for some requests calls engines itself. */
#define EXEC_ASK_NS (15 * CS_NSEC_PER_SEC)
#define EXEC_KILL_NS (30 * CS_NSEC_PER_SEC)

/* Processes of a run whose groups are split (cgroup v2); no exec's name begins with '_'. */
#define EXEC_LEAF "_init"

/* "escape" of exec-begin: settings_rows.c has the words for people. */
#define CS_EXEC_ESCAPE_REPORT "report"
#define CS_EXEC_ESCAPE_KILL "kill-container"

struct exec {
	struct job job; /* first: struct job_ways hands it back */
	const struct cs_exec_plan *plan;
	struct cs_ctl_client ctl;
	struct cs_source ctl_source;
	bool owed;           /* an answer that nobody waited for any more */
	char name[32];       /* of this exec in its session */
	char dir[240];       /* its directory in the session's private file system */
	bool systemd_cgroup, network_none, network_host; /* the session's, for the engine's arguments */
	pid_t session_init;  /* not ours; the sandbox where the engine has a kernel of its own */
	struct cs_cgroup *session_group;
	struct cs_strv env;  /* of --env and --env-file */
	struct cs_exec_process process;
	uint64_t inside;     /* number of the first process inside; 0: not known */
};

static inline struct exec *exec_of(struct job *job)
{
	return (struct exec *)(void *)job;
}

/* exec_setup.c: everything up to the engine's exec. -1 when the exec cannot go on, noted in the result. */
int cs__exec_setup(struct exec *exec);

/*
 * exec_end.c. To be asked when something has failed before the command began:
 * where the session is ending that is the reason, and is noted; what engine
 * and kernel say of what is no longer there is not.
 */
bool cs__exec_session_ended(struct exec *exec);
extern const struct job_ways cs__exec_ways;

#endif
