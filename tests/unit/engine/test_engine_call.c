/* Calls of a fake engine: what it does wrong must cost what its deadline says, and no more. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/sys/pidref.h"
#include "shim/sys/reaper.h"
#include "tests/unit/engine/fake.h"
#include "tests/unit/unit.h"

#define SHORT_NS (200 * CS_NSEC_PER_MSEC)

/* Far more than a call takes on a busy machine, far less than the fakes would like. */
#define SOON_NS (20 * CS_NSEC_PER_SEC)

static void expect_verb(struct fake *fake, enum cs_verb verb)
{
	struct cs_err err = CS_ERR_INIT;

	ck_ok(fake_call(fake, verb, NULL, &err), err);
}

static void expect_state(struct fake *fake, const char *status)
{
	struct cs_engine_result result = { 0 };
	struct cs_err err = CS_ERR_INIT;
	char want[64];

	snprintf(want, sizeof(want), "\"status\":\"%s\"", status);
	ck_ok(fake_call(fake, CS_VERB_STATE, &result, &err), err);
	ck_assert_msg(strstr(result.output.data, want) != NULL, "'%s' lacks %s", result.output.data, want);
	ck_assert_uint_eq(result.errors.len, 0);
	cs_engine_result_release(&result);
}

START_TEST(create_start_and_end_of_a_container)
{
	struct cs_pidref init;
	struct fake fake;
	int status;

	fake_set_up(&fake, "runc", "exit 7");
	expect_verb(&fake, CS_VERB_CREATE);
	ck_assert_int_eq(cs_pidref_open(fake_pid(&fake), &init), 0);
	expect_state(&fake, "created");
	expect_verb(&fake, CS_VERB_START);
	ck_assert_int_eq(cs_pidref_wait_dead(&init, cs_clock_deadline_ns(SOON_NS)), 0);
	expect_state(&fake, "stopped");
	ck_assert_int_eq(cs_pidref_reap(&init, &status), 0);
	ck_assert_int_eq(status, 7 << 8);
	cs_pidref_release(&init);
	expect_verb(&fake, CS_VERB_DELETE);
	fake_tear_down(&fake);
}
END_TEST

START_TEST(stdio_of_create_is_the_programs)
{
	struct cs_engine_call call;
	struct cs_engine_result result = { 0 };
	struct cs_err err = CS_ERR_INIT;
	char text[16] = "";
	struct fake fake;
	int out[2], null;

	fake_set_up(&fake, "crun", "echo hello");
	ck_assert_int_eq(cs_fd_pipe(out, 0), 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	call = (struct cs_engine_call){ .engine = &fake.engine, .verb = CS_VERB_CREATE, .args = &fake.args,
					.stdio = (const int[]){ null, out[1], null } };
	ck_ok(cs_engine_call(fake.loop, &call, &result, &err), err);
	ck_assert_uint_eq(result.output.len, 0);
	cs_engine_result_release(&result);
	close(out[1]);
	expect_verb(&fake, CS_VERB_START);
	ck_assert_int_eq(cs_fd_read_all(out[0], text, sizeof(text) - 1), 6);
	ck_assert_str_eq(text, "hello\n");
	close(out[0]);
	close(null);
	fake_tear_down(&fake);
}
END_TEST

/* Each verb that hangs is ended at its deadline, whatever it thinks of SIGTERM. */
START_TEST(F032_hang_on_every_verb_ends_at_the_deadline)
{
	static const enum cs_verb verbs[] = { CS_VERB_CREATE, CS_VERB_START, CS_VERB_STATE, CS_VERB_KILL, CS_VERB_DELETE };
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	fake_tell(&fake, "runc", "* ignore-term\n* stderr 100000\n* hang\n");
	for (size_t i = 0; i < CS_ARRAY_LEN(verbs); i++) {
		struct cs_engine_call call = { .engine = &fake.engine, .verb = verbs[i], .args = &fake.args,
					       .timeout_ns = SHORT_NS };
		struct cs_engine_result result = { 0 };
		struct cs_err err = CS_ERR_INIT;
		int64_t begin_ns = cs_clock_now_ns(), took_ns;

		ck_fails(cs_engine_call(fake.loop, &call, &result, &err), err, "no answer within 200ms, killed");
		took_ns = cs_clock_now_ns() - begin_ns;
		ck_assert_int_eq(err.kind, CS_TIMEOUT);
		ck_assert(result.timed_out);
		ck_assert_int_eq(result.status, SIGKILL);
		ck_assert_int_ge(took_ns, SHORT_NS);
		ck_assert_int_lt(took_ns, SOON_NS);
		cs_engine_result_release(&result);
		/* reaped */
		ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	}
	fake_tear_down(&fake);
}
END_TEST

START_TEST(F029_megabyte_on_stderr_is_drained_and_bounded)
{
	struct cs_engine_result result = { 0 };
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;

	fake_set_up(&fake, "crun", "exit 0");
	fake_tell(&fake, "crun", "create say first words\ncreate stdout 300000\ncreate stderr 1000000\ncreate say\ncreate say last words\ncreate exit 3\n");
	ck_fails(fake_call(&fake, CS_VERB_CREATE, &result, &err), err, "crun create: last words");
	ck_assert_int_eq(err.kind, CS_ENGINE);
	ck_assert_int_eq(result.status, 3 << 8);
	ck_assert_uint_le(result.errors.len, CS_ENGINE_OUTPUT_MAX);
	ck_assert_uint_gt(result.errors.len, CS_ENGINE_OUTPUT_MAX - 64);
	ck_assert_ptr_nonnull(strstr(result.errors.data, "output left out"));
	ck_assert_int_eq(strncmp(result.errors.data, "first words\nEEE", 15), 0);
	ck_assert_str_eq(result.errors.data + result.errors.len - 12, "\nlast words\n");
	ck_assert_uint_le(result.output.len, CS_ENGINE_OUTPUT_MAX);
	cs_engine_result_release(&result);
	fake_tear_down(&fake);
}
END_TEST

START_TEST(output_below_the_cap_is_whole)
{
	struct cs_engine_result result = { 0 };
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;

	fake_set_up(&fake, "crun", "exit 0");
	fake_tell(&fake, "crun", "state stdout 50000\nstate say x\nstate exit 0\n");
	ck_ok(fake_call(&fake, CS_VERB_STATE, &result, &err), err);
	ck_assert_uint_eq(result.output.len, 50000);
	ck_assert_ptr_null(strstr(result.output.data, "left out"));
	ck_assert_str_eq(result.errors.data, "x\n");
	cs_engine_result_release(&result);
	fake_tear_down(&fake);
}
END_TEST

/* Something that the engine leaves behind holds the captures open: nobody waits for it. */
START_TEST(daemon_of_the_engine_does_not_hold_the_call)
{
	struct cs_engine_result result = { 0 };
	struct cs_err err = CS_ERR_INIT;
	int64_t begin_ns;
	struct fake fake;
	siginfo_t info = { 0 };

	fake_set_up(&fake, "runc", "exit 0");
	fake_tell(&fake, "runc", "state say before\nstate linger 600000\nstate exit 0\n");
	begin_ns = cs_clock_now_ns();
	ck_ok(fake_call(&fake, CS_VERB_STATE, &result, &err), err);
	ck_assert_int_lt(cs_clock_now_ns() - begin_ns, SOON_NS / 2);
	ck_assert_str_eq(result.errors.data, "before\n");
	cs_engine_result_release(&result);
	/* it has come to us, and lives: find it by its group, which it leads */
	ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	ck_assert_int_eq(info.si_pid, 0);
	{
		cs_auto(buf) children = CS_BUF_INIT(4096);
		uint32_t pid;

		ck_assert_int_eq(cs_file_read(AT_FDCWD, "/proc/thread-self/children", &children), 0);
		children.data[strcspn(children.data, " ")] = '\0';
		ck_assert_int_eq(cs_parse_u32(children.data, &pid), 0);
		ck_assert_int_eq(kill((pid_t)pid, SIGKILL), 0);
	}
	fake_tear_down(&fake);
}
END_TEST

/* What shares the group of an engine that failed goes with it. */
START_TEST(group_of_a_failed_engine_is_dead)
{
	struct cs_err err = CS_ERR_INIT;
	siginfo_t info = { 0 };
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	fake_tell(&fake, "runc", "state linger-group 600000\nstate exit 1\n");
	ck_fails(fake_call(&fake, CS_VERB_STATE, NULL, &err), err, "runc state: ended with status 1 and said nothing");
	/* its orphan is ours, and dies of the signal that was sent before the call returned */
	ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED), 0);
	ck_assert_int_eq(info.si_code, CLD_KILLED);
	ck_assert_int_eq(info.si_status, SIGKILL);
	fake_tear_down(&fake);
}
END_TEST

START_TEST(message_comes_from_what_this_call_logged)
{
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	fake_tell(&fake, "runc", "create log first failure\ncreate say noise\ncreate exit 1\nstart say only stderr\nstart exit 2\n");
	ck_fails(fake_call(&fake, CS_VERB_CREATE, NULL, &err), err, "runc create: first failure");
	cs_err_clear(&err);
	/* not the message of the call before */
	ck_fails(fake_call(&fake, CS_VERB_START, NULL, &err), err, "runc start: only stderr");
	fake_tear_down(&fake);
}
END_TEST

START_TEST(F062_garbage_in_the_log_is_no_message)
{
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	fake_tell(&fake, "runc", "create garbage-log 300000\ncreate exit 1\n");
	ck_fails(fake_call(&fake, CS_VERB_CREATE, NULL, &err), err, "runc create: ended with status 1 and said nothing");
	cs_err_clear(&err);
	/* a word among it is found */
	fake_tell(&fake, "runc", "create garbage-log 3000\ncreate log\ncreate log the word\ncreate garbage-log 3000\ncreate exit 1\n");
	ck_fails(fake_call(&fake, CS_VERB_CREATE, NULL, &err), err, "runc create: the word");
	cs_err_clear(&err);
	/* nothing can be logged: stderr is the second source */
	fake.args.log = "/nonexistent/log";
	fake_tell(&fake, "runc", "create log lost\ncreate say kept\ncreate exit 1\n");
	ck_fails(fake_call(&fake, CS_VERB_CREATE, NULL, &err), err, "runc create: kept");
	fake_tear_down(&fake);
}
END_TEST

START_TEST(death_by_a_signal_is_told)
{
	struct cs_engine_result result = { 0 };
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	fake_tell(&fake, "runc", "create die SEGV\n");
	ck_fails(fake_call(&fake, CS_VERB_CREATE, &result, &err), err, "runc create: killed by signal 11 SIGSEGV");
	ck_assert_int_eq(WTERMSIG(result.status), SIGSEGV);
	ck_assert(!result.timed_out);
	cs_engine_result_release(&result);
	fake_tear_down(&fake);
}
END_TEST

static void set_true(struct cs_loop *loop, void *arg)
{
	(void)loop;
	*(bool *)arg = true;
}

START_TEST(cancel_from_the_loop_ends_the_call)
{
	struct cs_source source;
	struct cs_err err = CS_ERR_INIT;
	struct cs_engine_call call;
	bool cancelled = false;
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	fake_tell(&fake, "runc", "create hang\n");
	call = (struct cs_engine_call){ .engine = &fake.engine, .verb = CS_VERB_CREATE, .args = &fake.args,
					.cancelled = &cancelled };
	ck_assert_int_eq(cs_loop_add_timer(fake.loop, cs_clock_deadline_ns(SHORT_NS), set_true, &cancelled, &source), 0);
	ck_fails(cs_engine_call(fake.loop, &call, NULL, &err), err, "runc create: cancelled");
	ck_assert_int_eq(err.kind, CS_STATE);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	cs_loop_remove(fake.loop, &source);
	fake_tear_down(&fake);
}
END_TEST

START_TEST(engine_that_is_gone_is_named)
{
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	ck_assert_int_eq(unlink(fake_path(&fake, "runc")), 0);
	ck_fails(fake_call(&fake, CS_VERB_CREATE, NULL, &err), err, "runc create: ");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	fake_tear_down(&fake);
}
END_TEST

/* Their environment could change what they do to a container. */
START_TEST(environment_is_not_handed_on)
{
	struct cs_engine_result result = { 0 };
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;

	fake_set_up(&fake, "runc", "exit 0");
	ck_assert_int_eq(unlink(fake_path(&fake, "runc")), 0);
	ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(&fake, "runc"), "#!/bin/sh\nenv\n", 14, 0700, false), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", "/run/x", 1), 0);
	ck_assert_int_eq(setenv("LISTEN_FDS", "3", 1), 0);
	ck_ok(fake_call(&fake, CS_VERB_STATE, &result, &err), err);
	ck_assert_ptr_nonnull(strstr(result.output.data, "PATH="));
	ck_assert_ptr_null(strstr(result.output.data, "NOTIFY_SOCKET"));
	ck_assert_ptr_null(strstr(result.output.data, "LISTEN_FDS"));
	cs_engine_result_release(&result);
	fake_tear_down(&fake);
}
END_TEST

CS_UNIT_SUITE(engine_call, create_start_and_end_of_a_container, stdio_of_create_is_the_programs,
	      F032_hang_on_every_verb_ends_at_the_deadline, F029_megabyte_on_stderr_is_drained_and_bounded,
	      output_below_the_cap_is_whole, daemon_of_the_engine_does_not_hold_the_call,
	      group_of_a_failed_engine_is_dead, message_comes_from_what_this_call_logged,
	      F062_garbage_in_the_log_is_no_message, death_by_a_signal_is_told,
	      cancel_from_the_loop_ends_the_call, engine_that_is_gone_is_named, environment_is_not_handed_on)
