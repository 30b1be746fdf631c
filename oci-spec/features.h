/* What `features` prints (runtime-spec features.md): only the questions we ask of it. */
#ifndef CS_OCI_SPEC_FEATURES_H
#define CS_OCI_SPEC_FEATURES_H

#include "oci-spec/json.h"

struct cs_features {
	bool known;          /* the engine printed features at all */
	bool rro;            /* mountOptions holds "rro" */
	bool seccomp;
	bool idmap;
	char oci_version_max[32];
};

int cs_features_parse(const char *text, size_t len, struct cs_features *ret, struct cs_err *err);

#endif
