#include "shim/oci/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/base/attr.h"
#include "shim/base/parse.h"
#include "shim/oci/say.h"

int cs_oci_verb_pass(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	const struct cs_oci_run run = { .timeout_ns = cs_oci_timeout_ns(face) };
	off_t from;

	/* an engine that chokes on its arguments may say so on stderr only */
	if (!face->call.odd || !cs_oci_global(&face->call, "log"))
		return cs_oci_face_exec(face, err);
	from = cs_oci_log_end(&face->call);
	if (cs_oci_face_run(face, &run, ret_code, err) < 0)
		return -1;
	if (*ret_code != 0)
		cs_oci_face_complete(face, from, *ret_code, NULL);
	return 0;
}

/* Its process would run before anything bounds it. */
static int refuse_unbounded(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	if (face->passive)
		return cs_oci_verb_create(face, ret_code, err);
	return cs_fail(err, CS_UNSUPPORTED, 0, "%s: under a policy a container is made by create and start", face->call.verb_word);
}

/* Verbs that are not here are handed over. */
static cs_oci_verb_fn *const verbs[CS_OCI_VERBS] = {
	[CS_OCI_CREATE] = cs_oci_verb_create,
	[CS_OCI_RESTORE] = refuse_unbounded,
	[CS_OCI_RUN] = refuse_unbounded,
	[CS_OCI_START] = cs_oci_verb_start,
	[CS_OCI_DELETE] = cs_oci_verb_delete,
	[CS_OCI_EXEC] = cs_oci_verb_exec,
	[CS_OCI_UPDATE] = cs_oci_verb_update,
	[CS_OCI_STATE] = cs_oci_verb_state,
	[CS_OCI_LIST] = cs_oci_verb_list,
	[CS_OCI_EVENTS] = cs_oci_verb_events,
};

/*
 * containerd looks for "does not exist", CRI-O for it in lower case: where the
 * engine has no such words for a container that is not there, we do.
 */
static int check_exists(const struct cs_oci_face *face, struct cs_err *err)
{
	const char *id = cs_oci_id(&face->call), *file = face->engine.kind->state_file;
	enum cs_oci_verb verb = face->call.verb;
	cs_autofree char *path = NULL;

	if (!file || !id || !cs_id_valid(id) || verb == CS_OCI_CREATE || verb == CS_OCI_RUN || verb == CS_OCI_RESTORE ||
	    cs_oci_switch(&face->call, "force") || cs_oci_switch(&face->call, "regex"))
		return 0;
	if (asprintf(&path, "%s/%s/%s", face->root, id, file) < 0 || access(path, F_OK) == 0 || errno != ENOENT)
		return 0;
	return cs_fail(err, CS_NOT_FOUND, 0, "container '%s' does not exist", id);
}

int cs_oci_verb_run(struct cs_oci_face *face, int *ret_code, struct cs_err *err)
{
	cs_oci_verb_fn *verb = verbs[face->call.verb];

	/* a call that is not whole is the engine's to refuse, in its words */
	if (!verb || (cs_oci_verb_row(face->call.verb)->has_id && !cs_oci_id(&face->call)))
		verb = cs_oci_verb_pass;
	if (check_exists(face, err) < 0)
		return -1;
	return verb(face, ret_code, err);
}
