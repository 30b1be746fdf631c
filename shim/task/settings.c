#include "shim/task/settings.h"

#include <signal.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/engine/engine_call.h"

struct cs_opt_set cs_settings_set(struct cs_settings_tree *tree)
{
	return (struct cs_opt_set){
		.rows = cs_settings_rows,
		.n = cs_settings_n_rows,
		.target = &tree->values,
		.origins = tree->origins,
		.scope = tree->scope,
	};
}

/* What holds when neither policy nor anybody else says a word. */
static const struct {
	const char *name, *value;
} builtin[] = {
	{ "rootfs", "host" },
	{ "workdir", "/" },
	{ "user", "65534:65534" },
	{ "tmp-size", "64m" },
	{ "tmp-inodes", "10000" },
	{ "shm-size", "16m" },
	{ "seccomp", "default" },
	{ "network", "none" },
	{ "stop-signal", "TERM" },
	{ "stop-timeout", "0s" },
	{ "output-burst", "64m" },
	{ "drain-timeout", "500ms" },
	{ "flush-timeout", "10s" },
	{ "capture-limit", "64k" },
	{ "bound", "always" },
	{ "output-cost", "json-file" },
	{ "state-dir", "/run/caisson" },
	{ "cache-dir", "/var/cache/caisson" },
	{ "policy", "strict" },
	{ "config", "/etc/caisson/config.json" },
};

int cs_settings_init(struct cs_settings_tree *tree, struct cs_err *err)
{
	struct cs_opt_set set = cs_settings_set(tree);
	struct cs_settings *v = &tree->values;

	*tree = (struct cs_settings_tree){ 0 };
	v->memory_bytes = v->memory_swap_bytes = CS_OPT_UNLIMITED;
	v->millicpus = v->pids = CS_OPT_UNLIMITED;
	v->output_limit_bytes = v->stdout_limit_bytes = v->stderr_limit_bytes = CS_OPT_UNLIMITED;
	v->output_rate_bytes = CS_OPT_UNLIMITED;
	v->timeout_ns = v->cpu_time_ns = v->idle_timeout_ns = v->exec_timeout_ns = CS_NEVER;
	v->exec_output_limit_bytes = CS_OPT_UNLIMITED;
	v->engine_timeout_ns = CS_ENGINE_TIMEOUT_NS;
	for (size_t i = 0; i < CS_ARRAY_LEN(builtin); i++) {
		const struct cs_opt *row = cs_opt_by_name(&set, builtin[i].name);

		if (cs_opt_put(&set, row, builtin[i].name, builtin[i].value, CS_ORIGIN_BUILTIN, err) < 0) {
			cs_settings_release(tree);
			return -1;
		}
	}
	return 0;
}

void cs_settings_release(struct cs_settings_tree *tree)
{
	struct cs_opt_set set = cs_settings_set(tree);

	cs_opt_release(&set);
}

bool cs_settings_given(struct cs_settings_tree *tree, const char *name)
{
	struct cs_opt_set set = cs_settings_set(tree);

	return cs_opt_origin_of(&set, cs_opt_by_name(&set, name)) > CS_ORIGIN_POLICY;
}

static bool is_set(struct cs_settings_tree *tree, const char *name)
{
	struct cs_opt_set set = cs_settings_set(tree);

	return cs_opt_origin_of(&set, cs_opt_by_name(&set, name)) > CS_ORIGIN_BUILTIN;
}

/* wall × CPUs, CS_NEVER when either is lifted or it does not fit */
static int64_t cpu_time_of(int64_t timeout_ns, uint64_t millicpus)
{
	int64_t product;

	if (timeout_ns == CS_NEVER || millicpus == CS_OPT_UNLIMITED)
		return CS_NEVER;
	/* first by 1000: a thousandth of a microsecond is nothing, an overflow is */
	if (__builtin_mul_overflow(timeout_ns / 1000, millicpus, &product))
		return CS_NEVER;
	return product;
}

void cs_settings_resolve(struct cs_settings_tree *tree)
{
	struct cs_settings *v = &tree->values;

	if (!is_set(tree, "memory-swap"))
		v->memory_swap_bytes = v->memory_bytes;
	if (!is_set(tree, "cpu-time"))
		v->cpu_time_ns = cpu_time_of(v->timeout_ns, v->millicpus);
	if (!is_set(tree, "stdout-limit"))
		v->stdout_limit_bytes = v->output_limit_bytes;
	if (!is_set(tree, "stderr-limit"))
		v->stderr_limit_bytes = v->output_limit_bytes;
}

/* Pairs of flags of which one at most may be given. */
static const char *const exclusive[][2] = {
	{ "capture", "stdout" },
	{ "capture", "stderr" },
};

int cs_settings_check(struct cs_settings_tree *tree, struct cs_err *err)
{
	const struct cs_settings *v = &tree->values;

	if (v->capture != CS_KEEP_NONE)
		for (size_t i = 0; i < CS_ARRAY_LEN(exclusive); i++)
			if (cs_settings_given(tree, exclusive[i][1]))
				return cs_fail(err, CS_INVALID, 0, "--%s and --%s exclude each other",
					       exclusive[i][0], exclusive[i][1]);
	if (v->capture != CS_KEEP_NONE && v->format != CS_FORMAT_JSON)
		return cs_fail(err, CS_INVALID, 0, "--capture needs --format json, whose record holds what it keeps");
	if (v->memory_swap_bytes != CS_OPT_UNLIMITED && v->memory_bytes == CS_OPT_UNLIMITED)
		return cs_fail(err, CS_INVALID, 0, "--memory-swap needs --memory");
	if (cs_settings_given(tree, "memory-swap") && v->memory_swap_bytes < v->memory_bytes)
		return cs_fail(err, CS_INVALID, 0,
			       "--memory-swap counts memory and swap together: it cannot be below --memory");
	return 0;
}

int cs_settings_print(struct cs_settings_tree *tree, struct cs_buf *out)
{
	struct cs_opt_set set = cs_settings_set(tree);

	for (size_t i = 0; i < set.n; i++) {
		cs_auto(buf) value = CS_BUF_INIT(64 * 1024);

		if (!set.rows[i].key || !cs_opt_in_scope(&set, &set.rows[i], CS_ORIGIN_FLAG))
			continue;
		cs_opt_value_text(&set, &set.rows[i], &value);
		cs_buf_addf(out, "%-18s %-28s %s\n", set.rows[i].key,
			    value.len ? value.data : "-",
			    cs_opt_origin_word(cs_opt_origin_of(&set, &set.rows[i])));
	}
	return out->failed ? -1 : 0;
}
