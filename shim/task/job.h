/*
 * One bounded run, from settings to result record: create, verify, start,
 * watch, end, undo.
 *
 * The calling process becomes the supervisor: it is moved into a mount
 * namespace of its own, becomes a subreaper, and must have its signals blocked
 * (cs_signals_block). One job a process.
 */
#ifndef CS_TASK_JOB_H
#define CS_TASK_JOB_H

#include <signal.h>

#include "shim/base/err.h"
#include "shim/base/strv.h"
#include "shim/engine/engine.h"
#include "shim/task/config.h"
#include "shim/task/result.h"
#include "shim/task/settings.h"

struct cs_job_plan {
	const struct cs_settings *settings;
	const struct cs_config *config;   /* where engines are defined */
	const struct cs_strv *args;       /* the command */

	/*
	 * Of a detached run: called once when the program has started. -1: nobody is there any more who could learn of
	 * it, and the run is cancelled. Not called when the run cannot be started.
	 */
	int (*on_started)(const char *id, void *arg);
	void *arg;
};

/*
 * Runs it. Always fills the result; result->error is "" unless something kept
 * the run from starting or from ending in order. Blocks until all is done.
 */
void cs_job_run(const struct cs_job_plan *plan, struct cs_result *result);

/* The signals that cancel a run, unless they were ignored when we were started (cs_signals_open). */
void cs_job_cancelling(sigset_t *ret);

/* What `caisson stop` gives a program when nobody says another time. */
#define CS_JOB_STOP_TIMEOUT_NS (10 * INT64_C(1000000000))

/* Finds the engine that the settings name: by the configuration's "runtimes", by name, by path. */
int cs_job_find_engine(const struct cs_settings *settings, const struct cs_config *config,
		       struct cs_engine *ret, struct cs_err *err);

#endif
