#include <errno.h>

#include "shim/base/err.h"
#include "tests/unit/unit.h"

START_TEST(wrap_puts_context_first)
{
	struct cs_err err = CS_ERR_INIT;

	ck_assert_int_eq(cs_fail(&err, CS_IO, ENOENT, "open '%s'", "/x"), -1);
	cs_wrap(&err, "create '%s'", "web1");
	ck_assert_str_eq(err.text, "create 'web1': open '/x': No such file or directory");
	ck_assert_int_eq(err.kind, CS_IO);
	ck_assert_int_eq(err.errnum, ENOENT);
}
END_TEST

START_TEST(long_text_is_cut_not_overrun)
{
	struct cs_err err = CS_ERR_INIT;

	cs_fail(&err, CS_IO, 0, "%2000s", "x");
	ck_assert_uint_eq(strlen(err.text), CS_ERR_TEXT_MAX - 1);
	cs_wrap(&err, "outer");
	ck_assert_uint_eq(strlen(err.text), CS_ERR_TEXT_MAX - 1);
	ck_assert_int_eq(strncmp(err.text, "outer: ", 7), 0);
}
END_TEST

START_TEST(every_kind_has_a_row)
{
	for (int kind = 0; kind < CS_ERR_KINDS; kind++) {
		const struct cs_err_row *row = cs_err_row(kind);

		ck_assert_ptr_nonnull(row->word);
		ck_assert_int_eq(row->exit_code == 0, kind == CS_OK);
	}
	ck_assert_ptr_eq(cs_err_row((enum cs_err_kind)99), cs_err_row(CS_BUG));
}
END_TEST

START_TEST(clear_allows_another_failure)
{
	struct cs_err err = CS_ERR_INIT;

	cs_fail(&err, CS_IO, 0, "one");
	cs_err_clear(&err);
	ck_assert(!cs_err_is_set(&err));
	cs_fail(&err, CS_STATE, 0, "two");
	ck_assert_str_eq(err.text, "two");
}
END_TEST

CS_UNIT_SUITE(err, wrap_puts_context_first, long_text_is_cut_not_overrun, every_kind_has_a_row,
	      clear_allows_another_failure)
