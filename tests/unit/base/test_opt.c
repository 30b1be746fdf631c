#include "shim/base/opt.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "shim/base/clock.h"
#include "tests/unit/unit.h"

struct settings {
	bool quiet, init;
	char *name;
	uint64_t pids, memory_bytes, millicpus, rate, burst;
	int64_t timeout_ns, idle_ns;
	int signal, action;
	struct cs_strv env, best_effort;
};

static int check_name(const char *value, struct cs_err *err)
{
	if (strchr(value, '/'))
		return cs_fail(err, CS_INVALID, 0, "'%s' holds a slash", value);
	return 0;
}

enum { FIRST = 1, SECOND = 2 };

#define AT(member) offsetof(struct settings, member)

static const struct cs_opt rows[] = {
	{ "quiet", 'q', CS_OPT_SWITCH, AT(quiet), .help = "say nothing" },
	{ "init", 'i', CS_OPT_SWITCH, AT(init), .key = "init", .help = "run an init" },
	{ "name", 'n', CS_OPT_TEXT, AT(name), .key = "name", .arg = "NAME", .help = "its name",
	  .check = check_name },
	{ "pids-limit", 0, CS_OPT_U64, AT(pids), .key = "pidsLimit", .arg = "N",
	  .help = "processes", .min = 1, .max = 4096, .lift = CS_LIFT_WORD },
	{ "memory", 'm', CS_OPT_SIZE, AT(memory_bytes), .key = "memory", .arg = "SIZE",
	  .help = "memory of the whole run", .man = ".A dot - and a dash.", .min = 4096,
	  .lift = CS_LIFT_WORD },
	{ "cpus", 0, CS_OPT_CPUS, AT(millicpus), .key = "cpus", .arg = "N", .help = "CPUs",
	  .max = 2500, .lift = CS_LIFT_WORD },
	{ "timeout", 't', CS_OPT_DURATION, AT(timeout_ns), .key = "timeout", .arg = "TIME",
	  .help = "wall time", .max = 3600 * CS_NSEC_PER_SEC, .lift = CS_LIFT_ZERO },
	{ "idle-timeout", 0, CS_OPT_DURATION, AT(idle_ns), .arg = "TIME", .help = "silence" },
	{ "stop-signal", 0, CS_OPT_SIGNAL, AT(signal), .arg = "SIG", .help = "how to ask" },
	{ "on-output-limit", 0, CS_OPT_CHOICE, AT(action), .key = "onOutputLimit", .arg = "WHAT",
	  .help = "what then", .choices = "kill|discard" },
	{ "env", 'e', CS_OPT_LIST, AT(env), .key = "env", .arg = "K=V", .help = "environment" },
	{ "best-effort", 'b', CS_OPT_LIST, AT(best_effort), .arg = "LIST", .help = "go on without",
	  .absent = "all" },
	{ "secret", 0, CS_OPT_SWITCH, AT(init), .help = "not shown", .hidden = true },
	{ "rate", 0, CS_OPT_U64, AT(rate), .key = "rate", .arg = "N", .help = "of both", .scope = FIRST | SECOND },
	{ "burst", 0, CS_OPT_U64, AT(burst), .key = "burst", .arg = "N", .help = "of both, one by flag",
	  .scope = FIRST | SECOND, .flag_only = SECOND },
};

struct fixture {
	struct settings settings;
	unsigned char origins[CS_ARRAY_LEN(rows)];
	struct cs_opt_set set;
	struct cs_err err;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	f->set = (struct cs_opt_set){ .rows = rows, .n = CS_ARRAY_LEN(rows), .target = &f->settings,
				     .origins = f->origins };
}

/* Parses words after a program's name. */
#define parse(f, ...) parse_words(f, (const char *const[]){ "prog", __VA_ARGS__, NULL })

static int parse_words(struct fixture *f, const char *const *argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	cs_err_clear(&f->err);
	return cs_opt_parse(&f->set, argc, (char *const *)argv, &f->err);
}

START_TEST(every_form_of_a_flag)
{
	struct fixture f;

	start(&f);
	ck_assert_int_eq(
		parse(&f, "--memory", "64m", "--name=x", "-q", "-t5", "-n", "y", "cmd", "-q"), 8);
	ck_assert_uint_eq(f.settings.memory_bytes, 64 << 20);
	ck_assert_str_eq(f.settings.name, "y");
	ck_assert(f.settings.quiet);
	ck_assert_int_eq(f.settings.timeout_ns, 5 * CS_NSEC_PER_SEC);
	ck_assert_int_eq(parse(&f, "-qim1g"), 2);
	ck_assert(f.settings.init);
	ck_assert_uint_eq(f.settings.memory_bytes, 1 << 30);
	ck_assert_int_eq(parse(&f, "--init=false", "--quiet=no"), 3);
	ck_assert(!f.settings.init && !f.settings.quiet);
	ck_assert_int_eq(parse(&f, "--name="), 2);
	ck_assert_str_eq(f.settings.name, "");
	ck_assert_int_eq(parse(&f, "--name", "--", "--", "-q"), 4);
	ck_assert_str_eq(f.settings.name, "--");
	ck_assert(!f.settings.quiet);
	cs_opt_release(&f.set);
}
END_TEST

START_TEST(parsing_stops_at_the_first_operand)
{
	struct fixture f;

	start(&f);
	ck_assert_int_eq(parse(&f, "-"), 1);
	ck_assert_int_eq(parse(&f, "--"), 2);
	ck_assert_int_eq(parse(&f, "-q", "--", "-i"), 3);
	ck_assert_int_eq(parse(&f, ""), 1);
	ck_assert_int_eq(parse_words(&f, (const char *const[]){ "prog", NULL }), 1);
	ck_assert(!f.settings.init);
}
END_TEST

START_TEST(value_that_may_be_absent_takes_none_from_the_next_word)
{
	struct fixture f;

	start(&f);
	ck_assert_int_eq(parse(&f, "--best-effort", "cmd"), 2);
	ck_assert_int_eq(parse(&f, "--best-effort=a", "cmd"), 2);
	ck_assert_int_eq(parse(&f, "-b", "cmd"), 2);
	ck_assert_int_eq(parse(&f, "-bq", "cmd"), 2);
	ck_assert(f.settings.quiet);
	ck_assert_uint_eq(f.settings.best_effort.n, 4);
	ck_assert_str_eq(f.settings.best_effort.v[0], "all");
	ck_assert_str_eq(f.settings.best_effort.v[1], "a");
	ck_assert_str_eq(f.settings.best_effort.v[2], "all");
	cs_opt_release(&f.set);
}
END_TEST

START_TEST(wrong_flags_are_named_with_the_nearest)
{
	static const struct {
		const char *words[4];
		const char *text;
	} wrong[] = {
		{ { "--memroy", "1m" }, "unknown flag '--memroy': did you mean '--memory'?" },
		{ { "--xyzzyxyz" }, "unknown flag '--xyzzyxyz'" },
		{ { "--secre" }, "unknown flag '--secre'" },
		{ { "--=x" }, "unknown flag" },
		{ { "-z" }, "unknown flag '-z': --help lists them" },
		{ { "-memory", "1m" }, "unknown flag '-memory': did you mean '--memory'?" },
		{ { "-qz" }, "unknown flag '-z' in '-qz'" },
		{ { "--memory" }, "--memory needs a value: a size such as" },
		{ { "-m" }, "-m needs a value: a size such as" },
		{ { "--memory", "12q" }, "--memory: '12q' is not a size such as" },
		{ { "--memory=" }, "--memory: '' is not a size" },
		{ { "--memory", "1k" }, "--memory: '1k' is out of range" },
		{ { "--memory", "1k" }, "at least 4k" },
		{ { "--pids-limit", "0" }, "at least 1, at most 4096" },
		{ { "--pids-limit", "4097" }, "out of range" },
		{ { "--pids-limit", "x" }, "not a whole number" },
		{ { "--cpus", "3" }, "at most 2.5" },
		{ { "--timeout", "2h" }, "at most 1h" },
		{ { "--timeout", "1m30" }, "not a duration" },
		{ { "--stop-signal", "NOSUCH" }, "not a signal" },
		{ { "--on-output-limit", "ki" }, "is not one of kill|discard" },
		{ { "--on-output-limit", "kill|discard" }, "is not one of" },
		{ { "--init=maybe" }, "not true or false" },
		{ { "--name=a/b" }, "--name: 'a/b' holds a slash" },
		{ { "--idle-timeout", "unlimited" }, "not a duration" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(wrong); i++) {
		struct fixture f;
		const char *words[6] = { "prog" };

		start(&f);
		memcpy(words + 1, wrong[i].words, sizeof(wrong[i].words));
		ck_fails(parse_words(&f, words), f.err, wrong[i].text);
		ck_assert_int_eq(f.err.kind, CS_INVALID);
		cs_opt_release(&f.set);
	}
}
END_TEST

START_TEST(flags_beside_a_wrong_value_are_salvaged)
{
	static const struct {
		const char *argv[8];
		uint64_t memory_bytes;
	} texts[] = {
		{ { "x", "--pids-limit", "none", "--memory", "4k", "--", "x" }, 4096 },
		{ { "x", "--pids-limit=none", "-m4k" }, 4096 },
		{ { "x", "-n", "a/b", "-qm", "4k" }, 4096 },
		{ { "x", "--memory", "none", "x" }, 1 },
		{ { "x", "--memory" }, 1 },
		/* behind a flag that nobody knows, the next words may be anybody's */
		{ { "x", "--memory", "4k", "--nope", "--memory", "8k" }, 4096 },
		{ { "x", "--nope", "--memory", "4k" }, 1 },
		{ { "x", "-Zm4k" }, 1 },
		{ { "x", "prog", "--memory", "4k" }, 1 },
		{ { "x", "--", "--memory", "4k" }, 1 },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++) {
		struct fixture f;
		int argc = 0;

		start(&f);
		f.settings.memory_bytes = 1;
		while (argc < 8 && texts[i].argv[argc])
			argc++;
		cs_opt_salvage(&f.set, argc, (char *const *)texts[i].argv);
		ck_assert_uint_eq(f.settings.memory_bytes, texts[i].memory_bytes);
		cs_opt_release(&f.set);
	}
}
END_TEST

START_TEST(long_garbage_is_cut_in_errors)
{
	struct fixture f;
	char big[5000];

	start(&f);
	memset(big, 'x', sizeof(big));
	memcpy(big, "--", 2);
	big[sizeof(big) - 1] = '\0';
	ck_fails(parse(&f, big), f.err, "unknown flag '--xxxx");
	ck_assert_uint_lt(strlen(f.err.text), 200);
	ck_fails(parse(&f, "--memory", big + 2), f.err, "is not a size");
	ck_assert_uint_lt(strlen(f.err.text), 200);
}
END_TEST

START_TEST(limits_can_be_lifted_by_word)
{
	struct fixture f;

	start(&f);
	ck_assert_int_eq(parse(&f, "--memory", "unlimited", "--pids-limit=-1", "--timeout", "0"),
			 6);
	ck_assert_uint_eq(f.settings.memory_bytes, CS_OPT_UNLIMITED);
	ck_assert_uint_eq(f.settings.pids, CS_OPT_UNLIMITED);
	ck_assert_int_eq(f.settings.timeout_ns, CS_NEVER);
}
END_TEST

START_TEST(lists_append_and_can_be_emptied)
{
	struct fixture f;

	start(&f);
	ck_assert_int_eq(parse(&f, "-e", "A=1", "--env=B=2", "-eC=3"), 5);
	ck_assert_uint_eq(f.settings.env.n, 3);
	ck_assert_str_eq(f.settings.env.v[1], "B=2");
	ck_assert_int_eq(parse(&f, "--env==D=4"), 2);
	ck_assert_uint_eq(f.settings.env.n, 1);
	ck_assert_str_eq(f.settings.env.v[0], "D=4");
	ck_assert_int_eq(parse(&f, "-e", "="), 3);
	ck_assert_uint_eq(f.settings.env.n, 0);
	cs_opt_release(&f.set);
}
END_TEST

START_TEST(later_origins_win_whatever_comes_first)
{
	struct fixture f;
	const struct cs_opt *memory, *env;

	start(&f);
	memory = cs_opt_by_key(&f.set, "memory");
	env = cs_opt_by_key(&f.set, "env");
	ck_assert_int_eq(cs_opt_origin_of(&f.set, memory), CS_ORIGIN_BUILTIN);
	ck_ok(cs_opt_put(&f.set, memory, "--memory", "64m", CS_ORIGIN_FLAG, &f.err), f.err);
	ck_ok(cs_opt_put(&f.set, memory, "key 'memory'", "32m", CS_ORIGIN_FILE, &f.err), f.err);
	ck_assert_uint_eq(f.settings.memory_bytes, 64 << 20);
	ck_assert_str_eq(cs_opt_origin_word(cs_opt_origin_of(&f.set, memory)), "flag");
	ck_ok(cs_opt_put(&f.set, memory, "--memory", "16m", CS_ORIGIN_FLAG, &f.err), f.err);
	ck_assert_uint_eq(f.settings.memory_bytes, 16 << 20);
	ck_ok(cs_opt_put(&f.set, env, "-e", "A=1", CS_ORIGIN_FLAG, &f.err), f.err);
	ck_ok(cs_opt_put(&f.set, env, "key 'env'", "B=1", CS_ORIGIN_FILE, &f.err), f.err);
	ck_assert_uint_eq(f.settings.env.n, 2);
	/* a failure changes neither value nor origin */
	ck_fails(cs_opt_put(&f.set, memory, "key 'memory'", "?", CS_ORIGIN_FLAG, &f.err), f.err,
		 "key 'memory': '?' is not");
	ck_assert_uint_eq(f.settings.memory_bytes, 16 << 20);
	cs_opt_release(&f.set);
}
END_TEST

START_TEST(values_read_back)
{
	static const struct {
		const char *name, *value, *text;
	} values[] = {
		{ "quiet", "on", "true" },
		{ "name", "x y", "x y" },
		{ "pids-limit", "64", "64" },
		{ "pids-limit", "-1", "unlimited" },
		{ "memory", "65536", "64k" },
		{ "memory", "unlimited", "unlimited" },
		{ "cpus", "1.5", "1.5" },
		{ "cpus", "2", "2" },
		{ "cpus", "0.015", "0.015" },
		{ "cpus", "unlimited", "unlimited" },
		{ "timeout", "90", "1m30s" },
		{ "timeout", "0", "unlimited" },
		{ "stop-signal", "int", "SIGINT" },
		{ "stop-signal", "POLL", "SIGIO" },
		{ "stop-signal", "40", "40" },
		{ "on-output-limit", "kill", "kill" },
		{ "on-output-limit", "discard", "discard" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(values); i++) {
		struct fixture f;
		cs_auto(buf) once = CS_BUF_INIT(256);
		cs_auto(buf) twice = CS_BUF_INIT(256);
		const struct cs_opt *row;

		start(&f);
		row = cs_opt_by_name(&f.set, values[i].name);
		ck_assert_ptr_nonnull(row);
		ck_ok(cs_opt_put(&f.set, row, "x", values[i].value, CS_ORIGIN_FLAG, &f.err), f.err);
		ck_assert_int_eq(cs_opt_value_text(&f.set, row, &once), 0);
		ck_assert_str_eq(once.data, values[i].text);
		ck_ok(cs_opt_put(&f.set, row, "x", once.data, CS_ORIGIN_FLAG, &f.err), f.err);
		ck_assert_int_eq(cs_opt_value_text(&f.set, row, &twice), 0);
		ck_assert_str_eq(twice.data, once.data);
		cs_opt_release(&f.set);
	}
}
END_TEST

/* One table, two commands: what is of the other one is refused as a flag, and passed over in files. */
START_TEST(rows_of_another_command)
{
	cs_auto(buf) help = CS_BUF_INIT(65536);
	struct fixture f;

	start(&f);
	f.set.scope = SECOND;
	ck_fails(parse(&f, "--memory", "1m"), f.err, "--memory does not apply");
	ck_assert_int_eq(parse(&f, "--rate", "3", "--burst=4"), 4);
	ck_assert_uint_eq(f.settings.burst, 4);
	cs_opt_help(&f.set, &help);
	ck_assert_ptr_null(strstr(help.data, "--memory"));
	ck_assert_ptr_nonnull(strstr(help.data, "--burst"));

	start(&f);
	f.set.scope = SECOND;
	ck_ok(cs_opt_put(&f.set, cs_opt_by_key(&f.set, "memory"), "memory", "1m", CS_ORIGIN_FILE, &f.err), f.err);
	ck_ok(cs_opt_put(&f.set, cs_opt_by_key(&f.set, "burst"), "burst", "4", CS_ORIGIN_POLICY, &f.err), f.err);
	ck_ok(cs_opt_put(&f.set, cs_opt_by_key(&f.set, "rate"), "rate", "3", CS_ORIGIN_FILE, &f.err), f.err);
	ck_assert_uint_eq(f.settings.memory_bytes, 0);
	ck_assert_uint_eq(f.settings.burst, 0);
	ck_assert_uint_eq(f.settings.rate, 3);

	f.set.scope = FIRST;
	ck_ok(cs_opt_put(&f.set, cs_opt_by_key(&f.set, "burst"), "burst", "4", CS_ORIGIN_FILE, &f.err), f.err);
	ck_assert_uint_eq(f.settings.burst, 4);
	ck_assert_int_eq(parse(&f, "--memory", "1m"), 3);
}
END_TEST

/* a command's own flag may be named as a setting that is for others */
START_TEST(a_row_that_applies_goes_first)
{
	struct own {
		uint64_t memory;
	} own = { 0 };
	static const struct cs_opt own_rows[] = {
		{ "memory", 'm', CS_OPT_U64, offsetof(struct own, memory), .arg = "N", .help = "something else" },
	};
	const struct cs_opt_set more = { .rows = own_rows, .n = 1, .target = &own };
	struct fixture f;

	start(&f);
	f.set.scope = SECOND;
	f.set.more = &more;
	ck_assert_int_eq(parse(&f, "--memory", "7"), 3);
	ck_assert_uint_eq(own.memory, 7);
	ck_assert_uint_eq(f.settings.memory_bytes, 0);
	ck_assert_int_eq(parse(&f, "-m8"), 2);
	ck_assert_uint_eq(own.memory, 8);
}
END_TEST

START_TEST(help_and_manual_show_every_row_but_hidden_ones)
{
	cs_auto(buf) help = CS_BUF_INIT(65536);
	cs_auto(buf) man = CS_BUF_INIT(65536);
	struct fixture f;

	start(&f);
	ck_assert_int_eq(cs_opt_help(&f.set, &help), 0);
	ck_assert_int_eq(cs_opt_man(&f.set, &man), 0);
	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		char flag[64];

		snprintf(flag, sizeof(flag), "--%s", rows[i].name);
		ck_assert_msg(!strstr(help.data, flag) == rows[i].hidden, "%s", flag);
		ck_assert_msg(!strstr(help.data, rows[i].help) == rows[i].hidden, "%s", flag);
	}
	ck_assert_ptr_nonnull(strstr(help.data, "  -m, --memory SIZE            memory of"));
	ck_assert_ptr_nonnull(strstr(help.data, "      --pids-limit N           processes"));
	ck_assert_ptr_nonnull(strstr(help.data, "-b, --best-effort[=LIST] "));
	ck_assert_ptr_nonnull(strstr(man.data, ".TP\n.B \\-m, \\-\\-memory SIZE\n"));
	ck_assert_ptr_nonnull(strstr(man.data, "\n\\&.A dot \\- and a dash.\n"));
	ck_assert_ptr_nonnull(strstr(man.data, "Configuration key: pidsLimit.\n"));
}
END_TEST

START_TEST(help_is_grouped_and_wrapped_and_tells_values)
{
	struct own {
		uint64_t size, number;
		bool on;
	} own = { .size = 65536, .number = CS_OPT_UNLIMITED };
	static const struct cs_opt table[] = {
		{ "size", 's', CS_OPT_SIZE, offsetof(struct own, size), .arg = "SIZE", .group = "First",
		  .help = "a text that is so long that it does not fit into the eighty columns of a terminal" },
		{ "other", 0, CS_OPT_SWITCH, offsetof(struct own, on), .help = "of another command", .group = "Second", .scope = SECOND },
		{ "number-with-a-long-name", 0, CS_OPT_U64, offsetof(struct own, number), .arg = "NUMBER", .help = "a number", .scope = FIRST,
		  .lift = CS_LIFT_WORD },
	};
	const struct cs_opt_set set = { .rows = table, .n = CS_ARRAY_LEN(table), .target = &own, .scope = FIRST };
	cs_auto(buf) help = CS_BUF_INIT(65536);

	ck_assert_int_eq(cs_opt_help(&set, &help), 0);
	ck_assert_str_eq(help.data, "\nFirst:\n"
				    "  -s, --size SIZE              a text that is so long that it does not fit into\n"
				    "                               the eighty columns of a terminal (64k)\n"
				    "\nSecond:\n"
				    "      --number-with-a-long-name NUMBER\n"
				    "                               a number\n");
}
END_TEST

START_TEST(elements_of_a_list_can_be_choices)
{
	struct own {
		struct cs_strv words;
	} own = { 0 };
	static const struct cs_opt table[] = {
		{ "word", 0, CS_OPT_LIST, offsetof(struct own, words), .arg = "LIST", .help = "words", .choices = "a|bb|ccc" },
	};
	const struct cs_opt_set set = { .rows = table, .n = 1, .target = &own };
	static const char *const wrong[] = { "d", "a,b", "", "a,", ",a", "=b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };

	for (size_t i = 0; i < CS_ARRAY_LEN(wrong); i++) {
		struct cs_err err = CS_ERR_INIT;

		ck_fails(cs_opt_put(&set, &table[0], "--word", wrong[i], CS_ORIGIN_FLAG, &err), err, "a|bb|ccc");
		ck_assert_uint_eq(own.words.n, 0);
	}
	for (const char *const *right = (const char *const[]){ "bb", "a,ccc", "=a", NULL }; *right; right++) {
		struct cs_err err = CS_ERR_INIT;

		ck_ok(cs_opt_put(&set, &table[0], "--word", *right, CS_ORIGIN_FLAG, &err), err);
	}
	ck_assert_uint_eq(own.words.n, 1);
	cs_opt_release(&set);
}
END_TEST

CS_UNIT_SUITE(opt, every_form_of_a_flag, parsing_stops_at_the_first_operand,
	      value_that_may_be_absent_takes_none_from_the_next_word,
	      wrong_flags_are_named_with_the_nearest, long_garbage_is_cut_in_errors, flags_beside_a_wrong_value_are_salvaged,
	      limits_can_be_lifted_by_word, lists_append_and_can_be_emptied,
	      later_origins_win_whatever_comes_first, values_read_back,
	      rows_of_another_command, a_row_that_applies_goes_first, help_and_manual_show_every_row_but_hidden_ones,
	      help_is_grouped_and_wrapped_and_tells_values, elements_of_a_list_can_be_choices)
