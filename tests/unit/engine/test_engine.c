/* Finding an engine, and what is remembered of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "tests/unit/engine/fake.h"
#include "tests/unit/unit.h"

static void again(struct fake *fake, const char *name, const char *kind_name, const struct cs_strv *extra, int cache)
{
	struct cs_err err = CS_ERR_INIT;

	cs_engine_release(&fake->engine);
	ck_ok(cs_engine_find(name, kind_name, extra, cache, &fake->engine, &err), err);
}

static size_t calls_of(const struct fake *fake, const char *name)
{
	cs_auto(buf) text = CS_BUF_INIT(1 << 20);
	char file[64];
	size_t n = 0;

	snprintf(file, sizeof(file), "%s.calls", name);
	ck_assert_int_eq(cs_file_read(AT_FDCWD, fake_path(fake, file), &text), 0);
	for (size_t i = 0; i < text.len; i++)
		n += text.data[i] == '\n';
	return n;
}

static void count_calls(const struct fake *fake, const char *name)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.calls", name);
	ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(fake, file), "", 0, 0600, false), 0);
}

static int open_cache(const struct fake *fake)
{
	int fd;

	ck_assert_int_eq(mkdir(fake_path(fake, "cache"), 0700), 0);
	fd = open(fake_path(fake, "cache"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* The one file in the cache, below fake->dir. */
static void cache_file(const struct fake *fake, char *name, size_t size)
{
	DIR *dir = opendir(fake_path(fake, "cache"));
	struct dirent *entry;
	size_t n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			snprintf(name, size, "cache/%.48s", entry->d_name);
			n++;
		}
	closedir(dir);
	ck_assert_uint_eq(n, 1);
}

START_TEST(kind_comes_from_the_name_or_from_what_it_says)
{
	struct fake fake;
	cs_autofd int dir = -1;

	fake_set_up(&fake, "crun", "");
	dir = open(fake.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_str_eq(fake.engine.kind->name, "crun");
	ck_assert_str_eq(fake.engine.version, "99.0-fake");
	ck_assert(fake.engine.features.known);
	ck_assert_str_eq(fake.engine.features.oci_version_max, "1.0.2");
	ck_assert_int_eq(renameat(dir, "crun", dir, "runc-1.5"), 0);
	again(&fake, fake_path(&fake, "runc-1.5"), NULL, NULL, -1);
	ck_assert_str_eq(fake.engine.kind->name, "runc");
	/* a name that says nothing: it passes for runc by its --version */
	ck_assert_int_eq(renameat(dir, "runc-1.5", dir, "wrapper"), 0);
	again(&fake, fake_path(&fake, "wrapper"), NULL, NULL, -1);
	ck_assert_str_eq(fake.engine.kind->name, "runc");
	/* the caller's word counts most; it does not answer as that, so its version is not known */
	again(&fake, fake_path(&fake, "wrapper"), "youki", NULL, -1);
	ck_assert_str_eq(fake.engine.kind->name, "youki");
	ck_assert_str_eq(fake.engine.version, "");
	ck_assert(!fake.engine.features.known);
	fake_tear_down(&fake);
}
END_TEST

START_TEST(search_goes_along_PATH_and_skips_what_cannot_run)
{
	struct cs_err err = CS_ERR_INIT;
	struct fake fake;
	char path[256];

	fake_set_up(&fake, "youki", "");
	ck_assert_int_eq(mkdir(fake_path(&fake, "first"), 0700), 0);
	ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(&fake, "first/youki"), "#!/bin/sh\n", 10, 0600, false), 0);
	snprintf(path, sizeof(path), "relative:%s/first::%s", fake.dir, fake.dir);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
	again(&fake, "youki", NULL, NULL, -1);
	ck_assert_str_eq(fake.engine.path, fake_path(&fake, "youki"));
	ck_assert_int_eq(unlink(fake_path(&fake, "youki")), 0);
	cs_engine_release(&fake.engine);
	ck_fails(cs_engine_find("youki", NULL, NULL, -1, &fake.engine, &err), err, "may not be executed");
	ck_assert_int_eq(err.kind, CS_DENIED);
	fake_tear_down(&fake);
}
END_TEST

START_TEST(what_is_missing_is_said_with_a_remedy)
{
	struct cs_engine engine;
	struct cs_err err = CS_ERR_INIT;

	ck_assert_int_eq(setenv("PATH", "/nonexistent", 1), 0);
	ck_fails(cs_engine_find("kata-runtime", NULL, NULL, -1, &engine, &err), err, "install Kata");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_err_clear(&err);
	ck_fails(cs_engine_find("no-such", NULL, NULL, -1, &engine, &err), err, "give one of crun, runc, runsc");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_err_clear(&err);
	ck_fails(cs_engine_find("", NULL, NULL, -1, &engine, &err), err, "not known");
	cs_err_clear(&err);
	ck_fails(cs_engine_find("/no/such/runc", NULL, NULL, -1, &engine, &err), err, "'/no/such/runc'");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_err_clear(&err);
	ck_fails(cs_engine_find("/etc/passwd", NULL, NULL, -1, &engine, &err), err, "'/etc/passwd'");
	ck_assert_int_eq(err.kind, CS_DENIED);
	cs_err_clear(&err);
	ck_fails(cs_engine_find("/bin/true", "docker", NULL, -1, &engine, &err), err, "no kind of engine (known: crun, runc");
	ck_assert_int_eq(err.kind, CS_INVALID);
	cs_err_clear(&err);
	ck_fails(cs_engine_find("/bin/true", NULL, NULL, -1, &engine, &err), err, "does not tell which kind");
	ck_assert_int_eq(err.kind, CS_INVALID);
}
END_TEST

START_TEST(cache_spares_the_questions)
{
	struct fake fake;
	cs_autofd int cache = -1;
	char name[64];

	fake_set_up(&fake, "runsc", "");
	cache = open_cache(&fake);
	count_calls(&fake, "runsc");
	again(&fake, fake_path(&fake, "runsc"), NULL, NULL, cache);
	ck_assert_uint_eq(calls_of(&fake, "runsc"), 3); /* --version, flags, features */
	again(&fake, fake_path(&fake, "runsc"), NULL, NULL, cache);
	ck_assert_uint_eq(calls_of(&fake, "runsc"), 3);
	ck_assert_str_eq(fake.engine.version, "99.0-fake");
	ck_assert(fake.engine.features.known);
	ck_assert(cs_strv_has(&fake.engine.global_args, "--overlay2=none"));
	/* the same binary as another kind is another question */
	again(&fake, fake_path(&fake, "runsc"), "runc", NULL, cache);
	ck_assert_str_eq(fake.engine.kind->name, "runc");
	ck_assert_uint_gt(calls_of(&fake, "runsc"), 3);
	cache_file(&fake, name, sizeof(name));
	fake_tear_down(&fake);
}
END_TEST

START_TEST(broken_cache_is_ignored_and_written_anew)
{
	static const char *const broken[] = { "", "{", "[1]", "{\"version\":1}", "\377\376\0" };
	cs_auto(buf) before = CS_BUF_INIT(1 << 20);
	struct fake fake;
	cs_autofd int cache = -1;
	char name[64];

	fake_set_up(&fake, "runc", "");
	cache = open_cache(&fake);
	again(&fake, fake_path(&fake, "runc"), NULL, NULL, cache);
	cache_file(&fake, name, sizeof(name));
	ck_assert_int_eq(cs_file_read(AT_FDCWD, fake_path(&fake, name), &before), 0);
	for (size_t i = 0; i < CS_ARRAY_LEN(broken); i++) {
		cs_auto(buf) after = CS_BUF_INIT(1 << 20);

		ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(&fake, name), broken[i], strlen(broken[i]), 0600, false), 0);
		again(&fake, fake_path(&fake, "runc"), NULL, NULL, cache);
		ck_assert_str_eq(fake.engine.version, "99.0-fake");
		ck_assert_int_eq(cs_file_read(AT_FDCWD, fake_path(&fake, name), &after), 0);
		ck_assert_str_eq(after.data, before.data);
	}
	fake_tear_down(&fake);
}
END_TEST

/* Another binary under the same name is asked anew. */
START_TEST(replaced_binary_is_asked_anew)
{
	static const char one[] = "#!/bin/sh\necho runc version 1\n", two[] = "#!/bin/sh\necho runc version 22\n";
	struct fake fake;
	cs_autofd int cache = -1;

	fake_set_up(&fake, "other", "");
	cache = open_cache(&fake);
	ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(&fake, "runc"), one, strlen(one), 0700, false), 0);
	again(&fake, fake_path(&fake, "runc"), NULL, NULL, cache);
	ck_assert_str_eq(fake.engine.version, "1");
	ck_assert_int_eq(cs_file_write_atomic(AT_FDCWD, fake_path(&fake, "runc"), two, strlen(two), 0700, false), 0);
	again(&fake, fake_path(&fake, "runc"), NULL, NULL, cache);
	ck_assert_str_eq(fake.engine.version, "22");
	fake_tear_down(&fake);
}
END_TEST

/* It hangs, floods or dies when asked: found all the same, in bounded time, and asked again the next time. */
START_TEST(F032_silent_binary_is_found_in_bounded_time)
{
	static const char *const scripts[] = { "* hang\n", "--version stdout 5000000\n--version hang\n", "* die KILL\n", "* exit 1\n" };
	struct fake fake;
	cs_autofd int cache = -1;

	fake_set_up(&fake, "runc", "");
	cache = open_cache(&fake);
	for (size_t i = 0; i < CS_ARRAY_LEN(scripts); i++) {
		int64_t begin_ns = cs_clock_now_ns();

		fake_tell(&fake, "runc", scripts[i]);
		again(&fake, fake_path(&fake, "runc"), NULL, NULL, cache);
		ck_assert_str_eq(fake.engine.version, "");
		ck_assert_int_lt(cs_clock_now_ns() - begin_ns, 20 * CS_NSEC_PER_SEC);
	}
	fake_tell(&fake, "runc", "features unknown\n");
	again(&fake, fake_path(&fake, "runc"), NULL, NULL, cache);
	ck_assert_str_eq(fake.engine.version, "99.0-fake");
	ck_assert(!fake.engine.features.known);
	fake_tear_down(&fake);
}
END_TEST

START_TEST(F034_arguments_that_undo_limits_are_refused)
{
	static const struct { const char *kind, *arg; } cases[] = {
		{ "runsc", "--ignore-cgroups" }, { "runsc", "-ignore-cgroups=true" }, { "runsc", "--allow-flag-override" },
		{ "crun", "--cgroup-manager=disabled" }, { "runc", "--rootless=true" }, { "runc", "--root" },
	};
	struct fake fake;

	fake_set_up(&fake, "runsc", "");
	cs_engine_release(&fake.engine);
	for (size_t i = 0; i < CS_ARRAY_LEN(cases); i++) {
		cs_auto(strv) extra = CS_STRV_INIT;
		struct cs_err err = CS_ERR_INIT;

		ck_assert_int_eq(cs_strv_add(&extra, cases[i].arg), 0);
		ck_fails(cs_engine_find(fake_path(&fake, "runsc"), cases[i].kind, &extra, -1, &fake.engine, &err), err,
			 cases[i].arg);
		ck_assert_int_eq(err.kind, CS_INVALID);
	}
	fake_tear_down(&fake);
}
END_TEST

START_TEST(extra_arguments_stand_behind_the_rows)
{
	cs_auto(strv) extra = CS_STRV_INIT;
	struct fake fake;

	fake_set_up(&fake, "runsc", "");
	ck_assert_int_eq(cs_strv_add(&extra, "--platform=systrap"), 0);
	again(&fake, fake_path(&fake, "runsc"), NULL, &extra, -1);
	ck_assert_uint_eq(fake.engine.global_args.n, 2);
	ck_assert_str_eq(fake.engine.global_args.v[0], "--overlay2=none");
	ck_assert_str_eq(fake.engine.global_args.v[1], "--platform=systrap");
	fake_tear_down(&fake);
}
END_TEST

CS_UNIT_SUITE(engine, kind_comes_from_the_name_or_from_what_it_says, search_goes_along_PATH_and_skips_what_cannot_run,
	      what_is_missing_is_said_with_a_remedy, cache_spares_the_questions,
	      broken_cache_is_ignored_and_written_anew, replaced_binary_is_asked_anew,
	      F032_silent_binary_is_found_in_bounded_time, F034_arguments_that_undo_limits_are_refused,
	      extra_arguments_stand_behind_the_rows)
