#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/task/exec_process.h"
#include "tests/unit/unit.h"

static const char session[] =
	"{\"process\":{\"terminal\":true,\"user\":{\"uid\":65534,\"gid\":65534,\"additionalGids\":[7]},\"args\":[\"sleep\",\"9\"],"
	"\"env\":[\"A=1\",\"B=2\"],\"cwd\":\"/\",\"noNewPrivileges\":true,\"zzz\":2.50,"
	"\"consoleSize\":{\"height\":24,\"width\":80},\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\",\"hard\":1024,\"soft\":1024}]},"
	"\"linux\":{\"uidMappings\":[{\"containerID\":0,\"hostID\":100000,\"size\":65536}]}}";

static struct cs_settings_tree tree;
static struct cs_strv env;
static struct cs_exec_process made;

static void give(const char *name, const char *value)
{
	struct cs_opt_set set = cs_settings_set(&tree);
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_opt_put(&set, cs_opt_by_name(&set, name), name, value, CS_ORIGIN_FLAG, &err), err);
}

static void begin(void)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_settings_init(&tree, &err), err);
	tree.scope = CS_FOR_EXEC;
	made = (struct cs_exec_process){ 0 };
}

static int make(struct cs_err *err)
{
	cs_autojson struct cs_json *config = NULL;
	cs_auto(strv) args = CS_STRV_INIT;
	struct cs_exec_process_plan plan = { .tree = &tree, .args = &args, .env = &env, .root_fd = -1 };

	ck_ok(cs_json_parse(session, sizeof(session) - 1, "session", &config, err), *err);
	ck_assert_int_eq(cs_strv_add(&args, "id"), 0);
	plan.config = config;
	return cs_exec_process_make(&plan, &made, err);
}

static void done(void)
{
	cs_exec_process_release(&made);
	cs_settings_release(&tree);
	cs_strv_release(&env);
}

static const char *text_of(const char *path)
{
	const struct cs_json *value = cs_json_get(made.config, path);

	return cs_json_kind(value) == CS_JSON_NUMBER ? cs_json_number_text(value) : cs_json_string(value);
}

START_TEST(without_flags_all_is_the_sessions)
{
	struct cs_err err = CS_ERR_INIT;
	bool terminal = true;

	begin();
	ck_ok(make(&err), err);
	ck_assert_str_eq(text_of("process.args.0"), "id");
	ck_assert_str_eq(text_of("process.user.uid"), "65534");
	ck_assert_str_eq(text_of("process.user.additionalGids.0"), "7");
	ck_assert_str_eq(text_of("process.zzz"), "2.50");
	ck_assert_uint_eq(cs_json_count(cs_json_get(made.config, "process.args")), 1);
	ck_assert_uint_eq(cs_json_count(cs_json_get(made.config, "process.rlimits")), 1);
	ck_assert_int_eq(cs_json_get_bool(cs_json_get(made.config, "process.terminal"), &terminal), 0);
	ck_assert(!terminal);
	ck_assert_uint_eq(made.uid, 100000 + 65534);
	ck_assert_uint_eq(made.gid, 65534); /* no mapping */
	done();
}
END_TEST

START_TEST(F007_flags_are_laid_over)
{
	struct cs_err err = CS_ERR_INIT;

	begin();
	give("user", "5:6");
	give("workdir", "/tmp");
	give("ulimit", "nofile=64:128");
	give("ulimit", "nproc=9");
	give("cpu-time", "3s");
	ck_assert_int_eq(cs_strv_add(&env, "B=3"), 0);
	ck_assert_int_eq(cs_strv_add(&env, "C=x=y"), 0);
	ck_ok(make(&err), err);
	ck_assert_str_eq(text_of("process.user.uid"), "5");
	ck_assert_str_eq(text_of("process.user.gid"), "6");
	ck_assert_ptr_null(cs_json_get(made.config, "process.user.additionalGids"));
	ck_assert_str_eq(text_of("process.cwd"), "/tmp");
	ck_assert_str_eq(text_of("process.rlimits.0.type"), "RLIMIT_NOFILE");
	ck_assert_str_eq(text_of("process.rlimits.0.soft"), "64");
	ck_assert_str_eq(text_of("process.rlimits.0.hard"), "128");
	ck_assert_str_eq(text_of("process.rlimits.1.type"), "RLIMIT_CPU");
	ck_assert_str_eq(text_of("process.rlimits.1.hard"), "5");
	ck_assert_str_eq(text_of("process.rlimits.2.type"), "RLIMIT_NPROC");
	ck_assert_uint_eq(cs_json_count(cs_json_get(made.config, "process.env")), 3);
	ck_assert_str_eq(text_of("process.env.1"), "B=3");
	ck_assert_str_eq(text_of("process.env.2"), "C=x=y");
	ck_assert_uint_eq(made.uid, 100005);
	done();
}
END_TEST

START_TEST(a_terminal_of_its_own)
{
	struct cs_err err = CS_ERR_INIT;
	bool terminal = false;

	begin();
	give("tty", "true");
	ck_ok(make(&err), err);
	ck_assert_int_eq(cs_json_get_bool(cs_json_get(made.config, "process.terminal"), &terminal), 0);
	ck_assert(terminal);
	ck_assert_str_eq(text_of("process.env.2"), "TERM=xterm");
	ck_assert_ptr_null(cs_json_get(made.config, "process.consoleSize"));
	done();
	begin();
	give("tty", "true");
	ck_assert_int_eq(cs_strv_add(&env, "TERM=dumb"), 0);
	ck_ok(make(&err), err);
	ck_assert_str_eq(text_of("process.env.2"), "TERM=dumb");
	done();
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
	static const struct {
		const char *flag, *value, *part;
	} rows[] = {
		{ "user", "70000", "user namespace has no 70000" },
		{ "user", "nobody", "--user" }, /* no root to look names up in */
		{ "workdir", "/proc/self/fd/7", "--workdir" },
		{ "ulimit", "nofile=2:1", "--ulimit" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_err err = CS_ERR_INIT;

		begin();
		give(rows[i].flag, rows[i].value);
		ck_fails(make(&err), err, rows[i].part);
		done();
	}
}
END_TEST

/* A link inside may lead where no text shows it. */
START_TEST(F056_a_cwd_that_leads_to_a_descriptor)
{
	char dir[] = "/tmp/caisson-test-cwd-XXXXXX", text[64];
	cs_autofd int root_fd = -1;
	struct cs_err err = CS_ERR_INIT;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	root_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(text, sizeof(text), "/proc/%d/fd/%d", (int)getpid(), root_fd);
	ck_assert_int_eq(mkdirat(root_fd, "there", 0755), 0);
	ck_assert_int_eq(symlinkat("there", root_fd, "link"), 0);
	ck_assert_int_eq(symlinkat("/nowhere", root_fd, "lost"), 0);
	ck_ok(cs_exec_process_check_cwd(root_fd, "/link", &err), err);
	ck_fails(cs_exec_process_check_cwd(root_fd, "/lost", &err), err, "no directory inside");
	cs_err_clear(&err);
	unlinkat(root_fd, "link", 0);
	unlinkat(root_fd, "lost", 0);
	unlinkat(root_fd, "there", AT_REMOVEDIR);
	rmdir(dir);

	cs_close_fd(&root_fd);
	root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_fails(cs_exec_process_check_cwd(root_fd, text, &err), err, "descriptor");
	cs_err_clear(&err);
	ck_fails(cs_exec_process_check_cwd(root_fd, "/proc/self", &err), err, "procfs");
}
END_TEST

CS_UNIT_SUITE(exec_process, without_flags_all_is_the_sessions, F007_flags_are_laid_over, a_terminal_of_its_own, what_cannot_be_is_refused,
	      F056_a_cwd_that_leads_to_a_descriptor)
