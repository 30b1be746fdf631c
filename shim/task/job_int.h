/*
 * Between job.c (the walk), job_setup.c (what a run stands on), job_start.c
 * (create, verify, start), job_watch.c (what happens while it lives),
 * job_ctl.c (what others ask of it) and job_end.c (how it ended, and clean-up).
 *
 * An exec is a job too (exec.c): a process of a live session in place of a
 * container's init, a group below the session's in place of its own. Where
 * the two part is struct job_ways.
 */
#ifndef CS_TASK_JOB_INT_H
#define CS_TASK_JOB_INT_H

#include "shim/engine/engine_argv.h"
#include "shim/engine/trace.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/pidref.h"
#include "shim/sys/signals.h"
#include "shim/task/ctl.h"
#include "shim/task/guardian.h"
#include "shim/task/job.h"
#include "shim/task/jobspec.h"
#include "shim/task/limits.h"
#include "shim/task/record.h"
#include "shim/task/session.h"
#include "shim/task/streams.h"
#include "shim/task/terminal.h"

/*
 * Paths of a run. `private` is a tmpfs that only the run's mount namespace
 * sees, mounted over the state directory: all that a run writes is in it, and goes with the last
 * process of the namespace.
 */
struct job_places {
	char private[CS_STATE_DIR_MAX + 1];
	char bundle[300], rootfs[300], pins[300], engine_root[300], log[300], pid_file[300];
	char cgroup[CS_ID_MAX + 64]; /* where the container goes */
	char cell[CS_ID_MAX + 64];   /* where the engine's own processes are born */
};

/* What was decided about the end while the run lived; the first decision stays. */
struct job_verdict {
	bool decided;
	enum cs_reason reason;
	int cause;          /* see cs_exit_outward */
	bool graceful;      /* a signal goes first */
	int signal;         /* that one */
	bool stop_pending;  /* … and is still to be sent, outside of the loop: an engine may have to do it */
	int64_t kill_at_ns; /* … and so long does it have */
};

struct job;

struct job_ways {
	void (*send_stop)(struct job *job); /* the stop signal, from outside the loop */
	void (*kill_rest)(struct job *job); /* before the end is looked at: whatever no cgroup of the job's own holds; NULL: nothing */
	void (*undo)(struct job *job);      /* all that was made, cgroup included */
};

struct job {
	const struct job_ways *ways;
	const struct cs_job_plan *plan; /* NULL for an exec */
	const struct cs_settings *s;
	struct cs_result *result;

	mode_t callers_umask; /* for the files that the caller asked for */

	struct cs_loop *loop;
	struct cs_cgroup_host host;
	struct cs_engine engine;
	struct job_places places;
	struct cs_record record;
	struct cs_ctl *ctl; /* as long as the record is there */
	unsigned execs_begun;
	struct held *execs; /* of exec_session.c */
	struct cs_guardian guardian;
	int guardian_procs_fd, cell_procs_fd;
	int namespace_fd; /* the host's mounts, from before ours: a guardian's successor goes back there */
	struct cs_jobspec spec;
	struct cs_session session;         /* of a detached run */
	size_t session_at;                 /* its step in the record */
	struct cs_sink *sinks[CS_STREAMS]; /* until the streams take them over */
	struct cs_streams *streams;
	struct cs_terminal *terminal; /* NULL without -t */
	struct cs_trace *trace;

	struct cs_cgroup *cgroup;
	struct cs_pidref init;
	struct cs_limits *limits;
	bool started;
	bool init_gone;   /* dead: its status may still be out of reach */
	bool init_reaped; /* raw_status is its status */
	int raw_status;
	bool told;        /* told_status is the program's raw status, and raw_status that of what stands for it */
	int told_status;
	bool held;        /* others held its streams when init had ended, and were killed */
	struct cs_cgroup_usage base_usage; /* just before start */
	int64_t start_ns;

	struct job_verdict verdict;
	bool paused;           /* frozen by cs__job_pause */
	uint64_t signals_sent; /* by caisson kill, as a mask: bit n - 1 for signal n */
	unsigned users;        /* clients at work with the session */
	bool forget;           /* nothing of the session is kept */
	bool ended;       /* all is removed: only readers are waited for */
	bool interrupted; /* decided, or to be cancelled: engine calls end */
	struct cs_signals *signals;
	struct cs_pidref parent;
	int oom_fd;
	int64_t oom_look_ns; /* how long until the next look at the counter */
	struct cs_source init_source, parent_source, guardian_source, oom_source, kill_timer, oom_timer, expire_timer;
};

/* A start failure of that kind, from err; the first one stays. */
void cs__job_fail(struct job *job, enum cs_start_kind kind, const struct cs_err *err);

/* job.c */
extern const struct job_ways cs__job_run_ways;
#define JOB_INIT { .record = CS_RECORD_INIT, .session = CS_SESSION_INIT, .guardian = CS_GUARDIAN_INIT, .guardian_procs_fd = -1, .cell_procs_fd = -1, \
		   .namespace_fd = -1, .init = CS_PIDREF_INIT, .parent = CS_PIDREF_INIT, .oom_fd = -1 }
void cs__job_note_limits(const struct cs_settings *settings, struct cs_result *result); /* as they were asked for */
void cs__job_live(struct job *job);    /* until its init has ended or a decision ended it */
void cs__job_release(struct job *job);

/* job_setup.c: engine, record, guardian, namespace, bundle. -1 when the run cannot go on. */
int cs__job_setup(struct job *job);
int cs__job_make_loop(struct job *job, struct cs_err *err);  /* and subreaper, signals, parent */
int cs__job_find_cgroups(struct job *job, struct cs_err *err);
int cs__job_resolve(const struct job *job, const struct cs_json *config, enum cs_start_kind *ret_kind, struct cs_err *err); /* 126 and 127: is the command there? */
int cs__job_make_sinks(struct job *job, struct cs_err *err); /* while paths still mean what the caller means */
int cs__job_make_streams(struct job *job, bool hold, struct cs_err *err); /* of job->spec's user; hold: see cs_streams_plan */
int cs__job_wait_foreground(const struct job *job, struct cs_err *err); /* before anything is made; no-op without -i -t */
int cs__job_make_terminal(struct job *job, const char *dir, struct cs_err *err); /* its socket in dir; no-op without -t */

/* job_start.c */
struct cs_engine_args cs__job_engine_args(const struct job *job); /* what all verbs of the run have in common */
int cs__job_hold_init(struct job *job, const char *verb, struct cs_err *err); /* from the pid file that the engine's verb left */
int cs__job_fail_call(struct job *job, const struct cs_err *err); /* with the engine's own words; -1 */
int cs__job_receive_terminal(struct job *job, struct cs_err *err); /* that the engine's verb has sent; no-op without -t */
int cs__job_attach_terminal(struct job *job, struct cs_err *err);  /* the caller's, just before its streams begin */
int cs__job_start_limits(struct job *job, struct cs_err *err);
int cs__job_create(struct job *job);
int cs__job_start(struct job *job);
void cs__job_arm_guardian(struct job *job); /* from start on: the wall limit, should we be stopped or stuck */

/* job_watch.c */
int cs__job_watch_early(struct job *job, struct cs_err *err); /* signals, parent: from the very start */
int cs__job_watch_init(struct job *job);   /* init, limits, OOM: before start */
int cs__job_watch_limits(struct job *job, const struct cs_limits_plan *plan, struct cs_err *err);
void cs__job_unwatch_container(struct job *job); /* it has ended: the loop turns on for the streams alone */
void cs__job_unwatch(struct job *job);
void cs__job_decide(struct job *job, enum cs_reason reason, int cause);
/* The same with a signal and a patience of the caller's own; a later call may shorten the patience of an earlier one. */
void cs__job_decide_patiently(struct job *job, enum cs_reason reason, int cause, int signal, int64_t patience_ns);
void cs__job_kill(struct job *job); /* what was decided, now: blocks for a second at most */
void cs__job_send_stop(struct job *job);
/* A signal for the program's init, from outside the loop, which it may turn. */
int cs__job_signal(struct job *job, int signal, struct cs_err *err);
/* Freezes the container, or thaws it; blocks for a moment. */
int cs__job_pause(struct job *job, bool paused, struct cs_err *err);
void cs__job_on_streams(enum cs_streams_event event, void *arg);
int cs__job_watch_guardian(struct job *job);

/* job_ctl.c */
/* A number of a request, 0 to most; one that is missing leaves *ret as it is. */
int cs__job_read_number(const struct cs_json *request, const char *key, int64_t most, int64_t *ret, struct cs_err *err);
int cs__job_require_running(const struct job *job, struct cs_err *err); /* CS_STATE: starting, ending or paused */
int cs__job_serve(struct job *job, struct cs_err *err); /* once the record is made */
int cs__job_watch_expiry(struct job *job);              /* from start on */
/* Somebody begins (+1) or ends (-1) to use the session, or just does (0): it expires as long after the last of it. */
void cs__job_use(struct job *job, int change);

/* job_end.c */
void cs__job_undo_run(struct job *job);
void cs__job_end(struct job *job);

#endif
