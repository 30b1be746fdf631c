/*
 * Bundle directories (runtime-spec bundle.md): config.json beside a rootfs.
 * Built under a temporary name and renamed into place, so that a bundle is
 * whole or not there.
 */
#ifndef CS_OCI_SPEC_BUNDLE_H
#define CS_OCI_SPEC_BUNDLE_H

#include "oci-spec/json.h"

/*
 * Makes `path` (its parent must exist, it must not) with config.json and an
 * empty rootfs directory. `fill` (may be NULL) is called with the descriptor of
 * that rootfs before the rename. On failure nothing is left.
 */
typedef int cs_bundle_fill_fn(int rootfs_fd, void *arg, struct cs_err *err);
int cs_bundle_create(const char *path, const struct cs_json *config, cs_bundle_fill_fn *fill,
		     void *arg, struct cs_err *err);

#endif
