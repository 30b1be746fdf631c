/*
 * One call of caisson-runtime: what it was told, which engine it goes to, what
 * is kept of its container, and the ways to get there. The verbs (verbs.h) stand on this.
 *
 * Where nothing has to be done we become the engine (exec), so that death
 * signals, descriptors, parents and codes are as if it had been called itself.
 */
#ifndef CS_OCI_FACE_H
#define CS_OCI_FACE_H

#include "shim/engine/engine.h"
#include "shim/oci/argv.h"
#include "shim/task/config.h"
#include "shim/task/foreign.h"
#include "shim/task/settings.h"
#include "shim/task/tighten.h"

struct cs_oci_face {
	struct cs_oci_call call;
	struct cs_config config;
	struct cs_settings_tree tree;
	bool has_settings;
	bool passive;              /* the policy bounds nothing */
	struct cs_engine engine;
	char *root;                /* owned: of the engine, as given or its default */
	bool kept;                 /* the container was made under a policy; that one counts */
	struct cs_foreign foreign;
};

#define CS_OCI_FACE_INIT ((struct cs_oci_face){ .foreign = CS_FOREIGN_INIT })

/*
 * Configuration, policy, engine, root, container, for a call that is parsed.
 * A container that is kept brings its engine and its policy along. Verbs
 * that only end or show something do not fail for a broken configuration file.
 */
int cs_oci_face_open(struct cs_oci_face *face, struct cs_err *err);
void cs_oci_face_release(struct cs_oci_face *face);

/* The global arguments that every later call for a container made by this one gets too. 0 or -ENOMEM. */
int cs_oci_face_lasting_args(const struct cs_oci_face *face, struct cs_strv *ret);

/* Does it put containers where systemd says? */
bool cs_oci_face_systemd(const struct cs_oci_face *face);

/* The whole argv of the engine for this call. */
int cs_oci_face_argv(const struct cs_oci_face *face, struct cs_strv *ret, struct cs_err *err);

/* Becomes the engine. Returns on failure only. */
int cs_oci_face_exec(struct cs_oci_face *face, struct cs_err *err);

/* The engine as a child, for calls after which something is to be done. */
struct cs_oci_run {
	const int *stdio;   /* three; NULL: ours */
	bool own_group;     /* not for what may use the caller's terminal */
	int64_t timeout_ns; /* 0: none */
};

/*
 * *ret_code is the engine's exit code (128 + n for signal n). CS_TIMEOUT past the
 * deadline. What an engine that failed has told nobody is not told here either: cs_oci_face_complete.
 */
int cs_oci_face_run(const struct cs_oci_face *face, const struct cs_oci_run *run, int *ret_code, struct cs_err *err);

/*
 * The engine failed with that code: sees to it that the log has an error
 * behind `from` (cs_oci_log_end before the call). `words` is what it said where the
 * caller could not hear it, and goes to our stderr, in one write; NULL: nothing.
 */
void cs_oci_face_complete(const struct cs_oci_face *face, off_t from, int code, const struct cs_buf *words);

#endif
