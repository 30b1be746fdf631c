#include <string.h>

#include "shim/task/exec_look.h"
#include "tests/unit/unit.h"

static struct cs_exec_look look, other;

static int read_text(const char *text, struct cs_exec_look *ret, struct cs_err *err)
{
	return cs_exec_look_read(text, strlen(text), ret, err);
}

static void clone(struct cs_trace_tree *tree, uint64_t parent, uint64_t child)
{
	struct cs_trace_packet p = { .kind = CS_TRACE_CLONE, .thread = parent, .group = parent, .new_thread = child, .new_group = child };

	cs_trace_tree_note(tree, &p);
}

START_TEST(ours_by_parents_and_by_packets)
{
	struct cs_trace_tree *tree = cs_trace_tree_new();
	cs_auto(strv) stragglers = CS_STRV_INIT;
	struct cs_err err = CS_ERR_INIT;

	/* 5: the exec; 6 and 7 hang on it; 8 is an orphan that packets know, 9 one that nobody knows, 2 is init's, 10 another exec */
	clone(tree, 1, 2);
	clone(tree, 5, 8);
	ck_ok(read_text("[{\"pid\":7,\"ppid\":6},{\"pid\":1,\"ppid\":0},{\"pid\":2,\"ppid\":1},{\"pid\":6,\"ppid\":5},{\"pid\":5,\"ppid\":0},"
			"{\"pid\":8,\"ppid\":1},{\"pid\":9,\"ppid\":1},{\"pid\":10,\"ppid\":0}]", &look, &err), err);
	ck_assert_uint_eq(cs_exec_look_mark(&look, tree, 5), 4);
	for (size_t i = 0; i < look.n; i++)
		ck_assert_int_eq(look.v[i].ours, look.v[i].pid >= 5 && look.v[i].pid <= 8);
	cs_exec_look_stragglers(&look, tree, &stragglers);
	ck_assert_uint_eq(stragglers.n, 1);
	ck_assert_ptr_nonnull(strstr(stragglers.v[0], "process 9 inside"));
	cs_trace_tree_free(tree);
}
END_TEST

START_TEST(looks_agree_whatever_the_order)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(read_text("[{\"pid\":1,\"ppid\":0},{\"pid\":3,\"ppid\":1}]", &look, &err), err);
	ck_ok(read_text("[{\"pid\":3,\"ppid\":1},{\"pid\":1,\"ppid\":0}]", &other, &err), err);
	ck_assert(cs_exec_look_same(&look, &other));
	ck_ok(read_text("[{\"pid\":1,\"ppid\":0},{\"pid\":4,\"ppid\":1}]", &other, &err), err);
	ck_assert(!cs_exec_look_same(&look, &other));
	ck_ok(read_text("[]", &other, &err), err);
	ck_assert(!cs_exec_look_same(&look, &other));
}
END_TEST

START_TEST(what_is_no_list_of_processes)
{
	static const char *const texts[] = { "", "{}", "[1]", "[{\"pid\":1}]", "[{\"pid\":-1,\"ppid\":0}]", "[{\"pid\":4294967296,\"ppid\":0}]" };

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++) {
		struct cs_err err = CS_ERR_INIT;

		ck_fails(read_text(texts[i], &look, &err), err, "ps");
	}
}
END_TEST

CS_UNIT_SUITE(exec_look, ours_by_parents_and_by_packets, looks_agree_whatever_the_order, what_is_no_list_of_processes)
