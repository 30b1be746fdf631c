#include "shim/sys/cgroup_int.h"
#include "tests/unit/unit.h"

/* What systemd makes of Debian 9 to 11 by default. */
#define HYBRID_TEXT \
	"25 24 0:22 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n" \
	"26 25 0:23 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate\n" \
	"27 25 0:24 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n" \
	"31 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:16 - cgroup cgroup rw,cpu,cpuacct\n" \
	"32 25 0:29 / /sys/fs/cgroup/memory rw shared:17 - cgroup cgroup rw,memory\n" \
	"33 25 0:30 / /sys/fs/cgroup/freezer rw shared:18 - cgroup cgroup rw,freezer\n" \
	"34 25 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset,clone_children,release_agent=/x,noprefix\n"

static struct cs_cgroup_host parse(const char *text)
{
	struct cs_cgroup_host host;
	char *copy = strdup(text);

	ck_assert_ptr_nonnull(copy);
	cs_cgroup_host_parse(copy, NULL, &host);
	free(copy);
	return host;
}

static const struct cs_cgroup_mount *mount_at(const struct cs_cgroup_host *host, const char *point)
{
	for (size_t i = 0; i < host->n; i++) {
		if (strcmp(host->mounts[i].point, point) == 0)
			return &host->mounts[i];
	}
	ck_abort_msg("no mount at %s", point);
}

START_TEST(hybrid)
{
	struct cs_cgroup_host host = parse(HYBRID_TEXT);

	ck_assert_int_eq(host.layout, CS_CGROUP_HYBRID);
	ck_assert_uint_eq(host.n, 6);
	ck_assert(mount_at(&host, "/sys/fs/cgroup/unified")->v2);
	ck_assert_str_eq(mount_at(&host, "/sys/fs/cgroup/systemd")->controllers, ",name=systemd,");
	ck_assert_str_eq(mount_at(&host, "/sys/fs/cgroup/cpu,cpuacct")->controllers, ",cpu,cpuacct,");
	ck_assert_str_eq(mount_at(&host, "/sys/fs/cgroup/cpuset")->controllers, ",cpuset,");
	ck_assert(cs_cgroup_host_has(&host, "cpuacct"));
	ck_assert(!cs_cgroup_host_has(&host, "pids"));
	ck_assert(!cs_cgroup_host_has(&host, "cpus"));
}
END_TEST

START_TEST(pure_ones_and_none)
{
	struct cs_cgroup_host host = parse("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");

	ck_assert_int_eq(host.layout, CS_CGROUP_V2);
	host = parse("30 23 0:26 / /c/pids rw - cgroup none rw,pids\n");
	ck_assert_int_eq(host.layout, CS_CGROUP_V1);
	host = parse("30 23 0:26 / / rw - ext4 /dev/sda rw\n");
	ck_assert_int_eq(host.layout, CS_CGROUP_NONE);
	/* v2 with all controllers, and systemd's v1 name for old programs in containers */
	host = parse("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		     "31 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n");
	ck_assert_int_eq(host.layout, CS_CGROUP_V2);
	ck_assert_uint_eq(host.n, 1);
	ck_assert(host.mounts[0].v2);
}
END_TEST

START_TEST(a_hierarchy_counts_once)
{
	/* a container's view of it comes first; the whole one is wanted */
	struct cs_cgroup_host host = parse("40 30 0:29 /docker/abc /c/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
					   "32 25 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
					   "41 30 0:29 / /elsewhere rw - cgroup cgroup rw,memory\n");

	ck_assert_uint_eq(host.n, 1);
	ck_assert_str_eq(host.mounts[0].point, "/sys/fs/cgroup/memory");
	ck_assert_str_eq(host.mounts[0].root, "/");
	/* one over the other: the upper one is seen */
	host = parse("32 25 0:29 / /c rw - cgroup cgroup rw,memory\n"
		     "33 32 0:30 / /c rw - cgroup cgroup rw,pids\n");
	ck_assert_uint_eq(host.n, 1);
	ck_assert(cs_cgroup_host_has(&host, "pids"));
}
END_TEST

START_TEST(packing_keeps_whole_words)
{
	char packed[16];

	cs_cgroup_controllers_pack("cpu memory pids hugetlb io\n", packed, sizeof(packed));
	ck_assert_str_eq(packed, ",cpu,memory,io,");
	ck_assert(cs_cgroup_controllers_have(packed, "memory"));
	ck_assert(!cs_cgroup_controllers_have(packed, "mem"));
	cs_cgroup_controllers_pack("", packed, sizeof(packed));
	ck_assert_str_eq(packed, ",");
	ck_assert(!cs_cgroup_controllers_have(packed, ""));
}
END_TEST

static const char pid_text[] = "12:cpu,cpuacct:/caisson/a\n"
			       "5:name=systemd:/user.slice\n"
			       "4:memory:/docker/abc/caisson/a:b\n"
			       "3:freezer:/docker/abcd\n"
			       "2:cpuset:/docker/abc\n"
			       "0::/init.scope\n";

static void expect_path(const struct cs_cgroup_mount *mount, const char *wanted)
{
	char path[64];

	ck_assert(cs_cgroup_text_path(pid_text, mount, path, sizeof(path)));
	ck_assert_str_eq(path, wanted);
}

START_TEST(where_a_process_is)
{
	struct cs_cgroup_mount cpu = { .controllers = ",cpuacct,cpu,", .root = "/" };
	struct cs_cgroup_mount name = { .controllers = ",name=systemd,", .root = "/" };
	struct cs_cgroup_mount memory = { .controllers = ",memory,", .root = "/docker/abc" };
	struct cs_cgroup_mount freezer = { .controllers = ",freezer,", .root = "/docker/abc" };
	struct cs_cgroup_mount cpuset = { .controllers = ",cpuset,", .root = "/docker/abc" };
	struct cs_cgroup_mount v2 = { .controllers = ",memory,pids,", .root = "/", .v2 = true };
	struct cs_cgroup_mount pids = { .controllers = ",pids,", .root = "/" };
	char path[64];

	expect_path(&cpu, "/caisson/a");
	expect_path(&name, "/user.slice");
	expect_path(&memory, "/caisson/a:b");
	expect_path(&cpuset, "/");
	expect_path(&v2, "/init.scope");
	ck_assert(!cs_cgroup_text_path(pid_text, &freezer, path, sizeof(path)));
	ck_assert(!cs_cgroup_text_path(pid_text, &pids, path, sizeof(path)));
	ck_assert(!cs_cgroup_text_path(pid_text, &cpu, path, 10));
	ck_assert(!cs_cgroup_text_path("", &cpu, path, sizeof(path)));
	ck_assert(!cs_cgroup_text_path("12\n:\n::", &pids, path, sizeof(path)));
}
END_TEST

START_TEST(paths_that_are_groups)
{
	static const char *const good[] = { "/a", "/a/b", "/a/..b", "/system.slice/x.scope" };
	static const char *const bad[] = { "", "/", "a", "//a", "/a/", "/a//b", "/..", "/a/../b", "/./a", "/a/." };

	for (size_t i = 0; i < CS_ARRAY_LEN(good); i++)
		ck_assert_msg(cs_cgroup_path_valid(good[i]), "'%s'", good[i]);
	for (size_t i = 0; i < CS_ARRAY_LEN(bad); i++)
		ck_assert_msg(!cs_cgroup_path_valid(bad[i]), "'%s'", bad[i]);
}
END_TEST

START_TEST(this_host)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup_host host;
	struct cs_cgroup *cgroup;

	ck_ok(cs_cgroup_host_read(&host, &err), err);
	for (size_t i = 0; i < host.n; i++)
		ck_assert_int_eq(host.mounts[i].controllers[0], ',');
	ck_fails(cs_cgroup_open(&host, "/caisson-no-such-group", &cgroup, &err), err, "no-such-group");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_err_clear(&err);
	ck_fails(cs_cgroup_open(&host, "/", &cgroup, &err), err, "'/'");
	ck_assert_int_eq(err.kind, CS_INVALID);
	ck_assert_int_eq(cs_cgroup_remove(&host, "/caisson-no-such-group", 0, NULL), 0);
	cs_cgroup_free(NULL);
}
END_TEST

CS_UNIT_SUITE(cgroup_host, hybrid, pure_ones_and_none, a_hierarchy_counts_once, packing_keeps_whole_words,
	      where_a_process_is, paths_that_are_groups, this_host)
