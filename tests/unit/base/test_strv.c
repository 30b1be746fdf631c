#include "shim/base/strv.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

static void expect(const struct cs_strv *strv, const char *joined)
{
	char text[256] = "";
	size_t used = 0;

	for (char *const *v = cs_strv_v(strv); *v; v++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s|", *v);
	ck_assert_str_eq(text, joined);
	for (size_t i = 0; i < strv->n; i++)
		ck_assert_ptr_nonnull(strv->v[i]);
	if (strv->v)
		ck_assert_ptr_null(strv->v[strv->n]);
}

START_TEST(adding_keeps_order_and_terminates)
{
	cs_auto(strv) strv = CS_STRV_INIT;
	char text[] = "copied";

	expect(&strv, "");
	ck_assert_ptr_nonnull(cs_strv_v(&strv));
	ck_assert_int_eq(cs_strv_add(&strv, text), 0);
	text[0] = 'X';
	ck_assert_int_eq(cs_strv_addf(&strv, "%s-%d", "f", 1), 0);
	ck_assert_int_eq(cs_strv_add_take(&strv, strdup("taken")), 0);
	ck_assert_int_eq(cs_strv_add(&strv, ""), 0);
	expect(&strv, "copied|f-1|taken||");
}
END_TEST

START_TEST(many_strings)
{
	cs_auto(strv) strv = CS_STRV_INIT;

	for (int i = 0; i < 1000; i++) {
		ck_assert_int_eq(cs_strv_addf(&strv, "%d", i), 0);
		ck_assert_ptr_null(strv.v[strv.n]);
	}
	ck_assert_uint_eq(strv.n, 1000);
	ck_assert_str_eq(strv.v[0], "0");
	ck_assert_str_eq(strv.v[999], "999");
}
END_TEST

START_TEST(whole_vectors)
{
	static const char *const more[] = { "b", "c", NULL };
	cs_auto(strv) one = CS_STRV_INIT, two = CS_STRV_INIT;

	ck_assert_int_eq(cs_strv_add_all(&one, NULL), 0);
	expect(&one, "");
	cs_strv_add(&one, "a");
	ck_assert_int_eq(cs_strv_add_all(&one, more), 0);
	expect(&one, "a|b|c|");
	ck_assert_int_eq(cs_strv_copy(&two, &one), 0);
	ck_assert_int_eq(cs_strv_copy(&two, &one), 0);
	expect(&two, "a|b|c|a|b|c|");
	cs_strv_release(&one);
	expect(&two, "a|b|c|a|b|c|");
	ck_assert_int_eq(cs_strv_copy(&two, &one), 0);
	expect(&two, "a|b|c|a|b|c|");
}
END_TEST

START_TEST(no_string_is_no_memory)
{
	cs_auto(strv) strv = CS_STRV_INIT;

	ck_assert_int_eq(cs_strv_add_take(&strv, NULL), -ENOMEM);
	expect(&strv, "");
}
END_TEST

START_TEST(membership)
{
	cs_auto(strv) strv = CS_STRV_INIT;

	ck_assert(!cs_strv_has(&strv, ""));
	cs_strv_add(&strv, "one");
	ck_assert(cs_strv_has(&strv, "one"));
	ck_assert(!cs_strv_has(&strv, "on"));
	ck_assert(!cs_strv_has(&strv, "one "));
}
END_TEST

START_TEST(words_of_a_table)
{
	static const char *const words[] = { "one", "two", NULL };

	ck_assert(cs_words_have(words, "two"));
	ck_assert(!cs_words_have(words, "tw"));
	ck_assert(!cs_words_have(words, ""));
	ck_assert(!cs_words_have(NULL, "one"));
}
END_TEST

START_TEST(environments)
{
	cs_auto(strv) env = CS_STRV_INIT;

	ck_assert_ptr_null(cs_strv_env_get(&env, "A"));
	ck_assert_int_eq(cs_strv_env_set(&env, "A", "1"), 0);
	ck_assert_int_eq(cs_strv_env_set(&env, "AB", "x=y"), 0);
	ck_assert_int_eq(cs_strv_env_set(&env, "E", ""), 0);
	ck_assert_str_eq(cs_strv_env_get(&env, "A"), "1");
	ck_assert_str_eq(cs_strv_env_get(&env, "AB"), "x=y");
	ck_assert_str_eq(cs_strv_env_get(&env, "E"), "");
	ck_assert_ptr_null(cs_strv_env_get(&env, "B"));

	ck_assert_int_eq(cs_strv_env_set(&env, "A", "longer than before"), 0);
	expect(&env, "A=longer than before|AB=x=y|E=|");

	/* the last one of twins is the one that counts, for both */
	cs_strv_add(&env, "A=last");
	ck_assert_str_eq(cs_strv_env_get(&env, "A"), "last");
	ck_assert_int_eq(cs_strv_env_set(&env, "A", "new"), 0);
	ck_assert_str_eq(cs_strv_env_get(&env, "A"), "new");
	ck_assert_uint_eq(env.n, 4);

	cs_strv_add(&env, "novalue");
	ck_assert_ptr_null(cs_strv_env_get(&env, "novalue"));
}
END_TEST

START_TEST(release_leaves_an_empty_vector)
{
	struct cs_strv strv = CS_STRV_INIT;

	cs_strv_release(&strv);
	cs_strv_add(&strv, "x");
	cs_strv_release(&strv);
	cs_strv_release(&strv);
	expect(&strv, "");
	ck_assert_int_eq(cs_strv_add(&strv, "again"), 0);
	cs_strv_release(&strv);
}
END_TEST

CS_UNIT_SUITE(strv, adding_keeps_order_and_terminates, many_strings, whole_vectors,
	      no_string_is_no_memory, membership, words_of_a_table, environments, release_leaves_an_empty_vector)
