#include "shim/task/exec_look.h"

#include <stdlib.h>

#include "oci-spec/json.h"

static int by_pid(const void *a, const void *b)
{
	uint32_t x = ((const struct cs_exec_seen *)a)->pid, y = ((const struct cs_exec_seen *)b)->pid;

	return (x > y) - (x < y);
}

int cs_exec_look_read(const char *text, size_t len, struct cs_exec_look *ret, struct cs_err *err)
{
	cs_autojson struct cs_json *list = NULL;
	const struct cs_json *row;

	ret->n = 0;
	if (cs_json_parse(text, len, "ps", &list, err) < 0)
		return -1;
	if (cs_json_kind(list) != CS_JSON_ARRAY)
		return cs_fail(err, CS_ENGINE, 0, "ps: no list of processes");
	cs_json_each(row, list) {
		uint64_t pid, parent;

		if (ret->n == CS_EXEC_LOOK_MAX)
			return cs_fail(err, CS_LIMIT, 0, "ps: more than %d processes", CS_EXEC_LOOK_MAX);
		if (cs_json_get_u64(cs_json_member(row, "pid"), &pid) < 0 ||
		    cs_json_get_u64(cs_json_member(row, "ppid"), &parent) < 0 || pid > UINT32_MAX || parent > UINT32_MAX)
			return cs_fail(err, CS_ENGINE, 0, "ps: a process without numbers");
		ret->v[ret->n++] = (struct cs_exec_seen){ .pid = (uint32_t)pid, .parent = (uint32_t)parent };
	}
	qsort(ret->v, ret->n, sizeof(ret->v[0]), by_pid);
	return 0;
}

static const struct cs_exec_seen *find(const struct cs_exec_look *look, uint32_t pid)
{
	const struct cs_exec_seen key = { .pid = pid };

	return bsearch(&key, look->v, look->n, sizeof(look->v[0]), by_pid);
}

size_t cs_exec_look_mark(struct cs_exec_look *look, const struct cs_trace_tree *known, uint32_t root)
{
	size_t n = 0, before;

	for (size_t i = 0; i < look->n; i++) {
		struct cs_exec_seen *seen = &look->v[i];

		seen->ours = seen->pid == root || cs_trace_tree_is_of(known, seen->pid, root) == 1;
		n += seen->ours;
	}
	/* once more for each generation */
	do {
		before = n;
		for (size_t i = 0; i < look->n; i++) {
			const struct cs_exec_seen *parent = look->v[i].ours ? NULL : find(look, look->v[i].parent);

			look->v[i].ours |= parent && parent->ours;
			n += parent && parent->ours;
		}
	} while (n > before);
	return n;
}

bool cs_exec_look_same(const struct cs_exec_look *a, const struct cs_exec_look *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].pid != b->v[i].pid)
			return false;
	return true;
}

void cs_exec_look_stragglers(const struct cs_exec_look *look, const struct cs_trace_tree *known, struct cs_strv *ret)
{
	for (size_t i = 0; i < look->n; i++)
		if (look->v[i].parent == 1 && cs_trace_tree_is_of(known, look->v[i].pid, 1) < 0)
			cs_strv_addf(ret, "process %u inside may be of this exec: the engine's reports were lost", look->v[i].pid);
}
