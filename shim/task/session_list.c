/* Sessions as everybody else sees them: found, listed, removed when nobody answers for them any more. */
#include "shim/task/session_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/path.h"
#include "shim/task/record.h"

/* How long somebody else may take who is at the same session. */
#define PATIENCE_NS (2 * CS_NSEC_PER_SEC)

int cs__session_open_all(const char *state_dir)
{
	cs_autofree char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/" CS__SESSIONS, state_dir) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static bool is_there(const char *state_dir, const char *where, const char *id)
{
	cs_autofree char *path = NULL;

	if (asprintf(&path, "%s/%s/%s", state_dir, where, id) < 0) {
		path = NULL;
		return true; /* out of memory: nothing shall be done because of it */
	}
	return access(path, F_OK) == 0 || errno != ENOENT;
}

static int open_one(int all_fd, const char *id)
{
	int fd = openat(all_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

int cs_session_open(const char *state_dir, const char *id, struct cs_err *err)
{
	cs_autofd int all_fd = cs__session_open_all(state_dir);
	int fd = all_fd < 0 ? all_fd : open_one(all_fd, id);

	if (fd == -ENOENT)
		return cs_fail(err, CS_NOT_FOUND, 0, "no session '%s': 'caisson ps -a' lists them", id);
	if (fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(-fd), -fd, "session '%s'", id);
	return fd;
}

int cs_session_result(int dir_fd, struct cs_json **ret, struct cs_err *err)
{
	if (cs_json_read_file(dir_fd, CS__SESSION_RESULT, ret, err) == 0)
		return 0;
	if (err->errnum == ENOENT)
		err->kind = CS_STATE;
	return -1;
}

/* --- removing ------------------------------------------------------------------------ */

/* Under its lock: the name still leads to what was opened, so it is this one that is removed. */
static int remove_locked(int all_fd, int dir_fd, const char *id)
{
	struct stat ours, there;

	if (fstat(dir_fd, &ours) < 0 || fstatat(all_fd, id, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
		return -ENOENT;
	return cs__session_remove(all_fd, id);
}

/* A result makes it nobody's. Without one it is a live run's, or was left by one that is not on record any more. */
static bool is_finished(int dir_fd, const char *state_dir, const char *id)
{
	return faccessat(dir_fd, CS__SESSION_RESULT, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || !is_there(state_dir, "runs", id);
}

/*
 * When it has expired at that moment (seconds, wall time; INT64_MAX: whenever).
 * 0; -EBUSY: not finished, or not expired; -EWOULDBLOCK: finished, but somebody is at it; -ENOENT, -errno.
 */
static int remove_finished(int all_fd, const char *state_dir, const char *id, int64_t now_s)
{
	cs_autofd int dir_fd = open_one(all_fd, id);
	struct stat st;

	if (dir_fd < 0)
		return dir_fd;
	if (flock(dir_fd, LOCK_EX | LOCK_NB) < 0) {
		int r = -errno;

		return r == -EWOULDBLOCK && !is_finished(dir_fd, state_dir, id) ? -EBUSY : r;
	}
	/* looked at again under the lock: a result is written, and then the time is set */
	if (!is_finished(dir_fd, state_dir, id) || fstat(dir_fd, &st) < 0 || st.st_mtim.tv_sec > now_s)
		return -EBUSY;
	return remove_locked(all_fd, dir_fd, id);
}

/* The lock is held for as long as it takes to remove some files. A blocking flock(2) could not be given up. */
static int remove_patiently(int all_fd, const char *state_dir, const char *id)
{
	int64_t deadline_ns = cs_clock_deadline_ns(PATIENCE_NS), nap_ns = CS_NAP_NS;

	for (;;) {
		int r = remove_finished(all_fd, state_dir, id, INT64_MAX);

		if (r != -EWOULDBLOCK || cs_clock_left_ns(deadline_ns) == 0)
			return r;
		cs_clock_nap(&nap_ns, deadline_ns);
	}
}

int cs_session_discard(const char *state_dir, const char *id, struct cs_err *err)
{
	cs_autofd int all_fd = cs__session_open_all(state_dir);
	int r = all_fd < 0 ? all_fd : remove_patiently(all_fd, state_dir, id);

	switch (r) {
	case 0:
		return 0;
	case -ENOENT:
		return cs_fail(err, CS_NOT_FOUND, 0, "no session '%s': 'caisson ps -a' lists them", id);
	case -EBUSY:
		return cs_fail(err, CS_STATE, 0, "'%s' is live: 'caisson stop %s' first, or 'caisson rm -f %s'", id, id, id);
	default:
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "session '%s'", id);
	}
}

/* --- walking --------------------------------------------------------------------------- */

/* Calls fn for each name until the deadline. 0 or -errno; nothing there is 0. */
typedef void name_fn(int all_fd, const char *name, void *arg);

static int walk(const char *state_dir, int64_t deadline_ns, name_fn *fn, void *arg)
{
	cs_autofd int all_fd = cs__session_open_all(state_dir);
	struct dirent *entry;
	int scan_fd;
	DIR *dir;

	if (all_fd < 0)
		return all_fd == -ENOENT ? 0 : all_fd;
	scan_fd = openat(all_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = scan_fd >= 0 ? fdopendir(scan_fd) : NULL;
	if (!dir) {
		int r = -errno;

		cs_close_fd(&scan_fd);
		return r;
	}
	while ((entry = readdir(dir)) && cs_clock_left_ns(deadline_ns) > 0)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			fn(all_fd, entry->d_name, arg);
	closedir(dir);
	return 0;
}

struct listing {
	cs_session_fn *fn;
	void *arg;
};

static void list(int all_fd, const char *name, void *arg)
{
	struct listing *listing = arg;
	cs_autojson struct cs_json *session = NULL, *result = NULL;
	struct cs_err none = CS_ERR_INIT, none_either = CS_ERR_INIT;
	cs_autofd int dir_fd = name[0] == '.' ? -1 : open_one(all_fd, name);

	if (dir_fd < 0)
		return;
	if (cs_json_read_file(dir_fd, CS__SESSION_FILE, &session, &none) < 0)
		session = NULL;
	if (cs_session_result(dir_fd, &result, &none_either) < 0)
		result = NULL;
	listing->fn(&(struct cs_session_facts){ .id = name, .session = session, .result = result }, listing->arg);
}

int cs_session_each(const char *state_dir, cs_session_fn *fn, void *arg, struct cs_err *err)
{
	struct listing listing = { .fn = fn, .arg = arg };
	int r = walk(state_dir, CS_NEVER, list, &listing);

	return r < 0 ? cs_fail(err, cs_err_kind_of_errno(-r), -r, "sessions in '%s'", state_dir) : 0;
}

/* --- finding ------------------------------------------------------------------------------ */

struct search {
	const char *given;
	char id[CS_ID_MAX + 1];
	unsigned n; /* ids that begin so */
};

static void look_at(struct search *search, const char *id)
{
	/* a live session is met twice: as a run and as a session */
	if (strncmp(id, search->given, strlen(search->given)) != 0 || strcmp(id, search->id) == 0)
		return;
	snprintf(search->id, sizeof(search->id), "%s", id);
	search->n++;
}

static void look_at_run(const struct cs_record_facts *facts, void *arg)
{
	look_at(arg, facts->id);
}

static void look_at_session(int all_fd CS_UNUSED, const char *name, void *arg)
{
	if (name[0] != '.')
		look_at(arg, name);
}

int cs_session_find(const char *state_dir, const char *given, char ret_id[static CS_ID_MAX + 1], struct cs_err *err)
{
	struct search search = { .given = given };
	int r;

	if (!cs_id_valid(given))
		return cs_fail(err, CS_INVALID, 0, "'%.64s' is no id of a run", given);
	if (is_there(state_dir, "runs", given) || is_there(state_dir, CS__SESSIONS, given)) {
		snprintf(ret_id, CS_ID_MAX + 1, "%s", given);
		return 0;
	}
	if (cs_record_each(state_dir, look_at_run, &search, err) < 0)
		return -1;
	r = walk(state_dir, CS_NEVER, look_at_session, &search);
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "sessions in '%s'", state_dir);
	if (search.n == 0)
		return cs_fail(err, CS_NOT_FOUND, 0, "no run or session '%.64s': 'caisson ps -a' lists them", given);
	if (search.n > 1)
		return cs_fail(err, CS_INVALID, 0, "'%.64s' is the beginning of more than one id, '%s' among them: give more of it",
			       given, search.id);
	memcpy(ret_id, search.id, sizeof(search.id));
	return 0;
}

/* --- expiry --------------------------------------------------------------------------------- */

struct collecting {
	const char *state_dir;
	int64_t now_s;
	unsigned removed;
	struct cs_strv *leftovers;
};

/* Of one that was killed on its way; one that is at it gets along with us. */
static int finish_removal(int all_fd, const char *gone)
{
	int r = cs_path_remove_tree(all_fd, gone);

	unlinkat(all_fd, "../" CS__SESSIONS, AT_REMOVEDIR);
	return r == 0 ? 0 : -EBUSY;
}

static void collect(int all_fd, const char *name, void *arg)
{
	struct collecting *c = arg;
	struct stat st;
	int r;

	if (fstatat(all_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return;
	if (name[0] == '.')
		r = finish_removal(all_fd, name);
	else if (st.st_mtim.tv_sec > c->now_s)
		return;
	else
		r = remove_finished(all_fd, c->state_dir, name, c->now_s);
	if (r == 0)
		c->removed++;
	else if (r != -EBUSY && r != -EWOULDBLOCK && r != -ENOENT)
		cs_strv_addf(c->leftovers, "session '%s': %s", name, strerror(-r));
}

unsigned cs_session_collect(const char *state_dir, int64_t deadline_ns, struct cs_strv *leftovers)
{
	struct collecting c = { .state_dir = state_dir, .now_s = cs_clock_wall_ns() / CS_NSEC_PER_SEC, .leftovers = leftovers };
	int r = walk(state_dir, deadline_ns, collect, &c);

	if (r < 0)
		cs_strv_addf(leftovers, "sessions in '%s': %s", state_dir, strerror(-r));
	return c.removed;
}
