#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oci-spec/profile.h"
#include "oci-spec/profile_table.h"
#include "shim/base/file.h"
#include "tests/unit/unit.h"

/* --- the table ---------------------------------------------------------------------- */

START_TEST(rows_are_sorted_and_unique)
{
	const struct cs_profile_row *row, *before = NULL;

	for (size_t i = 0; (row = cs_profile_row_at(i)) != NULL; before = row, i++)
		ck_assert_msg(!before || strcmp(before->name, row->name) < 0, "%s stands behind %s",
			      row->name, before->name);
}
END_TEST

static const struct cs_profile_row *row_of(const char *name)
{
	const struct cs_profile_row *row;

	for (size_t i = 0; (row = cs_profile_row_at(i)) != NULL; i++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

START_TEST(filters_belong_to_rows)
{
	const struct cs_profile_filter *filter;

	for (size_t i = 0; (filter = cs_profile_filter_at(i)) != NULL; i++) {
		ck_assert_ptr_nonnull(row_of(filter->name));
		ck_assert_int_eq(row_of(filter->name)->verdict, CS_PROFILE_FILTER);
		ck_assert(cs_profile_action_known(filter->action));
		ck_assert(cs_profile_op_known(filter->op));
	}
}
END_TEST

START_TEST(capabilities_open_what_is_denied)
{
	const struct cs_profile_row *row;

	for (size_t i = 0; (row = cs_profile_row_at(i)) != NULL; i++)
		ck_assert_msg(!row->capability[0] || row->verdict == CS_PROFILE_DENY, "%s",
			      row->name);
}
END_TEST

/* A call that libseccomp knows on this machine has a verdict of ours. Newer ones show up here first. */
START_TEST(every_call_up_to_linux_6_7_has_a_row)
{
	static const uint32_t arches[] = { SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_AARCH64 };

	for (size_t i = 0; i < CS_ARRAY_LEN(arches); i++)
		for (int number = 0; number <= 456; number++) {
			cs_autofree char *name =
				seccomp_syscall_resolve_num_arch(arches[i], number);

			ck_assert_msg(!name || row_of(name), "%s", name);
		}
}
END_TEST

START_TEST(what_engines_need_is_allowed)
{
	const struct cs_profile_need *need;

	for (size_t i = 0; (need = cs_profile_need_at(i)) != NULL; i++)
		ck_assert_int_eq(row_of(need->name)->verdict, CS_PROFILE_ALLOW);
}
END_TEST

/* --- the built-in profile --------------------------------------------------------------- */

/* Action for a call without regard to arguments; "args" when a condition decides, NULL for the default. */
static const char *action_for(const struct cs_json *profile, const char *name)
{
	const struct cs_json *rules = cs_json_member(profile, "syscalls");

	for (size_t i = 0; i < cs_json_count(rules); i++) {
		const struct cs_json *rule = cs_json_at(rules, i);
		cs_auto(strv) names = CS_STRV_INIT;

		ck_assert_int_eq(cs_json_get_strv(cs_json_member(rule, "names"), &names), 0);
		if (cs_strv_has(&names, name))
			return cs_json_member(rule, "args")
				       ? "args"
				       : cs_json_string(cs_json_member(rule, "action"));
	}
	return NULL;
}

static struct cs_json *built_in(const char *const *allow, const char *const *capabilities)
{
	cs_auto(strv) names = CS_STRV_INIT, caps = CS_STRV_INIT;
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *profile = NULL;

	ck_assert_int_eq(cs_strv_add_all(&names, allow), 0);
	ck_assert_int_eq(cs_strv_add_all(&caps, capabilities), 0);
	ck_ok(cs_profile_default_for(&names, &caps, &profile, &err), err);
	return profile;
}

START_TEST(the_default_allows_programs_and_no_more)
{
	static const char *const denied[] = {
		"mount",
		"umount2",
		"unshare",
		"setns",
		"bpf",
		"keyctl",
		"add_key",
		"request_key",
		"reboot",
		"swapon",
		"perf_event_open",
		"io_uring_setup",
		"userfaultfd",
		"init_module",
		"kexec_load",
		"open_by_handle_at",
		"pivot_root",
		"clock_settime",
		"acct",
		"chroot",
		"sethostname",
		"mount_setattr",
	};
	cs_autojson struct cs_json *profile = built_in(NULL, NULL);
	uint64_t number;

	ck_assert_str_eq(cs_json_string(cs_json_member(profile, "defaultAction")),
			 "SCMP_ACT_ERRNO");
	ck_assert_int_eq(cs_json_get_u64(cs_json_member(profile, "defaultErrnoRet"), &number), 0);
	ck_assert_uint_eq(number, ENOSYS);
	for (size_t i = 0; i < CS_ARRAY_LEN(denied); i++)
		ck_assert_str_eq(action_for(profile, denied[i]), "SCMP_ACT_ERRNO");
	ck_assert_str_eq(action_for(profile, "openat"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(profile, "clone"), "args");
	ck_assert_str_eq(action_for(profile, "socket"), "args");
	ck_assert_str_eq(action_for(profile, "personality"), "args");
	ck_assert_ptr_null(action_for(profile, "clone3"));
}
END_TEST

/* libseccomp takes all of it: no rule contradicts another, on any of the architectures. */
START_TEST(the_default_compiles)
{
	cs_autojson struct cs_json *plain = built_in(NULL, NULL);
	cs_autojson struct cs_json *wide =
		built_in((const char *[]){ "socketcall", "keyctl", NULL },
			 (const char *[]){ "CAP_SYS_ADMIN", NULL });
	cs_auto(buf) of_plain = CS_BUF_INIT(1 << 20), of_wide = CS_BUF_INIT(1 << 20);
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_profile_compile(plain, &of_plain, &err), err);
	ck_ok(cs_profile_compile(wide, &of_wide, &err), err);
	ck_assert_uint_eq(of_plain.len % sizeof(struct sock_filter), 0);
	ck_assert_uint_gt(of_plain.len / sizeof(struct sock_filter), 100);
	ck_assert_uint_le(of_plain.len / sizeof(struct sock_filter), BPF_MAXINSNS);
}
END_TEST

/* --- what the compiled default does: run by the kernel, in a child --------------------------- */

static int in_force_child(const struct cs_buf *bpf)
{
	const struct sock_fprog program = {
		.len = (unsigned short)(bpf->len / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)(void *)bpf->data,
	};
	int status;

#define ERRNO_OF(number, ...) (syscall(number, __VA_ARGS__) < 0 ? errno : 0)
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 1;
	if (ERRNO_OF(SYS_clone3, NULL, 0) != ENOSYS || ERRNO_OF(9999, 0) != ENOSYS)
		return 2;
	if (ERRNO_OF(SYS_mount, NULL, NULL, NULL, 0, NULL) != EPERM ||
	    ERRNO_OF(SYS_unshare, CLONE_NEWUSER) != EPERM ||
	    ERRNO_OF(SYS_keyctl, 0, 0, 0, 0, 0) != EPERM || ERRNO_OF(SYS_bpf, 0, NULL, 0) != EPERM)
		return 3;
	if (ERRNO_OF(SYS_clone, CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL) != EPERM)
		return 4;
	if (ERRNO_OF(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0) != EAFNOSUPPORT ||
	    ERRNO_OF(SYS_socket, AF_UNIX, SOCK_STREAM, 0) != 0)
		return 5;
	if (ERRNO_OF(SYS_personality, 0xffffffff) != 0)
		return 6;
	pid_t pid = fork(); /* by clone without namespaces */
	if (pid < 0)
		return 7;
	if (pid == 0)
		_exit(42);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 42)
		return 8;
	return 0;
}

START_TEST(the_default_in_force)
{
	cs_autojson struct cs_json *profile = built_in(NULL, NULL);
	cs_auto(buf) bpf = CS_BUF_INIT(1 << 20);
	struct cs_err err = CS_ERR_INIT;
	int status;
	pid_t pid;

	ck_ok(cs_profile_compile(profile, &bpf, &err), err);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(in_force_child(&bpf));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

static const struct {
	const char *text;
	enum cs_err_kind kind;
	const char *part;
} uncompilable[] = {
	{ "{\"defaultAction\":\"SCMP_ACT_NOTIFY\"}", CS_UNSUPPORTED, "SCMP_ACT_NOTIFY" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"flags\":[\"SECCOMP_FILTER_FLAG_LOG\"]}",
	  CS_UNSUPPORTED, "flags" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"listenerPath\":\"/s\"}", CS_UNSUPPORTED,
	  "listeners" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":65536}", CS_INVALID,
	  "defaultErrnoRet" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_ABACUS\"]}",
	  CS_INVALID, "SCMP_ARCH_ABACUS" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":["
	  "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_KILL\","
	  "\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]},"
	  "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_TRAP\","
	  "\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]}]}",
	  CS_INVALID, "syscalls.1: read" },
};

START_TEST(what_does_not_compile_is_named)
{
	cs_autojson struct cs_json *profile = NULL;
	cs_auto(buf) bpf = CS_BUF_INIT(1 << 20);
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_json_parse(uncompilable[_i].text, strlen(uncompilable[_i].text), "test", &profile,
			    &err),
	      err);
	ck_fails(cs_profile_compile(profile, &bpf, &err), err, uncompilable[_i].part);
	ck_assert_int_eq(err.kind, uncompilable[_i].kind);
}
END_TEST

START_TEST(allow_and_capabilities_add)
{
	cs_autojson struct cs_json *wider =
		built_in((const char *[]){ "keyctl", "clone3", "socket", NULL },
			 (const char *[]){ "CAP_SYS_ADMIN", "CAP_SYSLOG", NULL });

	ck_assert_str_eq(action_for(wider, "keyctl"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(wider, "clone3"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(wider, "socket"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(wider, "mount"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(wider, "bpf"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(wider, "syslog"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(wider, "init_module"), "SCMP_ACT_ERRNO");
}
END_TEST

START_TEST(unknown_names_name_the_nearest)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_profile_check_name("openat", &err), err);
	ck_ok(cs_profile_check_name("s390_sthyi", &err), err);
	ck_fails(cs_profile_check_name("keyclt", &err), err, "did you mean keyctl?");
	ck_assert_int_eq(err.kind, CS_INVALID);
	cs_err_clear(&err);
	ck_fails(cs_profile_check_name("no_such_call_at_all", &err), err, "unknown system call");
	ck_assert_ptr_null(strstr(err.text, "did you mean"));
	cs_err_clear(&err);

	cs_auto(strv) allow = CS_STRV_INIT;
	struct cs_json *profile = NULL;
	ck_assert_int_eq(cs_strv_add(&allow, "keyclt"), 0);
	ck_fails(cs_profile_default(&allow, &profile, &err), err, "keyctl");
	ck_assert_ptr_null(profile);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------ */

static int read_profile(const char *text, const char *const *allow, const char *const *caps,
			struct cs_json **ret, struct cs_strv *ret_unknown, struct cs_err *err)
{
	char path[] = "/tmp/cs-test-profile-XXXXXX";
	cs_auto(strv) names = CS_STRV_INIT, capabilities = CS_STRV_INIT;
	int r, fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	ck_assert_int_eq(cs_strv_add_all(&names, allow), 0);
	ck_assert_int_eq(cs_strv_add_all(&capabilities, caps), 0);
	r = cs_profile_file(path, &names, &capabilities, ret, ret_unknown, err);
	unlink(path);
	return r;
}

#define NEEDS \
	"{\"names\":[\"close\",\"execve\",\"fstat\",\"fstatfs\",\"futex\",\"getdents64\"," \
	"\"openat\"," \
	"\"rt_sigreturn\",\"statx\",\"write\"],\"action\":\"SCMP_ACT_ALLOW\"}"

START_TEST(the_form_of_the_spec)
{
	cs_auto(strv) unknown = CS_STRV_INIT;
	cs_autojson struct cs_json *profile = NULL;
	struct cs_err err = CS_ERR_INIT;
	cs_auto(buf) text = CS_BUF_INIT(65536);

	ck_ok(read_profile(
		      "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"x-mine\":[1.50],"
		      "\"architectures\":[\"SCMP_ARCH_X86_64\"],\"syscalls\":[" NEEDS ","
		      "{\"names\":[\"made_up\",\"read\"],\"action\":\"SCMP_ACT_ALLOW\","
		      "\"args\":[{\"index\":0,\"value\":18446744073709551615,\"op\":\"SCMP_CMP_"
		      "EQ\"}]},"
		      "{\"names\":[\"made_up\",\"made_up_too\"],\"action\":\"SCMP_ACT_KILL\"}]}",
		      NULL, NULL, &profile, &unknown, &err),
	      err);
	ck_ok(cs_json_write(profile, CS_JSON_COMPACT, &text, &err), err);
	ck_assert_str_eq(text.data,
			 "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"x-mine\":[1.50],"
			 "\"architectures\":[\"SCMP_ARCH_X86_64\"],\"syscalls\":[" NEEDS ","
			 "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\","
			 "\"args\":[{\"index\":0,\"value\":18446744073709551615,\"op\":\"SCMP_CMP_"
			 "EQ\"}]}]}");
	ck_assert_uint_eq(unknown.n, 2);
	ck_assert_str_eq(unknown.v[0], "made_up");
	ck_assert_str_eq(unknown.v[1], "made_up_too");
}
END_TEST

START_TEST(the_form_that_is_shipped)
{
	static const char shipped[] =
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,\"defaultErrno\":"
		"\"ENOSYS\","
		"\"archMap\":[{\"architecture\":\"SCMP_ARCH_X86_64\",\"subArchitectures\":[\"SCMP_"
		"ARCH_X86\"]},"
		"{\"architecture\":\"SCMP_ARCH_AARCH64\",\"subArchitectures\":[\"SCMP_ARCH_ARM\"]}]"
		","
		"\"syscalls\":[" NEEDS ","
		"{\"names\":[\"ptrace\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":null,\"comment\":"
		"\"\",\"includes\":{\"minKernel\":\"4.8\"},\"excludes\":{}},"
		"{\"names\":[\"syslog\"],\"action\":\"SCMP_ACT_ALLOW\",\"includes\":{\"minKernel\":"
		"\"999.0\"}},"
		"{\"names\":[\"mount\"],\"action\":\"SCMP_ACT_ALLOW\",\"includes\":{\"caps\":["
		"\"CAP_SYS_ADMIN\"]}},"
		"{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,"
		"\"value\":2114060288,\"valueTwo\":0,\"op\":\"SCMP_CMP_MASKED_EQ\"}],\"excludes\":{"
		"\"caps\":[\"CAP_SYS_ADMIN\"],\"arches\":[\"s390x\"]}},"
		"{\"names\":[\"s390_sthyi\"],\"action\":\"SCMP_ACT_ALLOW\",\"includes\":{"
		"\"arches\":[\"no-such\"]}},"
		"{\"name\":\"read\",\"action\":\"SCMP_ACT_ALLOW\",\"args\":[]},"
		"{\"names\":[\"bdflush\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1,\"errno\":"
		"\"EPERM\"}]}";
	cs_autojson struct cs_json *bare = NULL;
	cs_autojson struct cs_json *admin = NULL;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(read_profile(shipped, NULL, NULL, &bare, NULL, &err), err);
	ck_assert_ptr_null(cs_json_member(bare, "archMap"));
	ck_assert_ptr_null(cs_json_member(bare, "defaultErrno"));
	ck_assert_str_eq(action_for(bare, "ptrace"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(bare, "read"), "SCMP_ACT_ALLOW");
	ck_assert_ptr_null(action_for(bare, "syslog"));
	ck_assert_ptr_null(action_for(bare, "mount"));
	ck_assert_ptr_null(action_for(bare, "s390_sthyi"));
	ck_assert_str_eq(action_for(bare, "bdflush"), "SCMP_ACT_ERRNO");
	for (size_t i = 0; i < cs_json_count(cs_json_member(bare, "syscalls")); i++) {
		const struct cs_json *rule = cs_json_at(cs_json_member(bare, "syscalls"), i);

		ck_assert_ptr_null(cs_json_member(rule, "includes"));
		ck_assert_ptr_null(cs_json_member(rule, "excludes"));
		ck_assert_ptr_null(cs_json_member(rule, "comment"));
		ck_assert_ptr_null(cs_json_member(rule, "errno"));
		ck_assert_ptr_null(cs_json_member(rule, "name"));
	}

	ck_ok(read_profile(shipped, NULL, (const char *[]){ "CAP_SYS_ADMIN", NULL }, &admin, NULL,
			   &err),
	      err);
	ck_assert_str_eq(action_for(admin, "mount"), "SCMP_ACT_ALLOW");
	ck_assert_ptr_null(action_for(admin, "clone"));
}
END_TEST

START_TEST(allow_takes_a_name_out_of_every_rule)
{
	cs_autojson struct cs_json *profile = NULL;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(read_profile("{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":["
			   "{\"names\":[\"mount\"],\"action\":\"SCMP_ACT_ERRNO\"},"
			   "{\"names\":[\"umount2\",\"mount\"],\"action\":\"SCMP_ACT_ERRNO\"}]}",
			   (const char *[]){ "mount", NULL }, NULL, &profile, NULL, &err),
	      err);
	ck_assert_str_eq(action_for(profile, "mount"), "SCMP_ACT_ALLOW");
	ck_assert_str_eq(action_for(profile, "umount2"), "SCMP_ACT_ERRNO");
	ck_assert_uint_eq(cs_json_count(cs_json_member(profile, "syscalls")), 2);
}
END_TEST

static const struct {
	const char *text;
	const char *part;
} bad[] = {
	{ "[]", "must be an object" },
	{ "{}", "defaultAction" },
	{ "{\"defaultAction\":\"SCMP_ACT_MAYBE\"}", "SCMP_ACT_MAYBE" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":{}}", "syscalls: must be an array" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[3]}", "syscalls.0: must be" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"action\":\"SCMP_ACT_KILL\"}]}",
	  "syscalls.0: has no names" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],\"action\":"
	  "\"KILL\"}]}",
	  "syscalls.0: unknown action 'KILL'" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[7],\"action\":\"SCMP_"
	  "ACT_KILL\"}]}",
	  "syscalls.0: names must be strings" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],\"action\":"
	  "\"SCMP_ACT_KILL\",\"args\":[{\"index\":6,\"value\":0,\"op\":\"SCMP_CMP_EQ\"}]}]}",
	  "index must be 0 to 5" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],\"action\":"
	  "\"SCMP_ACT_KILL\",\"args\":[{\"index\":0,\"value\":0,\"op\":\"==\"}]}]}",
	  "unknown op '=='" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"read\"],\"action\":"
	  "\"SCMP_ACT_LOG\",\"includes\":{\"minKernel\":\"new\"}}]}",
	  "minKernel 'new'" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"x86_64\"]}", "'x86_64'" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_X86\"],\"archMap\":"
	  "[{}]}",
	  "exclude each other" },
	{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\"}", "does not allow close" },
	{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"statx\"],\"action\":"
	  "\"SCMP_ACT_ERRNO\"}]}",
	  "does not allow statx, which runc 1.5 calls" },
	{ "{", "line 1" },
};

START_TEST(bad_files_are_named)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *profile = NULL;

	ck_fails(read_profile(bad[_i].text, NULL, NULL, &profile, NULL, &err), err, bad[_i].part);
	ck_assert_ptr_nonnull(strstr(err.text, "/tmp/cs-test-profile-"));
	ck_assert_ptr_null(profile);
}
END_TEST

START_TEST(a_missing_file_is_not_found)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *profile = NULL;

	ck_fails(cs_profile_file("/no/such/profile.json", NULL, NULL, &profile, NULL, &err), err,
		 "/no/such/profile.json");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
}
END_TEST

Suite *suite_profile(void);
Suite *suite_profile(void)
{
	const TTest *const tests[] = {
		rows_are_sorted_and_unique,
		filters_belong_to_rows,
		capabilities_open_what_is_denied,
		every_call_up_to_linux_6_7_has_a_row,
		what_engines_need_is_allowed,
		the_default_allows_programs_and_no_more,
		the_default_compiles,
		the_default_in_force,
		allow_and_capabilities_add,
		unknown_names_name_the_nearest,
		the_form_of_the_spec,
		the_form_that_is_shipped,
		allow_takes_a_name_out_of_every_rule,
		a_missing_file_is_not_found,
	};
	Suite *suite = suite_create("profile");
	TCase *cases = tcase_create("profile");

	for (size_t i = 0; i < CS_ARRAY_LEN(tests); i++)
		tcase_add_test(cases, tests[i]);
	tcase_add_loop_test(cases, bad_files_are_named, 0, CS_ARRAY_LEN(bad));
	tcase_add_loop_test(cases, what_does_not_compile_is_named, 0, CS_ARRAY_LEN(uncompilable));
	suite_add_tcase(suite, cases);
	return suite;
}
