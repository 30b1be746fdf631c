/*
 * create: the caller's config.json with the policy laid over it in
 * a bundle of our own, an attendant beside the container, the engine's verb as
 * a child; and everything undone when that fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/spec.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/engine/engine_call.h"
#include "shim/oci/child.h"
#include "shim/oci/say.h"
#include "shim/oci/verbs.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/reaper.h"
#include "shim/task/attendant.h"
#include "shim/task/verify.h"

/* What the removal of a container that came to nothing may take. */
#define UNDO_NS (10 * CS_NSEC_PER_SEC)

struct making {
	struct cs_oci_face *face;
	char *bundle;            /* the caller's, resolved */
	struct cs_json *config;
	struct cs_attendant attendant;
	struct cs_attendant_stdio stdio;
	struct cs_foreign *foreign;
	bool begun;              /* something is there to undo */
	bool created;            /* the engine said so */
	off_t log_from;
	int code;                /* the engine's */
	struct cs_buf words;     /* what it said that nobody heard */
};

/* --- the caller's bundle ---------------------------------------------------------- */

static int find_bundle(struct making *making, struct cs_err *err)
{
	const char *given = cs_oci_flag(&making->face->call, "bundle");

	/* as engines do: they go there and ask where they are */
	making->bundle = realpath(given ? given : ".", NULL);
	if (!making->bundle)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "bundle '%s'", given ? given : ".");
	return 0;
}

static int read_config(struct making *making, struct cs_err *err)
{
	const char *name = cs_oci_flag(&making->face->call, "config");
	cs_autofree char *path = NULL;
	int n = name && name[0] == '/' ? asprintf(&path, "%s", name)
				       : asprintf(&path, "%s/%s", making->bundle, name ? name : "config.json");

	if (n < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "config.json");
	return cs_json_read_file(AT_FDCWD, path, &making->config, err);
}

static int make_absolute(struct cs_json *config, const char *path, const char *bundle, struct cs_err *err)
{
	const char *text = cs_json_string(cs_json_get(config, path));
	cs_autofree char *whole = NULL;

	if (!text || text[0] == '/' || text[0] == '\0')
		return 0;
	if (asprintf(&whole, "%s/%s", bundle, text) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "%s", path);
	return cs_json_set_string(config, path, whole, err);
}

/* Paths that count from the bundle, since it runs from another one (runtime-spec config.md, "Root", "Mounts"). */
static int resolve_paths(struct making *making, struct cs_err *err)
{
	const struct cs_json *mount, *mounts = cs_json_member(making->config, "mounts");
	size_t i = 0;

	if (make_absolute(making->config, "root.path", making->bundle, err) < 0)
		return -1;
	cs_json_each(mount, mounts) {
		char path[64];

		snprintf(path, sizeof(path), "mounts.%zu.source", i++);
		if (cs_spec_mount_is_bind(mount) && make_absolute(making->config, path, making->bundle, err) < 0)
			return -1;
	}
	return 0;
}

static int tighten(struct making *making, struct cs_err *err)
{
	struct cs_oci_face *face = making->face;
	struct cs_tighten_plan plan = { .tree = &face->tree, .engine = face->engine.kind };

	if (resolve_paths(making, err) < 0 || cs_tighten_annotations(&face->tree, making->config, err) < 0)
		return -1;
	return cs_tighten_config(&plan, making->config, NULL, err);
}

/* --- what it stands on --------------------------------------------------------------- */

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int begin(struct making *making, struct cs_err *err)
{
	struct cs_oci_face *face = making->face;
	struct cs_foreign_facts facts = {
		.root = copy(face->root),
		.id = copy(cs_oci_id(&face->call)),
		.engine = copy(face->engine.path),
		.kind = copy(face->engine.kind->name),
		.bundle = copy(making->bundle),
		.policy = copy(cs_oci_global(&face->call, "policy")),
		.config = copy(cs_oci_global(&face->call, "config")),
		.cgroup = cs_foreign_cgroup_of(making->config, cs_oci_face_systemd(face)),
	};

	if (!facts.root || !facts.id || !facts.engine || !facts.kind || !facts.bundle ||
	    cs_oci_face_lasting_args(face, &facts.args) < 0) {
		cs_foreign_facts_release(&facts);
		return cs_fail(err, CS_LIMIT, ENOMEM, "facts");
	}
	if (cs_foreign_begin(face->tree.values.state_dir, &facts, making->foreign, err) < 0)
		return -1;
	making->begun = true;
	return cs_foreign_write_bundle(making->foreign, making->config, err);
}

static int set_up_attendant(struct making *making, struct cs_err *err)
{
	struct cs_oci_face *face = making->face;
	struct cs_attendant_plan plan = cs_oci_attendant_plan(face, making->config, cs_json_member(making->config, "process"));

	/* what was there before is not its own to end until the container alone is in it */
	plan.cgroup_path = making->foreign->cgroup_was_there ? NULL : making->foreign->facts.cgroup;
	if (plan.terminal && !plan.console_socket)
		return cs_fail(err, CS_INVALID, 0, "cannot allocate tty if runc will detach without setting console socket");
	if (!plan.terminal && plan.console_socket)
		return cs_fail(err, CS_INVALID, 0, "cannot use console socket if runc will not detach or allocate tty");
	cs_attendant_bounds_of(&face->tree, &plan.bounds);
	return cs_attendant_setup(&making->attendant, &plan, &making->stdio, err);
}

/* The flags of the call that lead elsewhere now. */
static int redirect(struct making *making, struct cs_err *err)
{
	struct cs_oci_call *call = &making->face->call;
	char pid_file[CS_FOREIGN_PATH_MAX + 8];

	snprintf(pid_file, sizeof(pid_file), "%s/pid", making->foreign->path);
	if (cs_oci_set_flag(call, "bundle", making->foreign->bundle) < 0 ||
	    cs_oci_set_flag(call, "config", NULL) < 0 ||
	    (making->stdio.console[0] && cs_oci_set_flag(call, "console-socket", making->stdio.console) < 0) ||
	    (!cs_oci_flag(call, "pid-file") && cs_oci_set_flag(call, "pid-file", pid_file) < 0))
		return cs_fail(err, CS_LIMIT, ENOMEM, "arguments");
	return 0;
}

/* --- the engine ------------------------------------------------------------------------ */

static int call_engine(struct making *making, struct cs_err *err)
{
	if (cs_oci_prepare_mounts(making->face, making->config, err) < 0 || redirect(making, err) < 0)
		return -1;
	return cs_oci_run_attended(making->face, CS_VERB_CREATE, &making->stdio, &making->code, err);
}

/* Nothing of it runs yet: `start` is the caller's, and must not find a container without its limits. */
static int verify(const struct making *making, const struct cs_pidref *init, struct cs_err *err)
{
	const struct cs_oci_face *face = making->face;
	const struct cs_verify_config_plan plan = {
		.engine = &face->engine,
		.settings = &face->tree.values,
		.config = making->config,
		.cgroup = making->foreign->facts.cgroup,
		.below = cs_oci_face_systemd(face),
		.init = init->pid,
	};

	return cs_verify_config(&plan, err);
}

/* Is init alone in it? Engines with a kernel of their own have helpers beside it. */
static bool is_own(const struct making *making, const struct cs_cgroup *cgroup, const struct cs_pidref *init)
{
	pid_t pids[2];
	size_t n = 0;

	/* one that we are in too is the caller's */
	if (cs_cgroup_holds(cgroup, getpid()) != 0)
		return false;
	return making->face->engine.kind->own_kernel ||
	       (cs_cgroup_pids(cgroup, pids, CS_ARRAY_LEN(pids), &n) == 0 && n == 1 && pids[0] == init->pid);
}

/* Where the hierarchies of v1 disagree about the path, the group is that of some of them, and may not count it. */
static bool counts_cpu(const struct cs_cgroup *cgroup)
{
	struct cs_cgroup_usage usage;

	cs_cgroup_usage(cgroup, &usage);
	return usage.cpu_total_ns != UINT64_MAX;
}

/*
 * Where config.json names no group that means the same to every engine, it is
 * the one that init is in by now. Without one CPU time cannot be counted, and what ends the container ends init alone.
 */
static int find_group(struct making *making, const struct cs_pidref *init, struct cs_err *err)
{
	struct cs_cgroup_host host;
	struct cs_cgroup *cgroup = NULL;
	struct cs_err none = CS_ERR_INIT;
	bool limited;
	int r = 0;

	if (making->foreign->facts.cgroup)
		return 0;
	if (cs_cgroup_host_read(&host, err) < 0)
		return -1;
	if (cs_cgroup_open_of_pid(&host, init->pid, &cgroup, &none) < 0 && none.kind != CS_NOT_FOUND)
		return cs_fail(err, none.kind, none.errnum, "%s", none.text);
	limited = making->face->tree.values.cpu_time_ns != CS_NEVER;
	if (cgroup && is_own(making, cgroup, init) && (!limited || counts_cpu(cgroup)))
		r = cs_foreign_set_cgroup(making->foreign, cs_cgroup_path(cgroup), err);
	else if (limited)
		r = cs_fail(err, CS_LIMIT, 0, "cpu-time: the container has no cgroup of its own in which it could be counted");
	cs_cgroup_free(cgroup);
	return r;
}

/* It is the caller's child once we have gone. */
static int hand_over(struct making *making, struct cs_err *err)
{
	struct cs_pidref init = CS_PIDREF_INIT;
	int r = cs_engine_hold_process("create", cs_oci_flag(&making->face->call, "pid-file"), &init, err);

	if (r == 0)
		r = verify(making, &init, err);
	if (r == 0)
		r = find_group(making, &init, err);
	if (r == 0)
		r = cs_attendant_arm(&making->attendant, &init, making->foreign->facts.cgroup, &making->words, err);
	cs_pidref_release(&init);
	if (r == 0)
		cs_foreign_commit(making->foreign);
	return r;
}

/* 0, 1: the engine refused, -1. */
static int make(struct making *making, struct cs_err *err)
{
	int r;

	if (find_bundle(making, err) < 0 || read_config(making, err) < 0 || tighten(making, err) < 0 ||
	    begin(making, err) < 0 || set_up_attendant(making, err) < 0)
		return -1;
	r = cs_reaper_become();
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "subreaper");
	r = call_engine(making, err);
	return r == 0 ? hand_over(making, err) : r;
}

static void undo(struct making *making)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;

	cs_attendant_dismiss(&making->attendant, &making->words);
	if (making->begun)
		cs_foreign_abort(making->foreign, cs_clock_deadline_ns(UNDO_NS), &leftovers);
}

static void release(struct making *making)
{
	cs_close_fd(&making->stdio.out_fd);
	cs_close_fd(&making->stdio.err_fd);
	cs_buf_release(&making->words);
	cs_json_free(making->config);
	free(making->bundle);
}

/* Under a policy that bounds nothing. A bundle that we cannot read is the engine's to refuse. */
static int pass(struct making *making, int *ret_code, struct cs_err *err)
{
	struct cs_err ignored = CS_ERR_INIT;
	int r;

	if (making->face->engine.kind->hide_unified && find_bundle(making, &ignored) == 0)
		(void)!read_config(making, &ignored);
	r = cs_oci_prepare_mounts(making->face, making->config, err);
	release(making);
	return r < 0 ? -1 : cs_oci_verb_pass(making->face, ret_code, err);
}

int cs_oci_verb_create(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	struct making making = {
		.face = face,
		.attendant = CS_ATTENDANT_INIT,
		.stdio = { .out_fd = -1, .err_fd = -1 },
		.foreign = &face->foreign,
		.log_from = cs_oci_log_end(&face->call),
		.words = CS_BUF_INIT(16 * 1024),
	};
	int r;

	if (face->passive)
		return pass(&making, ret_code, err);
	cs_oci_die_with_caller();
	r = cs_attendant_fork(&making.attendant, err);
	if (r == 0)
		r = make(&making, err);
	if (r != 0)
		undo(&making);
	if (r > 0)
		cs_oci_face_complete(face, making.log_from, making.code, &making.words);
	*ret_code = making.code;
	release(&making);
	return r < 0 ? -1 : 0;
}
