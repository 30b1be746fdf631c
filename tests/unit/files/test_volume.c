#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/files/volume.h"
#include "tests/unit/files/tree.h"
#include "tests/unit/unit.h"

static char text[3 * PATH_MAX];

static const char *volume(const struct cs_tree *tree, const char *source, const char *rest)
{
	snprintf(text, sizeof(text), "%s:%s", cs_tree_at(tree, source), rest);
	return text;
}

START_TEST(a_bind_is_read_only_and_named_by_its_real_path)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_spec_mount mount;
	struct cs_tree tree;

	cs_tree_init(&tree);
	cs_tree_dir(&tree, "data", 0755);
	cs_tree_link(&tree, "link", "data");

	ck_ok(cs_volume_parse(volume(&tree, "link", "//in/./put/"), false, false, NULL, &mount, &err),
	      err);
	ck_assert_str_eq(mount.source, cs_tree_at(&tree, "data"));
	ck_assert_str_eq(mount.destination, "/in/put");
	ck_assert_str_eq(mount.type, "bind");
	ck_assert_str_eq(mount.options, "bind,ro,nosuid,nodev");
	cs_volume_release(&mount);
	ck_assert_ptr_null(mount.source);

	/* what is below must be read-only and noexec too */
	ck_ok(cs_volume_parse(volume(&tree, "data", "/in:noexec,rslave"), false, true, NULL, &mount,
			      &err),
	      err);
	ck_assert_str_eq(mount.options, "rbind,rro,rnosuid,rnodev,rnoexec,rslave");
	cs_volume_release(&mount);
	cs_tree_release(&tree);
}
END_TEST

START_TEST(rw_needs_unbounded)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_spec_mount mount;
	struct cs_tree tree;

	cs_tree_init(&tree);
	cs_tree_dir(&tree, "data", 0755);
	ck_fails(cs_volume_parse(volume(&tree, "data", "/d:rw"), false, true, NULL, &mount, &err), err,
		 "--unbounded-volume");
	ck_assert_int_eq(err.kind, CS_DENIED);
	cs_err_clear(&err);
	ck_ok(cs_volume_parse(volume(&tree, "data", "/d:rw"), true, false, NULL, &mount, &err), err);
	ck_assert_str_eq(mount.options, "rbind,rw,nosuid,nodev");
	cs_volume_release(&mount);
	cs_tree_release(&tree);
}
END_TEST

START_TEST(sockets_need_unbounded)
{
	static const char *const sources[] = { "s/api.sock", "s", "l", "fifo" };
	struct cs_err err = CS_ERR_INIT;
	struct cs_spec_mount mount;
	struct cs_tree tree;

	cs_tree_init(&tree);
	cs_tree_socket(&tree, "s/api.sock");
	cs_tree_link(&tree, "l", "s");
	cs_tree_fifo(&tree, "fifo");
	for (size_t i = 0; i < CS_ARRAY_LEN(sources); i++) {
		ck_fails(cs_volume_parse(volume(&tree, sources[i], "/d"), false, true, NULL, &mount,
					 &err),
			 err, "--unbounded-volume");
		ck_assert_int_eq(err.kind, CS_DENIED);
		cs_err_clear(&err);
		ck_ok(cs_volume_parse(volume(&tree, sources[i], "/d"), true, true, NULL, &mount, &err),
		      err);
		cs_volume_release(&mount);
	}

	/* a level lower it is no longer the directory's own */
	cs_tree_socket(&tree, "deep/er/api.sock");
	ck_ok(cs_volume_parse(volume(&tree, "deep", "/d"), false, true, NULL, &mount, &err), err);
	cs_volume_release(&mount);
	cs_tree_release(&tree);
}
END_TEST

START_TEST(the_hosts_own_directories_need_unbounded)
{
	static const char *const texts[] = { "/:/h", "/proc:/h", "/proc/self:/h", "/sys:/h",
					     "/dev:/h", "/dev/null:/h", "/run:/h", "/usr/../run:/h" };
	struct cs_err err = CS_ERR_INIT;
	struct cs_spec_mount mount;

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++) {
		ck_fails(cs_volume_parse(texts[i], false, true, NULL, &mount, &err), err,
			 "--unbounded-volume");
		ck_assert_int_eq(err.kind, CS_DENIED);
		cs_err_clear(&err);
		ck_ok(cs_volume_parse(texts[i], true, true, NULL, &mount, &err), err);
		cs_volume_release(&mount);
	}
	/* a name that only begins the same is another directory */
	ck_fails(cs_volume_parse("/runner-that-is-not-there:/h", false, true, NULL, &mount, &err), err,
		 "No such file");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
}
END_TEST

START_TEST(our_own_directories_are_never_given)
{
	char ours[PATH_MAX * 2];
	const char *const forbidden[] = { "/not/there", ours, NULL };
	struct cs_err err = CS_ERR_INIT;
	struct cs_spec_mount mount;
	struct cs_tree tree;

	cs_tree_init(&tree);
	cs_tree_dir(&tree, "lib/ours/run", 0755);
	cs_tree_dir(&tree, "lib/oursnot", 0755);
	snprintf(ours, sizeof(ours), "%s", cs_tree_at(&tree, "lib/ours"));

	for (int unbounded = 0; unbounded < 2; unbounded++) {
		ck_fails(cs_volume_parse(volume(&tree, "lib/ours", "/d"), unbounded, true, forbidden,
					 &mount, &err),
			 err, "belongs to");
		cs_err_clear(&err);
		ck_fails(cs_volume_parse(volume(&tree, "lib/ours/run", "/d"), unbounded, true,
					 forbidden, &mount, &err),
			 err, "belongs to");
		cs_err_clear(&err);
		ck_fails(cs_volume_parse(volume(&tree, "lib", "/d:rw"), unbounded, true, forbidden,
					 &mount, &err),
			 err, "cannot be writable");
		cs_err_clear(&err);
		ck_ok(cs_volume_parse(volume(&tree, "lib/oursnot", "/d"), unbounded, true, forbidden,
				      &mount, &err),
		      err);
		cs_volume_release(&mount);
	}
	ck_fails(cs_volume_parse(volume(&tree, "lib", "/d"), false, true, forbidden, &mount, &err), err,
		 "--unbounded-volume");
	cs_err_clear(&err);
	ck_ok(cs_volume_parse(volume(&tree, "lib", "/d"), true, true, forbidden, &mount, &err), err);
	cs_volume_release(&mount);
	cs_tree_release(&tree);
}
END_TEST

/* By the same rows as a volume, and with the same exceptions. */
START_TEST(a_root_is_refused_what_a_volume_is)
{
	static const char *const host[] = { "/", "/proc", "/proc/self", "/sys", "/dev", "/run", "/usr/../run" };
	char ours[PATH_MAX * 2];
	const char *const forbidden[] = { ours, NULL };
	struct cs_err err = CS_ERR_INIT;
	struct cs_tree tree;
	char *path;
	int fd;

	cs_tree_init(&tree);
	cs_tree_dir(&tree, "root/bin", 0755);
	cs_tree_link(&tree, "link", "root");
	cs_tree_socket(&tree, "s/api.sock");
	cs_tree_file(&tree, "file", "", 0644);
	cs_tree_dir(&tree, "lib/ours/run", 0755);
	snprintf(ours, sizeof(ours), "%s", cs_tree_at(&tree, "lib/ours"));

	ck_ok(cs_volume_open_root(cs_tree_at(&tree, "link"), false, forbidden, &path, &fd, &err), err);
	ck_assert_str_eq(path, cs_tree_at(&tree, "root"));
	ck_assert_int_eq(faccessat(fd, "bin", F_OK, 0), 0);
	free(path);
	close(fd);
	for (size_t i = 0; i < CS_ARRAY_LEN(host); i++) {
		ck_fails(cs_volume_open_root(host[i], false, forbidden, &path, &fd, &err), err,
			 "--unbounded-volume");
		ck_assert_int_eq(err.kind, CS_DENIED);
		cs_err_clear(&err);
		ck_ok(cs_volume_open_root(host[i], true, forbidden, &path, &fd, &err), err);
		free(path);
		close(fd);
	}
	ck_fails(cs_volume_open_root(cs_tree_at(&tree, "s"), false, forbidden, &path, &fd, &err), err, "socket");
	cs_err_clear(&err);
	ck_fails(cs_volume_open_root(cs_tree_at(&tree, "lib"), false, forbidden, &path, &fd, &err), err,
		 "--unbounded-volume");
	cs_err_clear(&err);
	ck_fails(cs_volume_open_root(cs_tree_at(&tree, "lib/ours/run"), true, forbidden, &path, &fd, &err), err,
		 "belongs to");
	cs_err_clear(&err);
	ck_fails(cs_volume_open_root(cs_tree_at(&tree, "file"), true, forbidden, &path, &fd, &err), err,
		 "is no directory");
	ck_assert_int_eq(err.kind, CS_INVALID);
	cs_err_clear(&err);
	ck_fails(cs_volume_open_root(cs_tree_at(&tree, "none"), true, forbidden, &path, &fd, &err), err, "No such file");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_tree_release(&tree);
}
END_TEST

struct bad {
	const char *text, *part;
};

START_TEST(wrong_volume_texts_say_why)
{
	static const struct bad rows[] = {
		{ "", "SRC:DST" },
		{ "/usr", "SRC:DST" },
		{ "data:/d", "named volumes" },
		{ "./data:/d", "absolute path" },
		{ "/usr:", "absolute path inside" },
		{ "/usr:d", "absolute path inside" },
		{ "/usr:/a/../b", "'..'" },
		{ "/usr:/", "may not be" },
		{ "/usr://.//", "may not be" },
		{ "/usr:/proc", "may not be" },
		{ "/usr:/proc/1", "below /proc" },
		{ "/usr:/dev/", "may not be" },
		{ "/usr:/a:ro:rw", "three parts" },
		{ "/usr:/a:", "empty option" },
		{ "/usr:/a:ro,", "empty option" },
		{ "/usr:/a:ro,rw", "contradicts" },
		{ "/usr:/a:ro,ro", "repeats" },
		{ "/usr:/a:z", "SELinux" },
		{ "/usr:/a:suid", "unknown option 'suid'; known: ro, rw, exec" },
		{ "/usr:/a:rshared", "unknown option" },
		{ "/usr:/a:ro=1", "takes no value" },
		{ "/usr:/a\xff", "UTF-8" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_err err = CS_ERR_INIT;
		struct cs_spec_mount mount;

		ck_fails(cs_volume_parse(rows[i].text, true, true, NULL, &mount, &err), err,
			 rows[i].part);
	}
}
END_TEST

START_TEST(a_tmpfs_has_always_a_size_and_an_inode_limit)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_spec_mount mount;
	uint64_t bytes;

	ck_ok(cs_tmpfs_parse("/scratch/", 1 << 20, &mount, &bytes, &err), err);
	ck_assert_str_eq(mount.destination, "/scratch");
	ck_assert_str_eq(mount.type, "tmpfs");
	ck_assert_str_eq(mount.source, "tmpfs");
	ck_assert_str_eq(mount.options,
			 "nosuid,nodev,noexec,size=1048576,nr_inodes=256,mode=1777");
	ck_assert_uint_eq(bytes, 1 << 20);
	cs_volume_release(&mount);

	ck_ok(cs_tmpfs_parse("/s:size=2m,exec,nr_inodes=7,mode=0700,uid=5,gid=6,ro", 1, &mount, &bytes,
			     &err),
	      err);
	ck_assert_str_eq(mount.options,
			 "nosuid,nodev,ro,size=2097152,nr_inodes=7,mode=700,uid=5,gid=6");
	ck_assert_uint_eq(bytes, 2 << 20);
	cs_volume_release(&mount);
}
END_TEST

START_TEST(wrong_tmpfs_texts_say_why)
{
	static const struct bad rows[] = {
		{ "scratch", "absolute path" },
		{ "/proc/x", "below /proc" },
		{ "/s:size=0", "out of range" },
		{ "/s:size=50%", "wrong form" },
		{ "/s:size", "needs a value" },
		{ "/s:nr_inodes=0", "out of range" },
		{ "/s:nr_inodes=18446744073709551615", "out of range" },
		{ "/s:mode=4755", "out of range" },
		{ "/s:mode=9", "wrong form" },
		{ "/s:uid=-1", "wrong form" },
		{ "/s:size=1m,size=2m", "repeats" },
		{ "/s:huge=always", "known: size=" },
		{ "/s", "needs a size" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_err err = CS_ERR_INIT;
		struct cs_spec_mount mount;
		uint64_t bytes;

		ck_fails(cs_tmpfs_parse(rows[i].text, 0, &mount, &bytes, &err), err, rows[i].part);
		ck_assert_int_eq(err.kind, CS_INVALID);
	}
}
END_TEST

CS_UNIT_SUITE(volume, a_bind_is_read_only_and_named_by_its_real_path, rw_needs_unbounded,
	      sockets_need_unbounded, the_hosts_own_directories_need_unbounded,
	      our_own_directories_are_never_given, a_root_is_refused_what_a_volume_is, wrong_volume_texts_say_why,
	      a_tmpfs_has_always_a_size_and_an_inode_limit, wrong_tmpfs_texts_say_why)
