#include "shim/task/level.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "tests/unit/unit.h"

static char state[64];

static void begin(void)
{
	snprintf(state, sizeof(state), "/tmp/caisson-test-level-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state));
}

static void done(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/buckets", state);
	unlink(path);
	ck_assert_int_eq(rmdir(state), 0);
}

static struct cs_level open_level(uint64_t key, uint64_t rate, uint64_t burst)
{
	struct cs_level level;

	ck_assert_int_eq(cs_level_open(state, key, rate, burst, &level), 0);
	return level;
}

START_TEST(is_as_it_was_left)
{
	struct cs_level level;

	begin();
	level = open_level(5, 1, 100000);
	ck_assert_uint_eq(level.bucket->level, 100000 - CS_LEVEL_RESERVE);
	cs_bucket_take(level.bucket, 90000);
	cs_level_close(&level);
	level = open_level(5, 1, 100000);
	ck_assert_uint_lt(level.bucket->level, 20000);
	cs_level_close(&level);
	/* somebody else's is full */
	level = open_level(6, 1, 100000);
	ck_assert_uint_eq(level.bucket->level, 100000 - CS_LEVEL_RESERVE);
	cs_level_close(&level);
	done();
}
END_TEST

START_TEST(a_new_rate_holds_and_refills_nothing)
{
	struct cs_level level;

	begin();
	level = open_level(5, 1, 100000);
	cs_bucket_take(level.bucket, 99000);
	cs_level_close(&level);
	level = open_level(5, 2, 1000000);
	ck_assert_uint_lt(level.bucket->level, 2000);
	ck_assert_uint_eq(level.bucket->rate_per_s, 2);
	ck_assert_uint_eq(level.bucket->burst, 1000000);
	cs_level_close(&level);
	level = open_level(5, 2, 50);
	ck_assert_uint_le(level.bucket->level, 50);
	cs_level_close(&level);
	done();
}
END_TEST

/* Keys of one page: 64 of them fit, and no more while they are in use or not full again. */
#define SLOTS 64
#define KEY(i) (64 * ((uint64_t)(i) + 1))

START_TEST(places_are_given_on)
{
	struct cs_level levels[SLOTS], more;

	begin();
	for (int i = 0; i < SLOTS; i++)
		levels[i] = open_level(KEY(i), 1, 100000);
	ck_assert_int_eq(cs_level_open(state, KEY(SLOTS), 1, 100000, &more), -ENOSPC);
	ck_assert_ptr_nonnull(more.bucket); /* bounded all the same */
	cs_level_close(&more);
	/* one that nobody uses, but which is not full: it must be there when its container comes back */
	cs_bucket_take(levels[7].bucket, 50000);
	cs_level_close(&levels[7]);
	ck_assert_int_eq(cs_level_open(state, KEY(SLOTS), 1, 100000, &more), -ENOSPC);
	cs_level_close(&more);
	/* full and unused */
	cs_level_close(&levels[9]);
	more = open_level(KEY(SLOTS), 1, 100000);
	cs_level_close(&more);
	levels[7] = open_level(KEY(7), 1, 100000);
	ck_assert_uint_lt(levels[7].bucket->level, 60000);
	for (int i = 0; i < SLOTS; i++)
		if (i != 9)
			cs_level_close(&levels[i]);
	done();
}
END_TEST

START_TEST(a_table_that_others_write_is_not_used)
{
	char path[96];
	struct cs_level level;
	cs_autofd int fd = -1;

	begin();
	snprintf(path, sizeof(path), "%s/buckets", state);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fchmod(fd, 0666), 0);
	ck_assert_int_eq(cs_level_open(state, 1, 1, 1000, &level), -EPERM);
	ck_assert_uint_eq(level.bucket->level, 1000);
	cs_level_close(&level);
	done();
}
END_TEST

CS_UNIT_SUITE(level, is_as_it_was_left, a_new_rate_holds_and_refills_nothing, places_are_given_on,
	      a_table_that_others_write_is_not_used)
