#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/task/record.h"
#include "tests/unit/unit.h"

static char state[64];

static void begin(void)
{
	snprintf(state, sizeof(state), "/tmp/caisson-test-state-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state));
}

static void done(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/runs", state);
	rmdir(path);
	ck_assert_int_eq(rmdir(state), 0);
}

static int create(const char *id, struct cs_record *ret, struct cs_err *err)
{
	if (cs_record_open(state, id, NULL, ret, err) < 0)
		return -1;
	if (cs_record_make(ret, err) == 0)
		return 0;
	cs_record_release(ret);
	return -1;
}

static bool exists(const char *id)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/runs/%s", state, id);
	return access(path, F_OK) == 0;
}

/* Nothing to undo: removal of the directory is all that is left. */
static int finish(struct cs_record *record)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;
	int r = cs_undo_replay(record, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &leftovers);

	cs_record_release(record);
	return r;
}

START_TEST(a_live_id_is_taken_and_a_dead_one_is_not)
{
	struct cs_record first, second;
	struct cs_err err = CS_ERR_INIT;

	char pid[16];

	begin();
	ck_ok(create("web", &first, &err), err);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	cs_record_note(&first, "pid", pid);
	ck_fails(create("web", &second, &err), err, "is live");
	ck_assert_int_eq(err.kind, CS_EXISTS);
	cs_err_clear(&err);
	cs_record_release(&first); /* as a SIGKILL would: the lock goes, the record stays */
	ck_assert(exists("web"));
	ck_ok(create("web", &second, &err), err);
	ck_assert_int_eq(finish(&second), 0);
	ck_assert(!exists("web"));
	done();
}
END_TEST

START_TEST(a_step_is_struck_out_in_place)
{
	struct cs_record record;
	struct cs_err err = CS_ERR_INIT;
	char text[CS_RECORD_BYTES + 1] = "";
	size_t at;

	begin();
	ck_ok(create("web", &record, &err), err);
	ck_assert_int_eq(cs_record_note(&record, "command", "a\nb"), 0);
	ck_ok(cs_undo_push(&record, CS_UNDO_CGROUP, "/caisson-test-none/web", &at, &err), err);
	ck_assert_int_eq(pread(record.file_fd, text, CS_RECORD_BYTES, 0), CS_RECORD_BYTES);
	ck_assert_ptr_nonnull(strstr(text, "=command a b\n+cgroup /caisson-test-none/web\n"));
	ck_assert_int_eq(cs_undo_strike(&record, at), 0);
	ck_assert_int_eq(pread(record.file_fd, text, CS_RECORD_BYTES, 0), CS_RECORD_BYTES);
	ck_assert_ptr_nonnull(strstr(text, "\n-cgroup /caisson-test-none/web\n"));
	ck_assert_int_eq(finish(&record), 0);
	done();
}
END_TEST

START_TEST(a_record_never_grows)
{
	struct cs_record record;
	struct cs_err err = CS_ERR_INIT;
	char path[3000];
	struct stat st;
	size_t at;

	begin();
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	ck_ok(create("web", &record, &err), err);
	ck_ok(cs_undo_push(&record, CS_UNDO_CGROUP, path, &at, &err), err);
	ck_fails(cs_undo_push(&record, CS_UNDO_CGROUP, path, &at, &err), err, "No space");
	ck_assert_int_eq(fstat(record.file_fd, &st), 0);
	ck_assert_int_eq(st.st_size, CS_RECORD_BYTES);
	ck_assert_int_eq(cs_undo_strike(&record, 0), 0);
	finish(&record);
	done();
}
END_TEST

START_TEST(a_step_of_a_later_version_is_left_alone)
{
	struct cs_record record;
	struct cs_err err = CS_ERR_INIT;
	cs_auto(strv) leftovers = CS_STRV_INIT;

	begin();
	ck_ok(create("web", &record, &err), err);
	ck_assert_int_eq(pwrite(record.file_fd, "+portal /x\n", 11, 0), 11);
	ck_assert_int_eq(cs_undo_replay(&record, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &leftovers), 1);
	ck_assert_ptr_nonnull(strstr(leftovers.v[0], "portal"));
	ck_assert(exists("web"));
	ck_assert_int_eq(cs_undo_strike(&record, 0), 0);
	ck_assert_int_eq(finish(&record), 0);
	done();
}
END_TEST

/* What a guardian does: whatever the supervisor had made of its record by its death. */
START_TEST(clean_up_takes_what_is_dead)
{
	struct cs_record guard, run;
	struct cs_err err = CS_ERR_INIT;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	char path[128];

	begin();
	ck_ok(cs_record_open(state, "web", NULL, &guard, &err), err);
	ck_assert_int_eq(cs_record_clean_up(&guard, CS_NEVER, &leftovers), 0);
	snprintf(path, sizeof(path), "%s/runs/.new-web", state);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(cs_record_clean_up(&guard, CS_NEVER, &leftovers), 0);
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_ok(create("web", &run, &err), err);
	cs_record_release(&run);
	ck_assert_int_eq(cs_record_clean_up(&guard, CS_NEVER, &leftovers), 0);
	ck_assert(!exists("web"));
	cs_record_release(&guard);
	done();
}
END_TEST

/* Killed while it made one of the same id: a later run is not held up. */
START_TEST(one_half_made_is_no_hindrance)
{
	struct cs_record record;
	struct cs_err err = CS_ERR_INIT;
	char path[128];

	begin();
	ck_ok(create("web", &record, &err), err);
	ck_assert_int_eq(finish(&record), 0);
	snprintf(path, sizeof(path), "%s/runs", state);
	ck_assert_int_eq(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/runs/.new-web", state);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_ok(create("web", &record, &err), err);
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_assert_int_eq(finish(&record), 0);
	done();
}
END_TEST

static void count(const struct cs_record_facts *facts, void *arg)
{
	unsigned *counts = arg;

	counts[facts->life]++;
	if (facts->life == CS_RECORD_LIVE) {
		ck_assert_int_eq(facts->pid, 4711);
		ck_assert_str_eq(facts->command, "sleep 9");
	}
}

START_TEST(gc_removes_the_dead_only)
{
	struct cs_record live, dead;
	struct cs_err err = CS_ERR_INIT;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	struct cs_gc_counts counts;
	unsigned lives[2] = { 0, 0 };
	char path[128];

	begin();
	ck_ok(create("live", &live, &err), err);
	cs_record_note(&live, "pid", "4711");
	cs_record_note(&live, "command", "sleep 9");
	ck_ok(create("dead", &dead, &err), err);
	cs_record_release(&dead);
	/* killed between the making of the directory and that of the file */
	snprintf(path, sizeof(path), "%s/runs/.new-1-0", state);
	ck_assert_int_eq(mkdir(path, 0700), 0);

	ck_ok(cs_record_each(state, count, lives, &err), err);
	ck_assert_uint_eq(lives[CS_RECORD_LIVE], 1);
	ck_assert_uint_eq(lives[CS_RECORD_DEAD], 1);
	ck_ok(cs_gc(state, CS_NEVER, &counts, &leftovers, &err), err);
	ck_assert_uint_eq(counts.live, 1);
	ck_assert_uint_eq(counts.removed, 2);
	ck_assert_uint_eq(counts.held, 0);
	ck_assert(exists("live"));
	ck_assert(!exists("dead"));
	ck_assert_int_eq(finish(&live), 0);
	done();
}
END_TEST

static void take(const struct cs_record_facts *facts, void *arg)
{
	*(struct cs_record_facts *)arg = *facts;
}

START_TEST(what_is_run_is_no_step)
{
	struct cs_record record;
	struct cs_err err = CS_ERR_INIT;
	struct cs_record_facts facts = { 0 };
	size_t at;

	begin();
	ck_ok(create("web", &record, &err), err);
	ck_assert_int_eq(cs_record_note(&record, "command", "echo +cgroup /caisson-test-none/other"), 0);
	ck_ok(cs_undo_push(&record, CS_UNDO_CGROUP, "/caisson-test-none/web", &at, &err), err);
	ck_ok(cs_record_each(state, take, &facts, &err), err);
	ck_assert_str_eq(facts.cgroup, "/caisson-test-none/web");
	ck_assert_int_eq(finish(&record), 0);
	done();
}
END_TEST

/* A start has no time to ask one; "caisson gc" has. */
START_TEST(a_start_asks_no_engine)
{
	struct cs_record record;
	struct cs_err err = CS_ERR_INIT;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	struct cs_gc_counts counts;
	char path[sizeof(state) + 32];
	size_t at;

	begin();
	ck_ok(create("web", &record, &err), err);
	snprintf(path, sizeof(path), "%s/containers/none", state);
	ck_ok(cs_undo_push(&record, CS_UNDO_CONTAINER, path, &at, &err), err);
	cs_record_release(&record);
	ck_ok(cs_gc(state, CS_NSEC_PER_SEC, &counts, &leftovers, &err), err);
	ck_assert_uint_eq(counts.held, 1);
	ck_assert(exists("web"));
	ck_ok(cs_gc(state, CS_NEVER, &counts, &leftovers, &err), err);
	ck_assert_uint_eq(counts.removed, 1);
	ck_assert(!exists("web"));
	done();
}
END_TEST

START_TEST(a_state_directory_of_others_is_refused)
{
	struct cs_record record;
	struct cs_err err = CS_ERR_INIT;

	begin();
	ck_assert_int_eq(chmod(state, 0777), 0);
	ck_fails(create("web", &record, &err), err, "root only");
	done();
}
END_TEST

CS_UNIT_SUITE(record, a_live_id_is_taken_and_a_dead_one_is_not, a_step_is_struck_out_in_place,
	      a_record_never_grows,
	      clean_up_takes_what_is_dead, one_half_made_is_no_hindrance, a_step_of_a_later_version_is_left_alone, gc_removes_the_dead_only,
	      what_is_run_is_no_step, a_start_asks_no_engine, a_state_directory_of_others_is_refused)
