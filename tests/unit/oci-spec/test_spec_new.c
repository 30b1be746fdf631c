#include <fcntl.h>
#include <stdlib.h>

#include "oci-spec/spec_new.h"
#include "shim/base/file.h"
#include "tests/unit/unit.h"

/*
 * The golden files are whole configurations: a change of the defaults shows as
 * a change of tests/golden/spec. CS_GOLDEN_WRITE=1 writes them anew.
 */

static struct cs_strv words(const char *const *texts)
{
	struct cs_strv strv = CS_STRV_INIT;

	ck_assert_int_eq(cs_strv_add_all(&strv, texts), 0);
	return strv;
}

static const struct cs_spec_rlimit rlimits[] = {
	{ "RLIMIT_CORE", 1, 1 },
	{ "RLIMIT_NOFILE", 1024, 1024 },
	{ "RLIMIT_STACK", 8 << 20, CS_UNLIMITED },
};

static struct cs_spec_plan strict_plan(const struct cs_strv *args, const struct cs_strv *env)
{
	return (struct cs_spec_plan){
		.args = args,
		.env = env,
		.cwd = "/",
		.uid = 65534,
		.gid = 65534,
		.hostname = "job",
		.root_path = "rootfs",
		.root_readonly = true,
		.tmp_bytes = 64 << 20,
		.tmp_inodes = 10000,
		.shm_bytes = 16 << 20,
		.network_none = true,
		.rlimits = rlimits,
		.n_rlimits = CS_ARRAY_LEN(rlimits),
		.cgroups_path = "/caisson/job",
		.memory_bytes = 256 << 20,
		.memory_swap_bytes = 256 << 20,
		.pids = 64,
		.millicpus = 1000,
	};
}

static void check_golden(const struct cs_spec_plan *plan, const char *name)
{
	cs_auto(buf) text = CS_BUF_INIT(1 << 20), golden = CS_BUF_INIT(1 << 20);
	const char *srcdir = getenv("SRCDIR");
	struct cs_err err = CS_ERR_INIT;
	cs_autojson struct cs_json *config = NULL;
	char path[4096];

	ck_ok(cs_spec_new(plan, &config, &err), err);
	ck_ok(cs_json_write(config, CS_JSON_INDENTED, &text, &err), err);
	ck_assert_int_eq(cs_buf_addc(&text, '\n'), 0);
	snprintf(path, sizeof(path), "%s/tests/golden/spec/%s", srcdir ? srcdir : ".", name);
	if (getenv("CS_GOLDEN_WRITE"))
		ck_assert_int_eq(
			cs_file_write_atomic(AT_FDCWD, path, text.data, text.len, 0644, false), 0);
	ck_assert_msg(cs_file_read(AT_FDCWD, path, &golden) == 0, "%s", path);
	ck_assert_str_eq(text.data, golden.data);
}

START_TEST(the_strict_default)
{
	cs_auto(strv) args = words((const char *[]){ "id", "-u", NULL });
	cs_auto(strv) env = words((const char *[]){ "PATH=/usr/bin:/bin", "HOME=/tmp", NULL });
	struct cs_spec_plan plan = strict_plan(&args, &env);

	check_golden(&plan, "strict.json");
}
END_TEST

START_TEST(everything_asked_for)
{
	cs_auto(strv) args = words((const char *[]){ "sh", NULL });
	cs_auto(strv) capabilities = words((const char *[]){ "CAP_NET_BIND_SERVICE", NULL });
	cs_auto(strv) masked =
		words((const char *[]){ "/sys/devices/system/cpu/cpu0/thermal_throttle", NULL });
	const struct cs_spec_mount mounts[] = {
		{ "/usr", "bind", "/usr", "rbind,rro" },
		{ "/scratch", "tmpfs", "tmpfs", "nosuid,nodev,size=1048576" },
	};
	cs_auto(strv) annotations = words((const char *[]){ "io.example.key=a=b", "io.example.empty=", NULL });
	cs_autojson struct cs_json *seccomp = cs_json_new_object();
	struct cs_spec_plan plan = strict_plan(&args, NULL);

	ck_assert_int_eq(
		cs_json_put(seccomp, "defaultAction", cs_json_new_string("SCMP_ACT_ALLOW")), 0);
	plan.terminal = true;
	plan.root_readonly = false;
	plan.mounts = mounts;
	plan.n_mounts = CS_ARRAY_LEN(mounts);
	plan.masked_extra = &masked;
	plan.userns = true;
	plan.userns_host_id = 100000;
	plan.userns_size = 65536;
	plan.capabilities = &capabilities;
	plan.seccomp = seccomp;
	plan.cpuset_cpus = "0-1";
	plan.oom_group = true;
	plan.annotations = &annotations;
	check_golden(&plan, "full.json");
}
END_TEST

START_TEST(nothing_limited)
{
	cs_auto(strv) args = words((const char *[]){ "sh", NULL });
	struct cs_spec_plan plan = strict_plan(&args, NULL);

	plan.hostname = NULL;
	plan.tmp_bytes = 0;
	plan.n_rlimits = 0;
	plan.cgroups_path = NULL;
	plan.memory_bytes = plan.memory_swap_bytes = plan.pids = plan.millicpus = CS_UNLIMITED;
	plan.network_none = false;
	check_golden(&plan, "unlimited.json");
}
END_TEST

/* A network namespace of others and a user namespace: no sysfs of its own, no group 5. */
START_TEST(a_joined_network_under_a_user_namespace)
{
	cs_auto(strv) args = words((const char *[]){ "sh", NULL });
	struct cs_spec_plan plan = strict_plan(&args, NULL);

	plan.network_none = false;
	plan.network_path = "/run/netns/a";
	plan.userns = true;
	plan.userns_host_id = 100000;
	plan.userns_size = 1;
	check_golden(&plan, "joined.json");
}
END_TEST

START_TEST(no_capability_means_five_empty_sets)
{
	static const char *const sets[] = {
		"bounding", "effective", "inheritable", "permitted", "ambient",
	};
	cs_auto(strv) args = words((const char *[]){ "sh", NULL });
	struct cs_spec_plan plan = strict_plan(&args, NULL);
	cs_autojson struct cs_json *config = NULL;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_spec_new(&plan, &config, &err), err);
	for (size_t i = 0; i < CS_ARRAY_LEN(sets); i++) {
		const struct cs_json *set =
			cs_json_member(cs_json_get(config, "process.capabilities"), sets[i]);

		ck_assert_int_eq(cs_json_kind(set), CS_JSON_ARRAY);
		ck_assert_uint_eq(cs_json_count(set), 0);
	}
}
END_TEST

START_TEST(what_is_written_is_what_is_asked)
{
	cs_auto(strv) args = words((const char *[]){ "sh", NULL });
	struct cs_spec_plan plan = strict_plan(&args, NULL);
	cs_autojson struct cs_json *config = NULL;
	struct cs_err err = CS_ERR_INIT;
	uint64_t value;

	plan.millicpus = 1250;
	plan.cpuset_cpus = "0,2";
	ck_ok(cs_spec_new(&plan, &config, &err), err);
	ck_ok(cs_resource_asked(config, CS_RES_MEMORY, &value, &err), err);
	ck_assert_uint_eq(value, plan.memory_bytes);
	ck_ok(cs_resource_asked(config, CS_RES_MEMORY_SWAP, &value, &err), err);
	ck_assert_uint_eq(value, plan.memory_swap_bytes);
	ck_ok(cs_resource_asked(config, CS_RES_PIDS, &value, &err), err);
	ck_assert_uint_eq(value, plan.pids);
	ck_ok(cs_resource_asked(config, CS_RES_CPU, &value, &err), err);
	ck_assert_uint_eq(value, plan.millicpus);
	ck_assert_str_eq(cs_resource_asked_cpus(config), "0,2");
}
END_TEST

CS_UNIT_SUITE(spec_new, the_strict_default, everything_asked_for, nothing_limited,
	      a_joined_network_under_a_user_namespace, no_capability_means_five_empty_sets,
	      what_is_written_is_what_is_asked)
