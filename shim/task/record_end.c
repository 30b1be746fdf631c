/* Ending what does not end itself: a supervisor that is stopped or stuck, and what a dead one left. */
#include "shim/task/record_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/sys/pidref.h"

#define LOCKS_MAX (16 << 20)

/* After SIGKILL a process may need a while to go. */
#define DEATH_NS (5 * CS_NSEC_PER_SEC)

/*
 * Is a flock(2) on that inode held through a descriptor that this process took
 * it with? One line of /proc/locks (proc(5)): "1: FLOCK  ADVISORY  WRITE PID MAJOR:MINOR:INODE 0 EOF".
 */
static bool has_lock(const char *locks, pid_t pid, ino_t inode)
{
	for (const char *line = locks; line && *line; line = strchr(line, '\n'), line += line != NULL) {
		int holder;
		uint64_t held;

		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %*x:%*x:%" SCNu64, &holder, &held) == 2 &&
		    holder == pid && held == inode)
			return true;
	}
	return false;
}

static int read_pid(int runs_fd, const char *id, pid_t *ret)
{
	char path[CS_ID_MAX + 32], text[32];
	cs_auto(buf) record = CS_BUF_INIT(CS_RECORD_BYTES);
	int64_t pid;
	int r;

	snprintf(path, sizeof(path), "%s/" CS__RECORD_FILE, id);
	r = cs_file_read(runs_fd, path, &record);
	if (r < 0)
		return r;
	if (!record.data || !cs__record_fact(record.data, "pid", text, sizeof(text)) || cs_parse_i64(text, &pid) < 0 ||
	    pid < 2 || pid > INT32_MAX)
		return -ENODATA;
	*ret = (pid_t)pid;
	return 0;
}

/*
 * By the number in the record; a pidfd for it is opened first, and then seen
 * to be the supervisor's, who alone holds the lock with that number.
 */
static int kill_supervisor(int runs_fd, const char *id)
{
	struct cs_pidref process = CS_PIDREF_INIT;
	cs_auto(buf) locks = CS_BUF_INIT(LOCKS_MAX);
	struct stat st;
	pid_t pid;
	int r = read_pid(runs_fd, id, &pid);

	if (r < 0)
		return r;
	if (fstatat(runs_fd, id, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	r = cs_pidref_open(pid, &process);
	if (r == 0)
		r = cs_file_read(AT_FDCWD, "/proc/locks", &locks);
	if (r == 0 && !has_lock(locks.data, pid, st.st_ino))
		r = -ESRCH;
	if (r == 0)
		r = cs_pidref_kill(&process, SIGKILL);
	if (r == 0)
		r = cs_pidref_wait_dead(&process, cs_clock_deadline_ns(DEATH_NS));
	cs_pidref_release(&process);
	return r;
}

int cs_record_end(const char *state_dir, const char *id, bool kill, int64_t deadline_ns, struct cs_strv *leftovers,
		  struct cs_err *err)
{
	struct cs_record record = CS_RECORD_INIT;
	int r;

	record.runs_fd = cs__record_open_runs(state_dir, false);
	if (record.runs_fd == -ENOENT)
		return 0;
	if (record.runs_fd < 0)
		return cs__record_fail_runs(state_dir, -record.runs_fd, err);
	snprintf(record.id, sizeof(record.id), "%s", id);
	r = kill ? kill_supervisor(record.runs_fd, id) : 0;
	/* dead, or gone with all that it had */
	if (r == -ESRCH || r == -ENOENT || r == -ENODATA)
		r = 0;
	if (r < 0)
		cs_fail(err, r == -ETIMEDOUT ? CS_TIMEOUT : CS_IO, -r, "the supervisor of '%s' cannot be killed", id);
	else
		r = cs_record_clean_up(&record, deadline_ns, leftovers);
	if (r == 0 && faccessat(record.runs_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		r = cs_fail(err, CS_TIMEOUT, 0, "'%s' is still being cleaned up: try again", id);
	cs_record_tidy(&record);
	cs_record_release(&record);
	return r;
}
