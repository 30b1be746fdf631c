/*
 * Between the files of this folder: one run of a child with capped captures
 * (engine_run.c), and what a binary says of itself (engine_probe.c).
 */
#ifndef CS_ENGINE_ENGINE_INT_H
#define CS_ENGINE_ENGINE_INT_H

#include "shim/base/buf.h"
#include "shim/base/strv.h"
#include "shim/engine/engine.h"
#include "shim/sys/loop.h"

struct cs__run {
	char *const *argv;           /* argv[0] absolute */
	const char *cloned_env;      /* struct cs_engine_kind */
	const int *stdio;            /* three, borrowed; NULL: null, captured, captured */
	const int *cgroup_procs_fds;
	size_t n_cgroup_procs_fds;
	int64_t timeout_ns;
	const bool *cancelled;       /* or NULL */
};

enum cs__run_end {
	CS__RUN_EXITED,
	CS__RUN_TIMED_OUT,
	CS__RUN_CANCELLED
};

struct cs__run_result {
	enum cs__run_end end;
	int status;           /* raw wait status; of the SIGKILL when not EXITED */
	bool stuck;           /* SIGKILL did not end it within a second: not reaped, status 0 */
	struct cs_buf output; /* of stdout and stderr, when captured: head and tail */
	struct cs_buf errors;
};

void cs__run_result_release(struct cs__run_result *result);

/*
 * Runs the child to its end, its deadline or a cancel, serving `loop`. Unless
 * it exited with 0 its process group is killed, before the leader is reaped: while
 * that is our unreaped child the group's number is nobody else's (setpgid(2),
 * kill(2)). Only the leader's end is waited for: a daemon that
 * holds the captures open delays nothing.
 *
 * 0 with ret filled when it ran, whatever came of it; else -1, and nothing runs.
 */
int cs__run(struct cs_loop *loop, const struct cs__run *run, struct cs__run_result *ret,
	    struct cs_err *err);

/*
 * What an engine may see of our environment: nothing that changes what it does
 * to a container (NOTIFY_SOCKET, LISTEN_FDS, XDG_RUNTIME_DIR would).
 */
int cs__run_environ(struct cs_strv *ret);

/* --- what a binary says of itself (engine_probe.c) -------------------------- */

struct cs__facts {
	const struct cs_engine_kind *kind; /* as asked for, or told by --version; NULL: neither */
	char version[64];                  /* "" when it would not say */
	struct cs_strv flags;              /* global flags that its help names, without dashes */
	struct cs_buf features;            /* text of `features`, empty when it has none */
};

void cs__facts_release(struct cs__facts *facts);

/*
 * From the cache, else from the binary itself; then into the cache. Silence of
 * the binary and a broken cache are no errors, only facts that are missing. 0 or
 * -errno of the loop or of memory; ret is to be released in every case.
 */
int cs__facts_get(const char *path, const struct cs_engine_kind *kind, int cache_dirfd,
		  struct cs__facts *ret);

/* Name of a flag in "--name=value", "-name" or "--name"; -EINVAL for what is none. */
int cs__flag_name(const char *arg, char *name, size_t size);

#endif
