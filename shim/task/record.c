#include "shim/task/record_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/pidref.h"

/* What an earlier run of an id may take until it is gone. */
#define PATIENCE_NS (3 * CS_NSEC_PER_SEC)

/* A supervisor that was sent SIGKILL may still need a moment on a busy machine. */
#define DYING_NS (200 * CS_NSEC_PER_MSEC)

/* Somebody else wins each time. */
#define TRIES_MAX 100

/*
 * The state directory holds secrets of nobody but root: refuse one that others
 * can write. -EPERM for that, -EINVAL for the root directory: a mount over it
 * would cover nothing for us who stand in it.
 */
static int check_state_dir(int fd)
{
	struct stat st, root;

	if (fstat(fd, &st) < 0 || stat("/", &root) < 0)
		return -errno;
	if (st.st_dev == root.st_dev && st.st_ino == root.st_ino)
		return -EINVAL;
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return -EPERM;
	return 0;
}

int cs__record_open_runs(const char *state_dir, bool make)
{
	cs_autofd int state_fd = -1, runs_fd = -1;
	int r;

	for (int tries = 0; tries < 100; tries++) {
		r = make ? cs_file_mkdirs(state_dir, 0700) : 0;
		if (r < 0)
			return r;
		state_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (state_fd < 0)
			return -errno;
		r = check_state_dir(state_fd);
		if (r < 0)
			return r;
		if (make && mkdirat(state_fd, "runs", 0700) < 0 && errno != EEXIST)
			return -errno;
		runs_fd = openat(state_fd, "runs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (runs_fd >= 0) {
			struct stat st;

			/* a tidying run may remove it between our open and our lock */
			if (flock(runs_fd, LOCK_SH) == 0 && fstat(runs_fd, &st) == 0 && st.st_nlink > 0)
				return cs_take_fd(&runs_fd);
			cs_close_fd(&runs_fd);
		} else if (!make || errno != ENOENT) {
			return -errno;
		}
		cs_close_fd(&state_fd);
	}
	return -EAGAIN;
}

int cs__record_fail_runs(const char *state_dir, int errnum, struct cs_err *err)
{
	if (errnum == EPERM && geteuid() != 0)
		return cs_fail(err, CS_DENIED, 0, "state directory '%s' is not yours: caisson needs root, use sudo", state_dir);
	if (errnum == EPERM)
		return cs_fail(err, CS_DENIED, 0, "state directory '%s' must belong to root and be writable by root only",
			       state_dir);
	if (errnum == EINVAL)
		return cs_fail(err, CS_INVALID, 0, "state directory '%s' is the root directory: give one of its own", state_dir);
	return cs_fail(err, cs_err_kind_of_errno(errnum), errnum, "state directory '%s'", state_dir);
}

int cs__record_lock(int runs_fd, const char *name, struct cs_record *ret)
{
	cs_autofd int dir_fd = openat(runs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	cs_autofd int file_fd = -1;
	struct stat st;

	if (dir_fd < 0)
		return -errno;
	if (flock(dir_fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	/* removed between open and lock: not there any more */
	if (fstat(dir_fd, &st) < 0 || st.st_nlink == 0)
		return -ENOENT;
	file_fd = openat(dir_fd, CS__RECORD_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (file_fd < 0 && errno != ENOENT)
		return -errno;
	*ret = CS_RECORD_INIT;
	snprintf(ret->id, sizeof(ret->id), "%s", name);
	ret->runs_fd = cs_fd_dup(runs_fd, 3);
	if (ret->runs_fd < 0)
		return ret->runs_fd;
	ret->dir_fd = cs_take_fd(&dir_fd);
	ret->file_fd = cs_take_fd(&file_fd);
	return 0;
}

void cs_record_release(struct cs_record *record)
{
	cs_close_fd(&record->file_fd);
	cs_close_fd(&record->dir_fd);
	cs_close_fd(&record->parent_fd);
	cs_close_fd(&record->runs_fd);
}

static void hidden_name(const struct cs_record *record, char *ret, size_t size)
{
	snprintf(ret, size, CS__RECORD_NEW_PREFIX "%.*s", CS_ID_MAX, record->id);
}

/* --- the id is taken ----------------------------------------------------------- */

/* By a run whose supervisor lives. One that has not written its pid yet is not known to be alive. */
static bool has_live_supervisor(int runs_fd, const char *name)
{
	char path[CS_ID_MAX + 64], text[CS_RECORD_BYTES + 1], value[32];
	cs_autofd int fd = -1;
	struct cs_pidref supervisor = CS_PIDREF_INIT;
	int64_t pid;
	ssize_t len;
	bool dead;

	snprintf(path, sizeof(path), "%s/" CS__RECORD_FILE, name);
	fd = openat(runs_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	len = fd < 0 ? -1 : pread(fd, text, CS_RECORD_BYTES, 0);
	if (len < 0)
		return false;
	text[len] = '\0';
	if (!cs__record_fact(text, "pid", value, sizeof(value)) || cs_parse_i64(value, &pid) < 0 ||
	    cs_pidref_open((pid_t)pid, &supervisor) < 0)
		return false;
	dead = cs_pidref_wait_dead(&supervisor, cs_clock_deadline_ns(DYING_NS)) == 0;
	cs_pidref_release(&supervisor);
	return !dead;
}

/*
 * Takes the lock of a record that may be on its way out: its guardian or a gc
 * cleans up. 0, -ENOENT, -EWOULDBLOCK when it is held by a live run or for too long, -errno.
 */
static int lock_patiently(int runs_fd, const char *name, int64_t deadline_ns, struct cs_record *ret)
{
	int64_t nap_ns = CS_NAP_NS;

	for (;;) {
		int r = cs__record_lock(runs_fd, name, ret);

		if (r != -EWOULDBLOCK || cs_clock_left_ns(deadline_ns) == 0 || has_live_supervisor(runs_fd, name))
			return r;
		/* a blocking flock(2) cannot be given up in time, and nothing else tells of a lock's end */
		cs_clock_nap(&nap_ns, deadline_ns);
	}
}

/* An id that is taken: free it when nobody lives there. */
static int take_over(int runs_fd, const char *name, const char *id, struct cs_err *err)
{
	struct cs_record stale;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	int r = lock_patiently(runs_fd, name, cs_clock_deadline_ns(PATIENCE_NS), &stale);

	if (r == -EWOULDBLOCK)
		return cs_fail(err, CS_EXISTS, 0, "a run with the id '%s' is live: choose another --id, or end it first", id);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "record of '%s'", id);
	r = cs_undo_replay(&stale, cs_clock_deadline_ns(PATIENCE_NS), &leftovers);
	cs_record_release(&stale);
	if (r > 0)
		return cs_fail(err, CS_EXISTS, 0, "what an earlier run '%s' left cannot be removed yet: %s", id,
			       leftovers.v[0]);
	return 0;
}

/* --- making ------------------------------------------------------------------ */

/* A file of full size whose blocks are all there: line feeds, which read as empty lines. */
static int make_file(int dir_fd)
{
	char empty[CS_RECORD_BYTES];
	cs_autofd int fd = openat(dir_fd, CS__RECORD_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	memset(empty, '\n', sizeof(empty));
	r = cs_fd_write_all(fd, empty, sizeof(empty));
	return r < 0 ? r : cs_take_fd(&fd);
}

/* Closes and removes one in the making. */
static void unmake(struct cs_record *record, const char *name)
{
	unlinkat(record->dir_fd, CS__RECORD_FILE, 0);
	unlinkat(record->runs_fd, name, AT_REMOVEDIR);
	cs_close_fd(&record->file_fd);
	cs_close_fd(&record->dir_fd);
}

/* A locked directory with its record, under a name that is no id yet. */
static int make_hidden(struct cs_record *record, const char *name, struct cs_err *err)
{
	struct stat st;
	int r;

	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		if (mkdirat(record->runs_fd, name, 0700) < 0) {
			if (errno != EEXIST)
				return cs_fail(err, cs_err_kind_of_errno(errno), errno, "record of '%s'", record->id);
			if (take_over(record->runs_fd, name, record->id, err) < 0)
				return -1;
			continue;
		}
		record->dir_fd = openat(record->runs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		/* a gc that came between took it for dead and removes it: once more */
		if (record->dir_fd < 0 || flock(record->dir_fd, LOCK_EX | LOCK_NB) < 0 ||
		    fstat(record->dir_fd, &st) < 0 || st.st_nlink == 0) {
			cs_close_fd(&record->dir_fd);
			continue;
		}
		r = make_file(record->dir_fd);
		if (r < 0) {
			unmake(record, name);
			return cs_fail(err, cs_err_kind_of_errno(-r), -r, "record of '%s'", record->id);
		}
		record->file_fd = r;
		return 0;
	}
	return cs_fail(err, CS_EXISTS, 0, "the id '%s' is taken again and again", record->id);
}

int cs_record_open(const char *state_dir, const char *id, const struct cs_cgroup_host *host,
		   struct cs_record *ret, struct cs_err *err)
{
	struct cs_record record = CS_RECORD_INIT;

	snprintf(record.id, sizeof(record.id), "%s", id);
	record.runs_fd = cs__record_open_runs(state_dir, true);
	if (record.runs_fd < 0)
		return cs__record_fail_runs(state_dir, -record.runs_fd, err);
	if (host && cs_cgroup_hold(host, CS_CGROUP_PARENT, &record.parent_fd, err) < 0) {
		cs_record_release(&record);
		return -1;
	}
	record.host = host;
	*ret = record;
	return 0;
}

int cs_record_make(struct cs_record *record, struct cs_err *err)
{
	char hidden[sizeof(record->id)];

	hidden_name(record, hidden, sizeof(hidden));
	if (make_hidden(record, hidden, err) < 0)
		return -1;
	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		if (syscall(SYS_renameat2, record->runs_fd, hidden, record->runs_fd, record->id,
			    1 /* RENAME_NOREPLACE */) == 0)
			return 0;
		if (errno != EEXIST) {
			cs_fail(err, cs_err_kind_of_errno(errno), errno, "record of '%s'", record->id);
			break;
		}
		if (take_over(record->runs_fd, record->id, record->id, err) < 0)
			break;
	}
	if (!cs_err_is_set(err))
		cs_fail(err, CS_EXISTS, 0, "the id '%s' is taken again and again", record->id);
	unmake(record, hidden);
	return -1;
}

int cs_record_clean_up(const struct cs_record *record, int64_t deadline_ns, struct cs_strv *leftovers)
{
	char hidden[sizeof(record->id)];
	const char *names[] = { record->id, hidden };
	int held = 0;

	hidden_name(record, hidden, sizeof(hidden));
	for (size_t i = 0; i < CS_ARRAY_LEN(names); i++) {
		struct cs_record dead;
		int r = lock_patiently(record->runs_fd, names[i], deadline_ns, &dead);

		if (r < 0)
			continue; /* gone, or somebody else's by now */
		held += cs_undo_replay(&dead, deadline_ns, leftovers);
		cs_record_release(&dead);
	}
	return held;
}

/* --- lines ---------------------------------------------------------------------- */

/* Writes one line behind the last. Its position, or -errno; a text with a line feed is -EINVAL. */
static ssize_t add_line(struct cs_record *record, char mark, const char *word, const char *text)
{
	char line[CS_RECORD_BYTES];
	int len = snprintf(line, sizeof(line), "%c%s %s\n", mark, word, text);
	size_t at = record->used;

	if (len < 0 || at + (size_t)len > CS_RECORD_BYTES)
		return -ENOSPC;
	if (strchr(text, '\n'))
		return -EINVAL;
	if (pwrite(record->file_fd, line, (size_t)len, (off_t)at) != len)
		return -EIO;
	record->used += (size_t)len;
	return (ssize_t)at;
}

/* C0, DEL, and C1 in UTF-8 (U+0080 to U+009F) or bare: `ps` prints these lines on terminals. */
static bool is_control(const char *p)
{
	unsigned char c = (unsigned char)p[0], next = (unsigned char)p[1];

	return c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next <= 0x9f) ||
	       (c >= 0x80 && c <= 0x9f && cs_utf8_len(p, strlen(p)) == 0);
}

int cs_record_note(struct cs_record *record, const char *key, const char *value)
{
	char clean[256];
	size_t n = 0;

	for (; value[n] && n < sizeof(clean) - 1; n++)
		clean[n] = is_control(value + n) ? ' ' : value[n];
	clean[n] = '\0';
	return (int)CS_MIN(add_line(record, '=', key, clean), 0);
}

static const char *const undo_words[] = {
	[CS_UNDO_CGROUP] = "cgroup", [CS_UNDO_SESSION] = "session", [CS_UNDO_CONTAINER] = "container",
};
_Static_assert(CS_ARRAY_LEN(undo_words) == CS_UNDO_KINDS, "a word for every kind");

int cs_undo_push(struct cs_record *record, enum cs_undo_kind kind, const char *argument,
		 size_t *ret_at, struct cs_err *err)
{
	ssize_t at = add_line(record, '+', undo_words[kind], argument);

	if (at < 0)
		return cs_fail(err, CS_IO, (int)-at, "record: step '%s %.128s'", undo_words[kind], argument);
	*ret_at = (size_t)at;
	return 0;
}

int cs_undo_strike(struct cs_record *record, size_t at)
{
	return pwrite(record->file_fd, "-", 1, (off_t)at) == 1 ? 0 : -EIO;
}
