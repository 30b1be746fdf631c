#include "shim/task/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/engine/engine_call.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/mount.h"
#include "shim/sys/mountinfo.h"
#include "shim/sys/pidref.h"
#include "shim/sys/reaper.h"
#include "shim/task/guardian.h"
#include "shim/task/record.h"
#include "shim/task/settings.h"

#define PRIVATE_BYTES (16 << 20)
#define PRIVATE_INODES 4096
#define REMOVE_NS (2 * CS_NSEC_PER_SEC)

/* Descriptors that an engine may have open when it changes to the working directory. */
#define FD_FIRST 3
#define FD_LAST 16

struct probing {
	const struct cs_engine *engine;
	int64_t timeout_ns;
	char private[CS_STATE_DIR_MAX + 1];
	char bundle[300], rootfs[300], root[300], log[300], pid_file[300];
	char cgroup[96], cell[96];
	struct cs_cgroup_host host;
	struct cs_loop *loop;
	struct cs_record record;
	struct cs_guardian guardian;
	int cell_fd;
	unsigned n; /* containers so far */
};

/* --- a container that is created and looked at ------------------------------------- */

/* No more than all engines want. The command is there to be found, not to be run. */
static int write_config(const struct probing *p, const char *cwd, struct cs_err *err)
{
	static const char *const namespaces[] = { "pid", "mount", "ipc", "uts", "network" };
	cs_autojson struct cs_json *config = NULL;
	cs_auto(buf) text = CS_BUF_INIT(8192);
	char path[320];

	cs_buf_addf(&text,
		    "{\"ociVersion\":\"1.0.2\",\"process\":{\"user\":{\"uid\":0,\"gid\":0},\"args\":[\"/program\"],"
		    "\"env\":[\"PATH=/\"],\"cwd\":\"%s\",\"noNewPrivileges\":true},\"root\":{\"path\":\"rootfs\"},"
		    "\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"}],"
		    "\"linux\":{\"cgroupsPath\":\"%s\",\"maskedPaths\":[\"/masked\"],\"namespaces\":[",
		    cwd, p->cgroup);
	for (size_t i = 0; i < CS_ARRAY_LEN(namespaces); i++)
		cs_buf_addf(&text, "%s{\"type\":\"%s\"}", i ? "," : "", namespaces[i]);
	cs_buf_adds(&text, "]}}");
	if (text.failed)
		return cs_fail(err, CS_LIMIT, ENOMEM, "probe");
	snprintf(path, sizeof(path), "%s/config.json", p->bundle);
	if (cs_json_parse(text.data, text.len, "probe", &config, err) < 0)
		return -1;
	return cs_json_write_file(config, CS_JSON_INDENTED, AT_FDCWD, path, 0600, err);
}

static int read_pid(const struct probing *p, struct cs_pidref *ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(64);
	uint32_t pid;
	int r = cs_file_read(AT_FDCWD, p->pid_file, &text);

	if (r == 0 && text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	if (r < 0 || text.len == 0 || cs_parse_u32(text.data, &pid) < 0)
		return cs_fail(err, CS_ENGINE, -r, "%s create left no pid file", p->engine->kind->name);
	r = cs_pidref_open((pid_t)pid, ret);
	return r < 0 ? cs_fail(err, CS_ENGINE, -r, "init process %u", pid) : 0;
}

static int create(struct probing *p, const char *cwd, struct cs_pidref *ret, struct cs_err *err)
{
	char id[64];
	struct cs_engine_args args = {
		.root = p->root, .log = p->log, .id = id, .bundle = p->bundle, .pid_file = p->pid_file, .network_none = true,
	};
	struct cs_engine_call call = {
		.engine = p->engine,
		.verb = CS_VERB_CREATE,
		.args = &args,
		.timeout_ns = cs_engine_timeout_ns(CS_VERB_CREATE, p->timeout_ns),
		.cgroup_procs_fds = &p->cell_fd,
		.n_cgroup_procs_fds = 1,
	};

	snprintf(id, sizeof(id), "probe-%u", p->n++);
	unlink(p->pid_file);
	if (write_config(p, cwd, err) < 0 || cs_engine_call(p->loop, &call, NULL, err) < 0)
		return -1;
	return read_pid(p, ret, err);
}

/* Whatever create left: the next container finds the group as new. */
static void destroy(struct probing *p, struct cs_pidref *init)
{
	int64_t deadline = cs_clock_deadline_ns(REMOVE_NS);
	struct cs_cgroup *cgroup;
	struct cs_err none = CS_ERR_INIT;

	if (cs_cgroup_open(&p->host, p->cgroup, &cgroup, &none) == 0) {
		cs_cgroup_kill(cgroup, deadline);
		cs_cgroup_free(cgroup);
	}
	if (init->fd >= 0) {
		int status;

		cs_pidref_kill(init, SIGKILL);
		if (cs_pidref_wait_dead(init, deadline) == 0)
			cs_pidref_reap(init, &status);
		cs_pidref_release(init);
	}
	cs_cgroup_remove(&p->host, p->cgroup, deadline, NULL);
	cs_reaper_sweep(NULL, 0);
}

/* --- what is looked for ---------------------------------------------------------------- */

/* O_PATH descriptor of something that a process has: "cwd", "root/masked". */
static int open_of(const struct cs_pidref *init, const char *what, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)init->pid, what);
	return open(path, O_PATH | O_CLOEXEC | flags);
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return a >= 0 && b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Is the mount that fd lies on one of the process's own namespace? 1, 0, -errno. */
static int in_its_namespace(const struct cs_pidref *init, int fd)
{
	cs_auto(buf) table = CS_BUF_INIT(1 << 20);
	char path[64], *cursor;
	struct cs_mountinfo row;
	struct statx stx;
	int r;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0)
		return -errno;
	if (!(stx.stx_mask & STATX_MNT_ID)) /* Linux < 5.8 */
		return -ENOSYS;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)init->pid);
	r = cs_file_read(AT_FDCWD, path, &table);
	if (r < 0)
		return r;
	for (cursor = table.data; cursor && cs_mountinfo_next(&cursor, &row);)
		if (row.id == stx.stx_mnt_id)
			return 1;
	return 0;
}

static int look_at_cwd(const struct cs_pidref *init, unsigned number, struct cs_probe_finding *ret, struct cs_err *err)
{
	cs_autofd int cwd = open_of(init, "cwd", O_DIRECTORY);
	char link[64], target[128] = "";
	int r = cwd < 0 ? -errno : in_its_namespace(init, cwd);

	if (r < 0 && cs_pidref_is_dead(init)) /* refused, and told so too late */
		return 0;
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "working directory of process %d", (int)init->pid);
	if (r == 1)
		return 0;
	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)init->pid);
	if (readlink(link, target, sizeof(target) - 1) < 0)
		snprintf(target, sizeof(target), "a directory");
	ret->open = true;
	snprintf(ret->what, sizeof(ret->what), "with cwd /proc/self/fd/%u a container stands in %.100s of the host", number,
		 target);
	return 0;
}

static int try_cwd(struct probing *p, struct cs_probe_finding *ret, struct cs_err *err)
{
	struct cs_pidref init = CS_PIDREF_INIT;
	bool there = false;
	int r;

	/* the other way round first: a directory that is right must be changed to, and before start */
	r = create(p, "/dev", &init, err);
	if (r == 0) {
		cs_autofd int cwd = open_of(&init, "cwd", O_DIRECTORY), dev = open_of(&init, "root/dev", O_DIRECTORY);

		there = same_file(cwd, dev);
	}
	destroy(p, &init);
	if (r < 0)
		return -1;
	if (!there)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s changes to the working directory at start only", p->engine->kind->name);
	for (unsigned fd = FD_FIRST; fd <= FD_LAST && !ret->open; fd++) {
		struct cs_err refused = CS_ERR_INIT;
		char cwd[32];

		snprintf(cwd, sizeof(cwd), "/proc/self/fd/%u", fd);
		r = create(p, cwd, &init, &refused) == 0 ? look_at_cwd(&init, fd, ret, err) : 0;
		destroy(p, &init);
		if (r < 0)
			return -1;
	}
	if (!ret->open)
		snprintf(ret->what, sizeof(ret->what), "no descriptor of the engine leads out as cwd");
	return 0;
}

static bool is_null_device(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

/* What stands where /masked was: 0 the null device, 1 something else. */
static int look_at_masked(struct probing *p, struct cs_err *err)
{
	struct cs_pidref init = CS_PIDREF_INIT;
	int r = create(p, "/", &init, err);

	if (r == 0) {
		cs_autofd int masked = open_of(&init, "root/masked", O_NOFOLLOW);

		r = is_null_device(masked) ? 0 : 1;
	}
	destroy(p, &init);
	return r;
}

static int try_masking(struct probing *p, struct cs_probe_finding *ret, struct cs_err *err)
{
	struct cs_err refused = CS_ERR_INIT;
	char link[320];
	int r = look_at_masked(p, err);

	if (r < 0)
		return -1;
	if (r > 0)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s masks nothing at create", p->engine->kind->name);
	snprintf(link, sizeof(link), "%s/dev/null", p->rootfs);
	if ((unlink(link) < 0 && errno != ENOENT) || symlink("/marker", link) < 0)
		return cs_fail(err, CS_IO, errno, "'%s'", link);
	r = look_at_masked(p, &refused);
	ret->open = r > 0;
	snprintf(ret->what, sizeof(ret->what), "%s",
		 r > 0 ? "a /dev/null that is a link in the image is followed: a file of its choice stands where a path was masked"
		       : "a /dev/null that is a link in the image is not followed");
	return 0;
}

/* --- what a probe stands on ---------------------------------------------------------------- */

static int make_rootfs(const struct probing *p, struct cs_err *err)
{
	static const struct {
		const char *name;
		mode_t mode; /* 0: a directory */
	} things[] = {
		{ "", 0 }, { "dev", 0 }, { "proc", 0 }, { "program", 0755 }, { "marker", 0644 }, { "masked", 0644 },
	};

	if (mkdir(p->bundle, 0755) < 0 || mkdir(p->root, 0711) < 0)
		return cs_fail(err, CS_IO, errno, "'%s'", p->bundle);
	for (size_t i = 0; i < CS_ARRAY_LEN(things); i++) {
		char path[320];
		int r = 0;

		snprintf(path, sizeof(path), "%s/%s", p->rootfs, things[i].name);
		if (things[i].mode)
			r = cs_file_write_atomic(AT_FDCWD, path, "#!/program\n", 11, things[i].mode, false);
		else if (mkdir(path, 0755) < 0)
			r = -errno;
		if (r < 0)
			return cs_fail(err, CS_IO, -r, "'%s'", path);
	}
	return 0;
}

static int name_places(struct probing *p, const char *state_dir, char *id, size_t size, struct cs_err *err)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return cs_fail(err, CS_IO, errno, "random id");
	snprintf(id, size, "check-%08x", random);
	snprintf(p->private, sizeof(p->private), "%s", state_dir);
	snprintf(p->bundle, sizeof(p->bundle), "%s/bundle", state_dir);
	snprintf(p->rootfs, sizeof(p->rootfs), "%s/bundle/rootfs", state_dir);
	snprintf(p->root, sizeof(p->root), "%s/engine", state_dir);
	snprintf(p->log, sizeof(p->log), "%s/log.json", state_dir);
	snprintf(p->pid_file, sizeof(p->pid_file), "%s/pid", state_dir);
	snprintf(p->cgroup, sizeof(p->cgroup), CS_CGROUP_PARENT "/%s", id);
	snprintf(p->cell, sizeof(p->cell), CS_CGROUP_PARENT "/_engine-%s", id);
	return 0;
}

static int write_down(struct probing *p, struct cs_err *err)
{
	char pid[16];
	size_t at;

	if (cs_guardian_start(&p->record, p->cgroup, -1, -1, &p->guardian, err) < 0 || cs_record_make(&p->record, err) < 0)
		return -1;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	cs_record_note(&p->record, "pid", pid);
	cs_record_note(&p->record, "engine", p->engine->kind->name);
	cs_record_note(&p->record, "command", "a probe of caisson check");
	return cs_undo_push(&p->record, CS_UNDO_CGROUP, p->cgroup, &at, err) < 0 ||
			       cs_undo_push(&p->record, CS_UNDO_CGROUP, p->cell, &at, err) < 0
		       ? -1
		       : 0;
}

static int set_up(struct probing *p, const char *state_dir, struct cs_err *err)
{
	char id[32];
	int r = cs_reaper_become();

	p->loop = cs_loop_new();
	if (r < 0 || !p->loop)
		return cs_fail(err, CS_IO, r < 0 ? -r : errno, "probe");
	if (name_places(p, state_dir, id, sizeof(id), err) < 0 || cs_cgroup_host_read(&p->host, err) < 0 ||
	    cs_record_open(state_dir, id, &p->host, &p->record, err) < 0 || write_down(p, err) < 0 ||
	    cs_cgroup_make_cell(&p->host, p->cell, CS_CGROUP_BY_THREAD, &p->cell_fd, err) < 0 ||
	    cs_mount_new_namespace(err) < 0)
		return -1;
	if (p->engine->kind->hide_unified && cs_mount_hide_unified(&p->host, p->private, err) < 0)
		return -1;
	/* devices are made in it: no MS_NODEV */
	if (cs_mount_tmpfs(p->private, PRIVATE_BYTES, PRIVATE_INODES, 0711, MS_NOSUID, err) < 0)
		return -1;
	return make_rootfs(p, err);
}

static void tear_down(struct probing *p)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;

	if (p->record.dir_fd >= 0)
		cs_undo_replay(&p->record, cs_clock_deadline_ns(REMOVE_NS), &leftovers);
	cs_guardian_dismiss(&p->guardian);
	if (p->record.runs_fd >= 0)
		cs_record_tidy(&p->record);
	cs_record_release(&p->record);
	cs_close_fd(&p->cell_fd);
	cs_loop_free(p->loop);
}

/* --- the table ------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	int (*try_it)(struct probing *p, struct cs_probe_finding *ret, struct cs_err *err);
} probes[] = {
	[CS_PROBE_CWD] = { "cwd", try_cwd },
	[CS_PROBE_MASKING] = { "masking", try_masking },
};
_Static_assert(CS_ARRAY_LEN(probes) == CS_PROBES, "a way to try every probe");

const char *cs_probe_word(enum cs_probe probe)
{
	return (size_t)probe < CS_ARRAY_LEN(probes) ? probes[probe].word : NULL;
}

int cs_probe_engine(const struct cs_engine *engine, enum cs_probe probe, const char *state_dir, int64_t timeout_ns,
		    struct cs_probe_finding *ret, struct cs_err *err)
{
	struct probing p = { .engine = engine, .timeout_ns = timeout_ns, .record = CS_RECORD_INIT, .guardian = CS_GUARDIAN_INIT, .cell_fd = -1 };
	struct cs_probe_finding finding = { 0 };
	int r;

	if (engine->kind->own_kernel)
		return cs_fail(err, CS_UNSUPPORTED, 0, "%s has a kernel of its own between", engine->kind->name);
	r = set_up(&p, state_dir, err);
	if (r == 0)
		r = probes[probe].try_it(&p, &finding, err);
	tear_down(&p);
	if (r == 0)
		*ret = finding;
	return r;
}
