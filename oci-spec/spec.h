/*
 * Questions that several parts ask of a config.json, answered from the tree at
 * the moment of asking: nothing is cached, and a part of the wrong kind counts
 * as absent (spec_check.h says what is wrong with it).
 */
#ifndef CS_OCI_SPEC_SPEC_H
#define CS_OCI_SPEC_SPEC_H

#include "oci-spec/json.h"
#include "oci-spec/spec_tables.h"

/* The row of linux.namespaces for ns, borrowed; NULL when the container shares the host's. */
const struct cs_json *cs_spec_namespace(const struct cs_json *config, enum cs_namespace ns);

/*
 * Is the mount (a child of "mounts") a bind mount? By its options, as
 * runtime-spec says (config.md, "Mounts"), or by the type "bind", as engines
 * take it.
 */
bool cs_spec_mount_is_bind(const struct cs_json *mount);

#endif
