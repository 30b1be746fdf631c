/*
 * What a config.json must satisfy before an engine sees it: rule rows of
 * {path, kind, test, message} from runtime-spec 1.0.2 (spec_rules.c), rules
 * that look at several places at once, and caisson's own safety rules (such as
 * a cwd below /proc/…/fd). All failures are reported, not the first.
 *
 * Keys that no rule names are left alone, whatever they hold: the text may be
 * of a newer version of the specification.
 */
#ifndef CS_OCI_SPEC_SPEC_CHECK_H
#define CS_OCI_SPEC_SPEC_CHECK_H

#include "oci-spec/json.h"

/* After so many failures one last line says that there are more. */
#define CS_SPEC_FAILURES_MAX 100

/*
 * Appends one line a failure, "process.cwd: must be an absolute path", control
 * bytes of the config's own text replaced. Returns how many there are, or -1
 * with CS_LIMIT when memory ran out. Pure; the config is only read.
 */
int cs_spec_check(const struct cs_json *config, struct cs_strv *ret_failures, struct cs_err *err);

/*
 * The checker behind `bundle --check`: the directory, its config.json and its
 * rootfs. As above; -1 also when there is no such directory or no config.json
 * to be read and parsed.
 */
int cs_spec_check_bundle(const char *dir, struct cs_strv *ret_failures, struct cs_err *err);

/*
 * CS_DENIED when cwd reaches a descriptor directory of procfs or dev, under any
 * spelling (CVE-2024-21626): below /proc/PID, or /dev/fd and its kin, at any
 * step of the way, so that "/proc/self/fd/7/../.." is refused too. cs_spec_check
 * looks through the config's own mounts as well. What a symlink inside the root
 * leads to cannot be told from text.
 */
int cs_spec_check_cwd(const char *cwd, struct cs_err *err);

#endif
