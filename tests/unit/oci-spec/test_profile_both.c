/* What two seccomp profiles allow together, by hand and against a model of single calls. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "oci-spec/profile.h"
#include "tests/unit/unit.h"

static struct cs_err err;

/* Text with ' for ". */
static struct cs_json *parse(const char *text)
{
	cs_autofree char *copy = strdup(text);
	struct cs_json *json = NULL;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	ck_ok(cs_json_parse(copy, strlen(copy), "test", &json, &err), err);
	return json;
}

static void text_of(const struct cs_json *json, struct cs_buf *out)
{
	cs_buf_reset(out);
	ck_ok(cs_json_write(json, CS_JSON_COMPACT, out, &err), err);
	for (char *p = out->data; *p; p++)
		if (*p == '"')
			*p = '\'';
}

static void ck_both(const char *theirs_text, const char *ours_text, const char *want)
{
	cs_autojson struct cs_json *theirs = parse(theirs_text), *ours = parse(ours_text), *both = NULL;
	cs_auto(buf) got = CS_BUF_INIT(1 << 20);

	ck_ok(cs_profile_both(theirs, ours, &both, &err), err);
	text_of(both, &got);
	ck_assert_str_eq(got.data, want);
}

#define REFUSING "'defaultAction':'SCMP_ACT_ERRNO'"
#define ALLOWING "'defaultAction':'SCMP_ACT_ALLOW'"
#define ALLOW(names) "{'names':[" names "],'action':'SCMP_ACT_ALLOW'}"
#define REFUSE(names) "{'names':[" names "],'action':'SCMP_ACT_ERRNO','errnoRet':1}"
#define ALLOW_IF(names, value) "{'names':[" names "],'action':'SCMP_ACT_ALLOW','args':[{'index':0,'value':" value ",'op':'SCMP_CMP_EQ'}]}"

START_TEST(names_that_ours_refuses_go)
{
	ck_both("{" REFUSING ",'flags':['x'],'syscalls':[" ALLOW("'read','ptrace'") "," ALLOW("'mount'") "]}",
		"{" REFUSING ",'syscalls':[" ALLOW("'read','write'") "]}",
		"{" REFUSING ",'flags':['x'],'syscalls':[" ALLOW("'read'") "]}");
}
END_TEST

START_TEST(a_default_that_allows_is_not_kept)
{
	ck_both("{" ALLOWING ",'architectures':['a'],'syscalls':[" REFUSE("'write'") "]}",
		"{" REFUSING ",'defaultErrnoRet':38,'syscalls':[" ALLOW("'read','write'") "]}",
		"{" REFUSING ",'architectures':['a'],'syscalls':[" ALLOW("'read'") "],'defaultErrnoRet':38}");
	ck_both("{" ALLOWING "}", "{" ALLOWING ",'syscalls':[" REFUSE("'mount'") "]}",
		"{" ALLOWING ",'syscalls':[" REFUSE("'mount'") "]}");
}
END_TEST

START_TEST(conditions_of_both_hold)
{
	/* whole on one side: the other's condition */
	ck_both("{" REFUSING ",'syscalls':[" ALLOW("'clone'") "]}", "{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "7") "]}",
		"{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "7") "]}");
	ck_both("{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "7") "]}", "{" REFUSING ",'syscalls':[" ALLOW("'clone'") "]}",
		"{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "7") "]}");
	/* on both sides: those that both name */
	ck_both("{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "7") "," ALLOW_IF("'clone'", "8") "]}",
		"{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "8") "," ALLOW_IF("'clone'", "9") "]}",
		"{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "8") "]}");
	ck_both("{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "7") "]}", "{" REFUSING ",'syscalls':[" ALLOW_IF("'clone'", "8") "]}",
		"{" REFUSING "}");
}
END_TEST

START_TEST(what_is_no_profile)
{
	static const char *const wrong[] = {
		"[]",
		"{}",
		"{'defaultAction':'SCMP_ACT_NOW'}",
		"{" REFUSING ",'syscalls':{}}",
		"{" REFUSING ",'syscalls':[{'names':['read']}]}",
		"{" REFUSING ",'syscalls':[{'names':'read','action':'SCMP_ACT_ALLOW'}]}",
		"{" REFUSING ",'syscalls':[{'names':[1],'action':'SCMP_ACT_ALLOW'}]}",
		"{" REFUSING ",'syscalls':[{'names':['read'],'action':'SCMP_ACT_ALLOW','args':5}]}",
	};
	cs_autojson struct cs_json *ours = parse("{" REFUSING "}");

	for (size_t i = 0; i < CS_ARRAY_LEN(wrong); i++) {
		cs_autojson struct cs_json *theirs = parse(wrong[i]), *both = NULL;

		cs_err_clear(&err);
		ck_assert_int_lt(cs_profile_both(theirs, ours, &both, &err), 0);
		ck_assert_int_eq(err.kind, CS_INVALID);
	}
}
END_TEST

START_TEST(the_built_in_profile_with_itself)
{
	cs_autojson struct cs_json *ours = NULL, *both = NULL;
	cs_auto(buf) a = CS_BUF_INIT(1 << 20), b = CS_BUF_INIT(1 << 20);

	ck_ok(cs_profile_default(NULL, &ours, &err), err);
	ck_ok(cs_profile_both(ours, ours, &both, &err), err);
	text_of(ours, &a);
	text_of(both, &b);
	ck_assert_str_eq(a.data, b.data);
}
END_TEST

/* --- against a model ------------------------------------------------------------------------ */

static uint64_t state;

static unsigned draw(unsigned n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned)((state * UINT64_C(2685821657736338717)) >> 33) % n;
}

static const char *const calls[] = { "read", "clone", "socket", "mount" };

static struct cs_json *random_profile(void)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 16);
	struct cs_json *json = NULL;

	cs_buf_addf(&out, "{\"defaultAction\":\"%s\",\"syscalls\":[", draw(3) ? "SCMP_ACT_ERRNO" : "SCMP_ACT_ALLOW");
	for (unsigned n = draw(6); n > 0; n--) {
		cs_buf_addf(&out, "{\"names\":[\"%s\",\"%s\"],\"action\":\"%s\"", calls[draw(4)], calls[draw(4)],
			    draw(3) ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO");
		if (draw(2))
			cs_buf_addf(&out, ",\"args\":[{\"index\":0,\"value\":%u,\"valueTwo\":%u,\"op\":\"SCMP_CMP_%s\"}]", draw(4),
				    draw(4), draw(2) ? "MASKED_EQ" : "EQ");
		cs_buf_adds(&out, n > 1 ? "}," : "}");
	}
	cs_buf_adds(&out, "]}");
	ck_ok(cs_json_parse(out.data, out.len, "random", &json, &err), err);
	return json;
}

/* Does a rule name the call, with this argument? */
static bool matches(const struct cs_json *rule, const char *call, uint64_t arg)
{
	const struct cs_json *name, *condition = cs_json_get(rule, "args.0");
	uint64_t value = 0, two = 0;
	bool named = false, masked = false;

	cs_json_each (name, cs_json_member(rule, "names"))
		named = named || strcmp(cs_json_string(name), call) == 0;
	if (named && condition) {
		masked = strcmp(cs_json_string(cs_json_member(condition, "op")), "SCMP_CMP_MASKED_EQ") == 0;
		ck_assert_int_eq(cs_json_get_u64(cs_json_member(condition, "value"), &value), 0);
		ck_assert_int_eq(cs_json_get_u64(cs_json_member(condition, "valueTwo"), &two), 0);
	}
	return named && (!condition || (masked ? (arg & value) == two : arg == value));
}

/* May the call pass? Rules that contradict each other may come out either way. */
static bool may_pass(const struct cs_json *profile, const char *call, uint64_t arg)
{
	bool by_default = strcmp(cs_json_string(cs_json_get(profile, "defaultAction")), "SCMP_ACT_ALLOW") == 0;
	bool allowed = false, refused = false;
	const struct cs_json *rule;

	cs_json_each (rule, cs_json_get(profile, "syscalls"))
		if (matches(rule, call, arg))
			*(strcmp(cs_json_string(cs_json_get(rule, "action")), "SCMP_ACT_ALLOW") == 0 ? &allowed : &refused) = true;
	return allowed || (!refused && by_default);
}

START_TEST(nothing_passes_that_either_refuses)
{
	const char *given = getenv("CAISSON_SEED");
	uint64_t first = given ? strtoull(given, NULL, 10) : 1;

	for (uint64_t seed = first; seed < first + 2000; seed++) {
		cs_autojson struct cs_json *theirs = NULL, *ours = NULL, *both = NULL, *again = NULL;
		cs_auto(buf) a = CS_BUF_INIT(1 << 16), b = CS_BUF_INIT(1 << 16);

		state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
		theirs = random_profile();
		ours = random_profile();
		ck_ok(cs_profile_both(theirs, ours, &both, &err), err);
		ck_ok(cs_profile_both(both, ours, &again, &err), err);
		text_of(both, &a);
		text_of(again, &b);
		ck_assert_msg(strcmp(a.data, b.data) == 0, "seed %" PRIu64 ": %s, again %s", seed, a.data, b.data);
		for (size_t i = 0; i < CS_ARRAY_LEN(calls); i++)
			for (uint64_t arg = 0; arg < 4; arg++) {
				bool theirs_may = may_pass(theirs, calls[i], arg), ours_may = may_pass(ours, calls[i], arg);

				ck_assert_msg(!may_pass(both, calls[i], arg) || (theirs_may && ours_may),
					      "seed %" PRIu64 ": %s(%d) passes: %s", seed, calls[i], (int)arg, a.data);
			}
	}
}
END_TEST

/* --- rules that only give another errno --------------------------------------------------- */

static char *both_of(const char *theirs_text, const char *ours_text)
{
	cs_autojson struct cs_json *theirs = NULL, *ours = NULL, *result = NULL;
	cs_auto(buf) text = CS_BUF_INIT(4096);

	ck_ok(cs_json_parse(theirs_text, strlen(theirs_text), "theirs", &theirs, &err), err);
	ck_ok(cs_json_parse(ours_text, strlen(ours_text), "ours", &ours, &err), err);
	ck_ok(cs_profile_drop_idle(ours, &err), err);
	ck_ok(cs_profile_both(theirs, ours, &result, &err), err);
	ck_ok(cs_json_write(cs_json_member(result, "syscalls"), CS_JSON_COMPACT, &text, &err), err);
	return cs_buf_take(&text);
}

#define DENY "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":["
#define SOCKET_IS(n) "{\"names\":[\"socket\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":" n ",\"op\":\"SCMP_CMP_EQ\"}]}"
#define SOCKET_ABOVE(n) "{\"names\":[\"socket\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":97,\"args\":[{\"index\":0,\"value\":" n ",\"op\":\"SCMP_CMP_GT\"}]}"
#define ALLOW_SOCKET "{\"names\":[\"socket\"],\"action\":\"SCMP_ACT_ALLOW\"}"

/* With docker's three architectures runc 1.1.5 says "error adding seccomp rule for syscall socket: file exists" to both. */
START_TEST(no_second_action_beside_allowing_ones)
{
	cs_autofree char *text = both_of(DENY ALLOW_SOCKET "]}", DENY SOCKET_IS("1") "," SOCKET_IS("17") "," SOCKET_ABOVE("17") "]}");

	ck_assert_str_eq(text, "[" SOCKET_IS("1") "," SOCKET_IS("17") "]");
}
END_TEST

START_TEST(one_that_takes_something_stays)
{
	cs_autofree char *text = both_of(DENY ALLOW_SOCKET "]}", DENY SOCKET_IS("18") "," SOCKET_ABOVE("17") "]}");

	ck_assert_ptr_nonnull(strstr(text, "SCMP_CMP_GT"));
}
END_TEST

#define CLONE(action, mask, value) "{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_" action "\",\"args\":[{\"index\":0,\"value\":" mask ",\"valueTwo\":" value ",\"op\":\"SCMP_CMP_MASKED_EQ\"}]}"

/* Docker's condition and ours are the same; ours also names the errno for each flag. */
START_TEST(equal_conditions_beside_an_errno)
{
	cs_autofree char *text = both_of(DENY CLONE("ALLOW", "2114060288", "0") "]}",
				      DENY CLONE("ALLOW", "2114060288", "0") "," CLONE("ERRNO", "268435456", "268435456") "]}");

	ck_assert_str_eq(text, "[" CLONE("ALLOW", "2114060288", "0") "]");
}
END_TEST

/* The profile of a daemon of 2017 knows no cgroup namespaces: a program could not fork for that one bit. */
START_TEST(masks_are_laid_over_each_other)
{
	static const char old[] = DENY "{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,"
				       "\"value\":2080505856,\"op\":\"SCMP_CMP_MASKED_EQ\"}]}]}";
	static const struct {
		const char *theirs, *ours, *want;
	} t[] = {
		{ DENY CLONE("ALLOW", "6", "2") "]}", DENY CLONE("ALLOW", "12", "4") "]}", "null" },
		{ DENY CLONE("ALLOW", "6", "2") "]}", DENY CLONE("ALLOW", "9", "8") "]}", "[" CLONE("ALLOW", "15", "10") "]" },
		{ DENY CLONE("ALLOW", "7", "2") "]}", DENY CLONE("ALLOW", "2", "2") "]}", "[" CLONE("ALLOW", "7", "2") "]" },
		{ DENY CLONE("ALLOW", "2", "2") "]}", DENY CLONE("ALLOW", "7", "2") "]}", "[" CLONE("ALLOW", "7", "2") "]" },
		{ DENY CLONE("ALLOW", "2", "4") "]}", DENY CLONE("ALLOW", "7", "2") "]}", "null" },
		{ old, DENY CLONE("ALLOW", "2114060288", "0") "]}",
		  "[{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"value\":2114060288,"
		  "\"op\":\"SCMP_CMP_MASKED_EQ\",\"valueTwo\":0}]}]" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(t); i++) {
		cs_autofree char *text = both_of(t[i].theirs, t[i].ours);

		ck_assert_msg(strcmp(text, t[i].want) == 0, "%zu: %s, not %s", i, text, t[i].want);
	}
}
END_TEST

CS_UNIT_SUITE(profile_both, names_that_ours_refuses_go, a_default_that_allows_is_not_kept, conditions_of_both_hold, what_is_no_profile,
	      the_built_in_profile_with_itself, nothing_passes_that_either_refuses,
	      no_second_action_beside_allowing_ones, one_that_takes_something_stays, equal_conditions_beside_an_errno,
	      masks_are_laid_over_each_other)
