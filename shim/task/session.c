/* A session as its supervisor has it: made, finished, undone. */
#include "shim/task/session_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/path.h"

#define RESULT_MAX (1 << 20)

/* Somebody else removes the directory of all each time. */
#define TRIES_MAX 100

/* A start that collects looks at what is new for a moment. */
#define LOCK_NS (2 * CS_NSEC_PER_SEC)

void cs_session_release(struct cs_session *session)
{
	cs_close_fd(&session->dir_fd);
	cs_close_fd(&session->stdout_fd);
	cs_close_fd(&session->stderr_fd);
}

/*
 * Beside the runs, by their descriptor: what the run's own mount namespace has
 * over the state directory does not cover what was opened before it.
 */
static int open_all(int runs_fd)
{
	int fd = openat(runs_fd, "../" CS__SESSIONS, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

bool cs_session_exists(int runs_fd, const char *id)
{
	char path[CS_ID_MAX + 32];

	snprintf(path, sizeof(path), "../" CS__SESSIONS "/%s", id);
	return faccessat(runs_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- making ----------------------------------------------------------------------- */

/* The directory, and the one that it is in when it is the first. fd or -errno. */
static int make_dir(int runs_fd, const char *id)
{
	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		cs_autofd int all_fd = -1;
		int fd;

		if (mkdirat(runs_fd, "../" CS__SESSIONS, 0700) < 0 && errno != EEXIST)
			return -errno;
		all_fd = open_all(runs_fd);
		if (all_fd < 0 && all_fd != -ENOENT)
			return all_fd;
		if (all_fd < 0 || (mkdirat(all_fd, id, 0700) < 0 && errno == ENOENT))
			continue;
		fd = openat(all_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		return fd < 0 ? -errno : fd;
	}
	return -EAGAIN;
}

/* Ours as long as dir_fd is open: who comes to remove it while the result is written must not get in between. */
static int lock(int dir_fd)
{
	int64_t deadline_ns = cs_clock_deadline_ns(LOCK_NS), nap_ns = CS_NAP_NS;

	while (flock(dir_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || cs_clock_left_ns(deadline_ns) == 0)
			return -errno;
		cs_clock_nap(&nap_ns, deadline_ns);
	}
	return 0;
}

static int make_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

static int write_facts(int dir_fd, const char *id, const struct cs_strv *command, int64_t expire_ns, struct cs_err *err)
{
	cs_autojson struct cs_json *facts = cs_json_new_object();
	struct cs_json *words = cs_json_new_array();
	char now[CS_CLOCK_TEXT];
	int r = 0;

	for (size_t i = 0; i < command->n; i++)
		r |= cs_json_add(words, cs_json_new_words(command->v[i]));
	r |= cs_json_put(facts, "version", cs_json_new_u64(1));
	r |= cs_json_put(facts, "id", cs_json_new_string(id));
	r |= cs_json_put(facts, "createdAt", cs_json_new_string(cs_clock_rfc3339(cs_clock_wall_ns(), now)));
	r |= cs_json_put(facts, "expireNs", expire_ns == CS_NEVER ? cs_json_new_null() : cs_json_new_i64(expire_ns));
	r |= cs_json_put(facts, "command", words);
	if (r < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "session");
	return cs_json_write_file(facts, CS_JSON_COMPACT, dir_fd, CS__SESSION_FILE, 0600, err);
}

int cs_session_make(int runs_fd, const char *id, const struct cs_strv *command, int64_t expire_ns,
		    struct cs_session *ret, struct cs_err *err)
{
	struct cs_session session = CS_SESSION_INIT;
	int r;

	if (cs_session_exists(runs_fd, id))
		return cs_fail(err, CS_EXISTS, 0, "a session '%s' is kept: 'caisson rm %s' removes it", id, id);
	session.dir_fd = r = make_dir(runs_fd, id);
	if (r >= 0)
		r = lock(session.dir_fd);
	if (r >= 0)
		session.stdout_fd = r = make_file(session.dir_fd, CS__SESSION_STDOUT);
	if (r >= 0)
		session.stderr_fd = r = make_file(session.dir_fd, CS__SESSION_STDERR);
	if (r < 0)
		cs_fail(err, cs_err_kind_of_errno(-r), -r, "session '%s'", id);
	else
		r = write_facts(session.dir_fd, id, command, expire_ns, err);
	if (r < 0) {
		cs_session_release(&session);
		return -1;
	}
	*ret = session;
	return 0;
}

/* --- the end ------------------------------------------------------------------------- */

/* Where nothing expires: a moment that no clock reaches and every file system can hold (2^31 s is one's end). */
#define NEVER_SECONDS INT64_C(0x7fffffff)

int cs_session_keep(const struct cs_session *session, const struct cs_result *result, int64_t expire_ns,
		    struct cs_err *err)
{
	cs_autojson struct cs_json *record = NULL;
	cs_auto(buf) text = CS_BUF_INIT(RESULT_MAX);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = NEVER_SECONDS } };
	int64_t at_ns;
	int r;

	if (cs_result_json(result, &record, err) < 0 || cs_json_write(record, CS_JSON_COMPACT, &text, err) < 0)
		return -1;
	cs_buf_addc(&text, '\n');
	/* until the time is set it looks expired, but it is locked */
	r = text.failed ? -ENOMEM : cs_file_write_atomic(session->dir_fd, CS__SESSION_RESULT, text.data, text.len, 0600, false);
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "session '%s': result", result->id);
	if (expire_ns != CS_NEVER && !__builtin_add_overflow(cs_clock_wall_ns(), expire_ns, &at_ns))
		times[1] = (struct timespec){ .tv_sec = CS_MIN(at_ns / CS_NSEC_PER_SEC, NEVER_SECONDS) };
	/* it is finished all the same, and expires at once when the moment cannot be set */
	if (futimens(session->dir_fd, times) < 0)
		return cs_fail(err, CS_IO, errno, "session '%s': time of expiry", result->id);
	return 0;
}

int cs__session_remove(int sessions_fd, const char *id)
{
	char gone[CS_ID_MAX + 16];
	int r;

	/* taken away in one step: half a session is never seen under its name */
	snprintf(gone, sizeof(gone), CS__SESSION_GONE_PREFIX "%.*s", CS_ID_MAX, id);
	if (renameat(sessions_fd, id, sessions_fd, gone) < 0 && errno != ENOENT) {
		/* an earlier removal was killed on its way */
		r = cs_path_remove_tree(sessions_fd, gone);
		if (r < 0 || (renameat(sessions_fd, id, sessions_fd, gone) < 0 && errno != ENOENT))
			return r < 0 ? r : -errno;
	}
	r = cs_path_remove_tree(sessions_fd, gone);
	/* fails when another is there, which is as it should be */
	unlinkat(sessions_fd, "../" CS__SESSIONS, AT_REMOVEDIR);
	return r;
}

int cs_session_undo(int runs_fd, const char *id)
{
	char result[CS_ID_MAX + 16];
	cs_autofd int all_fd = open_all(runs_fd);

	if (all_fd < 0)
		return all_fd == -ENOENT ? 0 : all_fd;
	snprintf(result, sizeof(result), "%.*s/" CS__SESSION_RESULT, CS_ID_MAX, id);
	if (faccessat(all_fd, result, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return cs__session_remove(all_fd, id);
}
