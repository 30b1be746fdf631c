/*
 * What a run or an exec tells when it is over: the record to where --result
 * and --format say, a line to people.
 *
 *     struct cs_outcome_target target = CS_OUTCOME_TARGET_INIT;
 *     cs_outcome_open(settings->result, &target, err)     before anything is run
 *     … the job …
 *     cs_outcome_report(settings, &result);
 *     cs_outcome_write(settings, &target, &result, err);
 *     cs_outcome_close(&target);
 */
#ifndef CS_CLI_OUTCOME_H
#define CS_CLI_OUTCOME_H

#include "shim/base/err.h"
#include "shim/task/result.h"
#include "shim/task/settings.h"

/*
 * Where --result goes, found before anything is run: what cannot be written
 * shall not cost a run to learn, and a directory that is open stays the one
 * that was meant, whatever is mounted or moved meanwhile.
 */
struct cs_outcome_target {
	int fd;     /* of fd:N, not ours; else -1 */
	int dir_fd; /* of FILE, ours; else -1 */
	const char *name; /* borrowed from the settings */
};
#define CS_OUTCOME_TARGET_INIT { .fd = -1, .dir_fd = -1 }

/* result: FILE, fd:N, or NULL for none. */
int cs_outcome_open(const char *result, struct cs_outcome_target *ret, struct cs_err *err);
void cs_outcome_close(struct cs_outcome_target *target);

/*
 * The record, where it is wanted; what fails in one place does not keep it from
 * the other. Blocks while a slow reader goes on taking; one that takes nothing
 * is waited for as long as --flush-timeout, or until a signal comes that cancels
 * (blocked, as for a run): CS_TIMEOUT.
 */
int cs_outcome_write(const struct cs_settings *settings, const struct cs_outcome_target *target,
		     const struct cs_result *result, struct cs_err *err);

/* Errors, warnings, and one sentence on how it ended, to stderr. */
void cs_outcome_report(const struct cs_settings *settings, const struct cs_result *result);

/*
 * A run that never began, because of how it was asked for: the record says
 * start-failed, usage, and why. Whoever waits for a record gets one also then,
 * where the settings tell of a place for it. Says nothing to people.
 */
void cs_outcome_refused(const struct cs_settings *settings, const struct cs_err *why);

#endif
