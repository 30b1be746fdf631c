#include "shim/task/results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/path.h"
#include "tests/unit/unit.h"

static char state[64];
static int results;

static void begin(void)
{
	snprintf(state, sizeof(state), "/tmp/caisson-test-results-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(state));
	results = cs_results_open(state, true);
	ck_assert_int_ge(results, 0);
}

static void done(void)
{
	int tmp;

	cs_close_fd(&results);
	tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(cs_path_remove_tree(tmp, state + strlen("/tmp/")), 0);
	close(tmp);
}

static void add(uint64_t key, const char *text)
{
	ck_assert_int_eq(cs_results_add(results, key, text, strlen(text)), 0);
}

static void ck_newest(uint64_t key, const char *text)
{
	cs_auto(buf) found = CS_BUF_INIT(CS_RESULTS_FILE_BYTES);

	ck_assert_int_eq(cs_results_read(results, key, &found), 0);
	ck_assert_str_eq(found.data, text);
}

static int files(void)
{
	cs_autofd int fd = openat(results, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	fd = -1;
	while ((entry = readdir(dir)))
		n += strstr(entry->d_name, ".json") != NULL;
	closedir(dir);
	return n;
}

START_TEST(keys_differ)
{
	ck_assert_uint_ne(cs_container_key("/run/a", "bc"), cs_container_key("/run/ab", "c"));
	ck_assert_uint_ne(cs_container_key("/run/a", "x"), cs_container_key("/run/b", "x"));
	ck_assert_uint_eq(cs_container_key("/run/a", "x"), cs_container_key("/run/a", "x"));
}
END_TEST

START_TEST(the_newest_is_found)
{
	cs_auto(buf) found = CS_BUF_INIT(100);

	begin();
	ck_assert_int_eq(cs_results_read(results, 7, &found), -ENOENT);
	add(7, "one");
	add(8, "other");
	add(7, "two");
	ck_newest(7, "two");
	ck_newest(8, "other");
	ck_assert_int_eq(cs_results_read(results, 9, &found), -ENOENT);
	ck_assert_int_eq(cs_results_add(results, 7, state, CS_RESULTS_FILE_BYTES + 1), -EFBIG);
	done();
}
END_TEST

START_TEST(no_more_than_a_thousand)
{
	cs_auto(buf) found = CS_BUF_INIT(100);
	char text[32];

	begin();
	for (unsigned i = 0; i < CS_RESULTS_MAX + 20; i++) {
		snprintf(text, sizeof(text), "record %u", i);
		add(1000 + i, text);
	}
	ck_assert_int_eq(files(), CS_RESULTS_MAX);
	ck_assert_int_eq(cs_results_read(results, 1000 + 19, &found), -ENOENT);
	ck_newest(1000 + 20, "record 20");
	ck_newest(1000 + CS_RESULTS_MAX + 19, "record 1019");
	done();
}
END_TEST

START_TEST(what_has_expired_goes)
{
	cs_auto(buf) found = CS_BUF_INIT(100);

	begin();
	add(1, "deleted long ago");
	add(1, "once more");
	add(2, "deleted now");
	ck_assert_int_eq(cs_results_expire(results, 1, 1000), 0);
	ck_assert_int_eq(cs_results_expire(results, 2, cs_clock_wall_ns() + 3600 * CS_NSEC_PER_SEC), 0);
	ck_assert_int_eq(files(), 3);
	add(3, "makes room"); /* a new one sweeps */
	ck_assert_int_eq(files(), 2);
	ck_assert_int_eq(cs_results_read(results, 1, &found), -ENOENT);
	ck_newest(2, "deleted now");
	/* the container's next life has a record of its own */
	add(2, "lives again");
	ck_assert_int_eq(cs_results_gc(results, cs_clock_wall_ns() + 2 * 3600 * CS_NSEC_PER_SEC), 1);
	ck_newest(2, "lives again");
	done();
}
END_TEST

START_TEST(an_index_that_is_none_is_begun_anew)
{
	cs_autofd int fd = -1;

	begin();
	fd = openat(results, "index", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(cs_fd_write_all(fd, "garbage", 7), 0);
	add(1, "first");
	ck_newest(1, "first");
	done();
}
END_TEST

CS_UNIT_SUITE(results, keys_differ, the_newest_is_found, no_more_than_a_thousand, what_has_expired_goes,
	      an_index_that_is_none_is_begun_anew)
