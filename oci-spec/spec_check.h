/*
 * What a config.json must satisfy before an engine sees it: rule rows of
 * {path, test, message} from runtime-spec 1.0.2 and from caisson's own safety
 * rules (such as cwd below /proc/…/fd). All failures are reported.
 */
#ifndef CS_OCI_SPEC_SPEC_CHECK_H
#define CS_OCI_SPEC_SPEC_CHECK_H

#include "oci-spec/json.h"

/* Appends one line a failure, "process.cwd: must be absolute". Returns how many there are, or -1 with err. */
int cs_spec_check(const struct cs_json *config, struct cs_strv *ret_failures, struct cs_err *err);

/* The checker behind `bundle --check`: the directory, its config.json and its rootfs. */
int cs_spec_check_bundle(const char *dir, struct cs_strv *ret_failures, struct cs_err *err);

/* CS_DENIED when cwd reaches a descriptor directory of procfs or dev, under any spelling (CVE-2024-21626). */
int cs_spec_check_cwd(const char *cwd, struct cs_err *err);

#endif
