/*
 * The record of a live run: a directory of its own under <state>/runs, whose
 * lock tells whether anybody still answers for it, and in it one file of fixed size
 * that says who runs what and which steps undo it.
 *
 *     <state>/runs/ID/record
 *
 * What outlives a process is written here before it is made and struck out
 * after it is gone; a SIGKILL at any point leaves a record that can be played back.
 * The file is allocated whole at the start, so that neither writing a step nor
 * playing back needs a new block or inode. The lock is a flock(2) on the directory, which
 * the supervisor holds; once it is dead the guardian, gc or the next run of that id takes it
 * and plays back. Two shared locks are held by both, supervisor and guardian: one on <state>/runs,
 * one on the cgroup that all runs of a host are in, whatever their state directory. The
 * last one to leave removes what they are on.
 *
 *     record_open → (guardian_start) → record_make → undo_push before each act
 *     → undo_replay → record_tidy
 *
 * A line is a mark and a text: "=key value" for facts, "+kind argument" for a step to
 * undo, "-kind argument" for a step that is done with.
 */
#ifndef CS_TASK_RECORD_H
#define CS_TASK_RECORD_H

#include <stdbool.h>
#include <sys/types.h>

#include "shim/base/err.h"
#include "shim/base/parse.h"
#include "shim/base/strv.h"
#include "shim/sys/cgroup.h"

#define CS_RECORD_BYTES 4096

/* Where runs have their cgroups. Helpers' groups beside them begin with '_', as no id does. */
#define CS_CGROUP_PARENT "/caisson"
#define CS_CGROUP_GUARDIANS CS_CGROUP_PARENT "/_guardians"

struct cs_record {
	char id[CS_ID_MAX + 16]; /* room for the prefix of one in the making */
	int runs_fd;   /* <state>/runs; O_RDONLY|O_DIRECTORY, holds the shared lock on the state */
	int parent_fd; /* holds CS_CGROUP_PARENT; -1: not yet */
	int dir_fd;    /* the run's own directory, locked; -1: not made yet */
	int file_fd;
	size_t used;   /* bytes of the file in use */
	const struct cs_cgroup_host *host; /* borrowed; NULL: read when it is needed */
};

#define CS_RECORD_INIT ((struct cs_record){ .runs_fd = -1, .parent_fd = -1, .dir_fd = -1, .file_fd = -1 })

/*
 * Takes the shared lock on the state, and with host (NULL: not; else it must
 * live as long as the record) the one on the parent cgroup; makes the state
 * directory (0700) and the parent when they are missing.
 * Nothing of the run itself is made, so that its guardian can be there first.
 */
int cs_record_open(const char *state_dir, const char *id, const struct cs_cgroup_host *host,
		   struct cs_record *ret, struct cs_err *err);

/*
 * Makes the run's record. One of that id that nobody holds is played back first; one
 * that is held is CS_EXISTS, unless its supervisor is dead: then its cleaner gets some seconds.
 */
int cs_record_make(struct cs_record *record, struct cs_err *err);

/* Closes; removes nothing. */
void cs_record_release(struct cs_record *record);

/* A fact for `caisson ps`: "pid 1234", "command sh -c …" (cut to what fits). 0 or -errno. */
int cs_record_note(struct cs_record *record, const char *key, const char *value);

/* --- steps ------------------------------------------------------------------ */

enum cs_undo_kind {
	CS_UNDO_CGROUP,  /* kill what is in the group of that path, remove it in every hierarchy */
	CS_UNDO_SESSION, /* remove the session of that id, unless it has a result (task/session.h) */
	CS_UNDO_CONTAINER, /* a container of somebody else's (foreign.h): the engine's delete --force, and the directory of that path */
	CS_UNDO_KINDS
};

/* Writes a step down; *ret_at names it for cs_undo_strike. */
int cs_undo_push(struct cs_record *record, enum cs_undo_kind kind, const char *argument,
		 size_t *ret_at, struct cs_err *err);
int cs_undo_strike(struct cs_record *record, size_t at);

/*
 * Undoes every step that is not struck out, the last first, striking each out;
 * then removes the directory. What holds out until the deadline goes to
 * leftovers, one line each ("cgroup /caisson/x: process 12 in state D"), and
 * the record stays for a later `caisson gc`. Returns the number of leftovers.
 * Idempotent from any point; needs no new file.
 */
int cs_undo_replay(struct cs_record *record, int64_t deadline_ns, struct cs_strv *leftovers);

/*
 * The same for the steps that were written behind the one at `at` only; the
 * record stays. For what is to be removed before a last word is kept.
 */
int cs_undo_replay_behind(struct cs_record *record, size_t at, int64_t deadline_ns, struct cs_strv *leftovers);

/*
 * Behind a supervisor that is dead, whatever it had made of its record: takes
 * the lock, or waits for whoever has taken it, and plays back. Uses the id and
 * runs_fd of the record only. Returns the number of leftovers.
 */
int cs_record_clean_up(const struct cs_record *record, int64_t deadline_ns, struct cs_strv *leftovers);

/*
 * For a run that nobody answers for. With `kill` its supervisor, if one lives,
 * gets SIGKILL, and its death is waited for. Then what it left is played back,
 * by its guardian or here, until the deadline. The number of leftovers, or -1
 * with err; 0 also when there is no such run.
 */
int cs_record_end(const char *state_dir, const char *id, bool kill, int64_t deadline_ns, struct cs_strv *leftovers,
		  struct cs_err *err);

/*
 * The shared parts (<state>/runs, the parent cgroup) when no other run holds
 * them. Last thing a run does; the record holds no lock any more after it.
 */
void cs_record_tidy(struct cs_record *record);

/* --- other runs --------------------------------------------------------------- */

enum cs_record_life { CS_RECORD_LIVE, CS_RECORD_DEAD };

struct cs_record_facts {
	char id[CS_ID_MAX + 1];
	enum cs_record_life life;
	pid_t pid;              /* of the supervisor; 0 unknown */
	int64_t started_ns;     /* wall time; 0 unknown */
	char engine[128];
	char command[256];
	char cgroup[CS_ID_MAX + 64]; /* the container's; "" unknown */
};

/* Calls fn for each record. 0, or -1 with err (a missing state directory is no error). */
typedef void cs_record_fn(const struct cs_record_facts *facts, void *arg);
int cs_record_each(const char *state_dir, cs_record_fn *fn, void *arg, struct cs_err *err);

struct cs_gc_counts {
	unsigned live, removed, held;
};

/*
 * Plays back the records of dead runs, in at most budget_ns altogether
 * (CS_NEVER: as long as it takes). What holds out is named in leftovers.
 */
int cs_gc(const char *state_dir, int64_t budget_ns, struct cs_gc_counts *ret,
	  struct cs_strv *leftovers, struct cs_err *err);

#endif
