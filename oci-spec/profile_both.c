/*
 * What two seccomp profiles allow together. For each system call a profile
 * allows it whole, refuses it whole, or depends on arguments (or on the order
 * of rules that contradict each other, which is libseccomp's to know). Where
 * both depend, equal conditions are in both, and masks of one argument are laid
 * over each other; of others nothing is known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/profile_int.h"

#define NAMES_MAX 65536 /* of one profile; the kernel has some 500 calls */

struct entry {
	const char *name;
	const struct cs_json *rule;
	size_t order; /* of rules, so that sorting keeps it */
	bool allows, has_args;
};

/* A profile read once: a row for every name in every rule, sorted. */
struct reading {
	struct entry *v;
	size_t n;
	bool allows; /* by default */
};

enum verdict { ALLOWED, REFUSED, DEPENDS };

/* What becomes of the base's rules for one call. */
enum fate {
	FATE_KEEP,
	FATE_REFUSE, /* no rule allows it any more */
	FATE_REPLACE, /* by the other profile's rules */
	FATE_COMMON  /* those allowing ones that the other has too, and what masks have in common */
};

/* --- reading ----------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	int r = strcmp(left->name, right->name);

	return r ? r : (left->order > right->order) - (left->order < right->order);
}

static size_t count_names(const struct cs_json *profile)
{
	const struct cs_json *rule;
	size_t n = 0;

	cs_json_each (rule, cs_json_member(profile, "syscalls"))
		n += cs_json_count(cs_json_member(rule, "names"));
	return n;
}

/* What one engine takes for 0 and another for 2^64 less something cannot be weighed. */
static int check_args(const struct cs_json *args, size_t order, struct cs_err *err)
{
	static const char *const numbers[] = { "index", "value", "valueTwo" };
	const struct cs_json *arg;
	uint64_t ignored;

	cs_json_each(arg, args)
		for (size_t i = 0; i < CS_ARRAY_LEN(numbers); i++) {
			const struct cs_json *number = cs_json_member(arg, numbers[i]);

			if (cs_json_kind(number) != CS_JSON_NULL && cs_json_get_u64(number, &ignored) < 0)
				return cs_fail(err, CS_INVALID, 0, "syscalls.%zu: args: %s must be a whole number of 64 bits",
					       order, numbers[i]);
		}
	return 0;
}

static int read_rule(const struct cs_json *rule, size_t order, struct reading *ret, struct cs_err *err)
{
	const char *action = cs_json_string(cs_json_member(rule, "action"));
	const struct cs_json *names = cs_json_member(rule, "names"), *name;
	const struct cs_json *args = cs_json_member(rule, "args");
	int allows = action ? cs_profile_action_allows(action) : -1;

	if (allows < 0)
		return cs_fail(err, CS_INVALID, 0, "syscalls.%zu: unknown action '%.64s'", order,
			       action ? action : "");
	if (cs_json_kind(names) != CS_JSON_ARRAY)
		return cs_fail(err, CS_INVALID, 0, "syscalls.%zu: names must be an array", order);
	if (cs_json_kind(args) != CS_JSON_NULL && cs_json_kind(args) != CS_JSON_ARRAY)
		return cs_fail(err, CS_INVALID, 0, "syscalls.%zu: args must be an array", order);
	if (check_args(args, order, err) < 0)
		return -1;
	cs_json_each (name, names) {
		const char *text = cs_json_string(name);

		if (!text)
			return cs_fail(err, CS_INVALID, 0, "syscalls.%zu: names must be strings", order);
		ret->v[ret->n++] = (struct entry){ text, rule, order, allows, cs_json_count(args) > 0 };
	}
	return 0;
}

static int read_profile(const struct cs_json *profile, struct reading *ret, struct cs_err *err)
{
	const char *action = cs_json_string(cs_json_member(profile, "defaultAction"));
	const struct cs_json *rules = cs_json_member(profile, "syscalls");
	int allows = action ? cs_profile_action_allows(action) : -1;
	size_t n = count_names(profile);

	if (cs_json_kind(profile) != CS_JSON_OBJECT || allows < 0)
		return cs_fail(err, CS_INVALID, 0, "defaultAction: unknown '%.64s'", action ? action : "");
	if (cs_json_kind(rules) != CS_JSON_NULL && cs_json_kind(rules) != CS_JSON_ARRAY)
		return cs_fail(err, CS_INVALID, 0, "syscalls: must be an array");
	if (n > NAMES_MAX)
		return cs_fail(err, CS_LIMIT, 0, "syscalls: more than %d names", NAMES_MAX);
	ret->allows = allows;
	ret->v = calloc(n + 1, sizeof(*ret->v));
	if (!ret->v)
		return cs_fail(err, CS_LIMIT, ENOMEM, "syscalls");
	for (size_t i = 0; i < cs_json_count(rules); i++)
		if (read_rule(cs_json_at(rules, i), i, ret, err) < 0)
			return -1;
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_entries);
	return 0;
}

/* The rows of one name. */
struct range {
	const struct entry *v;
	size_t n;
};

static struct range find(const struct reading *in, const char *name)
{
	size_t low = 0, high = in->n;
	struct range ret;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(in->v[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	ret = (struct range){ &in->v[low], 0 };
	while (low + ret.n < in->n && strcmp(in->v[low + ret.n].name, name) == 0)
		ret.n++;
	return ret;
}

/* --- weighing ------------------------------------------------------------------------ */

static enum verdict verdict_of(const struct reading *in, const struct range *of)
{
	bool some_allow = false, all_allow = true, whole_allow = false, whole_refuse = false;

	for (size_t i = 0; i < of->n; i++) {
		some_allow = some_allow || of->v[i].allows;
		all_allow = all_allow && of->v[i].allows;
		whole_allow = whole_allow || (of->v[i].allows && !of->v[i].has_args);
		whole_refuse = whole_refuse || (!of->v[i].allows && !of->v[i].has_args);
	}
	if (all_allow && (whole_allow || in->allows))
		return ALLOWED;
	if (!some_allow && (whole_refuse || !in->allows))
		return REFUSED;
	return DEPENDS;
}

static uint64_t number_of(const struct cs_json *arg, const char *key)
{
	uint64_t value = 0;

	return cs_json_get_u64(cs_json_member(arg, key), &value) < 0 ? 0 : value;
}

static bool same_arg(const struct cs_json *a, const struct cs_json *b)
{
	const char *op_a = cs_json_string(cs_json_member(a, "op"));
	const char *op_b = cs_json_string(cs_json_member(b, "op"));

	return op_a && op_b && strcmp(op_a, op_b) == 0 && number_of(a, "index") == number_of(b, "index") &&
	       number_of(a, "value") == number_of(b, "value") &&
	       number_of(a, "valueTwo") == number_of(b, "valueTwo");
}

static bool same_rule(const struct entry *a, const struct entry *b)
{
	const struct cs_json *args_a = cs_json_member(a->rule, "args");
	const struct cs_json *args_b = cs_json_member(b->rule, "args");

	if (a->allows != b->allows || cs_json_count(args_a) != cs_json_count(args_b))
		return false;
	for (size_t i = 0; i < cs_json_count(args_a); i++)
		if (!same_arg(cs_json_at(args_a, i), cs_json_at(args_b, i)))
			return false;
	return true;
}

static bool same_rules(const struct range *a, const struct range *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same_rule(&a->v[i], &b->v[i]))
			return false;
	return true;
}

/* Nothing but conditions under which the call is allowed, where it is refused else. */
static bool only_conditions(const struct reading *in, const struct range *of)
{
	for (size_t i = 0; i < of->n; i++)
		if (!of->v[i].allows || !of->v[i].has_args)
			return false;
	return !in->allows;
}

/* A condition "argument & mask == value", the only one of a rule (config-linux.md, "Seccomp"). */
struct masked {
	uint64_t index, mask, value;
};

static bool read_masked(const struct entry *entry, struct masked *ret)
{
	const struct cs_json *args = cs_json_member(entry->rule, "args"), *arg = cs_json_at(args, 0);
	const char *op = cs_json_string(cs_json_member(arg, "op"));

	if (cs_json_count(args) != 1 || !op || strcmp(op, "SCMP_CMP_MASKED_EQ") != 0)
		return false;
	*ret = (struct masked){ number_of(arg, "index"), number_of(arg, "value"), number_of(arg, "valueTwo") };
	return (ret->value & ~ret->mask) == 0;
}

/*
 * Both conditions in one, where there is one. The masks that keep clone from making namespaces differ by a bit between
 * the profiles of daemons and ours; refused whole, nothing could fork.
 */
static bool overlay(const struct range *own, const struct range *its, struct masked *ret, bool *ret_is_own)
{
	struct masked a, b;

	if (own->n != 1 || its->n != 1 || !read_masked(own->v, &a) || !read_masked(its->v, &b) || a.index != b.index ||
	    ((a.value ^ b.value) & a.mask & b.mask) != 0)
		return false;
	*ret = (struct masked){ a.index, a.mask | b.mask, a.value | b.value };
	*ret_is_own = ret->mask == a.mask;
	return true;
}

static enum fate fate_of(const struct reading *base, const struct range *own, const struct reading *other,
			 const struct range *its)
{
	enum verdict here = verdict_of(base, own), there = verdict_of(other, its);

	if (there == ALLOWED || here == REFUSED)
		return FATE_KEEP;
	if (there == REFUSED)
		return FATE_REFUSE;
	if (here == ALLOWED)
		return FATE_REPLACE;
	if ((!base->allows || other->allows) && same_rules(own, its))
		return FATE_KEEP;
	return only_conditions(base, own) && only_conditions(other, its) ? FATE_COMMON : FATE_REFUSE;
}

static bool stays(const struct entry *entry, enum fate fate, const struct range *own, const struct range *its)
{
	struct masked masked;
	bool is_own;

	switch (fate) {
	case FATE_KEEP:
		return true;
	case FATE_REFUSE:
		return !entry->allows;
	case FATE_REPLACE:
		return false;
	default:
		for (size_t i = 0; i < its->n; i++)
			if (same_rule(entry, &its->v[i]))
				return true;
		return overlay(own, its, &masked, &is_own) && is_own;
	}
}

/* --- writing --------------------------------------------------------------------------- */

static int out_of_memory(struct cs_err *err)
{
	return cs_fail(err, CS_LIMIT, ENOMEM, "seccomp profile");
}

static int add_rule_for(struct cs_json *rules, const struct cs_json *rule, const char *name, struct cs_err *err)
{
	cs_autojson struct cs_json *copy = cs_json_copy(rule);

	if (!copy)
		return out_of_memory(err);
	if (cs_json_set(copy, "names", cs_json_new_array(), err) < 0 ||
	    cs_json_append(copy, "names", cs_json_new_string(name), err) < 0)
		return -1;
	return cs_json_add(rules, cs_take_ptr(&copy)) < 0 ? out_of_memory(err) : 0;
}

/* The base's rule with the names that stay in it. */
static int add_what_stays(struct cs_json *rules, const struct cs_json *rule, const struct reading *base,
			  const struct reading *other, struct cs_err *err)
{
	cs_autojson struct cs_json *copy = cs_json_copy(rule);
	struct cs_json *names = cs_json_member(copy, "names");
	size_t had = cs_json_count(names);

	if (!copy)
		return out_of_memory(err);
	for (size_t i = 0; i < cs_json_count(names);) {
		const char *name = cs_json_string(cs_json_at(names, i));
		struct range own = find(base, name), its = find(other, name);
		size_t at = 0;

		while (own.v[at].rule != rule)
			at++;
		if (stays(&own.v[at], fate_of(base, &own, other, &its), &own, &its))
			i++;
		else
			cs_json_free(cs_json_take_at(names, i));
	}
	if (had > 0 && cs_json_count(names) == 0)
		return 0;
	return cs_json_add(rules, cs_take_ptr(&copy)) < 0 ? out_of_memory(err) : 0;
}

static int add_overlay(struct cs_json *rules, const struct range *own, const struct range *its, struct cs_err *err)
{
	struct masked both;
	struct cs_json *added;
	bool is_own;

	if (!overlay(own, its, &both, &is_own) || is_own)
		return 0;
	if (add_rule_for(rules, own->v->rule, own->v->name, err) < 0)
		return -1;
	added = cs_json_at(rules, cs_json_count(rules) - 1);
	if (cs_json_set_u64(added, "args.0.value", both.mask, err) < 0)
		return -1;
	return cs_json_set_u64(added, "args.0.valueTwo", both.value, err);
}

/* What a call needs behind the base's own rules. */
static int add_for_name(struct cs_json *rules, const char *name, const struct reading *base,
			const struct reading *other, struct cs_err *err)
{
	struct range own = find(base, name), its = find(other, name);
	enum fate fate = fate_of(base, &own, other, &its);

	if (fate == FATE_REPLACE)
		for (size_t i = 0; i < its.n; i++)
			if (add_rule_for(rules, its.v[i].rule, name, err) < 0)
				return -1;
	if (fate == FATE_COMMON && add_overlay(rules, &own, &its, err) < 0)
		return -1;
	if (fate == FATE_REFUSE && base->allows) {
		cs_autojson struct cs_json *names = cs_json_new_array();

		if (cs_json_add(names, cs_json_new_string(name)) < 0 ||
		    cs_json_add(rules, cs__profile_rule(cs_take_ptr(&names), "SCMP_ACT_ERRNO", EPERM)) < 0)
			return out_of_memory(err);
	}
	return 0;
}

/* Each name of either, once. */
static int add_for_names(struct cs_json *rules, const struct reading *base, const struct reading *other,
			 struct cs_err *err)
{
	for (size_t i = 0; i < base->n; i++)
		if ((i == 0 || strcmp(base->v[i].name, base->v[i - 1].name) != 0) &&
		    add_for_name(rules, base->v[i].name, base, other, err) < 0)
			return -1;
	for (size_t i = 0; i < other->n; i++)
		if ((i == 0 || strcmp(other->v[i].name, other->v[i - 1].name) != 0) &&
		    find(base, other->v[i].name).n == 0 &&
		    add_for_name(rules, other->v[i].name, base, other, err) < 0)
			return -1;
	return 0;
}

/* The rules of `profile`, which `base` was read from, without what `other` refuses. */
static int restrict_rules(const struct cs_json *profile, const struct reading *base,
			  const struct reading *other, struct cs_json **ret, struct cs_err *err)
{
	cs_autojson struct cs_json *rules = cs_json_new_array();
	const struct cs_json *rule;

	if (!rules)
		return out_of_memory(err);
	cs_json_each (rule, cs_json_member(profile, "syscalls"))
		if (add_what_stays(rules, rule, base, other, err) < 0)
			return -1;
	if (add_for_names(rules, base, other, err) < 0)
		return -1;
	*ret = cs_take_ptr(&rules);
	return 0;
}

/* theirs allows by default and ours does not: our default and rules, less what they refuse. */
static int take_default(struct cs_json *result, const struct cs_json *ours, struct cs_err *err)
{
	const struct cs_json *errnum = cs_json_member(ours, "defaultErrnoRet");

	if (cs_json_set(result, "defaultAction", cs_json_copy(cs_json_member(ours, "defaultAction")), err) < 0 ||
	    cs_json_remove(result, "defaultErrnoRet", err) < 0)
		return -1;
	return errnum ? cs_json_set(result, "defaultErrnoRet", cs_json_copy(errnum), err) : 0;
}

static int make_both(const struct cs_json *theirs, const struct reading *t, const struct cs_json *ours,
		     const struct reading *o, struct cs_json **ret, struct cs_err *err)
{
	cs_autojson struct cs_json *result = cs_json_copy(theirs), *rules = NULL;
	bool our_base = t->allows && !o->allows;

	if (!result)
		return out_of_memory(err);
	if (our_base ? restrict_rules(ours, o, t, &rules, err) < 0 || take_default(result, ours, err) < 0
		     : restrict_rules(theirs, t, o, &rules, err) < 0)
		return -1;
	/* the schema wants none or some */
	if (cs_json_count(rules) == 0 ? cs_json_remove(result, "syscalls", err) < 0
				      : cs_json_set(result, "syscalls", cs_take_ptr(&rules), err) < 0)
		return -1;
	*ret = cs_take_ptr(&result);
	return 0;
}

int cs_profile_both(const struct cs_json *theirs, const struct cs_json *ours, struct cs_json **ret,
		    struct cs_err *err)
{
	struct reading t = { 0 }, o = { 0 };
	int r = -1;

	if (read_profile(theirs, &t, err) == 0 && read_profile(ours, &o, err) == 0)
		r = make_both(theirs, &t, ours, &o, ret, err);
	free(t.v);
	free(o.v);
	return r;
}

/* --- rules that only give another errno ------------------------------------------------ */

/* "Argument `index` with these bits is that", or "… is above that". */
struct condition {
	uint64_t index, mask, value;
	bool above;
};

/* The only condition of a rule; false when it has none, several, or one of another form. */
static bool only_condition(const struct entry *entry, struct condition *ret)
{
	const struct cs_json *args = cs_json_member(entry->rule, "args"), *arg = cs_json_at(args, 0);
	const char *op = cs_json_string(cs_json_member(arg, "op"));
	uint64_t first;

	if (cs_json_count(args) != 1 || !op || cs_json_get_u64(cs_json_member(arg, "index"), &ret->index) < 0 ||
	    cs_json_get_u64(cs_json_member(arg, "value"), &first) < 0)
		return false;
	ret->mask = UINT64_MAX;
	ret->value = first;
	ret->above = strcmp(op, "SCMP_CMP_GT") == 0;
	if (ret->above || strcmp(op, "SCMP_CMP_EQ") == 0)
		return true;
	ret->mask = first;
	if (cs_json_get_u64(cs_json_member(arg, "valueTwo"), &ret->value) < 0)
		ret->value = 0;
	return strcmp(op, "SCMP_CMP_MASKED_EQ") == 0;
}

/* Known never to be true together. */
static bool exclude_each_other(const struct condition *a, const struct condition *b)
{
	if (a->index != b->index || (a->above && b->above))
		return false;
	if (a->above)
		return exclude_each_other(b, a);
	if (b->above)
		return a->mask == UINT64_MAX && a->value <= b->value;
	return ((a->value ^ b->value) & a->mask & b->mask) != 0;
}

static bool is_idle(const struct reading *in, size_t at)
{
	const struct entry *entry = &in->v[at];
	struct condition condition, other;
	size_t i = at;

	if (in->allows || entry->allows || !only_condition(entry, &condition))
		return false;
	while (i > 0 && strcmp(in->v[i - 1].name, entry->name) == 0)
		i--;
	for (; i < in->n && strcmp(in->v[i].name, entry->name) == 0; i++)
		if (in->v[i].allows && (!only_condition(&in->v[i], &other) || !exclude_each_other(&other, &condition)))
			return false;
	return true;
}

static bool is_idle_everywhere(const struct reading *in, const struct cs_json *rule)
{
	bool any = false;

	for (size_t i = 0; i < in->n; i++) {
		if (in->v[i].rule != rule)
			continue;
		if (!is_idle(in, i))
			return false;
		any = true;
	}
	return any;
}

int cs_profile_drop_idle(struct cs_json *profile, struct cs_err *err)
{
	struct cs_json *rules = cs_json_member(profile, "syscalls");
	struct reading in = { 0 };
	size_t n = cs_json_count(rules);
	cs_autofree bool *idle = calloc(n + 1, sizeof(*idle));
	int r = idle ? read_profile(profile, &in, err) : cs_fail(err, CS_LIMIT, ENOMEM, "syscalls");

	for (size_t i = 0; r == 0 && i < n; i++)
		idle[i] = is_idle_everywhere(&in, cs_json_at(rules, i));
	free(in.v);
	for (size_t i = n; r == 0 && i-- > 0;)
		if (idle[i])
			cs_json_free(cs_json_take_at(rules, i));
	return r;
}
