/*
 * An engine as our child: for calls that something has to be done after.
 * Signals that we get go on to it; it dies with us; past its deadline it is
 * killed with its process group. It gets our environment and the descriptors
 * that the caller means for it, since it stands in for us.
 */
#ifndef CS_OCI_CHILD_H
#define CS_OCI_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/err.h"
#include "shim/sys/pidref.h"

struct cs_oci_child {
	char *const *argv;   /* argv[0] absolute */
	const int *stdio;    /* three descriptors, borrowed; NULL: ours */
	unsigned preserve_fds; /* 3 and up, as many (--preserve-fds, LISTEN_FDS) */
	bool own_group;      /* its own process group: not for what may use the caller's terminal */
	int64_t timeout_ns;  /* CS_NEVER: none */
};

/*
 * Runs it to its end: *ret_status is its raw wait status. CS_TIMEOUT when the deadline
 * passed; what cs_spawn says when it could not be executed. After a failure, or
 * a status that is not 0, nothing of its own group is left.
 */
int cs_oci_child_run(const struct cs_oci_child *child, int *ret_status, struct cs_err *err);

/* Waits for a process that became our child, as the foreground does for it: signals go on to it. *ret_status as above. */
int cs_oci_wait_for(const struct cs_pidref *process, int *ret_status, struct cs_err *err);

/*
 * When somebody with a single thread started us (dockerd puts a shell between
 * its shim and a runtime that has runtimeArgs) and did not say what shall happen
 * when it dies: SIGTERM, so that what we are about is undone. A parent with
 * threads might lose the one that forked us and live on (prctl(2)).
 */
void cs_oci_die_with_caller(void);

#endif
