#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/profile_int.h"
#include "shim/base/parse.h"

/* What a rule is weighed against, and what is learnt on the way. */
struct resolve {
	const struct cs_profile_arch *native;
	const struct cs_strv *allow;        /* never NULL */
	const struct cs_strv *capabilities; /* never NULL */
	unsigned kernel[2];                 /* 6, 18 */
	struct cs_strv *unknown;            /* may be NULL */
};

static int out_of_memory(struct cs_err *err)
{
	return cs_fail(err, CS_LIMIT, 0, "out of memory");
}

/* --- includes and excludes ---------------------------------------------------------------- */

/* "4.8", or a release such as "6.1.0-18-amd64": the first two numbers. */
static int parse_kernel(const char *text, unsigned ret[static 2])
{
	for (int part = 0; part < 2; part++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		for (ret[part] = 0; *text >= '0' && *text <= '9' && ret[part] < 100000; text++)
			ret[part] = ret[part] * 10 + (unsigned)(*text - '0');
		if (part == 0 && *text++ != '.')
			return -EINVAL;
	}
	return 0;
}

/* 1 when a word of the array is in the list; with `all` when each is. */
static int words_match(const struct cs_json *words, const struct cs_strv *list, bool all)
{
	const struct cs_json *word;
	bool any = false;

	cs_json_each (word, words) {
		const char *text = cs_json_string(word);
		bool in = text && cs_strv_has(list, text);

		if (all && !in)
			return 0;
		any = any || in;
	}
	return all || any;
}

static bool holds_arch(const struct cs_json *words, const struct cs_profile_arch *native)
{
	const struct cs_json *word;

	cs_json_each (word, words) {
		const char *text = cs_json_string(word);

		if (text && strcmp(text, native->short_name) == 0)
			return true;
	}
	return false;
}

/*
 * Does the filter object hold for this machine? Of includes every part must, of
 * excludes one is enough.
 */
static int filter_holds(const struct resolve *with, const struct cs_json *filter, bool includes,
			struct cs_err *err)
{
	const struct cs_json *arches = cs_json_member(filter, "arches");
	const struct cs_json *caps = cs_json_member(filter, "caps");
	const char *minimum = cs_json_string(cs_json_member(filter, "minKernel"));
	bool at_arch = holds_arch(arches, with->native);
	bool with_caps = words_match(caps, with->capabilities, includes);
	bool new_enough = false;
	unsigned kernel[2];

	if (minimum && parse_kernel(minimum, kernel) < 0)
		return cs_fail(err, CS_INVALID, 0, "minKernel '%s' is no kernel version", minimum);
	if (minimum)
		new_enough = with->kernel[0] > kernel[0] ||
			     (with->kernel[0] == kernel[0] && with->kernel[1] >= kernel[1]);
	if (includes)
		return (cs_json_count(arches) == 0 || at_arch) && with_caps &&
		       (!minimum || new_enough);
	return at_arch || (cs_json_count(caps) > 0 && with_caps) || new_enough;
}

/* 1 when the rule counts here, 0 when not. */
static int rule_counts(const struct resolve *with, const struct cs_json *rule, struct cs_err *err)
{
	int holds = filter_holds(with, cs_json_member(rule, "includes"), true, err);

	if (holds <= 0)
		return holds;
	holds = filter_holds(with, cs_json_member(rule, "excludes"), false, err);
	return holds < 0 ? -1 : !holds;
}

/* --- one rule --------------------------------------------------------------------------------- */

static int add_name(const struct resolve *with, struct cs_json *names, const char *name,
		    struct cs_err *err)
{
	if (!name)
		return cs_fail(err, CS_INVALID, 0, "names must be strings");
	if (!cs__profile_name_known(name)) {
		if (with->unknown && !cs_strv_has(with->unknown, name) &&
		    cs_strv_add(with->unknown, name) < 0)
			return out_of_memory(err);
		return 0;
	}
	if (cs_strv_has(with->allow, name))
		return 0; /* one rule at the end says it all */
	return cs_json_add(names, cs_json_new_string(name)) < 0 ? out_of_memory(err) : 0;
}

/* The rule's names that count; "name" is the form of Docker before 1.13. */
static struct cs_json *names_of(const struct resolve *with, const struct cs_json *rule,
				struct cs_err *err)
{
	cs_autojson struct cs_json *names = cs_json_new_array();
	const struct cs_json *given = cs_json_member(rule, "names");
	const struct cs_json *single = cs_json_member(rule, "name");
	const struct cs_json *name;

	if (!names) {
		out_of_memory(err);
		return NULL;
	}
	if (given && cs_json_kind(given) != CS_JSON_ARRAY) {
		cs_fail(err, CS_INVALID, 0, "names must be an array");
		return NULL;
	}
	if (!given && !single) {
		cs_fail(err, CS_INVALID, 0, "has no names");
		return NULL;
	}
	cs_json_each (name, given)
		if (add_name(with, names, cs_json_string(name), err) < 0)
			return NULL;
	if (single && add_name(with, names, cs_json_string(single), err) < 0)
		return NULL;
	return cs_take_ptr(&names);
}

static int check_args(const struct cs_json *args, struct cs_err *err)
{
	const struct cs_json *arg;

	if (cs_json_kind(args) != CS_JSON_NULL && cs_json_kind(args) != CS_JSON_ARRAY)
		return cs_fail(err, CS_INVALID, 0, "args must be an array");
	cs_json_each (arg, args) {
		const char *op = cs_json_string(cs_json_member(arg, "op"));
		uint64_t index;

		if (cs_json_get_u64(cs_json_member(arg, "index"), &index) < 0 || index > 5)
			return cs_fail(err, CS_INVALID, 0, "args: index must be 0 to 5");
		if (!op || !cs_profile_op_known(op))
			return cs_fail(err, CS_INVALID, 0, "args: unknown op '%s'", op ? op : "");
	}
	return 0;
}

/* Keys of the shipped form that runtime-spec does not have. */
static const char *const resolved_keys[] = {
	"includes", "excludes", "comment", "name", "errno",
};

/* The rule as runtime-spec has it, names replaced. NULL in *ret: no name is left. */
static int resolve_rule(const struct resolve *with, const struct cs_json *rule,
			struct cs_json **ret, struct cs_err *err)
{
	const char *action = cs_json_string(cs_json_member(rule, "action"));
	const struct cs_json *args = cs_json_member(rule, "args");
	cs_autojson struct cs_json *names = NULL;
	cs_autojson struct cs_json *copy = NULL;

	if (!action || !cs_profile_action_known(action))
		return cs_fail(err, CS_INVALID, 0, "unknown action '%s'", action ? action : "");
	if (check_args(args, err) < 0)
		return -1;
	names = names_of(with, rule, err);
	if (!names)
		return -1;
	if (cs_json_count(names) == 0)
		return 0;
	copy = cs_json_copy(rule);
	if (!copy)
		return out_of_memory(err);
	for (size_t i = 0; i < CS_ARRAY_LEN(resolved_keys); i++)
		if (cs_json_remove(copy, resolved_keys[i], err) < 0)
			return -1;
	/* as the shipped files have them: "args": [] or null, "errnoRet": null */
	if (args && cs_json_count(args) == 0 && cs_json_remove(copy, "args", err) < 0)
		return -1;
	if (cs_json_kind(cs_json_member(copy, "errnoRet")) == CS_JSON_NULL &&
	    cs_json_remove(copy, "errnoRet", err) < 0)
		return -1;
	if (cs_json_set(copy, "names", cs_take_ptr(&names), err) < 0)
		return -1;
	*ret = cs_take_ptr(&copy);
	return 0;
}

/* --- the whole ---------------------------------------------------------------------------------- */

static int resolve_rules(const struct resolve *with, struct cs_json *profile, struct cs_err *err)
{
	const struct cs_json *given = cs_json_member(profile, "syscalls");
	cs_autojson struct cs_json *rules = cs_json_new_array();

	if (!rules)
		return out_of_memory(err);
	if (cs_json_kind(given) != CS_JSON_NULL && cs_json_kind(given) != CS_JSON_ARRAY)
		return cs_fail(err, CS_INVALID, 0, "syscalls: must be an array");
	for (size_t i = 0; i < cs_json_count(given); i++) {
		cs_autojson struct cs_json *resolved = NULL;
		const struct cs_json *rule = cs_json_at(given, i);
		int counts = cs_json_kind(rule) == CS_JSON_OBJECT
				     ? rule_counts(with, rule, err)
				     : cs_fail(err, CS_INVALID, 0, "must be an object");

		if (counts < 0 || (counts > 0 && resolve_rule(with, rule, &resolved, err) < 0))
			return cs_wrap(err, "syscalls.%zu", i);
		if (resolved && cs_json_add(rules, cs_take_ptr(&resolved)) < 0)
			return out_of_memory(err);
	}
	if (with->allow->n > 0 && cs_json_add(rules, cs__profile_rule(cs_json_new_strv(with->allow),
								      "SCMP_ACT_ALLOW", 0)) < 0)
		return out_of_memory(err);
	if (cs_json_count(rules) == 0) /* the schema wants none or some */
		return cs_json_remove(profile, "syscalls", err);
	return cs_json_set(profile, "syscalls", cs_take_ptr(&rules), err);
}

static int add_architectures(struct cs_json *profile, const struct cs_json *names,
			     struct cs_err *err)
{
	const struct cs_json *name;

	cs_json_each (name, names) {
		const char *text = cs_json_string(name);

		if (!text)
			return cs_fail(err, CS_INVALID, 0, "subArchitectures: must be strings");
		if (cs_json_append_unique(profile, "architectures", text, err) < 0)
			return -1;
	}
	return 0;
}

/* archMap: rows {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": […]}; ours becomes `architectures`. */
static int resolve_architectures(const struct resolve *with, struct cs_json *profile,
				 struct cs_err *err)
{
	const struct cs_json *map = cs_json_member(profile, "archMap");
	const struct cs_json *row;

	if (cs_json_count(map) > 0 && cs_json_count(cs_json_member(profile, "architectures")) > 0)
		return cs_fail(err, CS_INVALID, 0, "architectures and archMap exclude each other");
	cs_json_each (row, map) {
		const char *name = cs_json_string(cs_json_member(row, "architecture"));

		if (name && strcmp(name, with->native->name) == 0 &&
		    (cs_json_append_unique(profile, "architectures", name, err) < 0 ||
		     add_architectures(profile, cs_json_member(row, "subArchitectures"), err) < 0))
			return -1;
	}
	row = cs_json_member(profile, "architectures");
	for (size_t i = 0; i < cs_json_count(row); i++) {
		const char *name = cs_json_string(cs_json_at(row, i));

		if (!name || !cs_profile_arch_known(name))
			return cs_fail(err, CS_INVALID, 0, "architectures: unknown '%s'",
				       name ? name : "");
	}
	/* an empty list is the shipped forms' "none given" */
	if (row && cs_json_count(row) == 0 && cs_json_remove(profile, "architectures", err) < 0)
		return -1;
	return cs_json_remove(profile, "archMap", err);
}

/* --- what engines need ------------------------------------------------------------------------------ */

static bool rule_names(const struct cs_json *rule, const char *name)
{
	const struct cs_json *other;

	cs_json_each (other, cs_json_member(rule, "names"))
		if (strcmp(cs_json_string(other), name) == 0)
			return true;
	return false;
}

static bool action_allows(const struct cs_json *object, const char *key)
{
	return cs_profile_action_allows(cs_json_string(cs_json_member(object, key))) == 1;
}

/* Does some rule, or the default, let the call through? */
static bool lets_through(const struct cs_json *profile, const char *name)
{
	const struct cs_json *rule;
	bool refused = false;

	cs_json_each (rule, cs_json_member(profile, "syscalls")) {
		if (!rule_names(rule, name))
			continue;
		if (action_allows(rule, "action"))
			return true;
		/* a condition leaves the rest to the default */
		refused = refused || cs_json_count(cs_json_member(rule, "args")) == 0;
	}
	return !refused && action_allows(profile, "defaultAction");
}

static int check_needs(const struct cs_json *profile, struct cs_err *err)
{
	const struct cs_profile_need *need;

	for (size_t i = 0; (need = cs_profile_need_at(i)) != NULL; i++)
		if (!lets_through(profile, need->name))
			return cs_fail(err, CS_INVALID, 0,
				       "does not allow %s, which %s calls once the filter is "
				       "loaded: add it, or give --seccomp-allow %s",
				       need->name, need->who, need->name);
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------------- */

static int check_head(const struct cs_json *profile, struct cs_err *err)
{
	const char *action;

	if (cs_json_kind(profile) != CS_JSON_OBJECT)
		return cs_fail(err, CS_INVALID, 0, "must be an object, is %s",
			       cs_json_kind_word(cs_json_kind(profile)));
	action = cs_json_string(cs_json_member(profile, "defaultAction"));
	if (!action || !cs_profile_action_known(action))
		return cs_fail(err, CS_INVALID, 0, "defaultAction: unknown '%s'",
			       action ? action : "");
	return 0;
}

static int resolve_profile(const struct resolve *with, struct cs_json *profile, struct cs_err *err)
{
	if (check_head(profile, err) < 0 || resolve_architectures(with, profile, err) < 0 ||
	    resolve_rules(with, profile, err) < 0)
		return -1;
	/* Podman's word for the number in defaultErrnoRet */
	if (cs_json_remove(profile, "defaultErrno", err) < 0)
		return -1;
	return check_needs(profile, err);
}

int cs_profile_file(const char *path, const struct cs_strv *allow,
		    const struct cs_strv *capabilities, struct cs_json **ret,
		    struct cs_strv *ret_unknown, struct cs_err *err)
{
	static const struct cs_strv none = CS_STRV_INIT;
	struct resolve with = {
		.allow = allow ? allow : &none,
		.capabilities = capabilities ? capabilities : &none,
		.unknown = ret_unknown,
	};
	cs_autojson struct cs_json *profile = NULL;
	struct utsname host;

	for (size_t i = 0; i < with.allow->n; i++)
		if (cs_profile_check_name(with.allow->v[i], err) < 0)
			return -1;
	if (cs__profile_native(&with.native, err) < 0)
		return -1;
	if (uname(&host) < 0 || parse_kernel(host.release, with.kernel) < 0)
		return cs_fail(err, CS_UNSUPPORTED, 0, "uname: no kernel version");
	if (cs_json_read_file(AT_FDCWD, path, &profile, err) < 0)
		return -1;
	if (resolve_profile(&with, profile, err) < 0)
		return cs_wrap(err, "seccomp profile '%s'", path);
	*ret = cs_take_ptr(&profile);
	return 0;
}
