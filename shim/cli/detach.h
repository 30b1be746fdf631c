/*
 * A run that outlives its caller: a child that becomes its supervisor, and a
 * caller that learns whether the program has started.
 *
 *     switch (cs_detach(&mask, keep, n, &detach, &code, err)) {
 *     case 1: … the caller: print detach.id when code is 0, return code
 *     case 0: … the supervisor: run the job with cs_detach_started as on_started
 *
 * Until the start the supervisor has the caller's stderr, for what keeps the
 * program from starting; then it has nothing of the caller's any more. A
 * caller that has gone by then is noticed: nobody would know of the run.
 */
#ifndef CS_CLI_DETACH_H
#define CS_CLI_DETACH_H

#include <signal.h>

#include "shim/base/err.h"
#include "shim/base/parse.h"

struct cs_detach {
	int report_fd;           /* the supervisor's way to tell; CLOEXEC */
	char id[CS_ID_MAX + 1];  /* in the caller, when the code is 0 */
};

/*
 * Forks. 0 in the supervisor, which is in a session of its own and has no
 * other descriptors than stdio and `keep`; 1 in the caller, once the program
 * has started (*ret_code 0) or failed to (the code of the supervisor, which
 * has said why); -1 with err. The caller waits with the signal mask that it is
 * given, so that it can be interrupted.
 */
int cs_detach(const sigset_t *mask, const int *keep, size_t n_keep, struct cs_detach *ret, int *ret_code,
	      struct cs_err *err);

/* For cs_job_plan.on_started; arg is the struct cs_detach. */
int cs_detach_started(const char *id, void *arg);

#endif
