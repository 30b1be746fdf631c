#include "shim/files/init.h"

#include <string.h>
#include <sys/stat.h>

#include "shim/base/fd.h"
#include "tests/unit/files/program.h"
#include "tests/unit/unit.h"

static const struct cs_init *found(const struct cs_tree *tree, bool foreign)
{
	const struct cs_init *init = NULL;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_init_find(tree->fd, foreign, &init, &err), err);
	return init;
}

START_TEST(the_first_that_is_there)
{
	struct cs_tree tree;
	const struct cs_init *init;
	struct cs_err err = CS_ERR_INIT;

	cs_tree_init(&tree);
	ck_fails(cs_init_find(tree.fd, false, &init, &err), err, "apt-get install catatonit");
	cs_program(&tree, "usr/bin/tini-static", NULL);
	ck_assert_str_eq(found(&tree, true)->path, "/usr/bin/tini-static");
	/* links stay inside the root they are looked up in */
	cs_program(&tree, "opt/catatonit", NULL);
	cs_tree_link(&tree, "usr/bin/catatonit", "/opt/catatonit");
	ck_assert_str_eq(found(&tree, true)->name, "catatonit");
	cs_tree_release(&tree);
}
END_TEST

START_TEST(dynamic_only_for_this_host)
{
	struct cs_tree tree;
	const struct cs_init *init;
	struct cs_err err = CS_ERR_INIT;

	cs_tree_init(&tree);
	cs_program(&tree, "usr/bin/tini", "/lib64/ld-linux-x86-64.so.2");
	ck_assert_str_eq(found(&tree, false)->path, "/usr/bin/tini");
	ck_fails(cs_init_find(tree.fd, true, &init, &err), err, "'/usr/bin/tini' is dynamically linked");
	cs_program(&tree, "usr/bin/docker-init", NULL);
	ck_assert_str_eq(found(&tree, true)->name, "docker-init");
	cs_tree_release(&tree);
}
END_TEST

START_TEST(what_cannot_run_is_passed_over)
{
	struct cs_tree tree;
	const struct cs_init *init;
	struct cs_err err = CS_ERR_INIT;

	cs_tree_init(&tree);
	cs_tree_file(&tree, "usr/bin/catatonit", "#!/bin/sh\n", 0755);
	cs_tree_file(&tree, "usr/bin/tini-static", "", 0755);
	cs_tree_dir(&tree, "usr/bin/tini", 0755);
	cs_program_flawed(&tree, "usr/bin/docker-init", CS_PROGRAM_FOREIGN);
	cs_tree_fifo(&tree, "sbin/tini");
	ck_fails(cs_init_find(tree.fd, false, &init, &err), err, "none is installed");
	cs_program(&tree, "usr/local/bin/tini", NULL);
	ck_assert_int_eq(fchmodat(tree.fd, "usr/local/bin/tini", 0700, 0), 0);
	cs_err_clear(&err);
	ck_fails(cs_init_find(tree.fd, false, &init, &err), err, "none is installed"); /* the run's user could not */
	cs_tree_release(&tree);
}
END_TEST

START_TEST(rows)
{
	const struct cs_init *init;

	for (size_t i = 0; (init = cs_init_at(i)); i++) {
		ck_assert_int_eq(init->path[0], '/');
		ck_assert_ptr_nonnull(init->name);
		ck_assert_str_eq(init->args[0], "--"); /* a command that begins with a dash is a command */
	}
}
END_TEST

CS_UNIT_SUITE(init, the_first_that_is_there, dynamic_only_for_this_host, what_cannot_run_is_passed_over, rows)
