#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oci-spec/json_edit.h"
#include "oci-spec/spec.h"
#include "oci-spec/spec_check.h"
#include "oci-spec/spec_new.h"
#include "oci-spec/spec_rules.h"
#include "shim/base/file.h"
#include "tests/unit/unit.h"

static struct cs_json *parse(const char *text)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *json = NULL;

	ck_ok(cs_json_parse(text, strlen(text), "test", &json, &err), err);
	return json;
}

/* A small configuration that passes. */
static struct cs_json *sound(void)
{
	return parse(
		"{\"ociVersion\":\"1.0.2\",\"root\":{\"path\":\"rootfs\"},"
		"\"process\":{\"cwd\":\"/\",\"args\":[\"sh\"]},"
		"\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"}],"
		"\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\"}]}}");
}

static const char *const golden[] = {
	"spec/strict.json",
	"spec/full.json",
	"spec/unlimited.json",
	"spec/joined.json",
};

START_TEST(what_we_make_passes)
{
	const char *srcdir = getenv("SRCDIR");
	cs_auto(strv) failures = CS_STRV_INIT;
	cs_autojson struct cs_json *config = NULL;
	struct cs_err err = CS_ERR_INIT;
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/golden/%s", srcdir ? srcdir : ".", golden[_i]);
	ck_ok(cs_json_read_file(AT_FDCWD, path, &config, &err), err);
	ck_assert_msg(cs_spec_check(config, &failures, &err) == 0, "%s",
		      failures.n ? failures.v[0] : err.text);
}
END_TEST

/* One change of the sound configuration, and the one line it must give; NULL: none. */
static const struct {
	const char *path, *value, *line;
} changes[] = {
	{ "ociVersion", "\"1.2.1\"", NULL },
	{ "ociVersion", "\"1.1.0-rc.1\"", NULL },
	{ "ociVersion", "\"2.0.0\"", "ociVersion: must be a version" },
	{ "ociVersion", "\"1.0\"", "ociVersion: must be a version" },
	{ "ociVersion", "null", "ociVersion: is missing" },
	{ "root.path", "\"\"", "root.path: must not be empty" },
	{ "root", "[]", "root: must be an object" },
	{ "process", "null", "process: is missing" },
	{ "process.args", "[]", "process.args: must name a program" },
	{ "process.args", "[\"sh\",7]", "process.args.1: must be a string" },
	{ "process.args", "[\"a\\u0000b\"]", "process.args.0: must not hold NUL" },
	{ "process.cwd", "\"tmp\"", "process.cwd: must be an absolute path" },
	{ "process.env", "[\"A=\",\"=x\"]", "process.env.1: must be NAME=VALUE" },
	{ "process.env", "[\"A\"]", "process.env.0: must be NAME=VALUE" },
	{ "process.user", "{\"uid\":0}", "process.user.gid: is missing" },
	{ "process.user", "{\"uid\":4294967296,\"gid\":0}", "process.user.uid: must be a whole" },
	{ "process.user", "{\"uid\":-1,\"gid\":0}", "process.user.uid: must be a whole" },
	{ "process.capabilities", "{\"bounding\":[\"CAP_CHOWN\"]}", NULL },
	{ "process.capabilities", "{\"ambient\":[\"CAP_CHOWN\",\"CAP_FLY\"]}",
	  "process.capabilities.ambient.1: is no capability" },
	{ "process.rlimits", "[{\"type\":\"RLIMIT_CORE\",\"soft\":2,\"hard\":1}]",
	  "process.rlimits.0.soft: must not be above" },
	{ "process.rlimits",
	  "[{\"type\":\"RLIMIT_CORE\",\"soft\":1,\"hard\":1},{\"type\":\"RLIMIT_CORE\",\"soft\":1,"
	  "\"hard\":1}]",
	  "process.rlimits.1.type: 'RLIMIT_CORE' is there twice" },
	{ "process.rlimits", "[{\"type\":\"core\",\"soft\":1,\"hard\":1}]",
	  "process.rlimits.0.type: is no limit" },
	{ "process.rlimits", "[{\"type\":\"RLIMIT_CPU\",\"soft\":1,\"hard\":18446744073709551615}]",
	  NULL },
	{ "process.rlimits", "[{\"type\":\"RLIMIT_CPU\",\"soft\":1,\"hard\":18446744073709551616}]",
	  "process.rlimits.0.hard: must be a whole" },
	{ "process.oomScoreAdj", "1001", "process.oomScoreAdj: must be from" },
	{ "hostname", "\"a\"", "hostname: needs a namespace of type uts" },
	{ "hostname", "\"\"", NULL },
	{ "mounts.0.destination", "\"proc\"", "mounts.0.destination: must be an absolute" },
	{ "mounts", "[{\"type\":\"tmpfs\"}]", "mounts.0.destination: is missing" },
	{ "mounts",
	  "[{\"destination\":\"/a\",\"source\":\"/a\",\"options\":[\"bind\",\"size=1m\"]}]",
	  "mounts.0.options: 'size=1m' has no effect" },
	{ "mounts", "[{\"destination\":\"/a\",\"type\":\"tmpfs\",\"options\":[\"size=1m\"]}]",
	  NULL },
	{ "hooks", "{\"prestart\":[{\"path\":\"x\"}]}",
	  "hooks.prestart.0.path: must be an absolute" },
	{ "hooks", "{\"prestart\":[{\"path\":\"/x\",\"timeout\":0}]}",
	  "hooks.prestart.0.timeout: must be more" },
	{ "annotations", "{\"a.b\\u001b[2J\":1}", "annotations.a.b?[2J: must be a string" },
	{ "linux.namespaces", "[{\"type\":\"pid\"},{\"type\":\"pid\"}]",
	  "linux.namespaces.1.type: 'pid' is there twice" },
	{ "linux.namespaces", "[{\"type\":\"net\"}]", "linux.namespaces.0.type: is no kind" },
	{ "linux.namespaces", "[{\"type\":\"network\",\"path\":\"ns\"}]",
	  "linux.namespaces.0.path: must be an absolute" },
	{ "linux.uidMappings", "[{\"containerID\":0,\"hostID\":0,\"size\":1}]",
	  "linux.uidMappings: needs a namespace of type user" },
	{ "linux.resources", "{\"memory\":{\"limit\":\"64m\"}}",
	  "linux.resources.memory.limit: must be a number" },
	{ "linux.resources", "{\"memory\":{\"limit\":1.5}}",
	  "linux.resources.memory.limit: must be a whole" },
	{ "linux.resources", "{\"memory\":{\"limit\":-1,\"swap\":-1}}", NULL },
	{ "linux.resources", "{\"devices\":[{\"access\":\"rwm\"}]}",
	  "linux.resources.devices.0.allow: is missing" },
	{ "linux.resources", "{\"devices\":[{\"allow\":true,\"access\":\"x\"}]}",
	  "linux.resources.devices.0.access: must be made" },
	{ "linux.resources", "{\"cpu\":{\"cpus\":\"1-\"}}",
	  "linux.resources.cpu.cpus: must be a list" },
	{ "linux.rootfsPropagation", "\"open\"", "linux.rootfsPropagation: is no kind" },
	{ "linux.seccomp", "{}", "linux.seccomp.defaultAction: is missing" },
	{ "linux.seccomp",
	  "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[],\"action\":\"SCMP_ACT_"
	  "KILL\"}]}",
	  "linux.seccomp.syscalls.0.names: must name" },
	{ "linux.maskedPaths", "[\"proc\"]", "linux.maskedPaths.0: must be an absolute" },
	{ "linux.ours", "{\"of\":[\"a newer version\"]}", NULL },
	/* the config's own mounts are looked through */
	{ "process.cwd", "\"/proc/self/fd/8\"", "process.cwd: '/proc/self/fd/8' lies" },
};

START_TEST(one_change_gives_one_line)
{
	cs_autojson struct cs_json *config = sound();
	cs_auto(strv) failures = CS_STRV_INIT;
	struct cs_err err = CS_ERR_INIT;
	int n;

	ck_ok(cs_json_set(config, changes[_i].path, parse(changes[_i].value), &err), err);
	n = cs_spec_check(config, &failures, &err);
	ck_assert_msg(n == (changes[_i].line ? 1 : 0), "%s = %s: %d, %s", changes[_i].path,
		      changes[_i].value, n, n > 0 ? failures.v[0] : err.text);
	ck_assert_uint_eq(failures.n, (size_t)n);
	if (changes[_i].line)
		ck_assert_msg(strncmp(failures.v[0], changes[_i].line, strlen(changes[_i].line)) ==
				      0,
			      "'%s' is not '%s'", failures.v[0], changes[_i].line);
}
END_TEST

START_TEST(all_failures_are_named_up_to_a_bound)
{
	cs_autojson struct cs_json *empty = parse("{}");
	cs_autojson struct cs_json *none = parse("[]");
	cs_auto(strv) failures = CS_STRV_INIT, one = CS_STRV_INIT, many = CS_STRV_INIT;
	cs_autojson struct cs_json *config = sound();
	struct cs_err err = CS_ERR_INIT;

	ck_assert_int_eq(cs_spec_check(empty, &failures, &err), 3);
	ck_assert_str_eq(failures.v[0], "ociVersion: is missing");
	ck_assert_str_eq(failures.v[1], "root: is missing");
	ck_assert_str_eq(failures.v[2], "process: is missing");
	ck_assert_int_eq(cs_spec_check(none, &one, &err), 1);

	for (int i = 0; i < 1000; i++)
		ck_ok(cs_json_append(config, "process.env", cs_json_new_string("="), &err), err);
	ck_assert_int_eq(cs_spec_check(config, &many, &err), CS_SPEC_FAILURES_MAX + 1);
	ck_assert_str_eq(many.v[CS_SPEC_FAILURES_MAX], "and more");
}
END_TEST

START_TEST(rules_stand_behind_their_parents)
{
	const struct cs_spec_rule *rule;

	for (size_t i = 0; (rule = cs_spec_rule_at(i)) != NULL; i++) {
		size_t parent_len = 0, k;

		ck_assert(!rule->test == !rule->message);
		if (strrchr(rule->path, '.'))
			parent_len = (size_t)(strrchr(rule->path, '.') - rule->path);
		for (k = 0; k < i && parent_len > 0; k++)
			if (strlen(cs_spec_rule_at(k)->path) == parent_len &&
			    strncmp(cs_spec_rule_at(k)->path, rule->path, parent_len) == 0)
				break;
		ck_assert_msg(parent_len == 0 || k < i, "%s", rule->path);
	}
}
END_TEST

/* --- F056: cwd, CVE-2024-21626 ------------------------------------------------------------ */

static const char *const escapes[] = {
	"/proc/self/fd/7",        "/proc/self/fd",
	"/proc/self/fd/7/",       "/proc/self/fd/7/../../..",
	"//proc/./self//fd/7",    "/tmp/../proc/self/fd/7",
	"/../../proc/self/fd/7",  "/proc/1/fd/7",
	"/proc/4194304/cwd",      "/proc/thread-self/fd/7",
	"/proc/self/task/1/fd/7", "/proc/self/root/proc/1/fd/7",
	"/proc/self/cwd",         "/dev/fd/7",
	"/dev/../dev/fd/7",       "/dev/stdin",
	"/dev/stdout/..",
};

START_TEST(a_cwd_among_descriptors_is_denied)
{
	struct cs_err err = CS_ERR_INIT;

	ck_fails(cs_spec_check_cwd(escapes[_i], &err), err, escapes[_i]);
	ck_assert_int_eq(err.kind, CS_DENIED);
}
END_TEST

START_TEST(other_directories_are_not)
{
	static const char *const fine[] = {
		"/",
		"/work",
		"/proc",
		"/proc/self",
		"/proc/sys/kernel",
		"/dev",
		"/dev/shm",
		"/home/proc/self/fd/7",
		"/processes/1/fd",
		"/dev/fdset",
		"/proc/selfish/fd",
		"/proc/self/../sys",
		"",
	};
	struct cs_err err = CS_ERR_INIT;

	for (size_t i = 0; i < CS_ARRAY_LEN(fine); i++)
		ck_ok(cs_spec_check_cwd(fine[i], &err), err);
}
END_TEST

START_TEST(mounts_are_looked_through)
{
	static const struct {
		const char *mount, *cwd;
		int n;
	} rows[] = {
		{ "{\"destination\":\"/p\",\"type\":\"proc\",\"source\":\"proc\"}", "/p/self/fd/7",
		  1 },
		{ "{\"destination\":\"//p/./q\",\"type\":\"proc\"}", "/p/q/1/fd/7/../..", 1 },
		{ "{\"destination\":\"/p\",\"type\":\"tmpfs\",\"source\":\"proc\"}", "/p/self/fd/7",
		  0 },
		{ "{\"destination\":\"/h\",\"source\":\"/\",\"options\":[\"rbind\"]}",
		  "/h/proc/self/fd/7", 1 },
		{ "{\"destination\":\"/h\",\"source\":\"/proc//self/\",\"options\":[\"bind\"]}",
		  "/h/fd/7", 1 },
		{ "{\"destination\":\"/h\",\"source\":\"/dev/fd\",\"options\":[\"bind\"]}", "/h",
		  1 },
		{ "{\"destination\":\"/h\",\"source\":\"/srv\",\"options\":[\"bind\"]}",
		  "/h/proc/self/fd/7", 0 },
		{ "{\"destination\":\"/\",\"source\":\"/srv\",\"options\":[\"bind\"]}", "/x", 0 },
	};
	struct cs_err err = CS_ERR_INIT;

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		cs_autojson struct cs_json *config = sound();
		cs_auto(strv) failures = CS_STRV_INIT;

		ck_ok(cs_json_set(config, "process.cwd", cs_json_new_string(rows[i].cwd), &err),
		      err);
		ck_ok(cs_json_append(config, "mounts", parse(rows[i].mount), &err), err);
		ck_assert_msg(cs_spec_check(config, &failures, &err) == rows[i].n, "%s",
			      rows[i].mount);
	}
}
END_TEST

/* --- bundles and getters -------------------------------------------------------------------- */

START_TEST(a_bundle_needs_its_root)
{
	char dir[] = "/tmp/cs-test-check-XXXXXX";
	char path[64];
	cs_autojson struct cs_json *config = sound();
	cs_auto(strv) failures = CS_STRV_INIT, good = CS_STRV_INIT;
	struct cs_err err = CS_ERR_INIT;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_fails(cs_spec_check_bundle("/no/such/dir", &failures, &err), err, "/no/such/dir");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_err_clear(&err);
	ck_fails(cs_spec_check_bundle(dir, &failures, &err), err, "config.json");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_err_clear(&err);

	snprintf(path, sizeof(path), "%s/config.json", dir);
	ck_ok(cs_json_write_file(config, CS_JSON_INDENTED, AT_FDCWD, path, 0600, &err), err);
	ck_assert_int_eq(cs_spec_check_bundle(dir, &failures, &err), 1);
	ck_assert_str_eq(failures.v[0], "root.path: 'rootfs': No such file or directory");

	snprintf(path, sizeof(path), "%s/rootfs", dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(cs_spec_check_bundle(dir, &good, &err), 0);

	ck_assert_int_eq(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/config.json", dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(getters_answer_from_the_tree)
{
	cs_autojson struct cs_json *config = sound();
	cs_autojson struct cs_json *bind =
		parse("{\"type\":\"none\",\"options\":[\"ro\",\"rbind\"]}");
	cs_autojson struct cs_json *not_bind =
		parse("{\"type\":\"none\",\"options\":[7,\"binding\"]}");

	ck_assert_ptr_nonnull(cs_spec_namespace(config, CS_NS_PID));
	ck_assert_ptr_null(cs_spec_namespace(config, CS_NS_USER));
	ck_assert(cs_spec_mount_is_bind(bind));
	ck_assert(!cs_spec_mount_is_bind(not_bind));
	cs_autojson struct cs_json *by_type = parse("{\"type\":\"bind\"}");
	ck_assert(cs_spec_mount_is_bind(by_type));
	ck_assert(!cs_spec_mount_is_bind(NULL));
}
END_TEST

Suite *suite_spec_check(void);
Suite *suite_spec_check(void)
{
	Suite *suite = suite_create("spec_check");
	TCase *cases = tcase_create("spec_check");

	tcase_add_loop_test(cases, what_we_make_passes, 0, CS_ARRAY_LEN(golden));
	tcase_add_loop_test(cases, one_change_gives_one_line, 0, CS_ARRAY_LEN(changes));
	tcase_add_test(cases, all_failures_are_named_up_to_a_bound);
	tcase_add_test(cases, rules_stand_behind_their_parents);
	tcase_add_loop_test(cases, a_cwd_among_descriptors_is_denied, 0, CS_ARRAY_LEN(escapes));
	tcase_add_test(cases, other_directories_are_not);
	tcase_add_test(cases, mounts_are_looked_through);
	tcase_add_test(cases, a_bundle_needs_its_root);
	tcase_add_test(cases, getters_answer_from_the_tree);
	suite_add_tcase(suite, cases);
	return suite;
}
