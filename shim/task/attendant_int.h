/*
 * The attendant, between attendant.c (the verb's side), attendant_wire.c (what
 * goes to and fro), attendant_main.c (setup, arm, begin), attendant_end.c
 * (decisions, the end, the record), attendant_terminal.c and attendant_second.c
 * (who watches the watchman).
 */
#ifndef CS_TASK_ATTENDANT_INT_H
#define CS_TASK_ATTENDANT_INT_H

#include "shim/sys/cgroup.h"
#include "shim/sys/hold.h"
#include "shim/sys/loop.h"
#include "shim/sys/ptysock.h"
#include "shim/sys/signals.h"
#include "shim/task/attendant.h"
#include "shim/task/ctl.h"
#include "shim/task/exit.h"
#include "shim/task/level.h"
#include "shim/task/limits.h"
#include "shim/task/streams.h"

/* --- attendant_wire.c: packets between verb and attendant ------------------------- */

#define CS__ATTENDANT_PACKET_MAX (48 * 1024)
#define CS__ATTENDANT_FDS_MAX 4

/* What an engine says is passed on up to that much. */
#define CS__ATTENDANT_WORDS_MAX (32 * 1024)

enum cs__attendant_word { CS__ATTENDANT_SETUP, CS__ATTENDANT_ARM, CS__ATTENDANT_DISMISS, CS__ATTENDANT_ANSWER };

/* Texts of a setup, packed one after the other, each with its NUL; "" stands for NULL. */
enum cs__attendant_text {
	CS__ATTENDANT_ID,
	CS__ATTENDANT_ENGINE_ROOT,
	CS__ATTENDANT_ENGINE_NAME,
	CS__ATTENDANT_ENGINE_VERSION,
	CS__ATTENDANT_STATE_DIR,
	CS__ATTENDANT_DIR_PATH,
	CS__ATTENDANT_CGROUP,
	CS__ATTENDANT_CONSOLE,
	CS__ATTENDANT_TEXTS
};

/* Both sides are one program: the head goes over as it is. What follows it are `len` bytes. */
struct cs__attendant_head {
	enum cs__attendant_word word;
	union {
		struct {
			struct cs_attendant_bounds bounds;
			bool is_exec, terminal, hold_end;
			uid_t uid;
			gid_t gid;
		} setup;                 /* followed by texts; fds: directory, stdout, stderr */
		struct {
			pid_t pid;
		} arm;                   /* followed by the cgroup's path; fd: pidfd */
		struct {
			enum cs_err_kind kind; /* CS_OK, else the rest is the error's text */
			int errnum;
		} answer;                /* followed by words; fds of a setup: stdout, stderr for the engine */
	} u;
};

struct cs__attendant_packet {
	struct cs__attendant_head head;
	size_t len; /* of data; a NUL stands behind it */
	int fds[CS__ATTENDANT_FDS_MAX]; /* owned; -1: none */
	char data[CS__ATTENDANT_PACKET_MAX + 1];
};

/* 0 or -errno. fds are borrowed. */
int cs__attendant_send(int socket, const struct cs__attendant_head *head, const void *data, size_t len, const int *fds,
		       size_t n_fds);
/* 0; -EPIPE at the other side's end; -EPROTO; -ETIMEDOUT; -errno. What came before is not released. */
int cs__attendant_receive(int socket, struct cs__attendant_packet *ret, int64_t deadline_ns);
/* A new one; NULL without memory. */
struct cs__attendant_packet *cs__attendant_packet_new(void);
/* Closes the descriptors that nobody took. NULL allowed. */
void cs__attendant_packet_free(struct cs__attendant_packet *packet);

/* --- the attendant's own ------------------------------------------------------------ */

struct cs__attend {
	struct cs_attendant_bounds bounds;
	bool is_exec, terminal, hold_end;
	char *id, *engine_name, *engine_version; /* NULL: not known */
	char *cgroup_path;    /* NULL: none */
	uint64_t key;         /* of bucket and record */
	int results_fd;

	int socket;           /* to the verb; -1 once it has let go */
	bool socket_ready;    /* there is something to read from it */
	struct cs_source socket_source;
	int dir_fd;
	struct cs_loop *loop;
	struct cs_level level;
	struct cs_streams *streams; /* NULL in one that has taken over */
	struct cs_ctl *ctl;

	/* with a terminal; its other end is our stdin */
	char *console_socket;
	int outer_master;     /* until the caller has it */
	struct cs_ptysock *ptysock; /* until the engine's has come */
	struct cs_signals *signals;
	struct cs_hold *hold; /* NULL: its parent hears of its end when we do */

	struct cs_pidref process; /* empty before arm */
	struct cs_source process_source;
	bool process_dead;
	bool has_status, status_pending;
	int raw_status;
	struct cs_cgroup *cgroup;

	bool begun;           /* output is the program's */
	int64_t start_ns, started_wall_ns;
	struct cs_cgroup_usage base_usage;
	struct cs_limits *limits;

	bool decided;         /* the first decision stays */
	enum cs_reason reason;
	int cause;
	struct cs_source kill_timer;
	bool took_over;       /* from an attendant that was killed */

	struct cs_pidref second;
	int second_socket;
	struct cs_source second_source, second_timer;
	int64_t second_since_ns;
};

#define CS__ATTEND_INIT \
	((struct cs__attend){ .results_fd = -1, .socket = -1, .dir_fd = -1, .level = CS_LEVEL_INIT, \
			      .process = CS_PIDREF_INIT, .second = CS_PIDREF_INIT, .second_socket = -1, .outer_master = -1 })

/* Runs in the forked child; socket is its end. */
CS_NORETURN void cs__attendant_main(int socket);

/* attendant_end.c */
void cs__attend_decide(struct cs__attend *attend, enum cs_reason reason, int cause);
/* What was decided before it was known whom it is about: once, when that is known. */
void cs__attend_carry_out(struct cs__attend *attend);
void cs__attend_on_limit(enum cs_reason reason, void *attend);
int cs__attend_watch_process(struct cs__attend *attend); /* sets process_dead; 0 or -errno */
/* After process_dead: counters, streams, status, record, its own group. */
void cs__attend_finish(struct cs__attend *attend);

/* attendant_terminal.c: before the engine's call, and behind it */
int cs__attend_open_terminal(struct cs__attend *attend, const char *dir_path, char *ret_console, size_t size,
			     struct cs_err *err);
int cs__attend_connect_terminal(struct cs__attend *attend, struct cs_err *err);

/* attendant_second.c */
int cs__attend_start_second(struct cs__attend *attend, struct cs_err *err);
void cs__attend_tell_begun(struct cs__attend *attend);
void cs__attend_dismiss_second(struct cs__attend *attend);

/* attendant_main.c: gives up what it needs no more, for good. */
int cs__attend_confine(struct cs_err *err);

#endif
