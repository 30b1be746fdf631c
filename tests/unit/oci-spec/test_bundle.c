#include "oci-spec/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static char top[64];
static struct cs_json *config;

static void setup(void)
{
	snprintf(top, sizeof(top), "/tmp/caisson-bundle-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
	config = cs_json_new_object();
	ck_assert_int_eq(cs_json_put(config, "ociVersion", cs_json_new_string("1.0.2")), 0);
}

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* What a test made, so that the directory itself can go; nothing else may be in it. */
static void drop_bundle(const char *path)
{
	char inner[512];

	snprintf(inner, sizeof(inner), "%s/config.json", path);
	ck_assert_int_eq(unlink(inner), 0);
	snprintf(inner, sizeof(inner), "%s/rootfs/file", path);
	unlink(inner);
	snprintf(inner, sizeof(inner), "%s/rootfs", path);
	ck_assert_int_eq(rmdir(inner), 0);
	ck_assert_int_eq(rmdir(path), 0);
}

static void teardown(void)
{
	cs_json_free_ptr(&config);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(top), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static int make_file(int rootfs_fd, void *arg, const struct cs_json **to_write CS_UNUSED,
			struct cs_err *err)
{
	cs_autofd int fd = openat(rootfs_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	*(int *)arg += 1;
	return fd < 0 ? cs_fail(err, CS_IO, errno, "file") : 0;
}

START_TEST(a_bundle_is_made)
{
	struct cs_err err = CS_ERR_INIT;
	cs_autojson struct cs_json *back = NULL;
	int calls = 0;

	umask(077);
	ck_ok(cs_bundle_create("b", config, make_file, &calls, &err), err);
	ck_assert_int_eq(calls, 1);
	ck_assert_uint_eq(count_entries("."), 1);
	ck_assert_uint_eq(count_entries("b"), 2);
	ck_assert_int_eq(access("b/rootfs/file", F_OK), 0);
	ck_assert_int_eq(mode_of("b"), 0711);
	ck_assert_int_eq(mode_of("b/config.json"), 0600);
	ck_assert_int_eq(mode_of("b/rootfs"), 0755);
	ck_ok(cs_json_read_file(AT_FDCWD, "b/config.json", &back, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_member(back, "ociVersion")), "1.0.2");
	drop_bundle("b");
}
END_TEST

START_TEST(every_form_of_path)
{
	static const char *const good[] = { "x", "./x", "x/", "x///", "../%s/x", "/%s/x/" };
	static const char *const bad[] = { "", "/", "///", ".", "..", "../..", "./" };
	char path[256];

	for (size_t i = 0; i < CS_ARRAY_LEN(good); i++) {
		struct cs_err err = CS_ERR_INIT;
		const char *insert = strstr(good[i], "%s");

		snprintf(path, sizeof(path), "%.*s%s%s",
			 (int)(insert ? insert - good[i] : (ptrdiff_t)strlen(good[i])), good[i],
			 insert ? top + (good[i][0] == '.' ? strlen("/tmp/") : 1) : "",
			 insert ? insert + 2 : "");
		ck_ok(cs_bundle_create(path, config, NULL, NULL, &err), err);
		drop_bundle("x");
	}
	for (size_t i = 0; i < CS_ARRAY_LEN(bad); i++) {
		struct cs_err err = CS_ERR_INIT;

		ck_assert_msg(cs_bundle_create(bad[i], config, NULL, NULL, &err) < 0, "%s", bad[i]);
		ck_assert_int_eq(err.kind, CS_INVALID);
	}
	ck_assert_uint_eq(count_entries("."), 0);
}
END_TEST

START_TEST(what_is_there_stays)
{
	struct cs_err err = CS_ERR_INIT;
	int calls = 0;

	ck_assert_int_eq(symlink("nowhere", "b"), 0);
	ck_fails(cs_bundle_create("b", config, make_file, &calls, &err), err, "bundle 'b'");
	ck_assert_int_eq(err.kind, CS_EXISTS);
	ck_assert_int_eq(calls, 0);
	ck_assert_int_eq(unlink("b"), 0);
	cs_err_clear(&err);
	ck_assert_int_eq(mkdir("b", 0700), 0);
	ck_fails(cs_bundle_create("b", config, NULL, NULL, &err), err, "File exists");
	ck_assert_int_eq(rmdir("b"), 0);
	ck_assert_uint_eq(count_entries("."), 0);
	cs_err_clear(&err);
	ck_fails(cs_bundle_create("no/b", config, NULL, NULL, &err), err, "No such file");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
}
END_TEST

/* Somebody takes the name while we work. */
static int take_name(int rootfs_fd, void *arg, const struct cs_json **to_write CS_UNUSED,
			struct cs_err *err)
{
	(void)rootfs_fd;
	(void)err;
	ck_assert_int_eq(mkdir(arg, 0700), 0);
	return 0;
}

START_TEST(the_rename_replaces_nothing)
{
	struct cs_err err = CS_ERR_INIT;
	char name[] = "b";

	ck_fails(cs_bundle_create("b", config, take_name, name, &err), err, "File exists");
	ck_assert_int_eq(err.kind, CS_EXISTS);
	ck_assert_uint_eq(count_entries("."), 1);
	ck_assert_int_eq(rmdir("b"), 0);
}
END_TEST

static int fill_and_fail(int rootfs_fd, void *arg, const struct cs_json **to_write CS_UNUSED,
			struct cs_err *err)
{
	cs_autofd int fd = -1;

	(void)arg;
	ck_assert_int_eq(mkdirat(rootfs_fd, "usr", 0755), 0);
	ck_assert_int_eq(mkdirat(rootfs_fd, "usr/lib", 0555), 0);
	ck_assert_int_eq(symlinkat("/tmp", rootfs_fd, "usr/link"), 0);
	ck_assert_int_eq(mkfifoat(rootfs_fd, "usr/fifo", 0600), 0);
	fd = openat(rootfs_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	return cs_fail(err, CS_LIMIT, 0, "no room");
}

START_TEST(a_failed_fill_leaves_nothing)
{
	struct cs_err err = CS_ERR_INIT;

	ck_fails(cs_bundle_create("b", config, fill_and_fail, NULL, &err), err,
		 "bundle 'b': no room");
	ck_assert_int_eq(err.kind, CS_LIMIT);
	ck_assert_uint_eq(count_entries("."), 0);
}
END_TEST

START_TEST(a_config_that_cannot_be_written_leaves_nothing)
{
	struct cs_err err = CS_ERR_INIT;

	ck_assert_int_eq(cs_json_put(config, "hostname", cs_json_new_string("\xff")), 0);
	ck_fails(cs_bundle_create("b", config, NULL, NULL, &err), err, "hostname: the text");
	ck_assert_int_eq(err.kind, CS_INVALID);
	ck_assert_uint_eq(count_entries("."), 0);
}
END_TEST

START_TEST(long_names_are_refused)
{
	struct cs_err err = CS_ERR_INIT;
	char name[300];

	snprintf(name, sizeof(name), "%0250d", 0);
	ck_fails(cs_bundle_create(name, config, NULL, NULL, &err), err, "too long");
	cs_err_clear(&err);
	name[200] = '\0';
	ck_ok(cs_bundle_create(name, config, NULL, NULL, &err), err);
	drop_bundle(name);
}
END_TEST

Suite *suite_bundle(void);
Suite *suite_bundle(void)
{
	const TTest *const tests[] = { a_bundle_is_made,
				       every_form_of_path,
				       what_is_there_stays,
				       the_rename_replaces_nothing,
				       a_failed_fill_leaves_nothing,
				       a_config_that_cannot_be_written_leaves_nothing,
				       long_names_are_refused };
	Suite *suite = suite_create("bundle");
	TCase *cases = tcase_create("bundle");

	tcase_add_checked_fixture(cases, setup, teardown);
	for (size_t i = 0; i < CS_ARRAY_LEN(tests); i++)
		tcase_add_test(cases, tests[i]);
	suite_add_tcase(suite, cases);
	return suite;
}
