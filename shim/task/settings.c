#include "shim/task/settings.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/engine/engine_call.h"

/* Bits of a row's layers. */
#define LAYERS_MAX 32

struct cs_opt_set cs_settings_set(struct cs_settings_tree *tree)
{
	return (struct cs_opt_set){
		.rows = cs_settings_rows,
		.n = cs_settings_n_rows,
		.target = &tree->values,
		.origins = tree->origins,
		.layers = tree->layers,
		.layer = tree->layer_names.n > 0 ? (unsigned)tree->layer_names.n - 1 : 0,
		.scope = tree->scope,
	};
}

void cs_settings_layer(struct cs_settings_tree *tree, const char *fmt, ...)
{
	cs_autofree char *name = NULL;
	va_list ap;

	if (tree->layer_names.n >= LAYERS_MAX)
		return;
	va_start(ap, fmt);
	if (vasprintf(&name, fmt, ap) < 0)
		name = NULL;
	va_end(ap);
	if (name)
		(void)cs_strv_add(&tree->layer_names, name);
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
	{ "expire", "1h" },
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
	struct cs_settings *v = &tree->values;
	struct cs_opt_set set;

	*tree = (struct cs_settings_tree){ 0 };
	cs_settings_layer(tree, "built in");
	set = cs_settings_set(tree);
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
	cs_strv_release(&tree->layer_names);
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

/* Notes that a value follows from others, so that nobody looks for where it was set. */
static void follows(struct cs_settings_tree *tree, const char *name, const char *from)
{
	struct cs_opt_set set;

	cs_settings_layer(tree, "%s", from);
	set = cs_settings_set(tree);
	tree->layers[cs_opt_by_name(&set, name) - set.rows] = UINT32_C(1) << set.layer;
}

void cs_settings_resolve(struct cs_settings_tree *tree)
{
	struct cs_settings *v = &tree->values;

	if (!is_set(tree, "memory-swap")) {
		v->memory_swap_bytes = v->memory_bytes;
		follows(tree, "memory-swap", "as memory");
	}
	if (!is_set(tree, "cpu-time")) {
		v->cpu_time_ns = cpu_time_of(v->timeout_ns, v->millicpus);
		follows(tree, "cpu-time", "timeout × cpus");
	}
	if (!is_set(tree, "stdout-limit")) {
		v->stdout_limit_bytes = v->output_limit_bytes;
		follows(tree, "stdout-limit", "as outputLimit");
	}
	if (!is_set(tree, "stderr-limit")) {
		v->stderr_limit_bytes = v->output_limit_bytes;
		follows(tree, "stderr-limit", "as outputLimit");
	}
}

/* Pairs of flags of which one at most may be given. */
static const char *const exclusive[][2] = {
	{ "capture", "stdout" },
	{ "capture", "stderr" },
};

/* What asks for the caller's streams or company, which a detached run does not have. */
static int check_detached(struct cs_settings_tree *tree, struct cs_err *err)
{
	static const char *const attached[] = { "interactive", "die-with-parent", "stdout", "stderr", "format", "capture" };
	const struct cs_settings *v = &tree->values;
	const bool asked[] = { v->interactive, v->die_with_parent, v->stdout_file, v->stderr_file,
			       v->format != CS_FORMAT_TEXT, v->capture != CS_KEEP_NONE };
	_Static_assert(CS_ARRAY_LEN(attached) == CS_ARRAY_LEN(asked), "a value for every name");

	for (size_t i = 0; i < CS_ARRAY_LEN(attached); i++)
		if (asked[i])
			return cs_fail(err, CS_INVALID, 0, "--detach and --%s exclude each other: a detached run has no caller, its output is for 'caisson logs'",
				       attached[i]);
	if (v->result && strncmp(v->result, "fd:", 3) == 0)
		return cs_fail(err, CS_INVALID, 0, "--detach and --result %.64s exclude each other: give a file", v->result);
	if (v->stdout_limit_bytes == CS_OPT_UNLIMITED || v->stderr_limit_bytes == CS_OPT_UNLIMITED)
		return cs_fail(err, CS_INVALID, 0, "--detach keeps the output in files of the host: give --output-limit a size");
	return 0;
}

int cs_settings_check(struct cs_settings_tree *tree, struct cs_err *err)
{
	const struct cs_settings *v = &tree->values;

	if (v->capture != CS_KEEP_NONE)
		for (size_t i = 0; i < CS_ARRAY_LEN(exclusive); i++)
			if (cs_settings_given(tree, exclusive[i][1]))
				return cs_fail(err, CS_INVALID, 0, "--%s and --%s exclude each other",
					       exclusive[i][0], exclusive[i][1]);
	if (v->tty && v->capture != CS_KEEP_NONE)
		return cs_fail(err, CS_INVALID, 0, "--tty and --capture exclude each other: a terminal is for somebody to look at");
	if (v->tty && (v->stdout_file || v->stderr_file))
		return cs_fail(err, CS_INVALID, 0, "--tty and --%s exclude each other: redirect caisson's own output",
			       v->stdout_file ? "stdout" : "stderr");
	if (v->capture != CS_KEEP_NONE && v->format != CS_FORMAT_JSON)
		return cs_fail(err, CS_INVALID, 0, "--capture needs --format json, whose record holds what it keeps");
	if (v->memory_swap_bytes != CS_OPT_UNLIMITED && v->memory_bytes == CS_OPT_UNLIMITED)
		return cs_fail(err, CS_INVALID, 0, "--memory-swap needs --memory");
	if (cs_settings_given(tree, "memory-swap") && v->memory_swap_bytes < v->memory_bytes)
		return cs_fail(err, CS_INVALID, 0,
			       "--memory-swap counts memory and swap together: it cannot be below --memory");
	return v->detach ? check_detached(tree, err) : 0;
}

/* --- what is in force, and where it comes from --------------------------------- */

/* Is there something to tell of the row: is it for this command, and not what tells it? */
static bool is_told(const struct cs_opt_set *set, const struct cs_opt *row)
{
	return !row->hidden && cs_opt_in_scope(set, row, CS_ORIGIN_FLAG) && strcmp(row->name, "print-effective") != 0;
}

static void from_text(const struct cs_settings_tree *tree, size_t i, struct cs_buf *out)
{
	for (size_t bit = 0; bit < tree->layer_names.n; bit++)
		if (tree->layers[i] >> bit & 1)
			cs_buf_addf(out, "%s%s", out->len ? ", " : "", tree->layer_names.v[bit]);
	if (out->len == 0)
		cs_buf_adds(out, tree->layer_names.v[0]);
}

int cs_settings_print(struct cs_settings_tree *tree, struct cs_buf *out)
{
	struct cs_opt_set set = cs_settings_set(tree);

	for (size_t i = 0; i < set.n; i++) {
		const struct cs_opt *row = &set.rows[i];
		cs_auto(buf) value = CS_BUF_INIT(64 * 1024), from = CS_BUF_INIT(16 * 1024), name = CS_BUF_INIT(128);

		if (!is_told(&set, row))
			continue;
		cs_buf_addf(&name, "%s%s", row->key ? "" : "--", row->key ? row->key : row->name);
		cs_opt_value_text(&set, row, &value);
		from_text(tree, i, &from);
		cs_buf_addf(out, "%-18s %-28s %s\n", name.data, value.len ? value.data : "-", from.data);
	}
	return out->failed ? -1 : 0;
}

static struct cs_json *value_json(const struct cs_opt_set *set, const struct cs_opt *row)
{
	cs_auto(buf) text = CS_BUF_INIT(64 * 1024);

	if (row->type == CS_OPT_LIST)
		return cs_json_new_strv((const struct cs_strv *)((const char *)set->target + row->offset));
	if (row->type == CS_OPT_SWITCH)
		return cs_json_new_bool(*(const bool *)((const char *)set->target + row->offset));
	if (cs_opt_value_text(set, row, &text) < 0)
		return NULL;
	return text.len ? cs_json_new_words(text.data) : cs_json_new_null();
}

static struct cs_json *from_json(const struct cs_settings_tree *tree, size_t i)
{
	struct cs_json *names = cs_json_new_array();
	int r = names ? 0 : -ENOMEM;

	for (size_t bit = 0; r == 0 && bit < tree->layer_names.n; bit++)
		if (tree->layers[i] >> bit & 1 || (bit == 0 && tree->layers[i] == 0))
			r = cs_json_add(names, cs_json_new_words(tree->layer_names.v[bit]));
	if (r == 0)
		return names;
	cs_json_free(names);
	return NULL;
}

int cs_settings_json(struct cs_settings_tree *tree, struct cs_json **ret, struct cs_err *err)
{
	struct cs_opt_set set = cs_settings_set(tree);
	cs_autojson struct cs_json *all = cs_json_new_object();
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < set.n; i++) {
		const struct cs_opt *row = &set.rows[i];
		struct cs_json *one;

		if (!is_told(&set, row))
			continue;
		one = cs_json_new_object();
		r |= cs_json_put(one, "value", value_json(&set, row));
		r |= cs_json_put(one, "origin", cs_json_new_string(cs_opt_origin_word(cs_opt_origin_of(&set, row))));
		r |= cs_json_put(one, "from", from_json(tree, i));
		r |= cs_json_put(all, row->key ? row->key : row->name, one);
	}
	if (r < 0)
		return cs_fail(err, CS_LIMIT, ENOMEM, "settings");
	*ret = cs_take_ptr(&all);
	return 0;
}
