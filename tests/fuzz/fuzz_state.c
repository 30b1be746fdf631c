/* What an engine prints for `state` and `list`: what is taken can be relied on. */
#include <assert.h>

#include "oci-spec/state.h"
#include "tests/fuzz/fuzz.h"

static void check_state(const struct cs_state *state)
{
	assert(state->id && state->id[0] != '\0');
	assert(state->status < CS_STATE_STATUSES);
	assert(state->pid >= 0);
	if (state->status == CS_STATE_STOPPED)
		assert(state->pid == 0);
	else if (state->status != CS_STATE_CREATING)
		assert(state->pid > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cs_auto(state) state = { 0 };
	cs_auto(state_list) list = { 0 };
	struct cs_err err = CS_ERR_INIT;

	if (cs_state_parse((const char *)data, size, &state, &err) == 0)
		check_state(&state);
	else
		assert(!state.id && !state.bundle && cs_err_is_set(&err));
	cs_err_clear(&err);
	if (cs_state_parse_list((const char *)data, size, &list, &err) < 0)
		assert(list.n == 0 && !list.v && cs_err_is_set(&err));
	for (size_t i = 0; i < list.n; i++)
		check_state(&list.v[i]);
	return 0;
}
