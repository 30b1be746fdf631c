/*
 * exec into a container that was made under a policy: process.json, or the
 * flags that mean one, with the policy laid over it; an attendant of its own;
 * where something is to end it in time, a cgroup of its own below the
 * container's, since its children may have left it by then.
 *
 * In the foreground (CRI-O's exec sync) the engine is asked to detach all the
 * same, and we wait in its place: the process is ours to guard from the first moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/parse.h"
#include "shim/engine/engine_call.h"
#include "shim/oci/child.h"
#include "shim/oci/say.h"
#include "shim/oci/verbs.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/kin.h"
#include "shim/sys/reaper.h"
#include "shim/task/attendant.h"

/* Where a container's own processes go on cgroup v2, when an exec has a group beside them. */
#define INIT_LEAF "_init"
#define SPLIT_NS (2 * CS_NSEC_PER_SEC)
/* For the end of what a failed exec has in its group, and for the removal of that. */
#define CLEAN_UP_NS (2 * CS_NSEC_PER_SEC)

struct exec {
	struct cs_oci_face *face;
	struct cs_json *config, *process; /* the container's; this one's */
	struct cs_attendant attendant;
	struct cs_attendant_stdio stdio;
	struct cs_cgroup_host host;
	struct cs_cgroup *cgroup;         /* of its own; NULL: none */
	int process_fd;
	char pid_file[CS_FOREIGN_PATH_MAX + 32];
	bool own_pid_file, foreground;
	off_t log_from;
	int code;
	struct cs_buf words;
};

/* --- the process ----------------------------------------------------------------- */

/* All values of a flag that may be given several times. */
static int values_of(const struct cs_oci_call *call, const char *name, struct cs_strv *ret)
{
	int r = 0;

	for (size_t i = 0; i < call->n_flags && r == 0; i++)
		if (call->flags[i].row && strcmp(call->flags[i].row->name, name) == 0)
			r = cs_strv_add(ret, call->flags[i].value);
	return r;
}

static int process_of_flags(struct exec *exec, struct cs_err *err)
{
	const struct cs_oci_call *call = &exec->face->call;
	cs_auto(strv) args = CS_STRV_INIT, env = CS_STRV_INIT, cap = CS_STRV_INIT, gids = CS_STRV_INIT;
	struct cs_tighten_exec flags = {
		.args = &args, .env = &env, .cap = &cap, .gids = &gids,
		.cwd = cs_oci_flag(call, "cwd"),
		.user = cs_oci_flag(call, "user"),
		.apparmor = cs_oci_flag(call, "apparmor"),
		.process_label = cs_oci_flag(call, "process-label"),
		.terminal = cs_oci_switch(call, "tty"),
		.no_new_privileges_given = cs_oci_flag(call, "no-new-privs") != NULL,
		.no_new_privileges = cs_oci_switch(call, "no-new-privs"),
	};
	int r = 0;

	if (call->operands.n < 2)
		return cs_fail(err, CS_INVALID, 0, "process args cannot be empty");
	for (size_t i = 1; i < call->operands.n && r == 0; i++)
		r = cs_strv_add(&args, call->operands.v[i]);
	if (r < 0 || values_of(call, "env", &env) < 0 || values_of(call, "cap", &cap) < 0 ||
	    values_of(call, "additional-gids", &gids) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "arguments");
	return cs_tighten_exec_process(exec->config, &flags, &exec->process, err);
}

static int read_process(struct exec *exec, struct cs_err *err)
{
	struct cs_oci_face *face = exec->face;
	const char *file = cs_oci_flag(&face->call, "process");
	struct cs_tighten_plan plan = { .tree = &face->tree, .engine = face->engine.kind };
	int r;

	if (cs_foreign_read_config(&face->foreign, &exec->config, err) < 0 ||
	    cs_tighten_annotations(&face->tree, exec->config, err) < 0)
		return -1;
	r = file ? cs_json_read_file(AT_FDCWD, file, &exec->process, err) : process_of_flags(exec, err);
	if (r < 0)
		return -1;
	return cs_tighten_process(&plan, exec->config, exec->process, NULL, err);
}

/* --- its group -------------------------------------------------------------------- */

/* Is there anything that ends it before its own end? */
static bool is_limited(const struct cs_attendant_bounds *bounds)
{
	return bounds->timeout_ns != CS_NEVER || bounds->cpu_time_ns != CS_NEVER || bounds->idle_timeout_ns != CS_NEVER ||
	       (bounds->kill_at_output_limit &&
		(bounds->stdout_limit_bytes != UINT64_MAX || bounds->stderr_limit_bytes != UINT64_MAX));
}

static int make_group(struct exec *exec, const struct cs_attendant_bounds *bounds, struct cs_err *err)
{
	const struct cs_oci_face *face = exec->face;
	struct cs_cgroup *container;
	char name[64], flag[80];
	int r;

	if (!is_limited(bounds) || !face->engine.kind->exec_cgroup || !face->foreign.facts.cgroup ||
	    cs_oci_flag(&face->call, "cgroup"))
		return 0;
	if (cs_cgroup_host_read(&exec->host, err) < 0 ||
	    cs_cgroup_open(&exec->host, face->foreign.facts.cgroup, &container, err) < 0)
		return -1;
	/* the moment tells two with the same pid apart */
	snprintf(name, sizeof(name), "exec-%d-%lld", (int)getpid(), (long long)cs_clock_now_ns());
	r = cs_cgroup_is_v2(container) ? cs_cgroup_split(container, INIT_LEAF, cs_clock_deadline_ns(SPLIT_NS)) : 0;
	if (r < 0)
		r = cs_fail(err, CS_IO, -r, "group of the container's own processes");
	else
		r = cs_cgroup_make_below(&exec->host, container, name, &exec->cgroup, err);
	cs_cgroup_free(container);
	if (r < 0)
		return -1;
	snprintf(flag, sizeof(flag), "/%s", name);
	return cs_oci_set_flag(&exec->face->call, "cgroup", flag) < 0 ? cs_fail(err, CS_LIMIT, ENOMEM, "arguments") : 0;
}

/* --- attendant and engine ------------------------------------------------------------ */

static int set_up_attendant(struct exec *exec, struct cs_err *err)
{
	struct cs_oci_face *face = exec->face;
	struct cs_attendant_plan plan = cs_oci_attendant_plan(face, exec->config, exec->process);

	plan.is_exec = true;
	if (plan.terminal && !plan.console_socket)
		return cs_fail(err, CS_UNSUPPORTED, 0, "under a policy an exec with a terminal needs --console-socket");
	cs_tighten_exec_settings(&face->tree);
	cs_attendant_bounds_of(&face->tree, &plan.bounds);
	if (make_group(exec, &plan.bounds, err) < 0)
		return -1;
	plan.cgroup_path = exec->cgroup ? cs_cgroup_path(exec->cgroup) : NULL;
	return cs_attendant_setup(&exec->attendant, &plan, &exec->stdio, err);
}

static int redirect(struct exec *exec, struct cs_err *err)
{
	/* what the flags said is in the process by now */
	static const char *const gone[] = { "env", "cap", "additional-gids", "cwd", "user", "apparmor", "process-label",
					    "tty", "no-new-privs" };
	struct cs_oci_call *call = &exec->face->call;
	const char *given = cs_oci_flag(call, "pid-file");
	char path[CS_OCI_MEMORY_PATH];
	int r = 0;

	if (cs_oci_memory_file(exec->process, path, &exec->process_fd, err) < 0)
		return -1;
	exec->foreground = !cs_oci_switch(call, "detach");
	exec->own_pid_file = !given;
	if (given)
		snprintf(exec->pid_file, sizeof(exec->pid_file), "%s", given);
	else
		snprintf(exec->pid_file, sizeof(exec->pid_file), "%s/exec-%d.pid", exec->face->foreign.path, (int)getpid());
	if (strlen(exec->pid_file) == sizeof(exec->pid_file) - 1)
		return cs_fail(err, CS_INVALID, ENAMETOOLONG, "--pid-file");
	for (size_t i = 0; i < CS_ARRAY_LEN(gone); i++)
		cs_oci_set_flag(call, gone[i], NULL);
	while (call->operands.n > 1)
		cs_free_ptr(&call->operands.v[--call->operands.n]);
	r = cs_oci_set_flag(call, "process", path);
	if (r == 0)
		r = cs_oci_set_flag(call, "detach", "true");
	if (r == 0)
		r = cs_oci_set_flag(call, "pid-file", exec->pid_file);
	if (r == 0 && exec->stdio.console[0])
		r = cs_oci_set_flag(call, "console-socket", exec->stdio.console);
	return r < 0 ? cs_fail(err, CS_LIMIT, -r, "arguments") : 0;
}

static int run(struct exec *exec, struct cs_err *err)
{
	const struct cs_oci_face *face = exec->face;
	struct cs_pidref process = CS_PIDREF_INIT;
	struct cs_err ignored = CS_ERR_INIT;
	int status = 0, r;

	if (read_process(exec, err) < 0 || set_up_attendant(exec, err) < 0)
		return -1;
	r = cs_reaper_become();
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "subreaper");
	r = redirect(exec, err);
	if (r == 0)
		r = cs_oci_run_attended(face, CS_VERB_EXEC, &exec->stdio, &exec->code, err);
	if (r > 0)
		return r;
	/* also what an engine that did not come back has made: nobody would bound it */
	if (cs_engine_hold_process("exec", exec->pid_file, &process, r == 0 ? err : &ignored) < 0 && r == 0)
		r = -1;
	if (r == 0)
		r = cs_attendant_arm(&exec->attendant, &process, NULL, NULL, err);
	if (r < 0 && process.fd >= 0)
		cs_kin_kill(&process);
	else if (r == 0 && exec->foreground)
		r = cs_oci_wait_for(&process, &status, err);
	cs_pidref_release(&process);
	if (r == 0 && exec->foreground)
		exec->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return r;
}

static void clean_up(struct exec *exec, bool failed)
{
	if (failed) {
		cs_attendant_dismiss(&exec->attendant, &exec->words);
		if (exec->cgroup) {
			cs_cgroup_kill(exec->cgroup, cs_clock_deadline_ns(CLEAN_UP_NS));
			cs_cgroup_remove(&exec->host, cs_cgroup_path(exec->cgroup), cs_clock_deadline_ns(CLEAN_UP_NS), NULL);
		}
	}
	if (exec->own_pid_file)
		unlink(exec->pid_file);
	cs_cgroup_free(exec->cgroup);
	cs_close_fd(&exec->stdio.out_fd);
	cs_close_fd(&exec->stdio.err_fd);
	cs_close_fd(&exec->process_fd);
	cs_buf_release(&exec->words);
	cs_json_free(exec->config);
	cs_json_free(exec->process);
}

int cs_oci_verb_exec(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	struct exec exec = {
		.face = face,
		.attendant = CS_ATTENDANT_INIT,
		.stdio = { .out_fd = -1, .err_fd = -1 },
		.process_fd = -1,
		.log_from = cs_oci_log_end(&face->call),
		.words = CS_BUF_INIT(16 * 1024),
	};
	int r;

	if (face->passive || !face->kept)
		return cs_oci_verb_pass(face, ret_code, err);
	cs_oci_die_with_caller();
	r = cs_attendant_fork(&exec.attendant, err);
	if (r == 0)
		r = run(&exec, err);
	if (r > 0) {
		cs_attendant_dismiss(&exec.attendant, &exec.words);
		cs_oci_face_complete(face, exec.log_from, exec.code, &exec.words);
	}
	*ret_code = exec.code;
	clean_up(&exec, r != 0);
	return r < 0 ? -1 : 0;
}
