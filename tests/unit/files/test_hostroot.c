#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/files/hostroot_int.h"
#include "tests/unit/files/tree.h"
#include "tests/unit/unit.h"

static const struct cs_hostroot_plan plan = {
	.hostname = "0123456789ab", .uid = 1000, .gid = 1001, .bind_options = "rbind,rro",
};

static const struct cs_spec_mount *mount_to(const struct cs_hostroot *root, const char *path)
{
	for (size_t i = 0; i < root->n_mounts; i++)
		if (strcmp(root->mounts[i].destination, path) == 0)
			return &root->mounts[i];
	return NULL;
}

/* A host that has one of each kind. */
static void make_host(const struct cs_tree *host)
{
	cs_tree_dir(host, "usr/bin", 0755);
	cs_tree_file(host, "usr/share/zoneinfo/UTC", "TZif", 0644);
	cs_tree_link(host, "bin", "usr/bin");
	cs_tree_dir(host, "lib", 0755);
	cs_tree_link(host, "lib64", "nowhere");
	cs_tree_file(host, "etc/services", "echo 7/tcp\n", 0644);
	cs_tree_file(host, "etc/shadow", "secret", 0600);
	cs_tree_link(host, "etc/localtime", "../usr/share/zoneinfo/UTC");
	cs_tree_dir(host, "etc/pki/certs", 0755);
	cs_tree_link(host, "etc/ssl/certs", "../pki/certs");
	cs_tree_dir(host, "etc/python3", 0755);
	cs_tree_dir(host, "etc/python3.11", 0755);
	cs_tree_dir(host, "etc/python2", 0755);
	cs_tree_fifo(host, "etc/protocols");
	cs_tree_dir(host, "home", 0755);
}

START_TEST(the_skeleton_follows_the_host)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_tree host, rootfs;
	struct cs_hostroot root;
	const struct cs_spec_mount *mount;

	cs_tree_init(&host);
	cs_tree_init(&rootfs);
	make_host(&host);
	ck_ok(cs__hostroot_make_from(host.path, rootfs.fd, &plan, &root, &err), err);

	ck_assert_str_eq(root.mounts[0].destination, "/usr");
	ck_assert_str_eq(root.mounts[0].source, cs_tree_at(&host, "usr"));
	ck_assert_str_eq(root.mounts[0].type, "bind");
	ck_assert_str_eq(root.mounts[0].options, "rbind,rro,nosuid,nodev");

	/* links into /usr cost no mount */
	ck_assert_str_eq(cs_tree_target(&rootfs, "bin"), "/usr/bin");
	ck_assert_ptr_null(mount_to(&root, "/bin"));
	ck_assert_str_eq(cs_tree_target(&rootfs, "etc/localtime"), "/usr/share/zoneinfo/UTC");
	ck_assert_ptr_null(mount_to(&root, "/etc/localtime"));

	/* a link elsewhere is bound by what it names */
	mount = mount_to(&root, "/etc/ssl/certs");
	ck_assert_ptr_nonnull(mount);
	ck_assert_str_eq(mount->source, cs_tree_at(&host, "etc/pki/certs"));

	ck_assert_ptr_nonnull(mount_to(&root, "/lib"));
	ck_assert_ptr_nonnull(mount_to(&root, "/etc/services"));
	ck_assert_ptr_nonnull(mount_to(&root, "/etc/python3"));
	ck_assert_ptr_nonnull(mount_to(&root, "/etc/python3.11"));
	ck_assert_uint_eq(root.n_mounts, 6);

	/* absent, dangling, of a wrong kind, not in the table */
	ck_assert_int_lt(faccessat(rootfs.fd, "lib64", F_OK, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_lt(faccessat(rootfs.fd, "sbin", F_OK, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_lt(faccessat(rootfs.fd, "etc/protocols", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(rootfs.fd, "etc/shadow", F_OK, 0), 0);
	ck_assert_int_lt(faccessat(rootfs.fd, "home", F_OK, 0), 0);

	cs_hostroot_release(&root);
	cs_tree_release(&host);
	cs_tree_release(&rootfs);
}
END_TEST

START_TEST(every_mount_has_a_point_of_its_kind_and_the_umask_changes_nothing)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_hostroot root;
	struct cs_tree rootfs;
	struct stat st;

	cs_tree_init(&rootfs);
	umask(0777);
	ck_ok(cs_hostroot_make(rootfs.fd, &plan, &root, &err), err); /* this very host */
	umask(022);
	for (size_t i = 0; i < root.n_mounts; i++) {
		const char *point = root.mounts[i].destination + 1;
		struct stat source;

		ck_assert_msg(fstatat(rootfs.fd, point, &st, AT_SYMLINK_NOFOLLOW) == 0, "%s", point);
		ck_assert_int_eq(stat(root.mounts[i].source, &source), 0);
		ck_assert_uint_eq(st.st_mode & S_IFMT, source.st_mode & S_IFMT);
		ck_assert_uint_eq(st.st_mode & 07777, S_ISDIR(st.st_mode) ? 0755 : 0644);
	}
	for (size_t i = 0; i < cs__hostroot_n_dirs; i++) {
		const struct cs__hostroot_dir *dir = &cs__hostroot_dirs[i];

		ck_assert_int_eq(fstatat(rootfs.fd, dir->path, &st, AT_SYMLINK_NOFOLLOW), 0);
		ck_assert_uint_eq(st.st_mode, S_IFDIR | dir->mode);
	}
	for (size_t i = 0; i < cs__hostroot_n_files; i++) {
		ck_assert_int_eq(fstatat(rootfs.fd, cs__hostroot_files[i].path, &st, 0), 0);
		ck_assert_uint_eq(st.st_mode, S_IFREG | 0644);
	}
	cs_hostroot_release(&root);
	cs_tree_release(&rootfs);
}
END_TEST

START_TEST(the_made_files_name_the_run)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_hostroot root;
	struct cs_tree rootfs;

	cs_tree_init(&rootfs);
	ck_ok(cs_hostroot_make(rootfs.fd, &plan, &root, &err), err);
	cs_hostroot_release(&root);

	ck_assert_str_eq(cs_tree_text(&rootfs, "etc/passwd"),
			 "root:x:0:0:root:/root:/bin/sh\n"
			 "user:x:1000:1001:user:/tmp:/bin/sh\n"
			 "nobody:x:65534:65534:nobody:/tmp:/bin/sh\n");
	ck_assert_str_eq(cs_tree_text(&rootfs, "etc/group"),
			 "root:x:0:\nuser:x:1001:\nnogroup:x:65534:\n");
	ck_assert_str_eq(cs_tree_text(&rootfs, "etc/hosts"),
			 "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
			 "127.0.1.1\t0123456789ab\n");
	ck_assert_str_eq(cs_tree_text(&rootfs, "etc/hostname"), "0123456789ab\n");
	ck_assert_str_eq(cs_tree_text(&rootfs, "etc/resolv.conf"), "");
	ck_assert_ptr_nonnull(strstr(cs_tree_text(&rootfs, "etc/nsswitch.conf"), "hosts: files\n"));
	cs_tree_release(&rootfs);
}
END_TEST

START_TEST(nobody_and_root_have_one_line_each)
{
	struct cs_hostroot_plan other = plan;
	struct cs_err err = CS_ERR_INIT;
	struct cs_hostroot root;
	struct cs_tree rootfs;

	other.uid = other.gid = 65534;
	cs_tree_init(&rootfs);
	ck_ok(cs_hostroot_make(rootfs.fd, &other, &root, &err), err);
	cs_hostroot_release(&root);
	ck_assert_str_eq(cs_tree_text(&rootfs, "etc/passwd"),
			 "root:x:0:0:root:/root:/bin/sh\n"
			 "nobody:x:65534:65534:nobody:/tmp:/bin/sh\n");
	ck_assert_str_eq(cs_tree_text(&rootfs, "etc/group"), "root:x:0:\nnogroup:x:65534:\n");
	cs_tree_release(&rootfs);
}
END_TEST

START_TEST(bad_hostnames_and_full_directories_are_refused)
{
	static const char *const names[] = {
		"", "a b", "a\nroot:x", "\xc3\xa9",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct cs_err err = CS_ERR_INIT;
	struct cs_hostroot root;
	struct cs_tree rootfs;

	cs_tree_init(&rootfs);
	for (size_t i = 0; i < CS_ARRAY_LEN(names); i++) {
		struct cs_hostroot_plan other = plan;

		other.hostname = names[i];
		ck_fails(cs_hostroot_make(rootfs.fd, &other, &root, &err), err, "no host name");
		cs_err_clear(&err);
	}
	cs_tree_link(&rootfs, "etc", "/tmp"); /* nothing may be made through it */
	ck_fails(cs_hostroot_make(rootfs.fd, &plan, &root, &err), err, "exists");
	ck_assert_int_eq(err.kind, CS_EXISTS);
	cs_tree_release(&rootfs);
}
END_TEST

CS_UNIT_SUITE(hostroot, the_skeleton_follows_the_host,
	      every_mount_has_a_point_of_its_kind_and_the_umask_changes_nothing,
	      the_made_files_name_the_run, nobody_and_root_have_one_line_each,
	      bad_hostnames_and_full_directories_are_refused)
