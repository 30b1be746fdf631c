#include "shim/task/policy.h"

#include <string.h>

struct value {
	const char *name, *value;
};

/* What untrusted code gets when nobody says more. */
static const struct value strict[] = {
	{ "memory", "256m" },     { "pids-limit", "64" },     { "cpus", "1" },
	{ "timeout", "10m" },     { "output-limit", "1m" },   { "on-output-limit", "kill" },
	{ "exec-escape", "kill-container" },
	{ "confine", "capabilities,privileges,root,namespaces,devices,seccomp,masked,readonly,rlimits,core" },
	{ NULL, NULL },
};

/* What is unbounded becomes bounded; nothing legitimate breaks. */
static const struct value lenient[] = {
	{ "pids-limit", "4096" },
	{ "output-rate", "1m" },
	{ "output-burst", "64m" },
	{ "on-output-limit", "discard" },
	{ "bound", "unbounded" },
	{ "confine", "masked,core" },
	{ NULL, NULL },
};

static const struct value nothing[] = { { NULL, NULL } };

static const struct {
	const char *name;
	const struct value *values;
} policies[] = {
	{ "strict", strict },
	{ "default", lenient },
	{ "none", nothing },
};

int cs_policy_apply_builtin(const char *name, struct cs_settings_tree *tree, struct cs_err *err)
{
	struct cs_opt_set set = cs_settings_set(tree);

	for (size_t i = 0; i < CS_ARRAY_LEN(policies); i++) {
		if (strcmp(policies[i].name, name) != 0)
			continue;
		for (const struct value *v = policies[i].values; v->name; v++)
			if (cs_opt_put(&set, cs_opt_by_name(&set, v->name), v->name, v->value,
				       CS_ORIGIN_POLICY, err) < 0)
				return cs_wrap(err, "policy '%s'", name);
		return 0;
	}
	return cs_fail(err, CS_NOT_FOUND, 0, "unknown policy '%.64s'", name);
}

const char *cs_policy_builtin_at(size_t i)
{
	return i < CS_ARRAY_LEN(policies) ? policies[i].name : NULL;
}

bool cs_policy_is_builtin(const char *name)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(policies); i++)
		if (strcmp(policies[i].name, name) == 0)
			return true;
	return false;
}
