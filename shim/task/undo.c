/*
 * Playing a record back: each kind of step has one function that undoes it,
 * whatever state the thing is in, and is harmless when it is gone already.
 */
#include "shim/task/record_int.h"

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
#include "shim/task/ctl.h"
#include "shim/task/foreign.h"
#include "shim/task/session.h"

/* 0 when it is undone; else the reason is in `why`. */
typedef int undo_fn(const struct cs_record *record, const struct cs_cgroup_host *host, const char *argument,
		    int64_t deadline_ns, char *why, size_t why_size);

/* State letter of a process (proc(5), /proc/PID/stat), '?' when it cannot be read. */
static char process_state(pid_t pid)
{
	char path[32];
	cs_auto(buf) text = CS_BUF_INIT(4096);
	const char *behind;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (cs_file_read(AT_FDCWD, path, &text) < 0 || !text.data)
		return '?';
	behind = strrchr(text.data, ')');
	return behind && behind[1] == ' ' && behind[2] ? behind[2] : '?';
}

static int undo_cgroup(const struct cs_record *record CS_UNUSED, const struct cs_cgroup_host *host, const char *path,
		       int64_t deadline_ns, char *why, size_t why_size)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup = NULL;
	pid_t holder = 0;
	int r;

	/* mostly nobody is left in it, or it is gone */
	if (cs_cgroup_remove(host, path, 0, NULL) == 0)
		return 0;
	if (cs_cgroup_open(host, path, &cgroup, &err) == 0) {
		cs_cgroup_kill(cgroup, deadline_ns);
		cs_cgroup_free(cgroup);
	}
	r = cs_cgroup_remove(host, path, deadline_ns, &holder);
	if (r == 0)
		return 0;
	if (holder > 0)
		snprintf(why, why_size, "cgroup %s: process %d in state %c", path, (int)holder,
			 process_state(holder));
	else
		snprintf(why, why_size, "cgroup %s: %s", path, strerror(-r));
	return -1;
}

static int undo_session(const struct cs_record *record, const struct cs_cgroup_host *host CS_UNUSED, const char *id,
			int64_t deadline_ns CS_UNUSED, char *why, size_t why_size)
{
	int r = cs_id_valid(id) ? cs_session_undo(record->runs_fd, id) : -EINVAL;

	if (r < 0)
		snprintf(why, why_size, "session %.128s: %s", id, strerror(-r));
	return r;
}

static int undo_container(const struct cs_record *record CS_UNUSED, const struct cs_cgroup_host *host CS_UNUSED,
			  const char *path, int64_t deadline_ns, char *why, size_t why_size)
{
	return cs__foreign_undo(path, deadline_ns, why, why_size);
}

static const struct {
	const char *word;
	undo_fn *undo;
} kinds[] = {
	[CS_UNDO_CGROUP] = { "cgroup", undo_cgroup },
	[CS_UNDO_SESSION] = { "session", undo_session },
	[CS_UNDO_CONTAINER] = { "container", undo_container },
};
_Static_assert(CS_ARRAY_LEN(kinds) == CS_UNDO_KINDS, "a function for every kind");

/* Undoes the line at `at` when it is an open step. 0 when nothing is left of it. */
static int replay_line(struct cs_record *record, const struct cs_cgroup_host *host, char *line,
		       size_t at, int64_t deadline_ns, struct cs_strv *leftovers)
{
	char why[512];
	char *argument = strchr(line, ' ');

	if (line[0] != '+' || !argument)
		return 0;
	*argument++ = '\0';
	for (size_t i = 0; i < CS_ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].word, line + 1) != 0)
			continue;
		if (kinds[i].undo(record, host, argument, deadline_ns, why, sizeof(why)) == 0) {
			cs_undo_strike(record, at);
			return 0;
		}
		cs_strv_add(leftovers, why);
		return -1;
	}
	/* written by a version that knows more than we do: leave it alone */
	cs_strv_addf(leftovers, "record of '%s': step '%s' is unknown to this version", record->id,
		     line + 1);
	return -1;
}

/* The host that the record knows, else what is read into `own`. NULL and err when that fails. */
static const struct cs_cgroup_host *host_of(const struct cs_record *record, struct cs_cgroup_host *own,
					    struct cs_err *err)
{
	if (record->host)
		return record->host;
	return cs_cgroup_host_read(own, err) == 0 ? own : NULL;
}

/* The open steps from `from` on, the last first. */
static int replay_lines(struct cs_record *record, size_t from, int64_t deadline_ns, struct cs_strv *leftovers)
{
	char text[CS_RECORD_BYTES + 1];
	size_t starts[CS_RECORD_BYTES / 4], n = 0;
	struct cs_cgroup_host own;
	const struct cs_cgroup_host *host;
	struct cs_err err = CS_ERR_INIT;
	ssize_t len;
	int held = 0;

	if (record->file_fd < 0) /* killed before the file was made: there is nothing to undo */
		return 0;
	len = pread(record->file_fd, text, CS_RECORD_BYTES, 0);
	host = len < 0 ? NULL : host_of(record, &own, &err);
	if (!host) {
		cs_strv_addf(leftovers, "record of '%s' cannot be read: %s", record->id,
			     len < 0 ? strerror(errno) : err.text);
		return 1;
	}
	text[len] = '\0';
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (line[0] == '+' && (size_t)(line - text) >= from && n < CS_ARRAY_LEN(starts))
			starts[n++] = (size_t)(line - text);
	}
	while (n-- > 0)
		held += replay_line(record, host, text + starts[n], starts[n], deadline_ns, leftovers) < 0;
	return held;
}

int cs_undo_replay_behind(struct cs_record *record, size_t at, int64_t deadline_ns, struct cs_strv *leftovers)
{
	return replay_lines(record, at + 1, deadline_ns, leftovers);
}

int cs_undo_replay(struct cs_record *record, int64_t deadline_ns, struct cs_strv *leftovers)
{
	int held = replay_lines(record, 0, deadline_ns, leftovers);

	if (held > 0)
		return held;
	/* the file goes before the directory: one without it has nothing to undo */
	if ((unlinkat(record->dir_fd, CS_CTL_FILE, 0) < 0 && errno != ENOENT) ||
	    (unlinkat(record->dir_fd, CS__RECORD_FILE, 0) < 0 && errno != ENOENT) ||
	    (unlinkat(record->runs_fd, record->id, AT_REMOVEDIR) < 0 && errno != ENOENT)) {
		cs_strv_addf(leftovers, "record of '%s': %s", record->id, strerror(errno));
		return 1;
	}
	return 0;
}

void cs_record_tidy(struct cs_record *record)
{
	struct cs_cgroup_host own;
	struct cs_err err = CS_ERR_INIT;
	const struct cs_cgroup_host *host = host_of(record, &own, &err);

	cs_close_fd(&record->file_fd);
	cs_close_fd(&record->dir_fd);
	cs_close_fd(&record->parent_fd);
	if (host)
		cs_cgroup_drop(host, CS_CGROUP_PARENT, CS_CGROUP_GUARDIANS);
	/* flock(2): the shared lock is given up first, so of two that leave at once the later one gets it */
	if (flock(record->runs_fd, LOCK_EX | LOCK_NB) < 0)
		return;
	unlinkat(record->runs_fd, "../runs", AT_REMOVEDIR);
	flock(record->runs_fd, LOCK_UN);
}
