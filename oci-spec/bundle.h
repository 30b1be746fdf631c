/*
 * Bundle directories (runtime-spec bundle.md): config.json beside a rootfs.
 * Built under a temporary name and renamed into place, so that a bundle is
 * whole or not there.
 *
 * What config.json says is not looked at here; removal of a bundle that code
 * has run in is shim/sys/path.h's.
 */
#ifndef CS_OCI_SPEC_BUNDLE_H
#define CS_OCI_SPEC_BUNDLE_H

#include "oci-spec/json.h"

/*
 * Puts what is wanted into an empty rootfs. The descriptor is borrowed. A
 * failure may leave files, links and directories behind, but no mounts. *config
 * is what will be written; one that is only known now may be put in its place,
 * and must live until cs_bundle_create returns.
 */
typedef int cs_bundle_fill_fn(int rootfs_fd, void *arg, const struct cs_json **config,
			      struct cs_err *err);

/*
 * Makes `path` (its parent must exist, it must not) with config.json and an
 * empty rootfs directory; `fill` (may be NULL) is called with the descriptor of
 * that rootfs before config.json is written. Modes whatever the umask is: 0711 for the
 * bundle, so that mapped users can pass, 0600 for config.json, whose
 * environment may hold secrets, 0755 for rootfs.
 *
 * On failure nothing is left: CS_EXISTS when path is there, CS_NOT_FOUND
 * without the parent, or what fill and cs_json_write_file say.
 */
int cs_bundle_create(const char *path, const struct cs_json *config, cs_bundle_fill_fn *fill,
		     void *arg, struct cs_err *err);

#endif
