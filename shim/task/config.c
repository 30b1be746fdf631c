#include "shim/task/config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/engine/engine.h"
#include "shim/task/policy.h"

/* Sets of flags beside the settings: those of a subcommand, those of all. */
#define MORE_MAX 4

void cs_config_release(struct cs_config *config)
{
	cs_free_ptr(&config->path);
	cs_json_free_ptr(&config->file);
}

/* --- values of one object → the tree ----------------------------------- */

static const char *scalar_text(const struct cs_json *value)
{
	bool yes;

	if (cs_json_get_bool(value, &yes) == 0)
		return yes ? "true" : "false";
	if (cs_json_kind(value) == CS_JSON_NUMBER)
		return cs_json_number_text(value);
	return cs_json_string(value);
}

static int put_value(const struct cs_opt_set *set, const struct cs_opt *row, const char *key,
		     const struct cs_json *value, enum cs_opt_origin origin, struct cs_err *err)
{
	char what[96];
	const char *text = scalar_text(value);
	const struct cs_json *element;

	snprintf(what, sizeof(what), "key '%.64s'", key);
	if (text)
		return cs_opt_put(set, row, what, text, origin, err);
	if (cs_json_kind(value) != CS_JSON_ARRAY || row->type != CS_OPT_LIST)
		return cs_fail(err, CS_INVALID, 0, "%s: %s is not what it takes", what,
			       cs_json_kind_word(cs_json_kind(value)));
	cs_json_each(element, value) {
		text = scalar_text(element);
		if (!text)
			return cs_fail(err, CS_INVALID, 0, "%s: a list of strings is wanted", what);
		if (cs_opt_put(set, row, what, text, origin, err) < 0)
			return -1;
	}
	return 0;
}

static void take_nearer(const char *wrong, const char *known, size_t *best, const char **nearest)
{
	size_t distance = cs_edit_distance(wrong, known, *best);

	if (distance < *best) {
		*best = distance;
		*nearest = known;
	}
}

static int fail_unknown(const struct cs_opt_set *set, const char *key, struct cs_err *err)
{
	const char *nearest = cs_opt_nearest(set, key, true);

	if (nearest)
		return cs_fail(err, CS_INVALID, 0, "unknown key '%.64s': did you mean '%s'?", key, nearest);
	return cs_fail(err, CS_INVALID, 0, "unknown key '%.64s'", key);
}

/* Keys that stand beside the rows in an object; NULL-terminated. */
static const char *const file_keys[] = { "runtimes", "policies", NULL };
static const char *const policy_keys[] = { "base", NULL };

/* *ret_wrong, which may be NULL, is the member that was refused. */
static int put_object(struct cs_settings_tree *tree, const struct cs_json *object, const char *const *beside,
		      enum cs_opt_origin origin, const struct cs_json **ret_wrong, struct cs_err *err)
{
	struct cs_opt_set set = cs_settings_set(tree);
	const struct cs_json *value;
	const char *key;

	cs_json_each_member(key, value, object) {
		const struct cs_opt *row = cs_opt_by_key(&set, key);

		if (cs_words_have(beside, key))
			continue;
		if ((row ? put_value(&set, row, key, value, origin, err) : fail_unknown(&set, key, err)) == 0)
			continue;
		if (ret_wrong)
			*ret_wrong = value;
		return -1;
	}
	return 0;
}

/* --- the file ------------------------------------------------------------ */

/* Every value is put into a tree that is thrown away: a wrong one is an error even where nobody uses it. */
static int check_values(const struct cs_json *object, const char *const *beside, const struct cs_json **ret_wrong,
			struct cs_err *err)
{
	struct cs_settings_tree scratch;
	int r;

	if (cs_settings_init(&scratch, err) < 0)
		return -1;
	r = put_object(&scratch, object, beside, CS_ORIGIN_FILE, ret_wrong, err);
	cs_settings_release(&scratch);
	return r;
}

/* The policy that an object names under `key`; NULL when it names none. A name is text. */
static int policy_name(const struct cs_json *object, const char *key, const char **ret, struct cs_err *err)
{
	const struct cs_json *value = cs_json_member(object, key);

	*ret = cs_json_string(value);
	if (value && !*ret)
		return cs_fail(err, CS_INVALID, 0, "key '%s': the name of a policy is wanted, as a string", key);
	return 0;
}

/* The CS_INVALID of a name that is no policy's, with the nearest one. `policies` (may be NULL) are the file's. */
static int fail_unknown_policy(const struct cs_json *policies, const char *name, struct cs_err *err)
{
	cs_auto(buf) names = CS_BUF_INIT(256);
	size_t best = strlen(name) / 3 + 2;
	const char *nearest = NULL, *known;
	const struct cs_json *policy;

	for (size_t i = 0; (known = cs_policy_builtin_at(i)); i++) {
		cs_buf_addf(&names, "%s%s", i ? ", " : "", known);
		take_nearer(name, known, &best, &nearest);
	}
	cs_json_each_member(known, policy, policies)
		take_nearer(name, known, &best, &nearest);
	if (nearest)
		return cs_fail(err, CS_INVALID, 0, "unknown policy '%.64s': did you mean '%.64s'?", name, nearest);
	return cs_fail(err, CS_INVALID, 0, "unknown policy '%.64s': built in are %s%s", name, names.data ? names.data : "none",
		       policies ? "; others are defined under \"policies\" in the configuration file" : "");
}

/* Does each base lead to a built-in policy in the end? */
static int check_bases(const struct cs_json *policies, const char *name, struct cs_err *err)
{
	size_t left = cs_json_count(policies);

	for (const char *at = name;; left--) {
		const struct cs_json *policy = cs_json_member(policies, at);
		const char *base = cs_json_string(cs_json_member(policy, "base"));

		if (!policy)
			return cs_policy_is_builtin(at) ? 0 : fail_unknown_policy(policies, at, err);
		if (left == 0)
			return cs_fail(err, CS_INVALID, 0, "its bases go in a circle");
		if (!base)
			return 0;
		at = base;
	}
}

static int check_policies(const struct cs_json *policies, const struct cs_json **ret_wrong, struct cs_err *err)
{
	const struct cs_json *policy;
	const char *name, *base;

	*ret_wrong = policies;
	if (policies && cs_json_kind(policies) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "key 'policies': an object is wanted");
	cs_json_each_member(name, policy, policies) {
		*ret_wrong = policy;
		if (cs_json_kind(policy) != CS_JSON_OBJECT)
			return cs_fail(err, CS_INVALID, 0, "policy '%.64s': an object is wanted", name);
		if (cs_policy_is_builtin(name))
			return cs_fail(err, CS_INVALID, 0, "policy '%.64s' is built in: name yours otherwise", name);
		if (policy_name(policy, "base", &base, err) < 0 || check_values(policy, policy_keys, ret_wrong, err) < 0)
			return cs_wrap(err, "policy '%.64s'", name);
	}
	cs_json_each_member(name, policy, policies) {
		*ret_wrong = policy;
		if (check_bases(policies, name, err) < 0)
			return cs_wrap(err, "policy '%.64s'", name);
	}
	return 0;
}

static int check_runtime(const struct cs_json *runtime, const struct cs_json **ret_wrong, struct cs_err *err)
{
	static const char *const known[] = { "path", "engine", "args", NULL };
	const char *engine = cs_json_string(cs_json_member(runtime, "engine"));
	const struct cs_json *value;
	const char *key;

	*ret_wrong = runtime;
	if (cs_json_kind(runtime) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "an object is wanted");
	cs_json_each_member(key, value, runtime) {
		cs_auto(strv) args = CS_STRV_INIT;

		*ret_wrong = value;
		if (!cs_words_have(known, key))
			return cs_fail(err, CS_INVALID, 0, "unknown key '%.64s': known are path, engine, args",
				       key);
		if (strcmp(key, "args") == 0 ? cs_json_get_strv(value, &args) < 0 : !cs_json_string(value))
			return cs_fail(err, CS_INVALID, 0, "key '%s': %s is wanted", key,
				       strcmp(key, "args") == 0 ? "a list of strings" : "a string");
	}
	*ret_wrong = cs_json_member(runtime, "engine");
	if (engine && !cs_engine_kind_by_name(engine))
		return cs_fail(err, CS_INVALID, 0, "key 'engine': '%.64s' is no kind of engine", engine);
	*ret_wrong = runtime;
	if (!cs_json_member(runtime, "path"))
		return cs_fail(err, CS_INVALID, 0, "key 'path' is missing");
	return 0;
}

static int check_runtimes(const struct cs_json *runtimes, const struct cs_json **ret_wrong, struct cs_err *err)
{
	const struct cs_json *runtime;
	const char *name;

	*ret_wrong = runtimes;
	if (runtimes && cs_json_kind(runtimes) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "key 'runtimes': an object is wanted");
	cs_json_each_member(name, runtime, runtimes)
		if (check_runtime(runtime, ret_wrong, err) < 0)
			return cs_wrap(err, "runtime '%.64s'", name);
	return 0;
}

/* What is wrong in a file; *ret_wrong is the member, where it is one. */
static int check_file(const struct cs_json *file, const struct cs_json **ret_wrong, struct cs_err *err)
{
	const char *policy;

	if (policy_name(file, "policy", &policy, err) < 0) {
		*ret_wrong = cs_json_member(file, "policy");
		return -1;
	}
	return check_values(file, file_keys, ret_wrong, err) < 0 ||
			       check_policies(cs_json_member(file, "policies"), ret_wrong, err) < 0 ||
			       check_runtimes(cs_json_member(file, "runtimes"), ret_wrong, err) < 0
		       ? -1 : 0;
}

int cs_config_parse(const char *text, size_t len, const char *name, struct cs_config *ret,
		    struct cs_err *err)
{
	cs_autojson struct cs_json *file = NULL;
	const struct cs_json *wrong = NULL;
	size_t line, column;

	if (cs_json_parse(text, len, name, &file, err) < 0)
		return -1;
	if (cs_json_kind(file) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "%s: an object is wanted", name);
	if (check_file(file, &wrong, err) < 0)
		return cs_json_key_place(wrong, text, len, &line, &column)
			       ? cs_wrap(err, "%s: line %zu, column %zu", name, line, column)
			       : cs_wrap(err, "%s", name);
	ret->path = strdup(name);
	if (!ret->path)
		return cs_fail(err, CS_LIMIT, ENOMEM, "%s", name);
	ret->file = cs_take_ptr(&file);
	return 0;
}

/* `given`: somebody asked for this file, so it must be there. */
static int read_file(const char *path, bool given, struct cs_config *ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(CS_JSON_BYTES_MAX);
	int r = cs_file_read_given(path, &text);

	if (r == -ENOENT && !given)
		return 0;
	if (r < 0)
		return cs_fail(err, cs_err_kind_of_errno(-r), -r, "configuration file '%s'", path);
	return cs_config_parse(text.data ? text.data : "", text.len, path, ret, err);
}

/* --- all sources ----------------------------------------------------------- */

static int apply_policy(const struct cs_config *config, const char *name,
			struct cs_settings_tree *tree, struct cs_err *err)
{
	const struct cs_json *policy =
		cs_json_member(cs_json_member(config->file, "policies"), name);
	const char *base;

	if (!policy && !cs_policy_is_builtin(name))
		return fail_unknown_policy(cs_json_member(config->file, "policies"), name, err);
	if (!policy) {
		cs_settings_layer(tree, "policy %.64s", name);
		return cs_policy_apply_builtin(name, tree, err);
	}
	base = cs_json_string(cs_json_member(policy, "base"));
	if (apply_policy(config, base ? base : "strict", tree, err) < 0)
		return -1;
	cs_settings_layer(tree, "policy %.64s (%s)", name, config->path);
	return put_object(tree, policy, policy_keys, CS_ORIGIN_POLICY, NULL, err);
}

/* Reads the flags alone, to learn --config and --policy. */
static int scan_flags(int argc, char *const argv[], unsigned scope, const struct cs_opt_set *more, char **ret_config, char **ret_policy,
		      bool *ret_config_given, struct cs_err *err)
{
	struct cs_settings_tree scratch;
	struct cs_opt_set set;
	const char *from_env = getenv("CAISSON_CONFIG");

	if (cs_settings_init(&scratch, err) < 0)
		return -1;
	scratch.scope = scope;
	set = cs_settings_set(&scratch);
	set.more = more;
	if (cs_opt_parse(&set, argc, argv, err) < 0) {
		cs_settings_release(&scratch);
		return -1;
	}
	*ret_config_given = cs_settings_given(&scratch, "config");
	if (!*ret_config_given && from_env && from_env[0]) {
		*ret_config = strdup(from_env);
		*ret_config_given = true;
	} else {
		*ret_config = cs_take_ptr(&scratch.values.config);
	}
	*ret_policy = cs_settings_given(&scratch, "policy") ? cs_take_ptr(&scratch.values.policy) : NULL;
	cs_settings_release(&scratch);
	return 0;
}

/* Further sets as a second reading of argv is to see them: their values are there already, and lists would double. */
static const struct cs_opt_set *pass_over(const struct cs_opt_set *more, struct cs_opt_set seen[MORE_MAX])
{
	size_t n = 0;

	for (; more && n < MORE_MAX; more = more->more, n++) {
		seen[n] = *more;
		seen[n].target = NULL;
		seen[n].more = more->more ? &seen[n + 1] : NULL;
	}
	assert(!more);
	return n > 0 ? seen : NULL;
}

static bool from_environment(const char *path)
{
	const char *from_env = getenv("CAISSON_CONFIG");

	return from_env && strcmp(from_env, path) == 0;
}

/* So that what is told of a choice is what was chosen, also where no row was set by it. */
static int put_chosen(struct cs_settings_tree *tree, const char *name, const char *value, struct cs_err *err)
{
	struct cs_opt_set set = cs_settings_set(tree);

	return cs_opt_put(&set, cs_opt_by_name(&set, name), name, value, CS_ORIGIN_BUILTIN, err);
}

static int lay_over(int argc, char *const argv[], const struct cs_opt_set *more, const struct cs_config *config,
		    const char *policy, const char *without, struct cs_settings_tree *tree, int *ret_operand,
		    struct cs_err *err)
{
	struct cs_opt_set set, seen[MORE_MAX];

	if (!policy)
		policy = cs_json_string(cs_json_member(config->file, "policy"));
	cs_settings_layer(tree, "built in");
	if (put_chosen(tree, "policy", policy ? policy : without, err) < 0 ||
	    apply_policy(config, policy ? policy : without, tree, err) < 0)
		return -1;
	cs_settings_layer(tree, "file %s", config->path ? config->path : "");
	if (config->file && put_object(tree, config->file, file_keys, CS_ORIGIN_FILE, NULL, err) < 0)
		return cs_wrap(err, "%s", config->path);
	cs_settings_layer(tree, "flag");
	set = cs_settings_set(tree);
	set.more = pass_over(more, seen);
	*ret_operand = cs_opt_parse(&set, argc, argv, err);
	if (*ret_operand < 0)
		return -1;
	cs_settings_resolve(tree);
	return cs_settings_check(tree, err);
}

int cs_config_load(int argc, char *const argv[], unsigned scope, const struct cs_opt_set *more,
		   struct cs_config *ret_config, struct cs_settings_tree *ret_tree, int *ret_operand,
		   struct cs_err *err)
{
	return cs_config_load_for("strict", argc, argv, scope, more, ret_config, ret_tree, ret_operand, err);
}

int cs_config_load_for(const char *without, int argc, char *const argv[], unsigned scope,
		       const struct cs_opt_set *more, struct cs_config *ret_config,
		       struct cs_settings_tree *ret_tree, int *ret_operand, struct cs_err *err)
{
	cs_autofree char *path = NULL, *policy = NULL;
	bool given;

	*ret_config = (struct cs_config){ 0 };
	if (scan_flags(argc, argv, scope, more, &path, &policy, &given, err) < 0)
		return -1;
	if (!path)
		return cs_fail(err, CS_LIMIT, ENOMEM, "configuration");
	if (read_file(path, given, ret_config, err) < 0)
		return -1;
	if (cs_settings_init(ret_tree, err) < 0) {
		cs_config_release(ret_config);
		return -1;
	}
	ret_tree->scope = scope;
	if (from_environment(path))
		cs_settings_layer(ret_tree, "CAISSON_CONFIG");
	if (put_chosen(ret_tree, "config", path, err) < 0 || lay_over(argc, argv, more, ret_config, policy, without, ret_tree, ret_operand, err) < 0) {
		cs_settings_release(ret_tree);
		cs_config_release(ret_config);
		return -1;
	}
	return 0;
}

int cs_config_salvage(int argc, char *const argv[], unsigned scope, const struct cs_opt_set *more,
		      struct cs_settings_tree *ret_tree, struct cs_err *err)
{
	struct cs_opt_set set;

	if (cs_settings_init(ret_tree, err) < 0)
		return -1;
	ret_tree->scope = scope;
	set = cs_settings_set(ret_tree);
	set.more = more;
	cs_opt_salvage(&set, argc, argv);
	return 0;
}

bool cs_config_runtime(const struct cs_config *config, const char *name, struct cs_runtime_def *ret)
{
	const struct cs_json *def = cs_json_member(cs_json_member(config->file, "runtimes"), name);

	if (!def)
		return false;
	*ret = (struct cs_runtime_def){
		.path = cs_json_string(cs_json_member(def, "path")),
		.engine = cs_json_string(cs_json_member(def, "engine")),
		.args = cs_json_member(def, "args"),
	};
	return true;
}
