/* caisson check: can this host run jobs, and if not, what is to be done. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/cli/cmd.h"
#include "shim/engine/engine.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/spawn.h"

struct check {
	char *runtime;
	bool json;
};

static const struct cs_opt rows[] = {
	{ "runtime", 0, CS_OPT_TEXT, offsetof(struct check, runtime), .arg = "NAME|PATH",
	  .help = "look at this engine only" },
	{ "json", 0, CS_OPT_SWITCH, offsetof(struct check, json), .help = "an array of objects" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

enum verdict { GOOD, WEAK, BAD };

struct report {
	bool json;
	struct cs_buf text;
	struct cs_json *array;
	bool bad, failed;
};

/* One finding: what was looked at, what was seen, what to do when it is not good. */
static void say(struct report *report, enum verdict verdict, const char *what, const char *seen,
		const char *remedy)
{
	static const char *const marks[] = { "\xe2\x9c\x93", "!", "\xe2\x9c\x97" };
	static const char *const words[] = { "good", "weak", "bad" };
	struct cs_json *object;
	int r = 0;

	report->bad |= verdict == BAD;
	if (!report->json) {
		cs_buf_addf(&report->text, "%s %-16s %s\n", marks[verdict], what, seen);
		if (remedy && verdict != GOOD)
			cs_buf_addf(&report->text, "  %-16s -> %s\n", "", remedy);
		return;
	}
	object = cs_json_new_object();
	r |= cs_json_put(object, "what", cs_json_new_string(what));
	r |= cs_json_put(object, "verdict", cs_json_new_string(words[verdict]));
	r |= cs_json_put(object, "seen", cs_json_new_string(seen));
	r |= cs_json_put(object, "remedy", remedy && verdict != GOOD ? cs_json_new_string(remedy) : cs_json_new_null());
	r |= cs_json_add(report->array, object);
	report->failed |= r < 0;
}

/* --- the host ----------------------------------------------------------------------- */

static void check_root(struct report *report)
{
	bool root = geteuid() == 0;

	say(report, root ? GOOD : BAD, "root", root ? "yes" : "no", "run caisson as root: rootless runs are not supported yet");
}

static void check_cgroups(struct report *report)
{
	static const char *const layouts[] = { "v1", "v1 with an empty v2 mount (hybrid)", "v2", "none" };
	static const char *const needed[] = { "memory", "pids", "cpu", "cpuset" };
	struct cs_cgroup_host host;
	struct cs_err err = CS_ERR_INIT;

	if (cs_cgroup_host_read(&host, &err) < 0) {
		say(report, BAD, "cgroups", err.text, "mount cgroups at /sys/fs/cgroup");
		return;
	}
	say(report, host.layout == CS_CGROUP_NONE ? BAD : GOOD, "cgroups", layouts[host.layout],
	    "mount cgroups at /sys/fs/cgroup");
	for (size_t i = 0; i < CS_ARRAY_LEN(needed); i++) {
		char remedy[256];
		bool there = cs_cgroup_host_has(&host, needed[i]);

		snprintf(remedy, sizeof(remedy), "enable it (v2: echo +%s >/sys/fs/cgroup/cgroup.subtree_control; memory: "
			 "cgroup_enable=memory on the kernel's command line), or lift it with --best-effort", needed[i]);
		say(report, there ? GOOD : BAD, needed[i], there ? "controller is there" : "no controller", remedy);
	}
}

static void check_kernel(struct report *report)
{
	cs_auto(buf) filesystems = CS_BUF_INIT(64 * 1024);
	cs_auto(buf) pattern = CS_BUF_INIT(4096);
	cs_autofd int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	bool overlay = cs_file_read(AT_FDCWD, "/proc/filesystems", &filesystems) == 0 && filesystems.data &&
		       strstr(filesystems.data, "overlay");
	bool seccomp = prctl(PR_GET_SECCOMP) >= 0;

	say(report, pidfd >= 0 ? GOOD : BAD, "pidfd", pidfd >= 0 ? "yes" : "no", "Linux 5.3 or later is needed");
	say(report, seccomp ? GOOD : WEAK, "seccomp", seccomp ? "yes" : "no", "a kernel with CONFIG_SECCOMP_FILTER, or --seccomp none");
	say(report, overlay ? GOOD : WEAK, "overlay", overlay ? "yes" : "not loaded", "modprobe overlay; needed by --writable-root");
	if (cs_file_read(AT_FDCWD, "/proc/sys/kernel/core_pattern", &pattern) == 0 && pattern.data && pattern.data[0] == '|')
		say(report, WEAK, "core_pattern", "a program of the host handles core dumps",
		    "runs have RLIMIT_CORE 1, which keeps it from being started; do not raise it");
	else
		say(report, GOOD, "core_pattern", "no pipe", NULL);
	say(report, access("/proc/self/ns/user", F_OK) == 0 ? GOOD : WEAK, "user namespaces",
	    access("/proc/self/ns/user", F_OK) == 0 ? "yes" : "no", "needed by --userns");
}

/* --- engines --------------------------------------------------------------------------- */

/* One trial run with ourselves, in the strict policy: everything that a run needs is needed by it. */
static int trial(const char *engine, char *why, size_t why_size)
{
	char chunk[512];
	cs_auto(strv) argv = CS_STRV_INIT;
	static const char *const flags[] = { "--timeout=20s", "--quiet", "--", "true", NULL };
	cs_autofd int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int words[2];
	struct cs_spawn_fd fds[3];
	struct cs_spawn spawn = { .path = "/proc/self/exe", .fds = fds, .n_fds = 3, .die_with_us = true };
	struct cs_pidref child = CS_PIDREF_INIT;
	struct cs_err err = CS_ERR_INIT;
	int status = -1;
	ssize_t n;

	if (null_fd < 0 || cs_strv_add(&argv, "caisson") < 0 || cs_strv_add(&argv, "run") < 0 ||
	    cs_strv_addf(&argv, "--runtime=%s", engine) < 0 || cs_strv_add_all(&argv, flags) < 0 ||
	    cs_fd_pipe(words, 0) < 0)
		return -1;
	spawn.argv = cs_strv_v(&argv);
	fds[0] = (struct cs_spawn_fd){ null_fd, 0 };
	fds[1] = (struct cs_spawn_fd){ null_fd, 1 };
	fds[2] = (struct cs_spawn_fd){ words[1], 2 };
	if (cs_spawn(&spawn, &child, &err) < 0)
		snprintf(why, why_size, "%.*s", (int)why_size - 1, err.text);
	cs_close_fd(&words[1]);
	n = cs_fd_read_all(words[0], chunk, sizeof(chunk) - 1);
	cs_close_fd(&words[0]);
	if (child.fd < 0)
		return -1;
	cs_pidref_wait_dead(&child, CS_NEVER);
	cs_pidref_reap(&child, &status);
	cs_pidref_release(&child);
	if (n > 0)
		snprintf(why, why_size, "%.*s", (int)strcspn(chunk, "\n") < (int)n ? (int)strcspn(chunk, "\n") : (int)n, chunk);
	return status;
}

static void check_engine(struct report *report, const char *name, bool wanted)
{
	struct cs_engine engine = { 0 };
	struct cs_err err = CS_ERR_INIT;
	char seen[4352], why[512] = "";

	if (cs_engine_find(name, NULL, NULL, -1, &engine, &err) < 0) {
		if (wanted)
			say(report, BAD, name, err.text, NULL);
		return;
	}
	snprintf(seen, sizeof(seen), "%s %s%s", engine.path, engine.version[0] ? engine.version : "(no version)",
		 engine.features.rro ? ", rro" : "");
	say(report, GOOD, name, seen, NULL);
	if (geteuid() == 0) {
		int status = trial(name, why, sizeof(why));

		say(report, status == 0 ? GOOD : BAD, "  a trial run", status == 0 ? "works" : "fails",
		    why[0] ? why : "see 'caisson run --verbose -- true'");
	}
	if (engine.kind->known_bad)
		say(report, WEAK, "  known holes", engine.kind->known_bad,
		    "a distribution may have mended them without a new version: 'cwd' below /proc/self/fd is refused by caisson itself");
	cs_engine_release(&engine);
}

static void check_engines(struct report *report, const char *only)
{
	struct cs_engine any = { 0 };
	struct cs_err err = CS_ERR_INIT;

	if (only) {
		check_engine(report, only, true);
		return;
	}
	if (cs_engine_find(NULL, NULL, NULL, -1, &any, &err) < 0)
		say(report, BAD, "engine", err.text, "apt-get install crun");
	cs_engine_release(&any);
	for (size_t i = 0; cs_engine_kind_at(i); i++)
		check_engine(report, cs_engine_kind_at(i)->name, false);
}

/* --- the walk ------------------------------------------------------------------------------ */

static int check_all(struct cs_cmd_call *call, struct cs_err *err)
{
	const struct check *check = call->own;
	struct report report = { .json = check->json, .text = CS_BUF_INIT(1 << 20), .array = cs_json_new_array() };
	int r = 0;

	check_root(&report);
	check_cgroups(&report);
	check_kernel(&report);
	check_engines(&report, check->runtime);
	if (report.failed)
		r = cs_fail(err, CS_LIMIT, ENOMEM, "report");
	else if (check->json)
		r = cs_json_write(report.array, CS_JSON_INDENTED, &report.text, err);
	if (check->json)
		cs_buf_addc(&report.text, '\n');
	if (r == 0)
		r = cs_cmd_print(&report.text, err);
	call->code = report.bad;
	cs_buf_release(&report.text);
	cs_json_free(report.array);
	return r;
}

const struct cs_cmd cs_cmd_check = {
	.name = "check",
	.summary = "look at this host and its engines, with remedies",
	.usage = "[FLAGS]",
	.rows = rows,
	.n_rows = &n_rows,
	.own_size = sizeof(struct check),
	.act = check_all,
};
