/*
 * What an engine prints for `state` (runtime-spec runtime.md, "State") and for
 * `list` in its JSON format. The text comes from a program that hostile code
 * may have influenced: parsed strictly, unknown keys passed over.
 *
 *     cs_auto(state) state = { 0 };
 *     if (cs_state_parse(out.data, out.len, &state, err) < 0) …
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
	char *id;     /* owned; never NULL or empty after a parse */
	char *bundle; /* owned, may be NULL */
	enum cs_state_status status;
	pid_t pid; /* of init, seen from the engine's pid namespace; 0 when none */
};

struct cs_state_list {
	struct cs_state *v; /* owned */
	size_t n;
};

/* All zero afterwards; for structs that are all zero too. */
void cs_state_release(struct cs_state *state);
void cs_state_list_release(struct cs_state_list *list);

/*
 * One state. A container that is created, running or paused must have a pid;
 * of a stopped one it is dropped, since the number may be somebody else's by
 * now. CS_ENGINE for text that is not such a state, CS_LIMIT as cs_json_parse;
 * *ret is written on success only, its strings are the caller's.
 */
int cs_state_parse(const char *text, size_t len, struct cs_state *ret, struct cs_err *err);

/* An array of states, or null, which runc prints for none. Errors as above. */
int cs_state_parse_list(const char *text, size_t len, struct cs_state_list *ret,
			struct cs_err *err);

/* "running": the word of runtime.md. */
const char *cs_state_word(enum cs_state_status status);

#endif
