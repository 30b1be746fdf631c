#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oci-spec/profile.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/task/cache.h"
#include "tests/unit/unit.h"

static char path[64];
static int cache_fd;

static void begin(void)
{
	snprintf(path, sizeof(path), "/tmp/caisson-test-cache-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	cache_fd = cs_cache_open(path);
	ck_assert_int_ge(cache_fd, 0);
}

/* Number of entries; the name of the last one in `name`. */
static unsigned entries(char name[static 64])
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			snprintf(name, 64, "%.63s", entry->d_name);
			n++;
		}
	closedir(dir);
	return n;
}

static void done(void)
{
	char name[64];

	while (entries(name) > 0)
		ck_assert_int_eq(unlinkat(cache_fd, name, 0), 0);
	cs_close_fd(&cache_fd);
	ck_assert_int_eq(rmdir(path), 0);
}

static void filter_of(int fd, struct cs_buf *ret)
{
	cs_autojson struct cs_json *profile = NULL;
	struct cs_err err = CS_ERR_INIT;

	ck_ok(cs_profile_default(NULL, &profile, &err), err);
	ck_ok(cs_cache_filter(fd, profile, ret, &err), err);
	ck_assert_uint_gt(ret->len, 0);
}

START_TEST(a_filter_is_kept_and_comes_back_the_same)
{
	cs_auto(buf) plain = CS_BUF_INIT(1 << 20);
	cs_auto(buf) first = CS_BUF_INIT(1 << 20);
	cs_auto(buf) second = CS_BUF_INIT(1 << 20);
	cs_auto(buf) kept = CS_BUF_INIT(1 << 21);
	char name[64];

	begin();
	filter_of(-1, &plain);
	ck_assert_uint_eq(entries(name), 0);
	filter_of(cache_fd, &first);
	ck_assert_uint_eq(entries(name), 1);
	ck_assert_str_eq(plain.data, first.data);
	/* proof that the second comes from the entry: it says something else now */
	ck_assert_int_eq(cs_file_read(cache_fd, name, &kept), 0);
	kept.data[kept.len - 1] = '!';
	ck_assert_int_eq(cs_file_write_atomic(cache_fd, name, kept.data, kept.len, 0600, false), 0);
	filter_of(cache_fd, &second);
	ck_assert_int_eq(second.data[second.len - 1], '!');
	done();
}
END_TEST

START_TEST(an_entry_of_another_profile_is_not_taken)
{
	cs_auto(buf) first = CS_BUF_INIT(1 << 20);
	cs_auto(buf) second = CS_BUF_INIT(1 << 20);
	char name[64];

	begin();
	filter_of(cache_fd, &first);
	ck_assert_uint_eq(entries(name), 1);
	ck_assert_int_eq(cs_file_write_atomic(cache_fd, name, "caisson seccomp filter 1\nother", 30, 0600, false), 0);
	filter_of(cache_fd, &second);
	ck_assert_str_eq(first.data, second.data);
	done();
}
END_TEST

START_TEST(a_directory_that_others_write_is_not_believed)
{
	begin();
	ck_assert_int_eq(chmod(path, 0777), 0);
	ck_assert_int_eq(cs_cache_open(path), -EPERM);
	done();
}
END_TEST

CS_UNIT_SUITE(cache, a_filter_is_kept_and_comes_back_the_same, an_entry_of_another_profile_is_not_taken,
	      a_directory_that_others_write_is_not_believed)
