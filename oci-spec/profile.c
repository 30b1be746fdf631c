#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/profile_int.h"
#include "shim/base/parse.h"

/* --- names --------------------------------------------------------------------------- */

bool cs__profile_name_known(const char *name)
{
	return seccomp_syscall_resolve_name(name) != __NR_SCMP_ERROR;
}

/*
 * Has this architecture the call? libseccomp answers with a number, with -1xx
 * and -2xx for calls behind socketcall(2) and ipc(2), and with -10000 and below
 * for names that are calls elsewhere only (seccomp_syscall_resolve_name(3)).
 */
static bool arch_has(uint32_t token, const char *name)
{
	int number = seccomp_syscall_resolve_name_arch(token, name);

	return number != __NR_SCMP_ERROR && number > -1000;
}

static bool any_arch_has(const struct cs_profile_arch *native, const char *name)
{
	if (arch_has(native->token, name))
		return true;
	for (size_t i = 0; i < CS_ARRAY_LEN(native->compat); i++)
		if (native->compat[i] != 0 && arch_has(native->compat[i], name))
			return true;
	return false;
}

/* The number past which no architecture has calls of its own name; x32 and MIPS count from elsewhere, with the same names. */
#define NUMBERS_MAX 1024

/* The nearest name among those of the native architecture, at most max - 1 edits away; "" when there is none. */
static void nearest_name(const char *name, size_t max, char ret[static 64])
{
	ret[0] = '\0';
	for (int number = 0; number < NUMBERS_MAX && max > 0; number++) {
		cs_autofree char *known =
			seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number);
		size_t far = known ? cs_edit_distance(name, known, max) : max;

		if (far < max) {
			max = far;
			snprintf(ret, 64, "%s", known);
		}
	}
}

int cs_profile_check_name(const char *name, struct cs_err *err)
{
	char nearest[64];

	if (cs__profile_name_known(name))
		return 0;
	nearest_name(name, 4, nearest);
	if (nearest[0])
		return cs_fail(err, CS_INVALID, 0, "unknown system call '%s': did you mean %s?",
			       name, nearest);
	return cs_fail(err, CS_INVALID, 0, "unknown system call '%s'", name);
}

/* --- architecture ----------------------------------------------------------------------- */

int cs__profile_native(const struct cs_profile_arch **ret, struct cs_err *err)
{
	*ret = cs_profile_arch(seccomp_arch_native());
	if (!*ret)
		return cs_fail(err, CS_UNSUPPORTED, 0,
			       "seccomp: no profile for this architecture (0x%x)",
			       seccomp_arch_native());
	return 0;
}

static int put_architectures(struct cs_json *profile, const struct cs_profile_arch *native)
{
	cs_autojson struct cs_json *array = cs_json_new_array();
	int bad = array == NULL || cs_json_add(array, cs_json_new_string(native->name));

	for (size_t i = 0; !bad && i < CS_ARRAY_LEN(native->compat); i++)
		if (native->compat[i] != 0)
			bad = cs_json_add(array, cs_json_new_string(
							 cs_profile_arch(native->compat[i])->name));
	return bad || cs_json_put(profile, "architectures", cs_take_ptr(&array));
}

/* --- rules ---------------------------------------------------------------------------------- */

struct cs_json *cs__profile_rule(struct cs_json *names_consume, const char *action, int errnum)
{
	cs_autojson struct cs_json *rule = cs_json_new_object();

	if (!rule) {
		cs_json_free(names_consume);
		return NULL;
	}
	if (cs_json_put(rule, "names", names_consume) ||
	    cs_json_put(rule, "action", cs_json_new_string(action)) ||
	    (errnum != 0 && cs_json_put(rule, "errnoRet", cs_json_new_u64((uint64_t)errnum))))
		return NULL;
	return cs_take_ptr(&rule);
}

static struct cs_json *condition_of(const struct cs_profile_filter *filter, bool s390)
{
	cs_autojson struct cs_json *array = cs_json_new_array();
	cs_autojson struct cs_json *arg = cs_json_new_object();
	unsigned index = s390 ? filter->index_s390 : filter->index;

	if (!array || !arg || cs_json_put(arg, "index", cs_json_new_u64(index)) ||
	    cs_json_put(arg, "value", cs_json_new_u64(filter->value)) ||
	    cs_json_put(arg, "valueTwo", cs_json_new_u64(filter->value_two)) ||
	    cs_json_put(arg, "op", cs_json_new_string(filter->op)) ||
	    cs_json_add(array, cs_take_ptr(&arg)))
		return NULL;
	return cs_take_ptr(&array);
}

/* One rule for each filter row of the name. */
static int add_filters(struct cs_json *rules, const char *name, bool s390)
{
	const struct cs_profile_filter *filter;

	for (size_t i = 0; (filter = cs_profile_filter_at(i)) != NULL; i++) {
		cs_autojson struct cs_json *names = NULL;
		cs_autojson struct cs_json *rule = NULL;

		if (strcmp(filter->name, name) != 0)
			continue;
		names = cs_json_new_array();
		if (!names || cs_json_add(names, cs_json_new_string(name)))
			return -1;
		rule = cs__profile_rule(cs_take_ptr(&names), filter->action, filter->errnum);
		if (!rule || cs_json_put(rule, "args", condition_of(filter, s390)) ||
		    cs_json_add(rules, cs_take_ptr(&rule)))
			return -1;
	}
	return 0;
}

/* --- the built-in profile ---------------------------------------------------------------------- */

static bool listed(const struct cs_strv *list, const char *text)
{
	return list && text && cs_strv_has(list, text);
}

static enum cs_profile_verdict verdict_of(const struct cs_profile_row *row,
					  const struct cs_strv *allow,
					  const struct cs_strv *capabilities)
{
	if (listed(allow, row->name) || listed(capabilities, row->capability[0]) ||
	    listed(capabilities, row->capability[1]))
		return CS_PROFILE_ALLOW;
	return row->verdict;
}

static bool in_table(const char *name)
{
	const struct cs_profile_row *row;

	for (size_t i = 0; (row = cs_profile_row_at(i)) != NULL; i++)
		if (strcmp(row->name, name) == 0)
			return true;
	return false;
}

/* Every call of the table by its verdict: two lists of names, and the rules by argument. */
static int sort_calls(const struct cs_profile_arch *native, const struct cs_strv *allow,
		      const struct cs_strv *capabilities, struct cs_json *allowed,
		      struct cs_json *denied, struct cs_json *filtered)
{
	bool s390 = native->token == SCMP_ARCH_S390X || native->token == SCMP_ARCH_S390;
	const struct cs_profile_row *row;
	int bad = 0;

	for (size_t i = 0; !bad && (row = cs_profile_row_at(i)) != NULL; i++) {
		if (!any_arch_has(native, row->name))
			continue;
		switch (verdict_of(row, allow, capabilities)) {
		case CS_PROFILE_ALLOW:
			bad = cs_json_add(allowed, cs_json_new_string(row->name));
			break;
		case CS_PROFILE_DENY:
			bad = cs_json_add(denied, cs_json_new_string(row->name));
			break;
		case CS_PROFILE_FILTER:
			bad = add_filters(filtered, row->name, s390);
			break;
		case CS_PROFILE_ABSENT:
			break; /* by the default action */
		}
	}
	/* calls that a libseccomp newer than the table knows */
	for (size_t i = 0; !bad && allow && i < allow->n; i++)
		if (!in_table(allow->v[i]))
			bad = cs_json_add(allowed, cs_json_new_string(allow->v[i]));
	return bad ? -1 : 0;
}

static struct cs_json *build_default(const struct cs_profile_arch *native,
				     const struct cs_strv *allow,
				     const struct cs_strv *capabilities)
{
	cs_autojson struct cs_json *profile = cs_json_new_object();
	cs_autojson struct cs_json *allowed = cs_json_new_array();
	cs_autojson struct cs_json *denied = cs_json_new_array();
	cs_autojson struct cs_json *rules = cs_json_new_array();

	/*
	 * Whole calls first: on 32-bit architectures libseccomp repeats a rule
	 * about socket for socketcall, without its arguments. Two of them then
	 * contradict each other, unless socketcall is settled already.
	 */
	if (!profile || !allowed || !denied || !rules ||
	    sort_calls(native, allow, capabilities, allowed, denied, rules) < 0 ||
	    cs_json_insert_at(rules, 0,
			      cs__profile_rule(cs_take_ptr(&denied), "SCMP_ACT_ERRNO", EPERM)) ||
	    cs_json_insert_at(rules, 0,
			      cs__profile_rule(cs_take_ptr(&allowed), "SCMP_ACT_ALLOW", 0)) ||
	    cs_json_put(profile, "defaultAction", cs_json_new_string("SCMP_ACT_ERRNO")) ||
	    cs_json_put(profile, "defaultErrnoRet", cs_json_new_u64(ENOSYS)) ||
	    put_architectures(profile, native) ||
	    cs_json_put(profile, "syscalls", cs_take_ptr(&rules)))
		return NULL;
	return cs_take_ptr(&profile);
}

int cs_profile_default_for(const struct cs_strv *allow, const struct cs_strv *capabilities,
			   struct cs_json **ret, struct cs_err *err)
{
	const struct cs_profile_arch *native;
	struct cs_json *profile;

	for (size_t i = 0; allow && i < allow->n; i++)
		if (cs_profile_check_name(allow->v[i], err) < 0)
			return -1;
	if (cs__profile_native(&native, err) < 0)
		return -1;
	profile = build_default(native, allow, capabilities);
	if (!profile)
		return cs_fail(err, CS_LIMIT, 0, "seccomp profile: out of memory");
	*ret = profile;
	return 0;
}

int cs_profile_default(const struct cs_strv *allow, struct cs_json **ret, struct cs_err *err)
{
	return cs_profile_default_for(allow, NULL, ret, err);
}
