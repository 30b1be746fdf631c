#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/file.h"
#include "shim/engine/engine_argv.h"
#include "tests/unit/unit.h"

static const struct cs_engine_args all_args = {
	.root = "/run/caisson/r/engine",
	.log = "/run/caisson/r/engine.log",
	.id = "web1",
	.bundle = "/run/caisson/r/bundle",
	.pid_file = "/run/caisson/r/pid",
	.process = "/run/caisson/r/process.json",
	.resources = "/run/caisson/r/resources.json",
	.detach = true,
	.force = true,
	.signal = "9",
};

static struct cs_engine engine_of(const struct cs_engine_kind *kind)
{
	struct cs_engine engine = { .kind = kind };

	ck_assert_int_ge(asprintf(&engine.path, "/usr/bin/%s", kind->name), 0);
	ck_assert_int_eq(cs_strv_add_all(&engine.global_args, kind->global_args), 0);
	ck_assert_int_eq(cs_strv_add_all(&engine.global_args, kind->optional_args), 0);
	return engine;
}

static void add_case(struct cs_buf *text, const struct cs_engine *engine, enum cs_verb verb,
		     const struct cs_engine_args *args)
{
	cs_auto(strv) argv = CS_STRV_INIT;
	struct cs_err err = CS_ERR_INIT;

	if (cs_engine_argv(engine, verb, args, &argv, &err) < 0) {
		cs_buf_addf(text, "%s %s: %s\n", engine->kind->name, cs_verb_word(verb), err.text);
		return;
	}
	for (size_t i = 0; i < argv.n; i++)
		cs_buf_addf(text, "%s%s", i ? " " : "", argv.v[i]);
	cs_buf_addc(text, '\n');
}

/* Every verb of every row; then each option of its own. */
static void write_cases(struct cs_buf *text, const struct cs_engine *engine)
{
	struct cs_engine_args args = all_args;

	cs_buf_addf(text, "# %s\n", engine->kind->name);
	for (int verb = 0; verb < CS_VERBS; verb++)
		add_case(text, engine, verb, &args);
	args.network_none = true;
	add_case(text, engine, CS_VERB_START, &args);
	args.systemd_cgroup = true;
	add_case(text, engine, CS_VERB_CREATE, &args);
	args.console_socket = "/run/caisson/r/console";
	args.trace_config = "/run/caisson/r/trace.json";
	add_case(text, engine, CS_VERB_CREATE, &args);
	add_case(text, engine, CS_VERB_DELETE, &args);
	args.internal_pid_file = "/run/caisson/r/inner";
	add_case(text, engine, CS_VERB_EXEC, &args);
	args.all = true;
	add_case(text, engine, CS_VERB_KILL, &args);
	args.all = false;
	args.pid = "7";
	add_case(text, engine, CS_VERB_KILL, &args);
}

/* GOLDEN=write in the environment makes the file anew. */
START_TEST(argv_of_every_verb_is_golden)
{
	const char *srcdir = getenv("SRCDIR");
	cs_auto(buf) have = CS_BUF_INIT(1 << 20);
	cs_auto(buf) want = CS_BUF_INIT(1 << 20);
	const struct cs_engine_kind *kind;
	char path[4096];

	for (size_t i = 0; (kind = cs_engine_kind_at(i)); i++) {
		struct cs_engine engine = engine_of(kind);

		write_cases(&have, &engine);
		free(engine.path);
		cs_strv_release(&engine.global_args);
	}
	snprintf(path, sizeof(path), "%s/tests/golden/argv.txt", srcdir ? srcdir : ".");
	if (getenv("GOLDEN"))
		ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, path, have.data, have.len, 0644, false), 0);
	ck_assert_int_eq(cs_file_read(AT_FDCWD, path, &want), 0);
	ck_assert_str_eq(have.data, want.data);
}
END_TEST

START_TEST(what_a_verb_needs_is_asked_for)
{
	struct cs_engine engine = engine_of(cs_engine_kind_by_name("runc"));
	const struct cs_engine_args no_id = { 0 }, odd_id = { .id = "../x" }, only_id = { .id = "x" };
	const struct cs_engine_args relative = { .id = "x", .bundle = "b" };
	const struct { enum cs_verb verb; const struct cs_engine_args *args; const char *text; } cases[] = {
		{ CS_VERB_START, &no_id, "no container id" },
		{ CS_VERB_START, &odd_id, "'../x' is no container id" },
		{ CS_VERB_CREATE, &only_id, "create needs --bundle" },
		{ CS_VERB_CREATE, &relative, "--bundle 'b' is not absolute" },
		{ CS_VERB_EXEC, &only_id, "exec needs --process" },
		{ CS_VERB_KILL, &only_id, "kill needs a signal" },
		{ CS_VERB_UPDATE, &only_id, "update needs --resources" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(cases); i++) {
		cs_auto(strv) argv = CS_STRV_INIT;
		struct cs_err err = CS_ERR_INIT;

		ck_fails(cs_engine_argv(&engine, cases[i].verb, cases[i].args, &argv, &err), err, cases[i].text);
		ck_assert_int_eq(err.kind, CS_INVALID);
		ck_assert_uint_eq(argv.n, 0);
	}
	free(engine.path);
}
END_TEST

START_TEST(every_verb_has_a_word)
{
	for (int verb = 0; verb < CS_VERBS; verb++)
		ck_assert_str_ne(cs_verb_word(verb), "?");
	ck_assert_str_eq(cs_verb_word(CS_VERBS), "?");
}
END_TEST

CS_UNIT_SUITE(engine_argv, argv_of_every_verb_is_golden, what_a_verb_needs_is_asked_for, every_verb_has_a_word)
