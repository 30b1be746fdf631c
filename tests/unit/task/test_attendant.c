/* The attendant with pipes: streams, limits, sinks, and its own end. See stage.h. */
#include "tests/unit/task/stage.h"

/* --- the plain way ------------------------------------------------------------------ */

START_TEST(streams_pass_and_a_record_is_left)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	cs_auto(buf) errors = CS_BUF_INIT(4096);
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("echo out; echo err >&2; exit 7");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 7 << 8);
	read_to_end(s.out, &out);
	read_to_end(s.err, &errors);
	ck_assert_str_eq(out.data, "out\n");
	ck_assert_str_eq(errors.data, "err\n");
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "id"), "web1");
	ck_assert_str_eq(text_of(json, "engine.name"), "runc");
	ck_assert_int_eq(number_of(json, "stdout.keptBytes"), 4);
	ck_assert_int_eq(number_of(json, "stderr.keptBytes"), 4);
	/* before Linux 6.15 it is not known how */
	if (strcmp(text_of(json, "reason"), "ended") != 0) {
		ck_assert_str_eq(text_of(json, "reason"), "exited");
		ck_assert_int_eq(number_of(json, "exitCode"), 7);
	}
	clear_stage();
}
END_TEST

START_TEST(the_engines_words_are_passed_on_and_not_counted)
{
	cs_auto(buf) out = CS_BUF_INIT(4096);
	cs_auto(buf) words = CS_BUF_INIT(4096);
	cs_autojson struct cs_json *json = NULL;
	struct cs_err err = CS_ERR_INIT;

	set_stage(false);
	set_up();
	ck_assert_int_eq((int)write(s.stdio.err_fd, "early warning\n", 14), 14);
	run_program("echo program");
	ck_ok(cs_attendant_arm(&s.attendant, &s.program, NULL, &words, &err), err);
	ck_assert_str_eq(words.data, "early warning\n");
	cs_buf_reset(&words);
	ck_ok(cs_attendant_begin(s.dir_fd, &words, &err), err);
	ck_assert_uint_eq(words.len, 0);
	ck_assert_int_eq(waitpid(s.program.pid, NULL, WUNTRACED), s.program.pid);
	cs_pidref_kill(&s.program, SIGCONT);
	reap_program();
	read_to_end(s.out, &out);
	read_to_end(s.err, &out);
	ck_assert_str_eq(out.data, "program\n");
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.seenBytes"), 8);
	ck_assert_int_eq(number_of(json, "stderr.seenBytes"), 0);
	clear_stage();
}
END_TEST

START_TEST(dismissed_it_gives_the_words_back_and_leaves)
{
	cs_auto(buf) words = CS_BUF_INIT(4096);
	cs_auto(buf) out = CS_BUF_INIT(4096);
	char path[128];

	set_stage(false);
	set_up();
	ck_assert_int_eq((int)write(s.stdio.err_fd, "no such file\n", 13), 13);
	cs_close_fd(&s.stdio.out_fd);
	cs_close_fd(&s.stdio.err_fd);
	cs_attendant_dismiss(&s.attendant, &words);
	ck_assert_str_eq(words.data, "no such file\n");
	read_to_end(s.err, &out);
	ck_assert_uint_eq(out.len, 0);
	snprintf(path, sizeof(path), "%s/ctl", s.dir);
	ck_assert_int_ne(access(path, F_OK), 0);
	await_attendant();
	ck_assert_ptr_null(record());
	cs_attendant_dismiss(&s.attendant, NULL); /* once more does no harm */
	clear_stage();
}
END_TEST

START_TEST(a_dismissed_execs_words_have_gone_to_the_caller)
{
	char text[64];

	set_stage(true);
	set_up();
	ck_assert_int_eq((int)write(s.stdio.err_fd, "exec failed\n", 12), 12);
	cs_close_fd(&s.stdio.out_fd);
	cs_close_fd(&s.stdio.err_fd);
	cs_attendant_dismiss(&s.attendant, NULL);
	ck_assert_int_eq(cs_fd_set_nonblock(s.err, true), 0);
	ck_assert_int_eq((int)read(s.err, text, sizeof(text)), 12);
	await_attendant();
	clear_stage();
}
END_TEST

START_TEST(the_verb_dies_before_arm)
{
	set_stage(false);
	set_up();
	cs_close_fd(&s.attendant.socket);
	cs_pidref_release(&s.attendant.process);
	await_attendant();
	cs_close_fd(&s.stdio.out_fd);
	cs_close_fd(&s.stdio.err_fd);
	clear_stage();
}
END_TEST

/* --- limits --------------------------------------------------------------------------- */

static void run_to_limit(bool is_exec, const char *script, const char *reason)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	cs_autojson struct cs_json *json = NULL;

	set_up();
	run_program(script);
	arm();
	if (!is_exec)
		begin_program();
	ck_assert_int_eq(reap_program(), SIGKILL);
	read_to_end(s.out, &out);
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "reason"), reason);
	clear_stage();
}

START_TEST(wall_time_ends_a_silent_one)
{
	set_stage(false);
	s.plan.bounds.timeout_ns = 200 * CS_NSEC_PER_MSEC;
	run_to_limit(false, "exec >/dev/null 2>&1; trap '' TERM; exec sleep 99", "wall-limit");
}
END_TEST

START_TEST(wall_time_ends_an_exec)
{
	set_stage(true);
	s.plan.bounds.timeout_ns = 200 * CS_NSEC_PER_MSEC;
	run_to_limit(true, "exec sleep 99", "wall-limit");
}
END_TEST

START_TEST(idle_time)
{
	set_stage(false);
	s.plan.bounds.idle_timeout_ns = 200 * CS_NSEC_PER_MSEC;
	run_to_limit(false, "echo once; exec sleep 99", "idle-limit");
}
END_TEST

START_TEST(output_cap)
{
	cs_autojson struct cs_json *json = NULL;
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);

	set_stage(false);
	s.plan.bounds.stdout_limit_bytes = 1000;
	s.plan.bounds.kill_at_output_limit = true;
	set_up();
	run_program("exec yes");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), SIGKILL);
	read_to_end(s.out, &out);
	ck_assert_uint_eq(out.len, 1000);
	await_attendant();
	json = record();
	ck_assert_str_eq(text_of(json, "reason"), "output-limit");
	ck_assert_int_eq(number_of(json, "stdout.keptBytes"), 1000);
	clear_stage();
}
END_TEST

START_TEST(output_cap_of_an_exec_that_is_faster_than_its_verb)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);

	set_stage(true);
	s.plan.bounds.stdout_limit_bytes = 1000;
	s.plan.bounds.kill_at_output_limit = true;
	set_up();
	run_program("exec yes");
	/* the cap has been reached when all of it is here */
	while (out.len < 1000) {
		char piece[1000];
		ssize_t n = read(s.out, piece, sizeof(piece));

		ck_assert_int_gt((int)n, 0);
		cs_buf_add(&out, piece, (size_t)n);
	}
	arm();
	ck_assert_int_eq(reap_program(), SIGKILL);
	await_attendant();
	clear_stage();
}
END_TEST

/* A life of a container that writes 300 lines: what of it gets through. */
static size_t life(uint64_t rate, uint64_t burst)
{
	cs_auto(buf) out = CS_BUF_INIT(1 << 20);
	cs_auto(buf) errors = CS_BUF_INIT(1 << 20);
	size_t lines = 0;

	s.plan.bounds.rate_per_s = rate;
	s.plan.bounds.burst = burst;
	s.plan.bounds.cost_json_file = true;
	set_up();
	run_program("i=0; while [ $i -lt 300 ]; do echo y; i=$((i+1)); done");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 0);
	read_to_end(s.out, &out);
	read_to_end(s.err, &errors);
	await_attendant();
	for (size_t i = 0; i < out.len; i++)
		lines += out.data[i] == '\n';
	ck_assert(lines == 300 || strstr(errors.data, "caisson: stdout passes"));
	return lines;
}

START_TEST(a_restart_does_not_refill_the_bucket)
{
	char state[64];

	set_stage(false);
	memcpy(state, s.state, sizeof(state));
	ck_assert_uint_ge(life(1, 20000), 100);
	/* the same container, once more */
	cs_close_fd(&s.out);
	cs_close_fd(&s.err);
	make_pipe(&s.out, &s.out_end);
	make_pipe(&s.err, &s.err_end);
	s.plan.stdout_fd = s.out_end;
	s.plan.stderr_fd = s.err_end;
	{
		struct cs_err err = CS_ERR_INIT;

		ck_ok(cs_attendant_fork(&s.attendant, &err), err);
	}
	ck_assert_uint_le(life(1, 20000), 1);
	clear_stage();
}
END_TEST

/* --- sinks ------------------------------------------------------------------------------ */

START_TEST(a_reader_that_goes_ends_nothing)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("i=0; while [ $i -lt 3000 ]; do echo some line of some length; i=$((i+1)); done; exit 3");
	cs_close_fd(&s.out);
	cs_close_fd(&s.err);
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 3 << 8);
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.seenBytes"), 3000 * 25);
	clear_stage();
}
END_TEST

START_TEST(a_reader_that_reads_nothing_is_given_up)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("dd if=/dev/zero bs=1000 count=300 2>/dev/null");
	arm();
	begin_program();
	/* more than the caller's pipe holds, less than ours */
	ck_assert_int_eq(reap_program(), 0);
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.seenBytes"), 300000);
	ck_assert_int_gt(number_of(json, "stdout.droppedBytes"), 0);
	clear_stage();
}
END_TEST

START_TEST(flags_of_the_callers_descriptors_stay)
{
	int out = -1, before;

	set_stage(false);
	out = cs_fd_dup(s.out_end, 3);
	before = fcntl(out, F_GETFL);
	set_up();
	run_program("echo hello");
	arm();
	begin_program();
	reap_program();
	ck_assert_int_eq(fcntl(out, F_GETFL), before);
	cs_close_fd(&out);
	await_attendant();
	clear_stage();
}
END_TEST

START_TEST(null_stdio_that_is_open_for_reading_only)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	cs_close_fd(&s.out_end);
	s.out_end = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s.plan.stdout_fd = s.out_end;
	set_up();
	run_program("echo to nobody || exit 9");
	arm();
	begin_program();
	ck_assert_int_eq(reap_program(), 0);
	await_attendant();
	json = record();
	ck_assert_int_eq(number_of(json, "stdout.keptBytes"), 10);
	clear_stage();
}
END_TEST

/* --- the attendant's own end ------------------------------------------------------------ */

static void kill_the_attendant(void)
{
	ck_assert_int_eq(kill(s.attendant_pid, SIGKILL), 0);
}

START_TEST(killed_it_takes_the_container_along)
{
	cs_autojson struct cs_json *json = NULL;

	set_stage(false);
	set_up();
	run_program("exec sleep 99");
	arm();
	begin_program();
	kill_the_attendant();
	ck_assert_int_eq(reap_program(), SIGKILL);
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "reason"), "cancelled");
	clear_stage();
}
END_TEST

START_TEST(killed_before_start_too)
{
	struct cs_err err = CS_ERR_INIT;

	set_stage(false);
	set_up();
	run_program("exec sleep 99");
	arm();
	kill_the_attendant();
	ck_assert_int_eq(reap_program(), SIGKILL);
	ck_assert_int_lt(cs_attendant_begin(s.dir_fd, NULL, &err), 0);
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	await_attendant();
	clear_stage();
}
END_TEST

START_TEST(kept_it_stays_under_its_wall_limit)
{
	cs_autojson struct cs_json *json = NULL;
	int64_t began = cs_clock_now_ns();

	set_stage(false);
	s.plan.bounds.at_death = CS_ATTENDANT_KEEP;
	s.plan.bounds.timeout_ns = 700 * CS_NSEC_PER_MSEC;
	set_up();
	run_program("exec sleep 99");
	arm();
	begin_program();
	kill_the_attendant();
	ck_assert_int_eq(reap_program(), SIGKILL);
	ck_assert_int_ge(cs_clock_now_ns() - began, 700 * CS_NSEC_PER_MSEC);
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "reason"), "wall-limit");
	clear_stage();
}
END_TEST

START_TEST(stopped_it_is_not_waited_for)
{
	set_stage(false);
	s.plan.bounds.timeout_ns = 100 * CS_NSEC_PER_MSEC;
	set_up();
	run_program("exec sleep 99");
	arm();
	begin_program();
	ck_assert_int_eq(kill(s.attendant_pid, SIGSTOP), 0);
	ck_assert_int_eq(reap_program(), SIGKILL);
	ck_assert_int_eq(kill(s.attendant_pid, SIGCONT), 0);
	await_attendant();
	clear_stage();
}
END_TEST

/* The other process of the container that is not `not_this`; waits for it. 0 where the kernel does not tell of children. */
static pid_t second_but(pid_t not_this)
{
	char path[64];
	int64_t deadline = patience(), nap_ns = CS_NAP_NS;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)s.attendant_pid, (int)s.attendant_pid);
	if (access(path, R_OK) < 0)
		return 0;
	do {
		cs_auto(buf) text = CS_BUF_INIT(256);
		int pid = 0;

		ck_assert_int_eq(cs_file_read(AT_FDCWD, path, &text), 0);
		if (text.data && sscanf(text.data, "%d", &pid) == 1 && pid != not_this)
			return (pid_t)pid;
		/* nobody tells when a process is made */
		cs_clock_nap(&nap_ns, deadline);
	} while (cs_clock_left_ns(deadline) > 0);
	ck_abort_msg("no second process");
}

START_TEST(its_second_is_replaced)
{
	cs_autojson struct cs_json *json = NULL;
	pid_t first, next;

	set_stage(false);
	set_up();
	run_program("exec sleep 99");
	arm();
	begin_program();
	first = second_but(0);
	if (first) {
		ck_assert_int_eq(kill(first, SIGKILL), 0);
		next = second_but(first);
		ck_assert_int_eq(kill(next, SIGKILL), 0);
		second_but(next);
	}
	kill_the_attendant();
	ck_assert_int_eq(reap_program(), SIGKILL);
	await_attendant();
	json = record();
	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(text_of(json, "reason"), "cancelled");
	clear_stage();
}
END_TEST

CS_UNIT_SUITE(attendant, streams_pass_and_a_record_is_left,
	      the_engines_words_are_passed_on_and_not_counted,
	      dismissed_it_gives_the_words_back_and_leaves,
	      a_dismissed_execs_words_have_gone_to_the_caller, the_verb_dies_before_arm,
	      wall_time_ends_a_silent_one, wall_time_ends_an_exec, idle_time, output_cap,
	      output_cap_of_an_exec_that_is_faster_than_its_verb, a_restart_does_not_refill_the_bucket,
	      a_reader_that_goes_ends_nothing, a_reader_that_reads_nothing_is_given_up,
	      flags_of_the_callers_descriptors_stay, null_stdio_that_is_open_for_reading_only,
	      killed_it_takes_the_container_along, killed_before_start_too,
	      kept_it_stays_under_its_wall_limit, stopped_it_is_not_waited_for, its_second_is_replaced)
