/*
 * The words of the setting `confine`: which rights a container of a daemon
 * loses where the policy does not give them. What each does is told in
 * tighten.h.
 */
#ifndef CS_TASK_CONFINE_H
#define CS_TASK_CONFINE_H

#include "shim/base/err.h"
#include "shim/base/strv.h"

enum cs_confine {
	CS_CONFINE_CAPABILITIES,
	CS_CONFINE_PRIVILEGES,
	CS_CONFINE_ROOT,
	CS_CONFINE_NAMESPACES,
	CS_CONFINE_DEVICES,
	CS_CONFINE_SECCOMP,
	CS_CONFINE_MASKED,
	CS_CONFINE_READONLY,
	CS_CONFINE_RLIMITS,
	CS_CONFINE_CORE,
	CS_CONFINES
};

/*
 * Words joined by commas: bit 1 << enum cs_confine of each is added to
 * *ret_bits (may be NULL). CS_INVALID names the first that is none.
 */
int cs_confine_parse(const char *text, unsigned *ret_bits, struct cs_err *err);

/* The bits of a checked list. */
unsigned cs_confine_bits(const struct cs_strv *list);

#endif
