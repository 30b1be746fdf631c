/* A temporary directory with whatever a test puts in; removed at the end. Failures end the test. */
#ifndef CS_TESTS_FILES_TREE_H
#define CS_TESTS_FILES_TREE_H

#include <limits.h>
#include <sys/types.h>

#include "shim/base/attr.h"

struct cs_tree {
	char path[PATH_MAX]; /* real path of the top */
	int fd;              /* the top */
};

void cs_tree_init(struct cs_tree *tree);
void cs_tree_release(struct cs_tree *tree);

/* All make missing parents, 0755. */
void cs_tree_dir(const struct cs_tree *tree, const char *path, mode_t mode);
void cs_tree_file(const struct cs_tree *tree, const char *path, const char *text, mode_t mode);
void cs_tree_bytes(const struct cs_tree *tree, const char *path, const void *data, size_t len,
		   mode_t mode);
void cs_tree_link(const struct cs_tree *tree, const char *path, const char *target);
void cs_tree_socket(const struct cs_tree *tree, const char *path);
void cs_tree_fifo(const struct cs_tree *tree, const char *path);

/* "TOP/path"; valid until the eighth call after this one. */
const char *cs_tree_at(const struct cs_tree *tree, const char *path);

/* Text of a file; valid like cs_tree_at. NULL when it is not there. */
const char *cs_tree_text(const struct cs_tree *tree, const char *path);

/* Target of a link; "" when it is none. */
const char *cs_tree_target(const struct cs_tree *tree, const char *path);

#endif
