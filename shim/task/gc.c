/* Other runs' records: listing them, and cleaning up behind the dead. */
#include "shim/task/record_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/task/foreign.h"
#include "shim/task/session.h"

/* How long one dead run may take to be cleaned up before the next has its turn. */
#define ONE_RUN_NS (2 * CS_NSEC_PER_SEC)

/* One entry of the runs directory; a held lock means live, and record is empty then. */
typedef void entry_fn(const char *name, int runs_fd, enum cs_record_life life,
		      struct cs_record *record, void *arg);

static int walk(const char *state_dir, int64_t deadline_ns, entry_fn *fn, void *arg,
		struct cs_err *err)
{
	cs_autofd int runs_fd = cs__record_open_runs(state_dir, false);
	int scan_fd;
	struct dirent *entry;
	DIR *dir;

	if (runs_fd == -ENOENT)
		return 0;
	if (runs_fd < 0)
		return cs__record_fail_runs(state_dir, -runs_fd, err);
	scan_fd = openat(runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = scan_fd >= 0 ? fdopendir(scan_fd) : NULL;
	if (!dir) {
		cs_fail(err, CS_IO, errno, "state directory '%s'", state_dir);
		cs_close_fd(&scan_fd);
		return -1;
	}
	while ((entry = readdir(dir)) && cs_clock_left_ns(deadline_ns) > 0) {
		struct cs_record record = CS_RECORD_INIT;
		int r;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = cs__record_lock(runs_fd, entry->d_name, &record);
		if (r == 0 || r == -EWOULDBLOCK)
			fn(entry->d_name, runs_fd, r == 0 ? CS_RECORD_DEAD : CS_RECORD_LIVE, &record, arg);
		cs_record_release(&record);
	}
	closedir(dir);
	return 0;
}

/* The argument of the first open step of that kind ("+cgroup "), of *ret_len bytes; NULL: there is none. */
static const char *find_step(const char *text, const char *step, int *ret_len)
{
	size_t n = strlen(step);

	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		if (strncmp(line, step, n) == 0) {
			*ret_len = (int)(end - line - (ptrdiff_t)n);
			return line + n;
		}
	return NULL;
}

static void read_text(int fd, char text[static CS_RECORD_BYTES + 1])
{
	ssize_t len = fd < 0 ? 0 : pread(fd, text, CS_RECORD_BYTES, 0);

	text[CS_MAX(len, 0)] = '\0';
}

/* --- gc ------------------------------------------------------------------------ */

struct gc {
	struct cs_gc_counts counts;
	bool ask_engines;
	struct cs_strv *leftovers;
	int64_t deadline_ns;
};

/* Half made when its creator died: an engine has to be asked for its removal. */
static bool has_container(const struct cs_record *record)
{
	char text[CS_RECORD_BYTES + 1];
	int len;

	read_text(record->file_fd, text);
	return find_step(text, "+container ", &len);
}

static void collect(const char *name CS_UNUSED, int runs_fd CS_UNUSED, enum cs_record_life life,
		    struct cs_record *record, void *arg)
{
	struct gc *gc = arg;
	int64_t deadline_ns = CS_MIN(gc->deadline_ns, cs_clock_deadline_ns(ONE_RUN_NS));

	if (life == CS_RECORD_LIVE)
		gc->counts.live++;
	else if (!gc->ask_engines && has_container(record))
		gc->counts.held++;
	else if (cs_undo_replay(record, deadline_ns, gc->leftovers) == 0)
		gc->counts.removed++;
	else
		gc->counts.held++;
}

int cs_gc(const char *state_dir, int64_t budget_ns, struct cs_gc_counts *ret,
	  struct cs_strv *leftovers, struct cs_err *err)
{
	/* an engine takes its time, and what is killed half way is worse: not when somebody waits for a start */
	struct gc gc = { .ask_engines = budget_ns == CS_NEVER, .leftovers = leftovers, .deadline_ns = cs_clock_deadline_ns(budget_ns) };

	if (walk(state_dir, gc.deadline_ns, collect, &gc, err) < 0)
		return -1;
	if (gc.ask_engines)
		gc.counts.removed += cs_foreign_gc(state_dir, gc.deadline_ns, leftovers);
	gc.counts.removed += cs_session_collect(state_dir, gc.deadline_ns, leftovers);
	/* a gc that was killed may have left the shared parts only */
	if (gc.counts.live == 0 && (gc.counts.removed > 0 || budget_ns == CS_NEVER)) {
		struct cs_record shared = CS_RECORD_INIT;

		shared.runs_fd = cs__record_open_runs(state_dir, false);
		if (shared.runs_fd >= 0)
			cs_record_tidy(&shared);
		cs_record_release(&shared);
	}
	*ret = gc.counts;
	return 0;
}

/* --- listing --------------------------------------------------------------------- */

bool cs__record_fact(const char *text, const char *key, char *ret, size_t size)
{
	size_t n = strlen(key);

	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		if (line[0] == '=' && strncmp(line + 1, key, n) == 0 && line[1 + n] == ' ') {
			snprintf(ret, size, "%.*s", (int)(end - (line + n + 2)), line + n + 2);
			return true;
		}
	return false;
}

/* The number of a fact, 0 without it. */
static int64_t number_of(const char *text, const char *key)
{
	char value[32];
	int64_t number;

	return cs__record_fact(text, key, value, sizeof(value)) && cs_parse_i64(value, &number) == 0 ? number : 0;
}

/* The container's group is the first that is written down. */
static void read_cgroup(const char *text, struct cs_record_facts *facts)
{
	int len;
	const char *path = find_step(text, "+cgroup ", &len);

	if (path)
		snprintf(facts->cgroup, sizeof(facts->cgroup), "%.*s", len, path);
}

struct listing {
	cs_record_fn *fn;
	void *arg;
};

static void list(const char *name, int runs_fd, enum cs_record_life life,
		 struct cs_record *record CS_UNUSED, void *arg)
{
	struct listing *listing = arg;
	struct cs_record_facts facts = { .life = life };
	char path[CS_ID_MAX + 32], text[CS_RECORD_BYTES + 1];
	cs_autofd int fd = -1;

	if (name[0] == '.')
		return;
	snprintf(facts.id, sizeof(facts.id), "%s", name);
	snprintf(path, sizeof(path), "%s/" CS__RECORD_FILE, facts.id);
	fd = openat(runs_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	read_text(fd, text);
	facts.pid = (pid_t)number_of(text, "pid");
	facts.started_ns = number_of(text, "started");
	cs__record_fact(text, "engine", facts.engine, sizeof(facts.engine));
	cs__record_fact(text, "command", facts.command, sizeof(facts.command));
	read_cgroup(text, &facts);
	listing->fn(&facts, listing->arg);
}

int cs_record_each(const char *state_dir, cs_record_fn *fn, void *arg, struct cs_err *err)
{
	struct listing listing = { .fn = fn, .arg = arg };

	return walk(state_dir, CS_NEVER, list, &listing, err);
}
