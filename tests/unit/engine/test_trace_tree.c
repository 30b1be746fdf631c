#include <errno.h>

#include "shim/engine/trace_tree.h"
#include "tests/unit/unit.h"

static struct cs_trace_tree *tree;

static void clone(uint64_t parent, uint64_t group, uint64_t thread)
{
	struct cs_trace_packet p = { .kind = CS_TRACE_CLONE, .thread = parent, .group = parent, .new_thread = thread, .new_group = group };

	cs_trace_tree_note(tree, &p);
}

static void end(uint64_t group, uint64_t thread, int status)
{
	struct cs_trace_packet p = { .kind = CS_TRACE_EXIT, .thread = thread, .group = group, .status = status };

	cs_trace_tree_note(tree, &p);
}

/* Living descendants as a sum of powers of two: enough for the small numbers here. */
static unsigned live(uint32_t root)
{
	uint32_t found[16];
	size_t n = cs_trace_tree_live(tree, root, found, CS_ARRAY_LEN(found));
	unsigned bits = 0;

	for (size_t i = 0; i < n && i < CS_ARRAY_LEN(found); i++)
		bits |= 1U << found[i];
	return bits;
}

START_TEST(descendants_are_known_when_their_parents_have_gone)
{
	tree = cs_trace_tree_new();
	clone(1, 2, 2);  /* of init */
	clone(5, 6, 6);  /* 5: an exec */
	clone(6, 7, 7);
	end(6, 6, 0);
	clone(7, 8, 8);
	end(7, 7, 9);
	ck_assert_uint_eq(live(5), 1U << 8);
	ck_assert_uint_eq(live(1), 1U << 2);
	ck_assert_int_eq(cs_trace_tree_is_of(tree, 8, 5), 1);
	ck_assert_int_eq(cs_trace_tree_is_of(tree, 2, 5), 0);
	ck_assert_int_eq(cs_trace_tree_is_of(tree, 9, 5), -ENODATA);
	end(5, 5, 0x8900);
	ck_assert_uint_eq(live(5), 1U << 8);
	end(8, 8, 9);
	ck_assert_uint_eq(live(5), 0);
	cs_trace_tree_free(tree);
}
END_TEST

START_TEST(roots_end_with_a_status)
{
	int status = -1;

	tree = cs_trace_tree_new();
	ck_assert_int_eq(cs_trace_tree_status(tree, 4, &status), -ENODATA);
	end(4, 4, 0x8900); /* it never cloned anything */
	ck_assert_int_eq(cs_trace_tree_status(tree, 4, &status), 0);
	ck_assert_int_eq(status, 0x8900);
	clone(5, 6, 6);
	end(6, 6, 0x100);
	ck_assert_int_eq(cs_trace_tree_status(tree, 6, &status), -ENODATA); /* no root */
	/* the number again, for a child: the end of the root that had it is over */
	clone(5, 4, 4);
	ck_assert_int_eq(cs_trace_tree_status(tree, 4, &status), -ENODATA);
	cs_trace_tree_free(tree);
}
END_TEST

START_TEST(threads_are_no_processes)
{
	int status;

	tree = cs_trace_tree_new();
	clone(5, 5, 6); /* two threads more */
	clone(5, 5, 7);
	clone(5, 8, 8);
	end(5, 5, 0); /* the first one goes, the process stays */
	ck_assert_uint_eq(live(5), 1U << 8);
	end(5, 6, 9);
	end(5, 7, 9);
	ck_assert_int_eq(cs_trace_tree_status(tree, 5, &status), 0);
	ck_assert_int_eq(status, 9);
	ck_assert_uint_eq(live(5), 1U << 8);
	cs_trace_tree_free(tree);
}
END_TEST

START_TEST(hostile_numbers)
{
	tree = cs_trace_tree_new();
	ck_assert(cs_trace_tree_is_whole(tree));
	clone(0, 5, 5);
	clone(UINT64_MAX, 5, 5);
	clone(5, 1 << 20, 6);
	end(1 << 30, 1, 0);
	end(3, 3, 0);
	ck_assert(!cs_trace_tree_is_whole(tree));
	ck_assert_uint_eq(live(5), 0);
	ck_assert_int_eq(cs_trace_tree_is_of(tree, UINT32_MAX, 5), -ENODATA);
	/* more ends than are remembered */
	for (uint64_t i = 100; i < 300; i++)
		end(i, i, 0);
	ck_assert_uint_eq(live(100), 0);
	cs_trace_tree_free(tree);
}
END_TEST

CS_UNIT_SUITE(trace_tree, descendants_are_known_when_their_parents_have_gone, roots_end_with_a_status,
	      threads_are_no_processes, hostile_numbers)
