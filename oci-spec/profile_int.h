/* Shared by profile.c and profile_file.c. */
#ifndef CS_OCI_SPEC_PROFILE_INT_H
#define CS_OCI_SPEC_PROFILE_INT_H

#include "oci-spec/profile.h"
#include "oci-spec/profile_table.h"

/* The row of the architecture we run on. CS_UNSUPPORTED when the table has none. */
int cs__profile_native(const struct cs_profile_arch **ret, struct cs_err *err);

/* Does libseccomp know the name, on whatever architecture? */
bool cs__profile_name_known(const char *name);

/*
 * A rule {"names": …, "action": …, "errnoRet": …}; errnoRet only when errnum is
 * not 0. Consumes names. NULL when memory ran out.
 */
struct cs_json *cs__profile_rule(struct cs_json *names_consume, const char *action, int errnum);

#endif
