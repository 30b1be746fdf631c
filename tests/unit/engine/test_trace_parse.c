#include <errno.h>
#include <string.h>

#include "shim/engine/trace.h"
#include "tests/unit/unit.h"

/* task_exit of `sh -c 'exit 137'`, container "c1": header 8 bytes, type 5, 3 dropped. */
static const unsigned char exit_packet[] = {
	8, 0, 5, 0, 3, 0, 0, 0,
	0x0a, 8, 0x10, 1, 0x20, 1, 0x32, 2, 'c', '1',
	0x10, 0x80, 0x92, 0x02,
};

static int parse(const unsigned char *data, size_t len, struct cs_trace_packet *ret)
{
	/* a copy of just the size: an overrun is seen by the address sanitizer */
	unsigned char *copy = malloc(len ? len : 1);
	int r;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, data, len);
	r = cs_trace_parse(copy, len, ret);
	free(copy);
	return r;
}

START_TEST(task_exit_is_read)
{
	struct cs_trace_packet packet;

	ck_assert_int_eq(parse(exit_packet, sizeof(exit_packet), &packet), 0);
	ck_assert_int_eq(packet.kind, CS_TRACE_EXIT);
	ck_assert_uint_eq(packet.dropped, 3);
	ck_assert_uint_eq(packet.thread, 1);
	ck_assert_uint_eq(packet.group, 1);
	ck_assert_str_eq(packet.container, "c1");
	ck_assert_int_eq(packet.status, 137 << 8);
}
END_TEST

START_TEST(absent_fields_are_zero)
{
	static const unsigned char data[] = { 8, 0, 5, 0, 0, 0, 0, 0, 0x0a, 4, 0x20, 1, 0x10, 1 };
	struct cs_trace_packet packet;

	ck_assert_int_eq(parse(data, sizeof(data), &packet), 0);
	ck_assert_int_eq(packet.status, 0);
	ck_assert_str_eq(packet.container, "");
}
END_TEST

START_TEST(clone_is_read_and_unknown_fields_are_skipped)
{
	static const unsigned char data[] = {
		12, 0, 2, 0, 0, 0, 0, 0, 9, 9, 9, 9,      /* a longer header */
		0x0a, 4, 0x10, 5, 0x20, 4,                /* parent 5 of group 4 */
		0x18, 7, 0x20, 6,                         /* created 7 of group 6 */
		0x29, 1, 2, 3, 4, 5, 6, 7, 8,             /* 64 bits */
		0x35, 1, 2, 3, 4,                         /* 32 bits */
		0x3a, 2, 'x', 'y',
	};
	struct cs_trace_packet packet;

	ck_assert_int_eq(parse(data, sizeof(data), &packet), 0);
	ck_assert_int_eq(packet.kind, CS_TRACE_CLONE);
	ck_assert_uint_eq(packet.thread, 5);
	ck_assert_uint_eq(packet.group, 4);
	ck_assert_uint_eq(packet.new_thread, 7);
	ck_assert_uint_eq(packet.new_group, 6);
}
END_TEST

START_TEST(every_cut_of_a_packet_is_refused_or_whole)
{
	struct cs_trace_packet packet;

	for (size_t len = 0; len < sizeof(exit_packet); len++) {
		int r = parse(exit_packet, len, &packet);

		/* between two fields a message may end */
		ck_assert_int_eq(r, len == 8 || len == 18 ? 0 : -EBADMSG);
	}
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
	static const struct { const char *what; size_t len; unsigned char data[40]; } cases[] = {
		{ "header shorter than itself", 8, { 7, 0, 5, 0 } },
		{ "header longer than the packet", 8, { 9, 0, 5, 0 } },
		{ "field number 0", 10, { 8, 0, 5, 0, 0, 0, 0, 0, 0x00, 1 } },
		{ "a group", 9, { 8, 0, 5, 0, 0, 0, 0, 0, 0x13 } },
		{ "context that is a number", 10, { 8, 0, 5, 0, 0, 0, 0, 0, 0x08, 1 } },
		{ "length past the end", 11, { 8, 0, 5, 0, 0, 0, 0, 0, 0x0a, 5, 1 } },
		{ "huge length", 18, { 8, 0, 5, 0, 0, 0, 0, 0, 0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f } },
		{ "varint of 11 bytes", 20, { 8, 0, 5, 0, 0, 0, 0, 0, 0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1 } },
		{ "varint past 64 bits", 19, { 8, 0, 5, 0, 0, 0, 0, 0, 0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2 } },
		{ "negative status", 19, { 8, 0, 5, 0, 0, 0, 0, 0, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 } },
		{ "status of a stopped process", 12, { 8, 0, 5, 0, 0, 0, 0, 0, 0x10, 0xff, 0x26 } },
		{ "status past 16 bits", 12, { 8, 0, 5, 0, 0, 0, 0, 0, 0x10, 0x80, 0x80, 0x04 } },
		{ "id with a slash", 13, { 8, 0, 5, 0, 0, 0, 0, 0, 0x0a, 3, 0x32, 1, '/' } },
		{ "id with a NUL", 14, { 8, 0, 5, 0, 0, 0, 0, 0, 0x0a, 4, 0x32, 2, 'c', 0 } },
		{ "id that is a number", 12, { 8, 0, 5, 0, 0, 0, 0, 0, 0x0a, 2, 0x30, 1 } },
	};
	struct cs_trace_packet packet = { .status = 42 };

	for (size_t i = 0; i < CS_ARRAY_LEN(cases); i++)
		ck_assert_msg(parse(cases[i].data, cases[i].len, &packet) == -EBADMSG, "%s", cases[i].what);
	ck_assert_int_eq(packet.status, 42);
}
END_TEST

START_TEST(id_of_the_longest_length)
{
	unsigned char data[8 + 3 + 3 + 130] = { 8, 0, 5, 0, 0, 0, 0, 0, 0x0a, 128 + 3, 1, 0x32, 128, 1 };
	struct cs_trace_packet packet;

	data[9] = 0x83; /* 131 = 3 + 128 */
	memset(data + 14, 'a', 130);
	ck_assert_int_eq(parse(data, 14 + 128, &packet), 0);
	ck_assert_uint_eq(strlen(packet.container), 128);
	data[9] = 0x84;
	data[12] = 0x81;
	ck_assert_int_eq(parse(data, 14 + 129, &packet), -EBADMSG);
}
END_TEST

START_TEST(other_kinds_are_only_counted)
{
	/* type 3 (exec): its payload may be anything */
	static const unsigned char data[] = { 8, 0, 3, 0, 1, 0, 0, 0, 0xff, 0xff };
	struct cs_trace_packet packet;

	ck_assert_int_eq(parse(data, sizeof(data), &packet), 0);
	ck_assert_int_eq(packet.kind, CS_TRACE_OTHER);
	ck_assert_uint_eq(packet.dropped, 1);
}
END_TEST

CS_UNIT_SUITE(trace_parse, task_exit_is_read, absent_fields_are_zero,
	      clone_is_read_and_unknown_fields_are_skipped, every_cut_of_a_packet_is_refused_or_whole,
	      what_cannot_be_is_refused, id_of_the_longest_length, other_kinds_are_only_counted)
