/*
 * Seccomp profiles as config.json holds them (runtime-spec config-linux.md,
 * "Seccomp"), with every name checked through libseccomp.
 *
 * The built-in profile allows what ordinary programs and the engines
 * themselves need; everything else fails with EPERM, clone3 and numbers that
 * libseccomp does not know with ENOSYS, so that C libraries fall back.
 */
#ifndef CS_OCI_SPEC_PROFILE_H
#define CS_OCI_SPEC_PROFILE_H

#include "oci-spec/json.h"

/* The built-in profile for this machine's architectures, `allow` appended. *ret is the caller's. */
int cs_profile_default(const struct cs_strv *allow, struct cs_json **ret, struct cs_err *err);

/*
 * A profile from a file: either the runtime-spec form, or the form with
 * archMap, includes and excludes that Docker and Podman ship (resolved for
 * this kernel, this architecture and the given capabilities). Names that
 * libseccomp does not know are dropped and named in `ret_unknown`. A profile
 * that lacks a call which engines make after loading it is refused, naming it.
 */
int cs_profile_file(const char *path, const struct cs_strv *allow,
		    const struct cs_strv *capabilities, struct cs_json **ret,
		    struct cs_strv *ret_unknown, struct cs_err *err);

/* 0 when libseccomp knows the name; CS_INVALID with the nearest known one otherwise. */
int cs_profile_check_name(const char *name, struct cs_err *err);

#endif
