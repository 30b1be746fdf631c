#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/task/record.h"
#include "shim/task/session.h"
#include "tests/unit/unit.h"

static char state[64];
static struct cs_record record; /* of the run "web" */
static struct cs_strv command;

static void begin(void)
{
	struct cs_err err = CS_ERR_INIT;

	snprintf(state, sizeof(state), "/tmp/caisson-test-session-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state));
	ck_ok(cs_record_open(state, "web", NULL, &record, &err), err);
	ck_ok(cs_record_make(&record, &err), err);
	ck_assert_int_eq(cs_strv_add(&command, "sh"), 0);
	ck_assert_int_eq(cs_strv_add(&command, "-c"), 0);
}

static bool exists(const char *what)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", state, what);
	return access(path, F_OK) == 0;
}

static void done(void)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;
	char path[96];

	if (record.dir_fd >= 0)
		ck_assert_int_eq(cs_undo_replay(&record, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &leftovers), 0);
	cs_record_release(&record);
	cs_strv_release(&command);
	snprintf(path, sizeof(path), "%s/runs", state);
	rmdir(path);
	ck_assert_int_eq(rmdir(state), 0);
}

static void make(int64_t expire_ns, struct cs_session *ret)
{
	struct cs_err err = CS_ERR_INIT;
	size_t at;

	ck_ok(cs_undo_push(&record, CS_UNDO_SESSION, "web", &at, &err), err);
	ck_ok(cs_session_make(record.runs_fd, "web", &command, expire_ns, ret, &err), err);
}

static void keep(struct cs_session *session, int64_t expire_ns)
{
	struct cs_result result;
	struct cs_err err = CS_ERR_INIT;

	cs_result_init(&result);
	snprintf(result.id, sizeof(result.id), "web");
	result.reason = CS_REASON_EXITED;
	result.end.code = 7;
	ck_ok(cs_session_keep(session, &result, expire_ns, &err), err);
	cs_result_release(&result);
	cs_session_release(session);
}

/* The run is over, as its supervisor leaves it. */
static void end_run(void)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;

	ck_assert_int_eq(cs_undo_replay(&record, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &leftovers), 0);
	cs_close_fd(&record.dir_fd);
}

static unsigned collect(void)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;
	unsigned removed = cs_session_collect(state, CS_NEVER, &leftovers);

	ck_assert_msg(leftovers.n == 0, "%s", leftovers.n ? leftovers.v[0] : "");
	return removed;
}

START_TEST(undone_without_a_result_kept_with_one)
{
	struct cs_session session = CS_SESSION_INIT;

	begin();
	make(CS_NEVER, &session);
	ck_assert(cs_session_exists(record.runs_fd, "web"));
	ck_assert_int_eq(write(session.stdout_fd, "x", 1), 1);
	ck_assert_int_eq(cs_session_undo(record.runs_fd, "web"), 0);
	ck_assert(!exists("sessions"));
	ck_assert_int_eq(cs_session_undo(record.runs_fd, "web"), 0);
	cs_session_release(&session);
	make(CS_NEVER, &session);
	keep(&session, CS_NEVER);
	end_run();
	ck_assert(exists("sessions/web/result"));
	ck_assert(!exists("runs/web"));
	ck_assert_int_eq(cs_session_undo(record.runs_fd, "web"), 0);
	ck_assert(exists("sessions/web/result"));
	ck_assert_int_eq(cs_session_discard(state, "web", &(struct cs_err){ 0 }), 0);
	done();
}
END_TEST

/* What a guardian does: the record alone tells it. */
START_TEST(a_record_takes_its_session_along)
{
	struct cs_session session = CS_SESSION_INIT;

	begin();
	make(CS_NEVER, &session);
	cs_session_release(&session);
	end_run();
	ck_assert(!exists("sessions"));
	done();
}
END_TEST

START_TEST(an_id_is_taken_once)
{
	struct cs_session session = CS_SESSION_INIT, other = CS_SESSION_INIT;
	struct cs_err err = CS_ERR_INIT;

	begin();
	make(CS_NEVER, &session);
	ck_fails(cs_session_make(record.runs_fd, "web", &command, CS_NEVER, &other, &err), err, "rm web");
	ck_assert_int_eq(err.kind, CS_EXISTS);
	ck_assert(exists("sessions/web/session"));
	cs_session_release(&session);
	done();
}
END_TEST

START_TEST(a_result_is_read_back)
{
	struct cs_session session = CS_SESSION_INIT;
	struct cs_err err = CS_ERR_INIT;
	cs_autojson struct cs_json *result = NULL;
	cs_autofd int dir_fd = -1;

	begin();
	ck_fails(cs_session_open(state, "web", &err), err, "no session 'web'");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	make(CS_NEVER, &session);
	cs_err_clear(&err);
	dir_fd = cs_session_open(state, "web", &err);
	ck_assert_int_ge(dir_fd, 0);
	ck_assert_int_lt(cs_session_result(dir_fd, &result, &err), 0);
	ck_assert_int_eq(err.kind, CS_STATE);
	keep(&session, CS_NEVER);
	cs_err_clear(&err);
	ck_ok(cs_session_result(dir_fd, &result, &err), err);
	ck_assert_str_eq(cs_json_string(cs_json_member(result, "reason")), "exited");
	end_run();
	ck_ok(cs_session_discard(state, "web", &err), err);
	done();
}
END_TEST

START_TEST(only_what_is_finished_is_discarded)
{
	struct cs_session session = CS_SESSION_INIT;
	struct cs_err err = CS_ERR_INIT;
	cs_autofd int held = -1;
	char path[96];

	begin();
	ck_fails(cs_session_discard(state, "web", &err), err, "no session 'web'");
	make(0, &session);
	cs_err_clear(&err);
	ck_fails(cs_session_discard(state, "web", &err), err, "is live");
	ck_assert_int_eq(err.kind, CS_STATE);
	/* not even though it looks expired: its time is not set */
	ck_assert_uint_eq(collect(), 0);
	keep(&session, CS_NEVER);
	end_run();
	/* while somebody else is at it */
	snprintf(path, sizeof(path), "%s/sessions/web", state);
	held = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(flock(held, LOCK_EX), 0);
	cs_err_clear(&err);
	ck_assert_int_lt(cs_session_discard(state, "web", &err), 0);
	ck_assert(exists("sessions/web/result"));
	cs_close_fd(&held);
	cs_err_clear(&err);
	ck_ok(cs_session_discard(state, "web", &err), err);
	ck_assert(!exists("sessions"));
	done();
}
END_TEST

/* A start looks at each session for whether it has expired, at the very moment of its end too. */
START_TEST(nobody_gets_in_between_the_end_and_the_result)
{
	struct cs_session session = CS_SESSION_INIT;
	cs_autofd int other = -1;
	char path[96];

	begin();
	make(CS_NEVER, &session);
	snprintf(path, sizeof(path), "%s/sessions/web", state);
	other = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_lt(flock(other, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(errno, EWOULDBLOCK);
	keep(&session, CS_NEVER);
	ck_assert(exists("sessions/web/result"));
	ck_assert_int_eq(flock(other, LOCK_EX | LOCK_NB), 0);
	cs_close_fd(&other);
	end_run();
	ck_assert_int_eq(cs_session_discard(state, "web", &(struct cs_err){ 0 }), 0);
	done();
}
END_TEST

START_TEST(what_has_expired_is_collected)
{
	static const struct {
		int64_t expire_ns;
		unsigned removed;
	} rows[] = {
		{ 0, 1 },
		{ 3600 * CS_NSEC_PER_SEC, 0 },
		{ CS_NEVER, 0 },
		{ INT64_MAX - 1, 0 },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_session session = CS_SESSION_INIT;

		begin();
		make(rows[i].expire_ns, &session);
		keep(&session, rows[i].expire_ns);
		end_run();
		ck_assert_uint_eq(collect(), rows[i].removed);
		ck_assert_int_eq(exists("sessions/web"), rows[i].removed == 0);
		if (rows[i].removed == 0)
			ck_assert_int_eq(cs_session_discard(state, "web", &(struct cs_err){ 0 }), 0);
		done();
	}
}
END_TEST

/* Killed between taking the name away and the end of the removal, or left by one that is not on record. */
START_TEST(what_was_left_half_way_is_collected)
{
	struct cs_session session = CS_SESSION_INIT;
	char from[96], to[96];

	begin();
	make(CS_NEVER, &session);
	cs_session_release(&session);
	snprintf(from, sizeof(from), "%s/sessions/web", state);
	snprintf(to, sizeof(to), "%s/sessions/.gone-web", state);
	ck_assert_int_eq(rename(from, to), 0);
	/* a removal of that id is not held up by it */
	ck_assert_int_eq(cs_session_undo(record.runs_fd, "web"), 0);
	ck_assert(!exists("sessions"));
	make(CS_NEVER, &session);
	cs_session_release(&session);
	ck_assert_int_eq(rename(from, to), 0);
	ck_assert_uint_eq(collect(), 1);
	ck_assert(!exists("sessions"));
	done();
}
END_TEST

START_TEST(ids_are_found_by_their_beginning)
{
	struct cs_session session = CS_SESSION_INIT;
	struct cs_record other;
	struct cs_err err = CS_ERR_INIT;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	char id[CS_ID_MAX + 1];

	begin();
	make(CS_NEVER, &session);
	ck_ok(cs_session_find(state, "w", id, &err), err); /* a run and a session, but one id */
	ck_assert_str_eq(id, "web");
	ck_ok(cs_record_open(state, "website", NULL, &other, &err), err);
	ck_ok(cs_record_make(&other, &err), err);
	ck_fails(cs_session_find(state, "we", id, &err), err, "more than one");
	ck_assert_int_eq(err.kind, CS_INVALID);
	cs_err_clear(&err);
	ck_ok(cs_session_find(state, "web", id, &err), err); /* whole */
	ck_assert_str_eq(id, "web");
	ck_ok(cs_session_find(state, "webs", id, &err), err);
	ck_assert_str_eq(id, "website");
	ck_fails(cs_session_find(state, "x", id, &err), err, "no run or session 'x'");
	ck_assert_int_eq(err.kind, CS_NOT_FOUND);
	cs_err_clear(&err);
	ck_fails(cs_session_find(state, "../runs/web", id, &err), err, "no id");
	ck_assert_int_eq(cs_undo_replay(&other, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &leftovers), 0);
	cs_record_release(&other);
	cs_session_release(&session);
	done();
}
END_TEST

static void count(const struct cs_session_facts *facts, void *arg)
{
	unsigned *finished = arg;

	ck_assert_str_eq(facts->id, "web");
	ck_assert_str_eq(cs_json_string(cs_json_get(facts->session, "command.0")), "sh");
	finished[facts->result != NULL]++;
}

START_TEST(sessions_are_listed)
{
	struct cs_session session = CS_SESSION_INIT;
	struct cs_err err = CS_ERR_INIT;
	unsigned finished[2] = { 0, 0 };

	begin();
	ck_ok(cs_session_each(state, count, finished, &err), err);
	make(CS_NEVER, &session);
	ck_ok(cs_session_each(state, count, finished, &err), err);
	ck_assert_uint_eq(finished[0], 1);
	keep(&session, CS_NEVER);
	ck_ok(cs_session_each(state, count, finished, &err), err);
	ck_assert_uint_eq(finished[0], 1);
	ck_assert_uint_eq(finished[1], 1);
	end_run();
	ck_ok(cs_session_discard(state, "web", &err), err);
	done();
}
END_TEST

/* Steps behind it only: the first stays to be undone. */
START_TEST(the_last_word_comes_after_the_rest)
{
	struct cs_session session = CS_SESSION_INIT;
	cs_auto(strv) leftovers = CS_STRV_INIT;
	char text[CS_RECORD_BYTES + 1] = "";
	struct cs_err err = CS_ERR_INIT;
	size_t at, ignored;

	begin();
	ck_ok(cs_undo_push(&record, CS_UNDO_SESSION, "web", &at, &err), err);
	ck_ok(cs_undo_push(&record, CS_UNDO_CGROUP, "/caisson-test-none/web", &ignored, &err), err);
	ck_ok(cs_session_make(record.runs_fd, "web", &command, CS_NEVER, &session, &err), err);
	ck_assert_int_eq(cs_undo_replay_behind(&record, at, cs_clock_deadline_ns(CS_NSEC_PER_SEC), &leftovers), 0);
	ck_assert_int_eq(pread(record.file_fd, text, CS_RECORD_BYTES, 0), CS_RECORD_BYTES);
	ck_assert_ptr_nonnull(strstr(text, "+session web\n"));
	ck_assert_ptr_nonnull(strstr(text, "-cgroup /caisson-test-none/web\n"));
	ck_assert(exists("sessions/web"));
	cs_session_release(&session);
	done();
}
END_TEST

CS_UNIT_SUITE(session, undone_without_a_result_kept_with_one, a_record_takes_its_session_along, an_id_is_taken_once,
	      a_result_is_read_back, only_what_is_finished_is_discarded,
	      nobody_gets_in_between_the_end_and_the_result, what_has_expired_is_collected,
	      what_was_left_half_way_is_collected, ids_are_found_by_their_beginning, sessions_are_listed,
	      the_last_word_comes_after_the_rest)
