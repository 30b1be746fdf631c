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

/* The state directory holds secrets of nobody but root: refuse one that others can write. */
static int check_state_dir(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
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
	cs_close_fd(&record->runs_fd);
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

/* A locked directory with its record under a name that is no id yet. */
static int make_hidden(struct cs_record *record, char *name, size_t size)
{
	struct stat st;
	int r;

	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, size, CS__RECORD_NEW_PREFIX "%d-%u", (int)getpid(), i);
		if (mkdirat(record->runs_fd, name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return -errno;
		}
		record->dir_fd = openat(record->runs_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* a gc that came between took it for dead and removes it: try the next name */
		if (record->dir_fd < 0 || flock(record->dir_fd, LOCK_EX | LOCK_NB) < 0 ||
		    fstat(record->dir_fd, &st) < 0 || st.st_nlink == 0) {
			cs_close_fd(&record->dir_fd);
			continue;
		}
		r = make_file(record->dir_fd);
		if (r < 0) {
			unlinkat(record->dir_fd, CS__RECORD_FILE, 0);
			unlinkat(record->runs_fd, name, AT_REMOVEDIR);
			cs_close_fd(&record->dir_fd);
			return r;
		}
		record->file_fd = r;
		return 0;
	}
	return -EEXIST;
}

/* An id that is taken: free it when nobody holds it. */
static int take_over(int runs_fd, const char *id, struct cs_err *err)
{
	struct cs_record stale;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	int r = cs__record_lock(runs_fd, id, &stale);

	if (r == -EWOULDBLOCK)
		return cs_fail(err, CS_EXISTS, 0, "a run with the id '%s' is live: choose another --id, or end it first", id);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "record of '%s'", id);
	r = cs_undo_replay(&stale, cs_clock_deadline_ns(2 * CS_NSEC_PER_SEC), &leftovers);
	cs_record_release(&stale);
	if (r > 0)
		return cs_fail(err, CS_EXISTS, 0, "what an earlier run '%s' left cannot be removed yet: %s", id,
			       leftovers.v[0]);
	return 0;
}

int cs_record_create(const char *state_dir, const char *id, struct cs_record *ret,
		     struct cs_err *err)
{
	struct cs_record record = CS_RECORD_INIT;
	char hidden[64];
	int r;

	snprintf(record.id, sizeof(record.id), "%s", id);
	record.runs_fd = cs__record_open_runs(state_dir, true);
	if (record.runs_fd == -EPERM)
		return cs_fail(err, CS_DENIED, 0, "state directory '%s' must belong to root and be writable by root only",
			       state_dir);
	if (record.runs_fd < 0)
		return cs_fail(err, cs_err_kind_of_errno(-record.runs_fd), -record.runs_fd,
			       "state directory '%s'", state_dir);
	r = make_hidden(&record, hidden, sizeof(hidden));
	if (r < 0) {
		cs_record_release(&record);
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "record in '%s'", state_dir);
	}
	for (int tries = 0; tries < 10; tries++) {
		if (syscall(SYS_renameat2, record.runs_fd, hidden, record.runs_fd, id, 1 /* RENAME_NOREPLACE */) == 0) {
			*ret = record;
			return 0;
		}
		if (errno != EEXIST) {
			cs_fail(err, cs_err_kind_of_errno(errno), errno, "record of '%s'", id);
			break;
		}
		if (take_over(record.runs_fd, id, err) < 0)
			break;
	}
	if (!cs_err_is_set(err))
		cs_fail(err, CS_EXISTS, 0, "the id '%s' is taken again and again", id);
	unlinkat(record.dir_fd, CS__RECORD_FILE, 0);
	unlinkat(record.runs_fd, hidden, AT_REMOVEDIR);
	cs_record_release(&record);
	return -1;
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

int cs_record_note(struct cs_record *record, const char *key, const char *value)
{
	char clean[256];
	size_t n = 0;

	for (; value[n] && n < sizeof(clean) - 1; n++)
		clean[n] = (value[n] >= 0 && value[n] < 0x20) ? ' ' : value[n];
	clean[n] = '\0';
	return (int)CS_MIN(add_line(record, '=', key, clean), 0);
}

static const char *const undo_words[] = { [CS_UNDO_CGROUP] = "cgroup" };
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
