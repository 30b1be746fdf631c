#include "shim/base/buf.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

START_TEST(pieces_join_and_stay_terminated)
{
	cs_auto(buf) buf = CS_BUF_INIT(1000);

	ck_assert_ptr_null(buf.data);
	ck_assert_int_eq(cs_buf_adds(&buf, "ab"), 0);
	ck_assert_int_eq(cs_buf_addc(&buf, 'c'), 0);
	ck_assert_int_eq(cs_buf_add(&buf, "d\0e", 3), 0);
	ck_assert_int_eq(cs_buf_addf(&buf, "%s=%d", "n", -7), 0);
	ck_assert_uint_eq(buf.len, 10);
	ck_assert_mem_eq(buf.data, "abcd\0en=-7", 11);
	ck_assert_int_eq(cs_buf_add(&buf, NULL, 0), 0);
	ck_assert_uint_eq(buf.len, 10);
}
END_TEST

START_TEST(growth_keeps_the_content)
{
	cs_auto(buf) buf = CS_BUF_INIT(1 << 20);

	for (int i = 0; i < 100000; i++)
		ck_assert_int_eq(cs_buf_addc(&buf, (char)('a' + i % 26)), 0);
	ck_assert_uint_eq(strlen(buf.data), 100000);
	for (int i = 0; i < 100000; i++)
		ck_assert_int_eq(buf.data[i], 'a' + i % 26);
}
END_TEST

START_TEST(nothing_passes_the_cap)
{
	cs_auto(buf) buf = CS_BUF_INIT(4);

	ck_assert_int_eq(cs_buf_adds(&buf, "abc"), 0);
	ck_assert_int_eq(cs_buf_adds(&buf, "de"), -ENOSPC);
	ck_assert(buf.failed);
	ck_assert_str_eq(buf.data, "abc");
	/* one failure is enough: a piece that would fit does not come behind a hole */
	ck_assert_int_eq(cs_buf_addc(&buf, 'd'), -ENOSPC);
	ck_assert_int_eq(cs_buf_addf(&buf, "%d", 1), -ENOSPC);
	ck_assert_str_eq(buf.data, "abc");
	ck_assert_ptr_null(cs_buf_take(&buf));

	cs_buf_reset(&buf);
	ck_assert(!buf.failed);
	ck_assert_str_eq(buf.data, "");
	ck_assert_int_eq(cs_buf_adds(&buf, "abcd"), 0);
	ck_assert_int_eq(cs_buf_addf(&buf, "%s", ""), 0);
	ck_assert_int_eq(cs_buf_addf(&buf, "%s", "e"), -ENOSPC);
	ck_assert_str_eq(buf.data, "abcd");
}
END_TEST

START_TEST(huge_lengths_do_not_wrap)
{
	cs_auto(buf) buf = CS_BUF_INIT(100);

	ck_assert_int_eq(cs_buf_adds(&buf, "x"), 0);
	ck_assert_int_eq(cs_buf_add(&buf, "y", SIZE_MAX), -ENOSPC);
	ck_assert_uint_eq(buf.len, 1);
}
END_TEST

START_TEST(a_cap_of_nothing)
{
	cs_auto(buf) buf = CS_BUF_INIT(0);

	ck_assert_int_eq(cs_buf_adds(&buf, ""), 0);
	ck_assert_str_eq(buf.data, "");
	ck_assert_int_eq(cs_buf_addc(&buf, 'x'), -ENOSPC);
}
END_TEST

START_TEST(taking_empties)
{
	cs_auto(buf) buf = CS_BUF_INIT(10);
	cs_autofree char *empty = cs_buf_take(&buf);

	ck_assert_str_eq(empty, "");
	cs_buf_adds(&buf, "text");
	cs_autofree char *text = cs_buf_take(&buf);
	ck_assert_str_eq(text, "text");
	ck_assert_ptr_null(buf.data);
	ck_assert_uint_eq(buf.len, 0);
	ck_assert_uint_eq(buf.max, 10);
	ck_assert_int_eq(cs_buf_adds(&buf, "again"), 0);
}
END_TEST

START_TEST(json_escapes)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} rows[] = {
		{ "plain / text", 12, "plain / text" },
		{ "\"\\", 2, "\\\"\\\\" },
		{ "\n\r\t", 3, "\\n\\r\\t" },
		{ "\0\x01\x1f\x7f", 4, "\\u0000\\u0001\\u001f\\u007f" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "a\xff"
		  "b",
		  3,
		  "a\xef\xbf\xbd"
		  "b" },
		{ "\xc3", 1, "\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "", 0, "" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_auto(buf) buf = CS_BUF_INIT(1000);

		cs_buf_adds(&buf, "");
		ck_assert_int_eq(cs_buf_add_json_escaped(&buf, rows[i].in, rows[i].len), 0);
		ck_assert_str_eq(buf.data, rows[i].out);
	}
	cs_auto(buf) small = CS_BUF_INIT(3);
	ck_assert_int_eq(cs_buf_add_json_escaped(&small, "\n\n", 2), -ENOSPC);
}
END_TEST

/* Length of a UTF-8 sequence by the bits of RFC 3629, section 3, written the other way round. */
static size_t encode_utf8(unsigned code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

START_TEST(every_code_point_is_known)
{
	char text[4];

	for (unsigned code = 0; code < 0x200000; code++) {
		size_t n = encode_utf8(code, text);
		bool good = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);

		if (cs_utf8_len(text, n) != (good ? n : 0))
			ck_abort_msg("U+%04X", code);
		if (cs_utf8_len(text, n - 1) != 0)
			ck_abort_msg("U+%04X cut", code);
	}
}
END_TEST

START_TEST(overlong_forms_are_none)
{
	static const char *const texts[] = {
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf8\x88\x80\x80\x80",
		"\x80",
		"\xbf",
		"\xfe",
		"\xff",
		"\xc3(",
		"\xe2\x82(",
		"\xf0\x9f\x98(",
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++)
		ck_assert_uint_eq(cs_utf8_len(texts[i], strlen(texts[i])), 0);
}
END_TEST

START_TEST(what_is_no_utf8_is_replaced)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "a\xc3\xa9\n", "a\xc3\xa9\n" },
		{ "a\xff" "b", "a\xef\xbf\xbd" "b" },
		{ "cut \xc3", "cut \xef\xbf\xbd" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_auto(buf) buf = CS_BUF_INIT(64);

		ck_assert_int_eq(cs_buf_add_utf8(&buf, rows[i].in, strlen(rows[i].in)), 0);
		ck_assert_str_eq(buf.data ? buf.data : "", rows[i].out);
		ck_assert(cs_utf8_valid(rows[i].out, strlen(rows[i].out)));
		ck_assert_int_eq(cs_utf8_valid(rows[i].in, strlen(rows[i].in)), strcmp(rows[i].in, rows[i].out) == 0);
	}
	ck_assert(cs_utf8_valid("a\0b", 3));
}
END_TEST

START_TEST(base64_of_the_rfc)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xfb\xff\xfe", "+//+" },
	};
	cs_auto(buf) small = CS_BUF_INIT(6);

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_auto(buf) buf = CS_BUF_INIT(64);

		ck_assert_int_eq(cs_buf_adds(&buf, "x"), 0);
		ck_assert_int_eq(cs_buf_add_base64(&buf, rows[i].in, strlen(rows[i].in)), 0);
		ck_assert_str_eq(buf.data + 1, rows[i].out);
	}
	ck_assert_int_eq(cs_buf_adds(&small, "x"), 0);
	ck_assert_int_eq(cs_buf_add_base64(&small, "foobar", 6), -ENOSPC);
	ck_assert_str_eq(small.data, "x");
	ck_assert(small.failed);
}
END_TEST

CS_UNIT_SUITE(buf, pieces_join_and_stay_terminated, growth_keeps_the_content,
	      nothing_passes_the_cap, huge_lengths_do_not_wrap, a_cap_of_nothing, taking_empties,
	      json_escapes, what_is_no_utf8_is_replaced, base64_of_the_rfc, every_code_point_is_known, overlong_forms_are_none)
