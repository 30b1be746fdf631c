/*
 * The attendant of `caisson-runtime`: a small process for every create and
 * every exec that stays behind when the verb has returned, and keeps what only
 * a live process can keep: the bounds on output, wall time, CPU time and time
 * without output. It stands beside the container, never above it: init remains
 * the child of whoever called us.
 *
 *   create, exec                        start (another process)      delete
 *   ------------------------------      ------------------------     ------------------
 *   cs_attendant_fork                   cs_attendant_begin           cs_attendant_await
 *   cs_attendant_setup → stdio            (then the engine's start)
 *     (then the engine's create or exec)
 *   cs_attendant_arm, or
 *   cs_attendant_dismiss
 *
 * Between setup and arm the attendant guards the verb: when that dies, it ends
 * what the engine has made by then (the cgroup) and leaves. Once armed it
 * guards the process: it leaves when that has ended *and* its streams are
 * done, or a wait for them is over. The end of a stream ends nothing, and
 * neither does a reader that goes.
 *
 * It holds nothing of the caller's but the sinks: own session, /dev/null for
 * stdio, no directory. From arm on it has no right to spare (no_new_privs, a
 * system call allow-list, CAP_KILL alone), executes nothing and kills through
 * descriptors that it opened before.
 *
 * A second process, forked by it when it is armed, watches it: when the
 * attendant itself is killed, that one ends the container or takes over
 * (cs_attendant_bounds.at_death), also when the container is silent.
 *
 * What it leaves behind: a result record (shim/task/results.h), and the level
 * of the container's output bucket, so that a restart does not refill it.
 */
#ifndef CS_TASK_ATTENDANT_H
#define CS_TASK_ATTENDANT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"
#include "shim/sys/pidref.h"
#include "shim/task/settings.h"

/* The verb's side. */
struct cs_attendant {
	struct cs_pidref process;
	int socket; /* CLOEXEC; what it is told, and what it answers */
};

#define CS_ATTENDANT_INIT ((struct cs_attendant){ .process = CS_PIDREF_INIT, .socket = -1 })

/*
 * Forks; in the child it never returns. As early as can be: its memory is
 * what the verb had touched by then, and so are its descriptors, which it
 * closes, all but its end of the socket, at once.
 */
int cs_attendant_fork(struct cs_attendant *ret, struct cs_err *err);

/* Durations CS_NEVER, sizes UINT64_MAX: no bound. */
struct cs_attendant_bounds {
	int64_t timeout_ns, cpu_time_ns, idle_timeout_ns;
	uint64_t millicpus; /* what the container may use at once: tells how soon to look at its CPU time */
	uint64_t stdout_limit_bytes, stderr_limit_bytes;
	bool kill_at_output_limit; /* else what is above is discarded */
	uint64_t rate_per_s, burst; /* one bucket for both streams; bytes, or cost */
	bool cost_json_file;        /* count as dockerd's json-file log does */
	int64_t drain_timeout_ns, flush_timeout_ns;
	enum cs_on_attendant_death at_death;
};

/* From settings that are resolved (cs_settings_resolve); a flush timeout that nobody set is 2 s. */
void cs_attendant_bounds_of(struct cs_settings_tree *tree, struct cs_attendant_bounds *ret);

/* All borrowed, for the time of the call. */
struct cs_attendant_plan {
	const char *id;          /* the container's */
	const char *engine_root; /* with the id it names the bucket and the record */
	const char *engine_name, *engine_version;
	const char *state_dir;   /* results and buckets lie in it; made when missing */
	int dir_fd;              /* the container's directory: our socket lies in it, and that for the engine's terminal */
	const char *dir_path;    /* the same, absolute: for the engine */

	/*
	 * create: where the engine will make the container's group (NULL: not
	 * known, or it was there before), which is ended and removed should the verb die before arm. exec: a group
	 * of its own below the container's, made beforehand: ended by a limit, and
	 * removed when the process has ended, unless it has left somebody in it, who goes
	 * on; NULL: there is none, and a limit kills that one process.
	 */
	const char *cgroup_path;
	bool is_exec;

	int stdout_fd, stderr_fd;   /* where output goes: the caller's 1 and 2; neither flags nor offsets change */
	uid_t uid;                  /* the process's on the host: owner of the pipes that it gets */
	gid_t gid;
	bool terminal;
	bool hold_end;              /* with terminal: the caller is not to hear of the end before the last of the output is
	                             * there (shim/sys/hold.h). Not where the process is an engine's sandbox or proxy */
	const char *console_socket; /* with terminal: the caller's, which gets one message with one descriptor */

	struct cs_attendant_bounds bounds;
};

/* What the engine gets. Its stdin is the caller's own. */
struct cs_attendant_stdio {
	int out_fd, err_fd;  /* CLOEXEC, to be closed here once the engine has them; -1 with a terminal */
	char console[108];   /* with a terminal: path for the engine's --console-socket; "" without */
};

/*
 * Tells it what to do, and waits (5 s at most) until it is ready. For an exec
 * output is passed on from here on, since its program may run before the engine has returned;
 * for a create what arrives before start is kept: it is the engine's.
 */
int cs_attendant_setup(struct cs_attendant *attendant, const struct cs_attendant_plan *plan,
		       struct cs_attendant_stdio *ret, struct cs_err *err);

/*
 * The engine has made the process: from here on it is guarded, and the verb
 * may go. process is borrowed (its descriptor is sent over); cgroup_path is
 * the group that the process is in (NULL: as planned; that NULL too: it has none of its own, and only the
 * process itself is ended and counted). With a terminal this waits until the engine's
 * master has come and ours has gone to the caller.
 *
 * words (may be NULL) gets what the engine said so far, which the verb passes on to its own
 * stderr. On failure the process is not guarded, and the verb must end it; the
 * attendant is gone then. The socket is closed in any case.
 */
int cs_attendant_arm(struct cs_attendant *attendant, const struct cs_pidref *process,
		     const char *cgroup_path, struct cs_buf *words, struct cs_err *err);

/*
 * The engine failed: what it said goes to words (a create; an exec's has gone
 * to the caller's stderr when this returns), and the attendant leaves without
 * touching anything: removing is the verb's. NULL-safe for one that was never forked.
 */
void cs_attendant_dismiss(struct cs_attendant *attendant, struct cs_buf *words);

/*
 * At `start`, just before the engine's: from now on output is the program's,
 * and time counts. CS_NOT_FOUND when the container's attendant is gone: it
 * must not start then.
 */
int cs_attendant_begin(int dir_fd, struct cs_buf *words, struct cs_err *err);

/*
 * At `delete`, behind the engine's: waits until the container's attendant has
 * written its record and gone. 0, also when there is none; -ETIMEDOUT; -errno.
 */
int cs_attendant_await(int dir_fd, int64_t deadline_ns);

#endif
