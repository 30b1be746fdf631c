/*
 * One call of caisson-runtime: what it was told, which engine it goes to, and
 * the ways to get there. The verbs (verbs.h) stand on this.
 *
 * Where nothing has to be done we become the engine (exec), so that death
 * signals, descriptors, parents and codes are as if it had been called itself.
 */
#ifndef CS_OCI_FACE_H
#define CS_OCI_FACE_H

#include "shim/engine/engine.h"
#include "shim/oci/argv.h"
#include "shim/task/config.h"
#include "shim/task/settings.h"

struct cs_oci_face {
	struct cs_oci_call call;
	struct cs_config config;
	struct cs_settings_tree tree;
	bool has_settings;
	struct cs_engine engine;
	char *root; /* owned: of the engine, as given or its default */
};

/* Configuration, policy, engine, root, for a call that is parsed. */
int cs_oci_face_open(struct cs_oci_face *face, struct cs_err *err);
void cs_oci_face_release(struct cs_oci_face *face);

/* The whole argv of the engine for this call. */
int cs_oci_face_argv(const struct cs_oci_face *face, struct cs_strv *ret, struct cs_err *err);

/*
 * Becomes the engine. Returns on failure only.
 */
int cs_oci_face_exec(struct cs_oci_face *face, struct cs_err *err);

/*
 * The same, but comes back: for calls after which something is to be done, or
 * whose failure the engine may not have written down. Signals go on to the
 * engine. ret_code is its exit code (128 + n for signal n); when it is not 0 the log has an
 * error by then.
 */
int cs_oci_face_run(struct cs_oci_face *face, int *ret_code, struct cs_err *err);

#endif
