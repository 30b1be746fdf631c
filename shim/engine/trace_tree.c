#include "shim/engine/trace_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/attr.h"

/* gVisor gives out no larger one (TasksLimit in pkg/sentry/kernel), and begins anew at the end. */
#define NUMBERS_MAX 65536U

/* Roots whose end is remembered: their caissons ask at once. */
#define ENDS_MAX 64

struct group {
	uint32_t root;    /* 0: no such group, or a root that has cloned nothing */
	uint32_t threads;
};

struct cs_trace_tree {
	struct group groups[NUMBERS_MAX];
	uint32_t highest;
	bool torn;
	struct end {
		uint32_t root;
		int status;
	} ends[ENDS_MAX];
	size_t next_end;
};

struct cs_trace_tree *cs_trace_tree_new(void)
{
	return calloc(1, sizeof(struct cs_trace_tree));
}

void cs_trace_tree_free(struct cs_trace_tree *tree)
{
	free(tree);
}

static struct group *at(struct cs_trace_tree *tree, uint64_t number)
{
	if (number == 0 || number >= NUMBERS_MAX) {
		tree->torn = true;
		return NULL;
	}
	tree->highest = CS_MAX(tree->highest, (uint32_t)number);
	return &tree->groups[number];
}

static void forget_end(struct cs_trace_tree *tree, uint32_t root)
{
	for (size_t i = 0; i < ENDS_MAX; i++)
		if (tree->ends[i].root == root)
			tree->ends[i].root = 0;
}

static void note_clone(struct cs_trace_tree *tree, const struct cs_trace_packet *packet)
{
	struct group *parent = at(tree, packet->group), *child = at(tree, packet->new_group);

	if (!parent || !child)
		return;
	if (parent->root == 0) /* nobody cloned it */
		*parent = (struct group){ .root = (uint32_t)packet->group, .threads = 1 };
	if (child == parent) {
		parent->threads++;
		return;
	}
	/* a number that is given out anew: what was there has ended, though its packet did not come */
	*child = (struct group){ .root = parent->root, .threads = 1 };
	forget_end(tree, (uint32_t)packet->new_group);
}

/* Of a group with threads each end is told; the last one counts. */
static void note_root_end(struct cs_trace_tree *tree, uint32_t root, int status)
{
	struct end *end = NULL;

	for (size_t i = 0; i < ENDS_MAX && !end; i++)
		if (tree->ends[i].root == root)
			end = &tree->ends[i];
	if (!end) {
		end = &tree->ends[tree->next_end];
		tree->next_end = (tree->next_end + 1) % ENDS_MAX;
	}
	*end = (struct end){ .root = root, .status = status };
}

static void note_exit(struct cs_trace_tree *tree, const struct cs_trace_packet *packet)
{
	struct group *group = at(tree, packet->group);

	if (!group)
		return;
	if (group->root == 0 || group->root == packet->group)
		note_root_end(tree, (uint32_t)packet->group, packet->status);
	if (group->root != 0 && --group->threads == 0)
		*group = (struct group){ 0 };
}

void cs_trace_tree_note(struct cs_trace_tree *tree, const struct cs_trace_packet *packet)
{
	if (packet->kind == CS_TRACE_CLONE)
		note_clone(tree, packet);
	else if (packet->kind == CS_TRACE_EXIT)
		note_exit(tree, packet);
}

size_t cs_trace_tree_live(const struct cs_trace_tree *tree, uint32_t root, uint32_t *ret, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 1; i <= tree->highest; i++) {
		if (tree->groups[i].root != root || i == root)
			continue;
		if (n < max)
			ret[n] = i;
		n++;
	}
	return n;
}

int cs_trace_tree_is_of(const struct cs_trace_tree *tree, uint32_t process, uint32_t root)
{
	if (process >= NUMBERS_MAX || tree->groups[process].root == 0)
		return -ENODATA;
	return tree->groups[process].root == root;
}

int cs_trace_tree_status(const struct cs_trace_tree *tree, uint32_t root, int *ret_status)
{
	for (size_t i = 0; i < ENDS_MAX; i++)
		if (root != 0 && tree->ends[i].root == root) {
			*ret_status = tree->ends[i].status;
			return 0;
		}
	return -ENODATA;
}

bool cs_trace_tree_is_whole(const struct cs_trace_tree *tree)
{
	return !tree->torn;
}
