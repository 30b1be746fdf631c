/*
 * What an engine prints: `state` (runtime-spec runtime.md, "State"), `list`
 * and `features` (features.md). The text comes from a program that hostile
 * code may have influenced: parsed strictly, unknown keys passed over.
 */
#ifndef CS_OCI_SPEC_STATE_H
#define CS_OCI_SPEC_STATE_H

#include <sys/types.h>

#include "oci-spec/json.h"

enum cs_state_status {
	CS_STATE_CREATING,
	CS_STATE_CREATED,
	CS_STATE_RUNNING,
	CS_STATE_PAUSED,
	CS_STATE_STOPPED,
	CS_STATE_STATUSES
};

struct cs_state {
	char *id;     /* owned */
	char *bundle; /* owned, may be NULL */
	enum cs_state_status status;
	pid_t pid;    /* 0 when none */
};

void cs_state_release(struct cs_state *state);
int cs_state_parse(const char *text, size_t len, struct cs_state *ret, struct cs_err *err);

#endif
