/*
 * The supervisor's side of execs: where they are told what they need, and
 * who ends them when their caisson cannot.
 */
#include "shim/task/exec_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/sys/path.h"
#include "shim/task/exec_int.h"
#include "shim/task/exec_tree.h"

/* What a kill and the removal behind it may take; the end of the session removes what holds out. */
#define KILL_NS (2 * CS_NSEC_PER_SEC)
#define REMOVE_NS (50 * CS_NSEC_PER_MSEC)
#define SPLIT_NS (2 * CS_NSEC_PER_SEC)

/* One exec, as long as its connection is there. */
struct held {
	struct job *job;
	char name[32];
	struct held *next; /* of job->execs */
	struct cs_pidref caisson;
	bool over;         /* it has said that nothing is left */
	struct cs_exec_tree tree; /* where there is no cgroup */
	struct cs_source timer;
};

/* --- an exec's things ------------------------------------------------------------------ */

static void dir_of(const struct job *job, const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s/exec-%s", job->places.private, name);
}

static void remove_dir(const struct held *held)
{
	cs_autofd int private_fd = open(held->job->places.private, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[64];
	int r;

	snprintf(name, sizeof(name), "exec-%s", held->name);
	r = private_fd < 0 ? -errno : cs_path_remove_tree(private_fd, name);
	if (r < 0)
		cs_log_debug("exec %s: its directory stays until the session's end: %s", held->name, strerror(-r));
}

static void group_of(const struct held *held, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s", cs_cgroup_path(held->job->cgroup), held->name);
}

/* Kills and removes its group, which is mostly gone. */
static void end_group(const struct held *held)
{
	struct job *job = held->job;
	int64_t deadline = cs_clock_deadline_ns(KILL_NS);
	char path[sizeof(job->places.cgroup) + sizeof(held->name) + 1];
	int r;

	if (!job->cgroup)
		return; /* the session's own is removed already, with all below it */
	group_of(held, path, sizeof(path));
	/* an engine that was at its exec dies with its caisson, but may have put somebody in after a look */
	while ((r = cs_cgroup_remove(&job->host, path, 0, NULL)) == -EBUSY && cs_clock_left_ns(deadline) > 0) {
		struct cs_err err = CS_ERR_INIT;
		struct cs_cgroup *group;

		if (cs_cgroup_open(&job->host, path, &group, &err) < 0)
			continue;
		cs_cgroup_kill(group, deadline);
		cs_cgroup_free(group);
		r = cs_cgroup_remove(&job->host, path, cs_clock_deadline_ns(REMOVE_NS), NULL);
	}
	if (r < 0)
		cs_log_warn("cgroup %s of an exec: %s", path, strerror(-r));
}

static void forget(struct held *held)
{
	struct held **at = &held->job->execs;

	cs_loop_remove(held->job->loop, &held->timer);
	while (*at && *at != held)
		at = &(*at)->next;
	if (*at)
		*at = held->next;
}

/* The number that the engine wrote down, where nobody lived to tell it. */
static void learn_root(struct held *held)
{
	cs_auto(buf) text = CS_BUF_INIT(64);
	char path[300], dir[240];
	uint64_t inside;

	if (held->tree.root != 0)
		return;
	dir_of(held->job, held->name, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/inside", dir);
	if (cs_file_read(AT_FDCWD, path, &text) < 0 || text.len == 0)
		return;
	text.data[strcspn(text.data, " \n\r\t")] = '\0';
	if (cs_parse_u64(text.data, &inside) == 0 && inside >= 2 && inside <= UINT32_MAX)
		held->tree.root = (uint32_t)inside;
}

/*
 * An engine's own kernel that is frozen answers nobody: a paused session runs
 * for as long as something is done to processes in it. True when it was paused.
 */
static bool thaw(struct job *job)
{
	struct cs_err err = CS_ERR_INIT;

	if (!job->paused)
		return false;
	if (cs__job_pause(job, false, &err) < 0)
		cs_log_warn("thaw for the end of an exec: %s", err.text);
	return true;
}

static void freeze_again(struct job *job, bool was_paused)
{
	struct cs_err err = CS_ERR_INIT;

	if (was_paused && !job->verdict.decided && !job->init_gone && cs__job_pause(job, true, &err) < 0)
		cs_log_warn("the session is paused no longer: %s", err.text);
}

/* Ends its tree; who may have escaped is told, and decides about the session if that is wanted. reply may be NULL. */
static int end_tree(struct held *held, struct cs_json *reply)
{
	struct job *job = held->job;
	cs_auto(strv) stragglers = CS_STRV_INIT;
	bool was_paused;
	int status, r = 0;

	/* the session's end takes all along */
	if (!job->trace || !job->cgroup || job->ended || job->init_gone)
		return 0;
	learn_root(held);
	was_paused = thaw(job);
	cs_exec_tree_end(&held->tree, job, &stragglers);
	freeze_again(job, was_paused);
	for (size_t i = 0; i < stragglers.n; i++)
		cs_log_warn("exec %s: %s", held->name, stragglers.v[i]);
	if (stragglers.n > 0 && held->tree.kill_container)
		cs__job_decide(job, CS_REASON_STOPPED, SIGKILL);
	if (!reply)
		return 0;
	if (cs_exec_tree_status(&held->tree, job, &status) == 0)
		r = cs_json_put(reply, "status", cs_json_new_i64(status));
	return r | cs_json_put(reply, "stragglers", cs_json_new_strv(&stragglers));
}

/* The connection has ended. Outside the loop. */
static void let_go(void *state, void *arg CS_UNUSED)
{
	struct held *held = state;

	forget(held);
	cs__job_use(held->job, -1);
	if (!held->over) {
		cs_log_info("exec %s: its caisson is gone: what is left of it is ended", held->name);
		if (held->job->engine.kind->exec_cgroup)
			end_group(held);
		else
			end_tree(held, NULL);
	}
	remove_dir(held);
	cs_pidref_release(&held->caisson);
	free(held);
}

/*
 * Its caisson is stopped or stuck. It goes too: a parent that reaps nothing
 * keeps the session's pid namespace from ending, and its connection keeps the
 * session in use. No wait in the loop: the rest is done when that breaks.
 */
static void on_deadline(struct cs_loop *loop CS_UNUSED, void *arg)
{
	struct held *held = arg;
	struct job *job = held->job;
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *group;
	char path[sizeof(job->places.cgroup) + sizeof(held->name) + 1];

	cs_log_warn("exec %s is past its wall limit and its caisson does not act: both are killed", held->name);
	if (job->engine.kind->exec_cgroup && job->cgroup) {
		group_of(held, path, sizeof(path));
		if (cs_cgroup_open(&job->host, path, &group, &err) == 0) {
			cs_cgroup_kill_start(group);
			cs_cgroup_free(group);
		}
	}
	cs_pidref_kill(&held->caisson, SIGKILL);
}

/* --- requests ------------------------------------------------------------------------------ */

static int refuse_begin(const struct job *job, const struct cs_ctl_peer *peer, struct cs_err *err)
{
	if (cs_ctl_peer_state(peer))
		return cs_fail(err, CS_INVALID, 0, "one connection is for one exec");
	return cs__job_require_running(job, err);
}

static struct cs_json *engine_facts(const struct cs_engine *engine)
{
	struct cs_json *facts = cs_json_new_object();
	int r = cs_json_put(facts, "kind", cs_json_new_string(engine->kind->name));

	r |= cs_json_put(facts, "path", cs_json_new_string(engine->path));
	r |= cs_json_put(facts, "version", cs_json_new_string(engine->version));
	r |= cs_json_put(facts, "args", cs_json_new_strv(&engine->global_args));
	if (r < 0)
		cs_json_free_ptr(&facts);
	return facts;
}

static int put_facts(const struct job *job, const char *name, const char *dir, struct cs_json *reply)
{
	struct cs_engine_args args = cs__job_engine_args(job);
	int r = cs_json_put(reply, "name", cs_json_new_string(name));

	r |= cs_json_put(reply, "dir", cs_json_new_string(dir));
	r |= cs_json_put(reply, "bundle", cs_json_new_string(job->places.bundle));
	r |= cs_json_put(reply, "engineRoot", cs_json_new_string(job->places.engine_root));
	r |= cs_json_put(reply, "cgroup", cs_json_new_string(cs_cgroup_path(job->cgroup)));
	r |= cs_json_put(reply, "engine", engine_facts(&job->engine));
	r |= cs_json_put(reply, "initPid", cs_json_new_i64(job->init.pid));
	r |= cs_json_put(reply, "systemdCgroup", cs_json_new_bool(args.systemd_cgroup));
	r |= cs_json_put(reply, "networkNone", cs_json_new_bool(args.network_none));
	r |= cs_json_put(reply, "networkHost", cs_json_new_bool(args.network_host));
	return r;
}

/* What a caisson asks for beside its exec. */
struct wishes {
	int64_t timeout_ns; /* CS_NEVER: none */
	bool kill_container;
};

static int read_wishes(const struct cs_json *request, struct wishes *ret, struct cs_err *err)
{
	const struct cs_json *escape = cs_json_member(request, "escape");
	const char *word = cs_json_string(escape);

	*ret = (struct wishes){ .timeout_ns = CS_NEVER, .kill_container = !word || strcmp(word, CS_EXEC_ESCAPE_REPORT) != 0 };
	if (escape && (!word || (ret->kill_container && strcmp(word, CS_EXEC_ESCAPE_KILL) != 0)))
		return cs_fail(err, CS_INVALID, 0, "request: \"escape\" is neither " CS_EXEC_ESCAPE_REPORT " nor " CS_EXEC_ESCAPE_KILL);
	return cs__job_read_number(request, "timeoutNs", INT64_MAX, &ret->timeout_ns, err);
}

/* NULL with err. */
static struct held *make_held(struct job *job, const struct cs_ctl_peer *peer, const struct wishes *wishes,
			      struct cs_err *err)
{
	struct held *held = calloc(1, sizeof(*held));
	int r = 0;

	if (!held) {
		cs_fail(err, CS_LIMIT, ENOMEM, "exec");
		return NULL;
	}
	*held = (struct held){ .job = job, .next = job->execs, .caisson = CS_PIDREF_INIT };
	/* it is connected, so it is the one that has the number */
	if (cs_pidref_open(cs_ctl_peer_pid(peer), &held->caisson) < 0)
		cs_log_debug("the caisson of an exec is out of sight");
	cs_exec_tree_begin(&held->tree, job, wishes->kill_container);
	job->execs = held;
	snprintf(held->name, sizeof(held->name), "x%u", ++job->execs_begun);
	if (wishes->timeout_ns != CS_NEVER)
		r = cs_loop_add_timer(job->loop, cs_clock_deadline_ns(wishes->timeout_ns), on_deadline, held, &held->timer);
	if (r < 0) {
		cs_fail(err, CS_IO, -r, "exec");
		forget(held);
		cs_pidref_release(&held->caisson);
		cs_free_ptr(&held);
	}
	return held;
}

int cs__exec_begin(struct cs_ctl_peer *peer, const struct cs_json *request, struct cs_json *reply, void *arg,
		   struct cs_err *err)
{
	struct job *job = arg;
	struct wishes wishes;
	struct held *held;
	char dir[240];
	int r;

	if (read_wishes(request, &wishes, err) < 0 || refuse_begin(job, peer, err) < 0)
		return -1;
	/* the first exec pays for it, not every run */
	r = job->engine.kind->exec_cgroup ? cs_cgroup_split(job->cgroup, EXEC_LEAF, cs_clock_deadline_ns(SPLIT_NS)) : 0;
	if (r < 0)
		return cs_fail(err, CS_IO, -r, "room for the exec in the session's cgroup");
	held = make_held(job, peer, &wishes, err);
	if (!held)
		return -1;
	cs_ctl_peer_hold(peer, held, let_go);
	cs__job_use(job, 1);
	dir_of(job, held->name, dir, sizeof(dir));
	if (mkdir(dir, 0700) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "'%s'", dir);
	return put_facts(job, held->name, dir, reply) < 0 ? cs_fail(err, CS_LIMIT, ENOMEM, "reply") : 0;
}

static struct held *held_of(const struct cs_ctl_peer *peer, struct cs_err *err)
{
	struct held *held = cs_ctl_peer_state(peer);

	if (!held)
		cs_fail(err, CS_INVALID, 0, "no exec has begun on this connection");
	return held;
}

int cs__exec_end(struct cs_ctl_peer *peer, const struct cs_json *request CS_UNUSED, struct cs_json *reply CS_UNUSED,
		 void *arg CS_UNUSED, struct cs_err *err)
{
	struct held *held = held_of(peer, err);

	if (!held)
		return -1;
	held->over = true;
	cs_loop_remove(held->job->loop, &held->timer);
	remove_dir(held);
	return 0;
}

int cs__exec_started(struct cs_ctl_peer *peer, const struct cs_json *request, struct cs_json *reply CS_UNUSED,
		     void *arg CS_UNUSED, struct cs_err *err)
{
	struct held *held = held_of(peer, err);
	uint64_t inside;

	if (!held)
		return -1;
	if (cs_json_get_u64(cs_json_member(request, "inside"), &inside) < 0 || inside < 2 || inside > UINT32_MAX)
		return cs_fail(err, CS_INVALID, 0, "exec-started: no number of a process");
	held->tree.root = (uint32_t)inside;
	return 0;
}

int cs__exec_kill(struct cs_ctl_peer *peer, const struct cs_json *request, struct cs_json *reply, void *arg,
		  struct cs_err *err)
{
	struct job *job = arg;
	struct held *held = held_of(peer, err);
	int64_t signal;
	bool was_paused;
	int r;

	if (!held)
		return -1;
	if (cs_json_get_i64(cs_json_member(request, "signal"), &signal) < 0 || signal < 1 || signal >= NSIG)
		return cs_fail(err, CS_INVALID, 0, "exec-kill: no signal");
	if (signal != SIGKILL) {
		was_paused = thaw(job);
		r = cs_exec_tree_signal(&held->tree, job, (int)signal, err);
		freeze_again(job, was_paused);
		return r;
	}
	return end_tree(held, reply) < 0 ? cs_fail(err, CS_LIMIT, ENOMEM, "reply") : 0;
}

/* A caisson that is stopped reaps nothing, and so keeps the session's pid namespace from ending. */
void cs__exec_end_callers(struct job *job)
{
	for (struct held *held = job->execs; held; held = held->next)
		cs_pidref_kill(&held->caisson, SIGKILL);
}
