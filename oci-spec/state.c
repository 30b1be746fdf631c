#include "oci-spec/state.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct status_row {
	const char *word;
	enum cs_state_status status;
};

/* the words of runtime.md in the order of the enum, then those of engines */
static const struct status_row status_rows[] = {
	{ "creating", CS_STATE_CREATING },
	{ "created", CS_STATE_CREATED },
	{ "running", CS_STATE_RUNNING },
	{ "paused", CS_STATE_PAUSED },
	{ "stopped", CS_STATE_STOPPED },
	{ "pausing", CS_STATE_PAUSED }, /* libcontainer, while the freezer works */
};
_Static_assert(CS_ARRAY_LEN(status_rows) >= CS_STATE_STATUSES, "a word for every status");

const char *cs_state_word(enum cs_state_status status)
{
	return status < CS_STATE_STATUSES ? status_rows[status].word : "unknown";
}

void cs_state_release(struct cs_state *state)
{
	free(state->id);
	free(state->bundle);
	*state = (struct cs_state){ 0 };
}

void cs_state_list_release(struct cs_state_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		cs_state_release(&list->v[i]);
	free(list->v);
	*list = (struct cs_state_list){ 0 };
}

static int fail_engine(struct cs_err *err, const char *what)
{
	return cs_fail(err, CS_ENGINE, 0, "state: %s", what);
}

static int read_status(const struct cs_json *json, enum cs_state_status *ret, struct cs_err *err)
{
	const char *word = cs_json_string(cs_json_member(json, "status"));

	if (!word)
		return fail_engine(err, "no status");
	for (size_t i = 0; i < CS_ARRAY_LEN(status_rows); i++) {
		if (strcmp(status_rows[i].word, word) == 0) {
			*ret = status_rows[i].status;
			return 0;
		}
	}
	return cs_fail(err, CS_ENGINE, 0, "state: unknown status '%.40s'", word);
}

static int read_pid(const struct cs_json *json, enum cs_state_status status, pid_t *ret,
		    struct cs_err *err)
{
	const struct cs_json *member = cs_json_member(json, "pid");
	uint64_t pid = 0;

	if (cs_json_kind(member) != CS_JSON_NULL &&
	    (cs_json_get_u64(member, &pid) < 0 || pid > INT_MAX))
		return fail_engine(err, "pid is not a process id");
	if (status == CS_STATE_STOPPED)
		pid = 0;
	else if (pid == 0 && status != CS_STATE_CREATING)
		return cs_fail(err, CS_ENGINE, 0, "state: %s, but without a pid",
			       cs_state_word(status));
	*ret = (pid_t)pid;
	return 0;
}

/* A copy of a string member, NULL when it is absent or null. */
static int read_string(const struct cs_json *json, const char *key, char **ret, struct cs_err *err)
{
	const struct cs_json *member = cs_json_member(json, key);
	const char *text = cs_json_string(member);

	if (cs_json_kind(member) == CS_JSON_NULL)
		return 0;
	if (!text)
		return cs_fail(err, CS_ENGINE, 0, "state: %s is no plain string", key);
	*ret = strdup(text);
	return *ret ? 0 : cs_fail(err, CS_LIMIT, ENOMEM, "state");
}

static int read_state(const struct cs_json *json, struct cs_state *ret, struct cs_err *err)
{
	cs_auto(state) state = { 0 };

	if (cs_json_kind(json) != CS_JSON_OBJECT)
		return cs_fail(err, CS_ENGINE, 0, "state: %s instead of an object",
			       cs_json_kind_word(cs_json_kind(json)));
	if (read_status(json, &state.status, err) < 0 ||
	    read_pid(json, state.status, &state.pid, err) < 0 ||
	    read_string(json, "id", &state.id, err) < 0 ||
	    read_string(json, "bundle", &state.bundle, err) < 0)
		return -1;
	if (!state.id || state.id[0] == '\0')
		return fail_engine(err, "no id");
	*ret = state;
	state = (struct cs_state){ 0 };
	return 0;
}

/* What an engine printed: text that is no JSON is its fault, not the caller's. */
static int parse_printed(const char *text, size_t len, struct cs_json **ret, struct cs_err *err)
{
	if (cs_json_parse(text, len, "state", ret, err) == 0)
		return 0;
	if (err->kind == CS_INVALID)
		err->kind = CS_ENGINE;
	return -1;
}

int cs_state_parse(const char *text, size_t len, struct cs_state *ret, struct cs_err *err)
{
	cs_autojson struct cs_json *json = NULL;

	if (parse_printed(text, len, &json, err) < 0)
		return -1;
	return read_state(json, ret, err);
}

int cs_state_parse_list(const char *text, size_t len, struct cs_state_list *ret, struct cs_err *err)
{
	cs_autojson struct cs_json *json = NULL;
	cs_auto(state_list) list = { 0 };
	size_t count;

	if (parse_printed(text, len, &json, err) < 0)
		return -1;
	if (cs_json_kind(json) != CS_JSON_NULL && cs_json_kind(json) != CS_JSON_ARRAY)
		return fail_engine(err, "the list is no array");
	count = cs_json_count(json);
	list.v = count ? calloc(count, sizeof(*list.v)) : NULL;
	if (count && !list.v)
		return cs_fail(err, CS_LIMIT, ENOMEM, "state");
	for (; list.n < count; list.n++)
		if (read_state(cs_json_at(json, list.n), &list.v[list.n], err) < 0)
			return cs_wrap(err, "element %zu", list.n);
	*ret = list;
	list = (struct cs_state_list){ 0 };
	return 0;
}
