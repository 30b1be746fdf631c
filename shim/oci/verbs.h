/* What each verb does beside handing over: a table (verbs.c), one file for each that has work. */
#ifndef CS_OCI_VERBS_H
#define CS_OCI_VERBS_H

#include "shim/engine/engine_argv.h"
#include "shim/oci/face.h"
#include "shim/task/attendant.h"

/* Returns 0 with the code to exit with, or -1 with an error that is still to be told. May not return at all. */
typedef int cs_oci_verb_fn(struct cs_oci_face *face, int *ret_code, struct cs_err *err);

cs_oci_verb_fn cs_oci_verb_run;  /* the row of the call */
cs_oci_verb_fn cs_oci_verb_pass; /* hands over, and no more */
cs_oci_verb_fn cs_oci_verb_create, cs_oci_verb_start, cs_oci_verb_delete, cs_oci_verb_exec, cs_oci_verb_update;
cs_oci_verb_fn cs_oci_verb_state, cs_oci_verb_list, cs_oci_verb_events;

/* What the engine's `state` of the call's container prints, and its code. The call is changed to that. */
int cs_oci_ask_state(struct cs_oci_face *face, struct cs_buf *ret, int *ret_code, struct cs_err *err);

/*
 * What the engine may take for the call's verb. CS_NEVER where that is as long as somebody's program
 * runs (run, exec, restore, events) or a matter of the container's size (checkpoint), and for verbs of one engine only.
 */
int64_t cs_oci_timeout_ns(const struct cs_oci_face *face);

/* --- for create and exec ------------------------------------------------------- */

/*
 * Engines that choke on a hybrid host's v2 cgroups do not see them from here
 * on. A container that is to live in the host's own mount namespace (config may be NULL: not
 * known) would live in ours instead: for it nothing is done.
 */
int cs_oci_prepare_mounts(const struct cs_oci_face *face, const struct cs_json *config, struct cs_err *err);

/*
 * A text that engines read by a path: in memory, so that nothing of it can be
 * left behind. The path leads through our own /proc, as long as *ret_fd (the caller's) is open.
 */
#define CS_OCI_MEMORY_PATH 64
int cs_oci_memory_file(const struct cs_json *json, char path[static CS_OCI_MEMORY_PATH], int *ret_fd, struct cs_err *err);

/* What create and exec have in common of an attendant's plan; `process` is what will run. Borrowed from face and the trees. */
struct cs_attendant_plan cs_oci_attendant_plan(const struct cs_oci_face *face, const struct cs_json *config,
					       const struct cs_json *process);

/*
 * The engine's verb, within its time, on an attendant's streams, which are
 * closed here once it has them. 0; 1: the engine refused, *ret_code says how; -1.
 */
int cs_oci_run_attended(const struct cs_oci_face *face, enum cs_verb verb, struct cs_attendant_stdio *stdio, int *ret_code,
			struct cs_err *err);

/* Owner on the host of what a process.json's user writes: through linux.uidMappings where there is a user namespace. */
void cs_oci_owner(const struct cs_json *config, const struct cs_json *process, uid_t *ret_uid, gid_t *ret_gid);

#endif
