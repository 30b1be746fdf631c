#include "shim/task/job_int.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/task/cache.h"

void cs__job_fail(struct job *job, enum cs_start_kind kind, const struct cs_err *err)
{
	struct cs_result *result = job->result;

	if (result->error[0])
		return;
	snprintf(result->error, sizeof(result->error), "%s", err->text);
	result->reason = CS_REASON_START_FAILED;
	result->start_kind = kind;
}

int cs_job_find_engine(const struct cs_settings *settings, const struct cs_config *config,
		       struct cs_engine *ret, struct cs_err *err)
{
	struct cs_runtime_def def = { 0 };
	cs_auto(strv) args = CS_STRV_INIT;
	const char *name = settings->runtime, *kind = NULL;
	cs_autofd int cache_fd = cs_cache_open(settings->cache_dir);

	if (name && cs_config_runtime(config, name, &def)) {
		name = def.path;
		kind = def.engine;
		if (def.args && cs_json_get_strv(def.args, &args) < 0)
			return cs_fail(err, CS_INVALID, 0, "runtime '%s': args must be strings", settings->runtime);
	}
	if (cs_strv_copy(&args, &settings->runtime_args) < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "--runtime-arg");
	return cs_engine_find(name, kind, &args, cache_fd, ret, err);
}

/* The limits as they were asked for, so that every record has them, also that of a run that never started. */
void cs__job_note_limits(const struct cs_settings *s, struct cs_result *result)
{
	const uint64_t asked[] = {
		[CS_LIMIT_MEMORY] = s->memory_bytes,
		[CS_LIMIT_MEMORY_SWAP] = s->memory_swap_bytes,
		[CS_LIMIT_PIDS] = s->pids,
		[CS_LIMIT_CPU] = s->millicpus,
		[CS_LIMIT_WALL] = s->timeout_ns == CS_NEVER ? CS_NO_NUMBER : (uint64_t)s->timeout_ns,
		[CS_LIMIT_CPU_TIME] = s->cpu_time_ns == CS_NEVER ? CS_NO_NUMBER : (uint64_t)s->cpu_time_ns,
		[CS_LIMIT_IDLE] = s->idle_timeout_ns == CS_NEVER ? CS_NO_NUMBER : (uint64_t)s->idle_timeout_ns,
		[CS_LIMIT_STDOUT] = s->stdout_limit_bytes,
		[CS_LIMIT_STDERR] = s->stderr_limit_bytes,
	};
	_Static_assert(CS_ARRAY_LEN(asked) == CS_RESULT_LIMITS, "every limit");

	for (size_t i = 0; i < CS_RESULT_LIMITS; i++) {
		result->limits[i].asked = asked[i];
		/* what caisson keeps itself is in force by being kept */
		if (i >= CS_LIMIT_WALL)
			result->limits[i].in_force = asked[i];
	}
}

/* Without the loop nothing is bounded any more: the run ends here, and says that it was not the program's doing. */
static void lose_sight(struct job *job, int errnum)
{
	snprintf(job->result->error, sizeof(job->result->error), "event loop: %s", strerror(-errnum));
	/* now: patience is a timer of that loop */
	cs__job_decide_patiently(job, CS_REASON_UNKNOWN, 0, SIGKILL, 0);
	if (!job->interrupted)
		cs__job_kill(job);
}

/* The program runs until its init is reaped or a decision has killed it. */
void cs__job_live(struct job *job)
{
	int r;

	while (!job->init_gone && !job->interrupted) {
		if (job->verdict.stop_pending)
			job->ways->send_stop(job);
		else if (cs_ctl_work(job->ctl))
			continue;
		else if ((r = cs_loop_turn(job->loop, CS_NEVER)) < 0)
			lose_sight(job, r);
	}
}

void cs__job_release(struct job *job)
{
	cs__job_unwatch(job);
	cs_ctl_free(job->ctl);
	cs_limits_free(job->limits);
	cs_terminal_free(job->terminal);
	cs_streams_free(job->streams);
	for (size_t i = 0; i < CS_STREAMS; i++)
		cs_sink_free(job->sinks[i]);
	cs_trace_free(job->trace);
	cs_cgroup_free(job->cgroup);
	cs_pidref_release(&job->init);
	cs_pidref_release(&job->parent);
	cs_close_fd(&job->oom_fd);
	cs_close_fd(&job->guardian_procs_fd);
	cs_close_fd(&job->cell_procs_fd);
	cs_close_fd(&job->namespace_fd);
	cs_jobspec_release(&job->spec);
	cs_engine_release(&job->engine);
	cs_session_release(&job->session);
	cs_record_release(&job->record);
	cs_loop_free(job->loop);
}

const struct job_ways cs__job_run_ways = {
	.send_stop = cs__job_send_stop,
	.undo = cs__job_undo_run,
};

void cs_job_run(const struct cs_job_plan *plan, struct cs_result *result)
{
	struct job job = JOB_INIT;

	job.ways = &cs__job_run_ways;
	job.plan = plan;
	job.s = plan->settings;
	job.result = result;
	result->began_ns = cs_clock_now_ns();
	cs__job_note_limits(plan->settings, result);
	/* what the run's user has to pass through must not hang on a strict umask, neither ours nor the engine's */
	job.callers_umask = umask(022);
	if (cs__job_setup(&job) == 0 && cs__job_create(&job) == 0 && cs__job_start(&job) == 0)
		cs__job_live(&job);
	cs__job_end(&job);
	cs__job_release(&job);
	umask(job.callers_umask);
}
