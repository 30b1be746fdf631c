#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/files/hostroot.h"
#include "tests/unit/files/tree.h"
#include "tests/unit/unit.h"

/* A skeleton and two mounts before: a bind of TOP/host at /usr, a tmpfs at /scratch. */
struct fixture {
	struct cs_tree host, rootfs;
	struct cs_spec_mount mounts[2];
};

static void setup(struct fixture *f)
{
	cs_tree_init(&f->host);
	cs_tree_init(&f->rootfs);
	cs_tree_dir(&f->host, "lib", 0755);
	cs_tree_file(&f->host, "lib/file", "", 0644);
	cs_tree_link(&f->host, "link", "lib");
	cs_tree_dir(&f->rootfs, "usr", 0755);
	cs_tree_link(&f->rootfs, "lib", "/usr/lib");
	f->mounts[0] = (struct cs_spec_mount){ "/usr", "bind", f->host.path, "rbind,rro" };
	f->mounts[1] = (struct cs_spec_mount){ "/scratch", "tmpfs", "tmpfs", "size=1" };
}

static void teardown(struct fixture *f)
{
	cs_tree_release(&f->host);
	cs_tree_release(&f->rootfs);
}

/* A bind of a directory or of a file. */
static int point(struct fixture *f, const char *path, bool directory, struct cs_err *err)
{
	struct cs_spec_mount mount = { path, "bind", cs_tree_at(&f->host, directory ? "lib" : "lib/file"),
				       "bind,ro" };

	return cs_hostroot_add_point(f->rootfs.fd, f->mounts, CS_ARRAY_LEN(f->mounts), &mount, err);
}

START_TEST(points_are_made_in_the_skeleton)
{
	struct cs_err err = CS_ERR_INIT;
	struct fixture f;
	struct stat st;

	setup(&f);
	umask(077);
	ck_ok(point(&f, "/job/in", true, &err), err);
	ck_ok(point(&f, "/job/file", false, &err), err);
	umask(022);
	ck_ok(point(&f, "/job/in", true, &err), err); /* there already */
	ck_assert_int_eq(fstatat(f.rootfs.fd, "job/in", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFDIR | 0755);
	ck_assert_int_eq(fstatat(f.rootfs.fd, "job/file", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | 0644);
	ck_fails(point(&f, "/job/file", true, &err), err, "is no directory");
	cs_err_clear(&err);
	ck_fails(point(&f, "/job/in", false, &err), err, "is a directory");
	cs_err_clear(&err);
	ck_fails(point(&f, "/job/file/below", true, &err), err, "is no directory");
	cs_err_clear(&err);
	ck_fails(point(&f, "/../up", true, &err), err, "'..'");
	teardown(&f);
}
END_TEST

START_TEST(nothing_is_made_on_the_host)
{
	static const char *const paths[] = { "/usr/new", "/usr/lib/new", "/lib/new", "/usr/new/er" };
	struct cs_err err = CS_ERR_INIT;
	struct fixture f;

	setup(&f);
	for (size_t i = 0; i < CS_ARRAY_LEN(paths); i++) {
		for (int directory = 0; directory < 2; directory++) {
			ck_fails(point(&f, paths[i], directory, &err), err, "on the host");
			ck_assert_int_eq(err.kind, CS_INVALID);
			cs_err_clear(&err);
		}
	}
	ck_assert_int_lt(faccessat(f.host.fd, "new", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(f.host.fd, "lib/new", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(f.rootfs.fd, "usr/lib", F_OK, 0), 0);

	ck_ok(point(&f, "/usr/lib", true, &err), err);
	ck_ok(point(&f, "/lib/file", false, &err), err);
	ck_fails(point(&f, "/usr/link", true, &err), err, "is a link on the host");
	teardown(&f);
}
END_TEST

START_TEST(a_tmpfs_has_a_point_of_its_mode)
{
	struct cs_spec_mount mount = { "/a/t", "tmpfs", "tmpfs", "nosuid,size=1,mode=1770,uid=5" };
	struct cs_err err = CS_ERR_INIT;
	struct fixture f;
	struct stat st;

	setup(&f);
	ck_ok(cs_hostroot_add_point(f.rootfs.fd, f.mounts, CS_ARRAY_LEN(f.mounts), &mount, &err), err);
	ck_assert_int_eq(fstatat(f.rootfs.fd, "a", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFDIR | 0755);
	ck_assert_int_eq(fstatat(f.rootfs.fd, "a/t", &st, 0), 0);
	ck_assert_uint_eq(st.st_mode, S_IFDIR | 01770);
	mount = (struct cs_spec_mount){ "/b", "bind", "/not/there", "bind,ro" };
	ck_fails(cs_hostroot_add_point(f.rootfs.fd, f.mounts, CS_ARRAY_LEN(f.mounts), &mount, &err), err,
		 "source '/not/there'");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	teardown(&f);
}
END_TEST

START_TEST(a_tmpfs_is_the_engines_to_fill)
{
	struct cs_err err = CS_ERR_INIT;
	struct fixture f;

	setup(&f);
	ck_ok(point(&f, "/scratch/a/b", true, &err), err);
	ck_assert_int_lt(faccessat(f.rootfs.fd, "scratch", F_OK, 0), 0);
	teardown(&f);
}
END_TEST

CS_UNIT_SUITE(hostroot_point, points_are_made_in_the_skeleton, nothing_is_made_on_the_host,
	      a_tmpfs_has_a_point_of_its_mode, a_tmpfs_is_the_engines_to_fill)
