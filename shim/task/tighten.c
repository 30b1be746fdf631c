#include "shim/task/tighten.h"

#include <string.h>

#include "oci-spec/json_edit.h"
#include "shim/base/clock.h"
#include "shim/task/tighten_int.h"

bool cs_tighten_is_none(const struct cs_settings *settings)
{
	const uint64_t numbers[] = {
		settings->memory_bytes,	      settings->memory_swap_bytes,  settings->millicpus,
		settings->pids,		      settings->output_limit_bytes, settings->stdout_limit_bytes,
		settings->stderr_limit_bytes, settings->output_rate_bytes,  settings->exec_output_limit_bytes,
	};
	const int64_t times_ns[] = {
		settings->timeout_ns, settings->cpu_time_ns, settings->idle_timeout_ns, settings->exec_timeout_ns,
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(numbers); i++)
		if (numbers[i] != CS_OPT_UNLIMITED)
			return false;
	for (size_t i = 0; i < CS_ARRAY_LEN(times_ns); i++)
		if (times_ns[i] != CS_NEVER)
			return false;
	return !settings->cpuset_cpus && !settings->oom_group && settings->ulimits.n == 0 &&
	       settings->confine.n == 0;
}

static struct cs__tighten begin(const struct cs_tighten_plan *plan, enum cs__tighten_what what,
				struct cs_json *root, struct cs_strv *changes, struct cs_err *err)
{
	static const char *const above[] = {
		[CS__TIGHTEN_CONFIG] = "",
		[CS__TIGHTEN_PROCESS] = "process.",
		[CS__TIGHTEN_RESOURCES] = "linux.resources.",
	};

	return (struct cs__tighten){
		.what = what,
		.set = cs_settings_set(plan->tree),
		.settings = &plan->tree->values,
		.engine = plan->engine,
		.confine = cs_confine_bits(&plan->tree->values.confine),
		.root = root,
		.strip = strlen(above[what]),
		.changes = changes,
		.err = err,
	};
}

static int want_object(const struct cs_json *json, const char *what, struct cs_err *err)
{
	if (cs_json_kind(json) == CS_JSON_OBJECT)
		return 0;
	return cs_fail(err, CS_INVALID, 0, "%s: is %s where an object is needed", what,
		       cs_json_kind_word(cs_json_kind(json)));
}

int cs_tighten_config(const struct cs_tighten_plan *plan, struct cs_json *config,
		      struct cs_strv *ret_changes, struct cs_err *err)
{
	struct cs__tighten t = begin(plan, CS__TIGHTEN_CONFIG, config, ret_changes, err);

	if (cs_tighten_is_none(t.settings))
		return 0;
	if (want_object(config, "config.json", err) < 0 || cs__tighten_check_keys(&t) < 0 ||
	    cs__tighten_notes_of_others(&t) < 0 || cs__tighten_limits(&t) < 0 ||
	    cs__tighten_realtime(&t) < 0 || cs__tighten_rights(&t) < 0 ||
	    cs__tighten_rlimits(&t) < 0 || cs__tighten_seccomp(&t) < 0)
		return cs_wrap(err, "policy");
	return 0;
}

int cs_tighten_process(const struct cs_tighten_plan *plan, const struct cs_json *config,
		       struct cs_json *process, struct cs_strv *ret_changes, struct cs_err *err)
{
	struct cs__tighten t = begin(plan, CS__TIGHTEN_PROCESS, process, ret_changes, err);

	if (cs_tighten_is_none(t.settings))
		return 0;
	t.config = config;
	if (want_object(process, "process", err) < 0 || cs__tighten_check_keys(&t) < 0 ||
	    cs__tighten_realtime(&t) < 0 || cs__tighten_rights(&t) < 0 || cs__tighten_rlimits(&t) < 0)
		return cs_wrap(err, "policy");
	return 0;
}

int cs_tighten_resources(const struct cs_tighten_plan *plan, const struct cs_json *config,
			 struct cs_json *resources, struct cs_strv *ret_changes, struct cs_err *err)
{
	struct cs__tighten t = begin(plan, CS__TIGHTEN_RESOURCES, resources, ret_changes, err);

	if (cs_tighten_is_none(t.settings))
		return 0;
	t.config = config;
	if (want_object(resources, "resources", err) < 0 || cs__tighten_check_keys(&t) < 0 ||
	    cs__tighten_limits(&t) < 0 || cs__tighten_realtime(&t) < 0)
		return cs_wrap(err, "policy");
	return 0;
}

void cs_tighten_exec_settings(struct cs_settings_tree *tree)
{
	struct cs_settings *v = &tree->values;

	v->cpu_time_ns = CS_NEVER;
	if (v->exec_timeout_ns != CS_NEVER)
		v->timeout_ns = v->exec_timeout_ns;
	if (v->exec_output_limit_bytes != CS_OPT_UNLIMITED)
		v->output_limit_bytes = v->stdout_limit_bytes = v->stderr_limit_bytes = v->exec_output_limit_bytes;
}
