/*
 * What is kept of a detached run: a directory under <state>/sessions, which
 * stays after the run's end until somebody removes it or it expires.
 *
 *     <state>/sessions/ID/session   who runs what (JSON)
 *                         stdout    what was delivered, as the output limits let it pass
 *                         stderr
 *                         result    the result record, in one step, at the end
 *
 * While the run lives it is a step of its record (CS_UNDO_SESSION): a
 * supervisor that dies before there is a result leaves nothing to keep. Only
 * who holds the record of an id makes the session of that id, and the record
 * is there as long as the result is not. The supervisor holds a flock(2) on the
 * directory all the while. Once there is a result it belongs to nobody, and is
 * removed under that lock.
 *
 * The modification time of a finished session's directory is the moment at
 * which it expires: one stat(2) tells, for every start looks.
 */
#ifndef CS_TASK_SESSION_H
#define CS_TASK_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "oci-spec/json.h"
#include "shim/base/err.h"
#include "shim/base/parse.h"
#include "shim/base/strv.h"
#include "shim/task/result.h"

/* --- of the supervisor -------------------------------------------------------- */

struct cs_session {
	int dir_fd;           /* owned; -1: none; locked, which goes with it */
	int stdout_fd, stderr_fd; /* owned; to be written to */
};

#define CS_SESSION_INIT ((struct cs_session){ .dir_fd = -1, .stdout_fd = -1, .stderr_fd = -1 })

void cs_session_release(struct cs_session *session); /* closes; removes nothing */

/* Is the id taken by a session, live or finished? To be asked by who holds the record of that id. */
bool cs_session_exists(int runs_fd, const char *id);

/* Makes it; the step is on record. runs_fd is that of the record. CS_EXISTS when there is one already. */
int cs_session_make(int runs_fd, const char *id, const struct cs_strv *command, int64_t expire_ns,
		    struct cs_session *ret, struct cs_err *err);

/* Writes the result: from here on it is finished, and expires in expire_ns (CS_NEVER: not). */
int cs_session_keep(const struct cs_session *session, const struct cs_result *result, int64_t expire_ns,
		    struct cs_err *err);

/* The step undone: removes a session without a result, and leaves one with a result. 0 or -errno. */
int cs_session_undo(int runs_fd, const char *id);

/* --- of everybody else ------------------------------------------------------------ */

/* Opens the session's directory: an O_DIRECTORY descriptor, the caller's, or -1 with CS_NOT_FOUND. */
int cs_session_open(const char *state_dir, const char *id, struct cs_err *err);

/* The result of an open session; *ret is the caller's. CS_STATE when there is none: it is live, or was removed. */
int cs_session_result(int dir_fd, struct cs_json **ret, struct cs_err *err);

/* Removes a finished session. CS_NOT_FOUND: there is none; CS_STATE: it has no result yet. */
int cs_session_discard(const char *state_dir, const char *id, struct cs_err *err);

struct cs_session_facts {
	const char *id;
	const struct cs_json *session, *result; /* borrowed; result NULL: not finished; session NULL: cannot be read */
};

/* Calls fn for each. 0, or -1 with err (no such directory is no error). */
typedef void cs_session_fn(const struct cs_session_facts *facts, void *arg);
int cs_session_each(const char *state_dir, cs_session_fn *fn, void *arg, struct cs_err *err);

/*
 * The id that somebody means: a whole one, or the beginning of exactly one, of
 * a run on record or a session. CS_NOT_FOUND, CS_INVALID when several begin so.
 */
int cs_session_find(const char *state_dir, const char *given, char ret_id[static CS_ID_MAX + 1], struct cs_err *err);

/* Removes what has expired, until the deadline. Returns how many; what cannot be removed goes to leftovers. */
unsigned cs_session_collect(const char *state_dir, int64_t deadline_ns, struct cs_strv *leftovers);

#endif
