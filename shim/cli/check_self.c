/* caisson check: what needs a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/cli/check.h"
#include "shim/sys/mount.h"
#include "shim/sys/spawn.h"
#include "shim/task/job.h"
#include "shim/task/probe.h"
#include "shim/task/record.h"

/* A trial has deadlines of its own; this is for one that is stuck beyond them. */
#define SELF_NS (90 * CS_NSEC_PER_SEC)
#define RECORD_MAX (64 * 1024)

void cs_find(struct cs_finding *ret, enum cs_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	ret->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(ret->seen, sizeof(ret->seen), fmt, ap);
	va_end(ap);
}

/* --- on the copy's side ------------------------------------------------------------ */

static void try_probe(const struct cs_check *check, enum cs_probe probe, struct cs_finding *ret)
{
	struct cs_engine engine = { 0 };
	struct cs_probe_finding found;
	struct cs_err err = CS_ERR_INIT;
	int r = cs_job_find_engine(check->s, check->config, &engine, &err);

	if (r == 0)
		r = cs_probe_engine(&engine, probe, check->s->state_dir, check->s->engine_timeout_ns, &found, &err);
	if (r == 0)
		cs_find(ret, found.open ? CS_BAD : CS_GOOD, "%s", found.what);
	else if (engine.kind && engine.kind->own_kernel)
		cs_find(ret, CS_GOOD, "%s", err.text);
	else
		cs_find(ret, CS_WEAK, "could not be tried: %s", err.text);
	cs_engine_release(&engine);
}

static void try_cwd(const struct cs_check *check, struct cs_finding *ret)
{
	try_probe(check, CS_PROBE_CWD, ret);
}

static void try_masking(const struct cs_check *check, struct cs_finding *ret)
{
	try_probe(check, CS_PROBE_MASKING, ret);
}

/* As a run does it: everything in a mount namespace that goes with us. */
static int mount_overlay(struct cs_err *err)
{
	static const char *const dirs[] = { "lower", "upper", "work", "merged" };
	char paths[CS_ARRAY_LEN(dirs)][64];

	if (cs_mount_new_namespace(err) < 0 || cs_mount_tmpfs("/tmp", 1 << 20, 64, 0700, MS_NOSUID | MS_NODEV, err) < 0)
		return -1;
	for (size_t i = 0; i < CS_ARRAY_LEN(dirs); i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/%s", dirs[i]);
		if (mkdir(paths[i], 0700) < 0)
			return cs_fail(err, CS_IO, errno, "'%s'", paths[i]);
	}
	return cs_mount_overlay(paths[3], paths[0], paths[1], paths[2], err);
}

static void try_overlay(const struct cs_check *check CS_UNUSED, struct cs_finding *ret)
{
	struct cs_err err = CS_ERR_INIT;

	if (mount_overlay(&err) < 0)
		cs_find(ret, CS_WEAK, "%s", err.text);
	else
		cs_find(ret, CS_GOOD, "works");
}

static void try_userns(const struct cs_check *check CS_UNUSED, struct cs_finding *ret)
{
	if (unshare(CLONE_NEWUSER) < 0)
		cs_find(ret, CS_WEAK, "cannot be made: %s", strerror(errno));
	else
		cs_find(ret, CS_GOOD, "work");
}

static void try_hybrid(const struct cs_check *check, struct cs_finding *ret)
{
	struct cs_cgroup_host host = check->host;
	struct cs_err err = CS_ERR_INIT;

	if (cs_mount_new_namespace(&err) < 0 || cs_mount_tmpfs("/tmp", 1 << 20, 64, 0700, 0, &err) < 0 ||
	    cs_mount_hide_unified(&host, "/tmp", &err) < 0)
		cs_find(ret, CS_WEAK, "the empty v2 mount cannot be hidden from engines that refuse it: %s", err.text);
	else
		cs_find(ret, CS_GOOD, "the empty v2 mount is hidden from engines that refuse it");
}

void cs_try_here(const struct cs_check *check, enum cs_try what, struct cs_finding *ret)
{
	static void (*const tries[])(const struct cs_check *, struct cs_finding *) = {
		[CS_TRY_CWD] = try_cwd,	      [CS_TRY_MASKING] = try_masking, [CS_TRY_OVERLAY] = try_overlay,
		[CS_TRY_USERNS] = try_userns, [CS_TRY_HYBRID] = try_hybrid,
	};
	_Static_assert(CS_ARRAY_LEN(tries) == CS_TRIES, "a function for every try");

	tries[what](check, ret);
}

struct cs_json *cs_finding_json(const struct cs_finding *finding)
{
	static const char *const words[] = { "good", "weak", "bad" };
	struct cs_json *json = cs_json_new_object();
	int r = json ? 0 : -ENOMEM;

	if (r == 0)
		r |= cs_json_put(json, "verdict", cs_json_new_string(words[finding->verdict]));
	if (r == 0)
		r |= cs_json_put(json, "seen", cs_json_new_words(finding->seen));
	if (r < 0) {
		cs_json_free(json);
		return NULL;
	}
	return json;
}

static void finding_read(const struct cs_json *json, struct cs_finding *ret)
{
	const char *verdict = cs_json_string(cs_json_member(json, "verdict"));
	const char *seen = cs_json_string(cs_json_member(json, "seen"));

	if (!verdict || !seen)
		cs_find(ret, CS_WEAK, "could not be tried");
	else
		cs_find(ret, strcmp(verdict, "good") == 0 ? CS_GOOD : strcmp(verdict, "bad") == 0 ? CS_BAD : CS_WEAK, "%s", seen);
}

/* --- on our side ---------------------------------------------------------------------- */

/* What a copy writes to descriptor 3. It ends before it is read: what it writes fits into a pipe. */
static int ask_copy(const struct cs_strv *argv, struct cs_json **ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(RECORD_MAX);
	cs_autofd int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), in = -1, out = -1;
	struct cs_pidref child = CS_PIDREF_INIT;
	int pipe_fds[2], status = 0;
	char chunk[4096];
	ssize_t n;

	if (null_fd < 0 || cs_fd_pipe(pipe_fds, 0) < 0)
		return cs_fail(err, CS_IO, errno, "pipe");
	in = pipe_fds[0];
	out = pipe_fds[1];
	const struct cs_spawn_fd fds[] = { { null_fd, 0 }, { null_fd, 1 }, { null_fd, 2 }, { out, 3 } };
	const struct cs_spawn spawn = {
		.path = "/proc/self/exe", .argv = cs_strv_v(argv), .fds = fds, .n_fds = CS_ARRAY_LEN(fds), .die_with_us = true,
	};
	if (cs_spawn(&spawn, &child, err) < 0)
		return -1;
	cs_close_fd(&out);
	if (cs_pidref_wait_dead(&child, cs_clock_deadline_ns(SELF_NS)) < 0) {
		cs_pidref_kill(&child, SIGKILL);
		cs_pidref_wait_dead(&child, CS_NEVER);
		cs_fail(err, CS_TIMEOUT, 0, "no answer");
	}
	cs_pidref_reap(&child, &status);
	cs_pidref_release(&child);
	if (err->kind)
		return -1;
	/* something may still hold the other end */
	if (fcntl(in, F_SETFL, O_NONBLOCK) < 0)
		return cs_fail(err, CS_IO, errno, "pipe");
	while ((n = read(in, chunk, sizeof(chunk))) > 0)
		cs_buf_add(&text, chunk, (size_t)n);
	if (text.len == 0)
		return cs_fail(err, CS_ENGINE, 0, "it says nothing (wait status %#x)", (unsigned)status);
	return cs_json_parse(text.data, text.len, "answer", ret, err);
}

/* The same configuration and places as ours. */
static int add_ours(struct cs_strv *argv, const struct cs_check *check, const char *engine)
{
	if (check->config->path && cs_strv_addf(argv, "--config=%s", check->config->path) < 0)
		return -1;
	if (engine && cs_strv_addf(argv, "--runtime=%s", engine) < 0)
		return -1;
	return cs_strv_addf(argv, "--state-dir=%s", check->s->state_dir) < 0 ||
	       cs_strv_addf(argv, "--cache-dir=%s", check->s->cache_dir) < 0
		       ? -1
		       : 0;
}

void cs_try_apart(const struct cs_check *check, enum cs_try what, const char *engine, struct cs_finding *ret)
{
	static const char *const words[] = { "no", "cwd", "masking", "overlay", "userns", "hybrid" };
	_Static_assert(CS_ARRAY_LEN(words) == CS_TRIES, "a word for every try");
	cs_auto(strv) argv = CS_STRV_INIT;
	cs_autojson struct cs_json *answer = NULL;
	struct cs_err err = CS_ERR_INIT;

	if (cs_strv_add(&argv, "caisson") < 0 || cs_strv_add(&argv, "check") < 0 ||
	    cs_strv_addf(&argv, "--try=%s", words[what]) < 0 || add_ours(&argv, check, engine) < 0)
		cs_find(ret, CS_WEAK, "could not be tried: %s", strerror(ENOMEM));
	else if (ask_copy(&argv, &answer, &err) < 0)
		cs_find(ret, CS_WEAK, "could not be tried: %s", err.text);
	else
		finding_read(answer, ret);
}

/* --- a trial run ------------------------------------------------------------------------- */

static void read_record(const struct cs_json *record, struct cs_finding *ret)
{
	const char *reason = cs_json_string(cs_json_member(record, "reason"));
	const char *message = cs_json_string(cs_json_get(record, "error.message"));
	const char *engine_says = cs_json_string(cs_json_get(record, "error.engineMessage"));
	uint64_t setup_ns = 0, wall_ns = 0, code = 1;

	cs_json_get_u64(cs_json_get(record, "usage.setupNs"), &setup_ns);
	cs_json_get_u64(cs_json_get(record, "usage.wallNs"), &wall_ns);
	if (reason && strcmp(reason, "exited") == 0 && cs_json_get_u64(cs_json_member(record, "exitCode"), &code) == 0 && code == 0)
		cs_find(ret, CS_GOOD, "works, %llu ms", (unsigned long long)((setup_ns + wall_ns) / CS_NSEC_PER_MSEC));
	else if (message)
		cs_find(ret, CS_BAD, "%s%s%s", message, engine_says && !strstr(message, engine_says) ? ": " : "",
			engine_says && !strstr(message, engine_says) ? engine_says : "");
	else
		cs_find(ret, CS_BAD, "'true' ended as %s, code %llu", reason ? reason : "nothing", (unsigned long long)code);
}

void cs_try_run(const struct cs_check *check, const char *engine, struct cs_finding *ret)
{
	/* whatever the configuration says of output and time: nothing of it is touched */
	static const char *const flags[] = { "--result=fd:3", "--stdout=/dev/null", "--stderr=/dev/null", "--format=text",
					     "--capture=none", "--tty=false", "--interactive=false", "--detach=false", "--timeout=20s", "--quiet", "--",
					     "true", NULL };
	cs_auto(strv) argv = CS_STRV_INIT;
	cs_autojson struct cs_json *record = NULL;
	struct cs_err err = CS_ERR_INIT;

	if (cs_strv_add(&argv, "caisson") < 0 || cs_strv_add(&argv, "run") < 0 || add_ours(&argv, check, engine) < 0 ||
	    cs_strv_add_all(&argv, flags) < 0)
		cs_find(ret, CS_BAD, "%s", strerror(ENOMEM));
	else if (ask_copy(&argv, &record, &err) < 0)
		cs_find(ret, CS_BAD, "%s", err.text);
	else
		read_record(record, ret);
}
