/* What ends a container, what its end was, and the record of it. */
#include "shim/task/attendant_int.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/task/result.h"
#include "shim/task/results.h"

/* How long a kill may block the loop; what lives longer is in state D, and is tried again. */
#define KILL_NS (1 * CS_NSEC_PER_SEC)
#define KILL_AGAIN_NS (1 * CS_NSEC_PER_SEC)

/* For whoever is the parent to reap it: the status is there only then. */
#define STATUS_NS (2 * CS_NSEC_PER_SEC)

/* For processes of an exec's group that are about to end. */
#define REMOVE_NS (200 * CS_NSEC_PER_MSEC)

/* --- decisions ---------------------------------------------------------------- */

static void kill_all(struct cs__attend *a)
{
	int r = a->cgroup ? cs_cgroup_kill(a->cgroup, cs_clock_deadline_ns(KILL_NS)) : -ENOENT;

	/* -EDEADLK too: a group that we are in ourselves is not the container's own */
	if (r < 0)
		cs_pidref_kill(&a->process, SIGKILL);
}

static void on_kill_timer(struct cs_loop *loop, void *arg)
{
	struct cs__attend *a = arg;

	kill_all(a);
	cs_loop_set_timer(loop, a->kill_timer, cs_clock_deadline_ns(KILL_AGAIN_NS));
}

void cs__attend_decide(struct cs__attend *a, enum cs_reason reason, int cause)
{
	if (a->decided || a->process_dead)
		return;
	a->decided = true;
	a->reason = reason;
	a->cause = cause;
	cs__attend_carry_out(a);
}

void cs__attend_carry_out(struct cs__attend *a)
{
	/* an exec's output may reach its cap before the engine has told who it is */
	if (!a->decided || a->process.fd < 0)
		return;
	kill_all(a);
	if (cs_loop_add_timer(a->loop, cs_clock_deadline_ns(KILL_AGAIN_NS), on_kill_timer, a, &a->kill_timer) < 0)
		cs_log_debug("no second attempt to kill");
}

void cs__attend_on_limit(enum cs_reason reason, void *attend)
{
	cs__attend_decide(attend, reason, 0);
}

/* --- the end of the process ------------------------------------------------------ */

static void look_for_status(struct cs__attend *a)
{
	int r = cs_pidref_status(&a->process, &a->raw_status);

	a->has_status = r == 0;
	a->status_pending = r == -EAGAIN;
	if (!a->status_pending)
		cs_loop_remove(a->loop, &a->process_source);
}

/* Twice: EPOLLIN when it is dead, EPOLLHUP when it has been reaped, with its status there (cs_pidref_status). */
static void on_process(struct cs_loop *loop, int fd CS_UNUSED, uint32_t events CS_UNUSED, void *arg)
{
	struct cs__attend *a = arg;

	a->process_dead = true;
	look_for_status(a);
	if (a->status_pending && cs_loop_set_events(loop, a->process_source, 0) < 0)
		cs_loop_remove(loop, &a->process_source);
}

int cs__attend_watch_process(struct cs__attend *a)
{
	return cs_loop_add_fd(a->loop, a->process.fd, EPOLLIN, CS_PRIO_EXIT, on_process, a, &a->process_source);
}

/* Its parent may know now. And we know how it ended, whatever the kernel's age. */
static void release_hold(struct cs__attend *a)
{
	if (cs_hold_release(a->hold, &a->raw_status) == 0) {
		a->has_status = true;
		a->status_pending = false;
		cs_loop_remove(a->loop, &a->process_source);
	}
	cs_hold_free(a->hold);
	a->hold = NULL;
}

static void wait_for_status(struct cs__attend *a, int64_t deadline_ns)
{
	while (a->status_pending && cs_clock_left_ns(deadline_ns) > 0)
		if (cs_loop_turn(a->loop, deadline_ns) < 0)
			return;
}

/* --- the record --------------------------------------------------------------------- */

static uint64_t or_none(int64_t ns)
{
	return ns == CS_NEVER ? CS_NO_NUMBER : (uint64_t)ns;
}

/* What we keep ourselves is in force as it was asked. */
static void fill_limits(const struct cs_attendant_bounds *bounds, struct cs_result *r)
{
	const uint64_t asked[CS_RESULT_LIMITS] = {
		[CS_LIMIT_WALL] = or_none(bounds->timeout_ns),
		[CS_LIMIT_CPU_TIME] = or_none(bounds->cpu_time_ns),
		[CS_LIMIT_IDLE] = or_none(bounds->idle_timeout_ns),
		[CS_LIMIT_STDOUT] = bounds->stdout_limit_bytes,
		[CS_LIMIT_STDERR] = bounds->stderr_limit_bytes,
	};

	for (size_t i = CS_LIMIT_WALL; i < CS_RESULT_LIMITS; i++)
		r->limits[i] = (struct cs_result_limit_value){ asked[i], asked[i], NULL };
}

static void read_stream(const struct cs_streams *streams, enum cs_stream which, const char *name,
			struct cs_result_stream *ret, struct cs_strv *warnings)
{
	struct cs_drain *drain = cs_streams_drain(streams, which);

	if (!drain)
		return;
	cs_drain_counts(drain, &ret->counts);
	if (ret->counts.sink_broken)
		cs_strv_addf(warnings, "%s-lost: the reader failed (%s), what came after is dropped", name,
			     strerror(ret->counts.sink_errnum));
}

static void fill_stream_counts(const struct cs__attend *a, struct cs_result *r)
{
	if (!a->streams) {
		cs_strv_add(&r->warnings, "attendant-killed: its counts of the output are lost, and so is what came after");
		return;
	}
	read_stream(a->streams, CS_STREAM_OUT, "stdout", &r->stdout_stream, &r->warnings);
	read_stream(a->streams, CS_STREAM_ERR, "stderr", &r->stderr_stream, &r->warnings);
}

/* The program was ended by what we did, not by itself before it. */
static bool died_of_sigkill(const struct cs__attend *a)
{
	return !a->has_status || (WIFSIGNALED(a->raw_status) && WTERMSIG(a->raw_status) == SIGKILL) ||
	       /* engines that answer with a shell's code: the proxy of an exec, a sandbox */
	       (WIFEXITED(a->raw_status) && WEXITSTATUS(a->raw_status) == 128 + SIGKILL);
}

static void find_reason(const struct cs__attend *a, struct cs_result *r)
{
	bool oom = r->usage.oom_kills != CS_NO_NUMBER && r->usage.oom_kills > 0;

	if (a->has_status)
		r->end = cs_exit_of_status(a->raw_status);
	if (a->decided && died_of_sigkill(a)) {
		r->reason = a->reason;
		r->cause = a->cause;
	} else if (oom && a->has_status && died_of_sigkill(a)) {
		r->reason = CS_REASON_OOM;
	} else if (!a->has_status) {
		r->reason = CS_REASON_ENDED;
	} else if (r->end.signal == SIGSYS) {
		r->reason = CS_REASON_SECCOMP;
	} else {
		r->reason = r->end.signal >= 0 ? CS_REASON_SIGNALED : CS_REASON_EXITED;
	}
}

/* An exec that ended by itself and lost nothing is no news: health checks are such, thousands of them. */
static bool is_news(const struct cs__attend *a, const struct cs_result *r)
{
	return !a->is_exec || (a->decided && r->reason == a->reason) || r->stdout_stream.counts.dropped_bytes > 0 ||
	       r->stderr_stream.counts.dropped_bytes > 0;
}

static void write_record(const struct cs__attend *a, const struct cs_result *r)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_RESULTS_FILE_BYTES);
	cs_autojson struct cs_json *json = NULL;
	struct cs_err err = CS_ERR_INIT;
	int added;

	if (cs_result_json(r, &json, &err) < 0 || cs_json_write(json, CS_JSON_COMPACT, &text, &err) < 0) {
		cs_log_debug("record of '%s': %s", a->id, err.text);
		return;
	}
	cs_buf_addc(&text, '\n');
	added = cs_results_add(a->results_fd, a->key, text.data, text.len);
	if (added < 0)
		cs_log_debug("record of '%s': %s", a->id, strerror(-added));
}

/* What an exec of ours had to itself. What it left running in the background goes on, under the container's limits. */
static void remove_group(const struct cs__attend *a)
{
	struct cs_cgroup_host host;
	struct cs_err err = CS_ERR_INIT;

	if (!a->is_exec || !a->cgroup_path || cs_cgroup_host_read(&host, &err) < 0)
		return;
	cs_cgroup_remove(&host, a->cgroup_path, cs_clock_deadline_ns(REMOVE_NS), NULL);
}

void cs__attend_finish(struct cs__attend *a)
{
	int64_t deadline = cs_clock_deadline_ns(STATUS_NS);
	struct cs_result result;

	/* first of all: it is not to wait for our counting */
	if (a->streams && a->terminal)
		cs_streams_catch_up(a->streams);
	if (a->hold)
		release_hold(a);
	cs_result_init(&result);
	result.wall_ns = a->begun ? cs_clock_now_ns() - a->start_ns : 0;
	result.started_wall_ns = a->started_wall_ns;
	result.finished_wall_ns = cs_clock_wall_ns();
	/* at once: the engine's delete removes the group */
	cs_result_read_usage(&result, a->cgroup, &a->base_usage);
	cs_loop_remove(a->loop, &a->kill_timer);
	cs_limits_free(a->limits);
	a->limits = NULL;
	if (a->decided)
		kill_all(a);
	snprintf(result.id, sizeof(result.id), "%s", a->id ? a->id : "");
	snprintf(result.engine_name, sizeof(result.engine_name), "%s", a->engine_name ? a->engine_name : "");
	snprintf(result.engine_version, sizeof(result.engine_version), "%s", a->engine_version ? a->engine_version : "");
	fill_limits(&a->bounds, &result);
	if (a->streams && a->begun)
		cs_streams_finish(a->streams, a->bounds.drain_timeout_ns, a->bounds.flush_timeout_ns,
				  &result.stdio_held);
	wait_for_status(a, deadline);
	fill_stream_counts(a, &result);
	find_reason(a, &result);
	/* one that was made and never started has no story */
	if (a->begun && is_news(a, &result))
		write_record(a, &result);
	remove_group(a);
	cs_result_release(&result);
}
