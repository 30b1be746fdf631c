/*
 * What an engine prints for `features` (runtime-spec features.md): only the
 * questions that caisson asks of it. Unknown keys are passed over.
 *
 * An engine that has no such verb is described by a struct that is all zero.
 */
#ifndef CS_OCI_SPEC_FEATURES_H
#define CS_OCI_SPEC_FEATURES_H

#include "oci-spec/json.h"

struct cs_features {
	bool known;   /* the engine printed features at all */
	bool rro;     /* mountOptions holds "rro": recursive read-only binds */
	bool seccomp; /* linux.seccomp.enabled */
	bool idmap;   /* linux.mountExtensions.idmap.enabled */
	char oci_version_max[32]; /* "" when not given */
};

/*
 * Absent keys mean no. CS_ENGINE for text that is no such object, or has one
 * of these keys with a value of another kind; CS_LIMIT as cs_json_parse. *ret is
 * written on success only.
 */
int cs_features_parse(const char *text, size_t len, struct cs_features *ret, struct cs_err *err);

#endif
