#include <sys/resource.h>

#include "oci-spec/spec_tables.h"
#include "tests/unit/unit.h"

START_TEST(namespaces_go_both_ways)
{
	for (enum cs_namespace ns = 0; ns < CS_NAMESPACES; ns++)
		ck_assert_int_eq(cs_namespace_by_word(cs_namespace_word(ns)), ns);
	ck_assert_int_eq(cs_namespace_by_word("net"), CS_NAMESPACES);
	ck_assert_int_eq(cs_namespace_by_word(""), CS_NAMESPACES);
}
END_TEST

START_TEST(capabilities_in_any_spelling)
{
	static const char *const spellings[] = {
		"net_bind_service",
		"NET_BIND_SERVICE",
		"CAP_NET_BIND_SERVICE",
		"cap_Net_Bind_Service",
	};
	char name[CS_CAPABILITY_TEXT];
	struct cs_err err = CS_ERR_INIT;

	for (size_t i = 0; i < CS_ARRAY_LEN(spellings); i++) {
		ck_ok(cs_capability_parse(spellings[i], name, &err), err);
		ck_assert_str_eq(name, "CAP_NET_BIND_SERVICE");
	}
	ck_assert(cs_capability_known("CAP_SYS_ADMIN"));
	ck_assert(!cs_capability_known("SYS_ADMIN"));
	ck_assert(!cs_capability_known("cap_sys_admin"));
}
END_TEST

START_TEST(unknown_capabilities_name_the_nearest)
{
	char name[CS_CAPABILITY_TEXT] = "untouched";
	struct cs_err err = CS_ERR_INIT;

	ck_fails(cs_capability_parse("net_bind_servce", name, &err), err,
		 "did you mean CAP_NET_BIND_SERVICE?");
	cs_err_clear(&err);
	ck_fails(cs_capability_parse("everything", name, &err), err, "unknown capability");
	ck_assert_ptr_null(strstr(err.text, "did you mean"));
	cs_err_clear(&err);
	ck_fails(cs_capability_parse("", name, &err), err, "unknown capability ''");
	ck_assert_str_eq(name, "untouched");
}
END_TEST

START_TEST(capabilities_are_listed_by_number)
{
	char name[CS_CAPABILITY_TEXT];
	size_t n = 0;

	while (cs_capability_at(n, name)) {
		ck_assert(cs_capability_known(name));
		n++;
	}
	ck_assert_uint_ge(n, 38); /* CAP_AUDIT_READ, Linux 3.16 */
	ck_assert(cs_capability_at(0, name));
	ck_assert_str_eq(name, "CAP_CHOWN");
}
END_TEST

START_TEST(rlimits_by_both_names)
{
	const struct cs_rlimit_row *row;

	for (size_t i = 0; (row = cs_rlimit_row_at(i)) != NULL; i++) {
		ck_assert_ptr_eq(cs_rlimit_row(row->word), row);
		ck_assert_ptr_eq(cs_rlimit_row(row->type), row);
	}
	ck_assert_int_eq(cs_rlimit_row("nofile")->resource, RLIMIT_NOFILE);
	ck_assert_ptr_null(cs_rlimit_row("NOFILE"));
	ck_assert_ptr_null(cs_rlimit_row("RLIMIT_FILES"));
}
END_TEST

static void check_paths(const char *const *paths)
{
	for (size_t i = 0; paths[i]; i++) {
		ck_assert_int_eq(paths[i][0], '/');
		ck_assert(i == 0 || strcmp(paths[i - 1], paths[i]) < 0);
	}
}

START_TEST(paths_are_sorted_and_absolute)
{
	check_paths(cs_masked_paths);
	check_paths(cs_readonly_paths);
}
END_TEST

CS_UNIT_SUITE(spec_tables, namespaces_go_both_ways, capabilities_in_any_spelling,
	      unknown_capabilities_name_the_nearest, capabilities_are_listed_by_number,
	      rlimits_by_both_names, paths_are_sorted_and_absolute)
