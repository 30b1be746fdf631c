#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/sys/cgroup_int.h"
#include "shim/sys/path.h"
#include "tests/unit/unit.h"

static uint64_t key(const char *text, const char *name)
{
	return cs_cgroup_text_number(text, CS_CGROUP_KEY, name);
}

START_TEST(plain_numbers)
{
	ck_assert_uint_eq(cs_cgroup_text_number("4096\n", CS_CGROUP_NUMBER, NULL), 4096);
	ck_assert_uint_eq(cs_cgroup_text_number("0", CS_CGROUP_NUMBER, NULL), 0);
	ck_assert_uint_eq(cs_cgroup_text_number("max\n", CS_CGROUP_NUMBER, NULL), UINT64_MAX);
	ck_assert_uint_eq(cs_cgroup_text_number("", CS_CGROUP_NUMBER, NULL), UINT64_MAX);
	ck_assert_uint_eq(cs_cgroup_text_number("-1\n", CS_CGROUP_NUMBER, NULL), UINT64_MAX);
	ck_assert_uint_eq(cs_cgroup_text_number("99999999999999999999999999999999999999\n", CS_CGROUP_NUMBER, NULL),
			  UINT64_MAX);
}
END_TEST

START_TEST(keys_are_whole_and_start_a_line)
{
	static const char events[] = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
	static const char stat[] = "usage_usec 5000\nuser_usec 3000\nsystem_usec 2000";

	ck_assert_uint_eq(key(events, "oom"), 3);
	ck_assert_uint_eq(key(events, "oom_kill"), 2);
	ck_assert_uint_eq(key(events, "kill"), UINT64_MAX);
	ck_assert_uint_eq(key(events, "ma"), UINT64_MAX);
	ck_assert_uint_eq(key(stat, "system_usec"), 2000);
	ck_assert_uint_eq(key(stat, "nice_usec"), UINT64_MAX);
	ck_assert_uint_eq(key("a b 3\n", "b"), UINT64_MAX);
	ck_assert_uint_eq(key("", "a"), UINT64_MAX);
	ck_assert_uint_eq(key("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", "oom_kill"), 7);
}
END_TEST

START_TEST(sums_over_devices)
{
	static const char v2[] = "8:0 rbytes=100 wbytes=7 rios=1 wios=1 dbytes=0 dios=0\n"
				 "254:16 rbytes=11 wbytes=5\n8:16 \n";
	static const char v1[] = "8:0 Read 100\n8:0 Write 7\n8:0 Sync 107\n8:0 Total 107\n"
				 "8:16 Read 11\n8:16 Write 0\n8:16 Total 11\nTotal 118\n";

	ck_assert_uint_eq(cs_cgroup_text_number(v2, CS_CGROUP_SUM_EQ, "rbytes"), 111);
	ck_assert_uint_eq(cs_cgroup_text_number(v2, CS_CGROUP_SUM_EQ, "wbytes"), 12);
	ck_assert_uint_eq(cs_cgroup_text_number("", CS_CGROUP_SUM_EQ, "rbytes"), 0);
	ck_assert_uint_eq(cs_cgroup_text_number(v1, CS_CGROUP_SUM_OP, "Read"), 111);
	ck_assert_uint_eq(cs_cgroup_text_number(v1, CS_CGROUP_SUM_OP, "Write"), 7);
	ck_assert_uint_eq(cs_cgroup_text_number(v1, CS_CGROUP_SUM_OP, "Total"), 118);
	/* v1 without a throttle counts nothing, and that is not zero bytes */
	ck_assert_uint_eq(cs_cgroup_text_number("Total 0\n", CS_CGROUP_SUM_OP, "Read"), UINT64_MAX);
}
END_TEST

START_TEST(limits_and_their_unlimited)
{
	static const struct {
		const char *text;
		uint64_t wanted;
	} rows[] = {
		{ "67108864\n", 67108864 },
		{ "0\n", 0 },
		{ "max\n", UINT64_MAX },
		{ "-1\n", UINT64_MAX },
		{ "9223372036854771712\n", UINT64_MAX }, /* pages of 4 KiB */
		{ "9223372036854710272\n", UINT64_MAX }, /* of 64 KiB */
		{ "9223372036854775807", UINT64_MAX },
		{ "1152921504606846976\n", UINT64_C(1) << 60 },
	};
	uint64_t value;

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(cs_cgroup_text_limit(rows[i].text, &value), 0);
		ck_assert_uint_eq(value, rows[i].wanted);
	}
	ck_assert_int_eq(cs_cgroup_text_limit("", &value), -EINVAL);
	ck_assert_int_eq(cs_cgroup_text_limit("max 100000\n", &value), -EINVAL);
	ck_assert_int_eq(cs_cgroup_text_limit("-x\n", &value), -EINVAL);
}
END_TEST

START_TEST(quota_as_thousandths)
{
	uint64_t value;

	ck_assert_int_eq(cs_cgroup_text_millicpus("125000", "100000\n", &value), 0);
	ck_assert_uint_eq(value, 1250);
	ck_assert_int_eq(cs_cgroup_text_millicpus("33333\n", "100000\n", &value), 0);
	ck_assert_uint_eq(value, 333);
	ck_assert_int_eq(cs_cgroup_text_millicpus("max", "100000\n", &value), 0);
	ck_assert_uint_eq(value, UINT64_MAX);
	ck_assert_int_eq(cs_cgroup_text_millicpus("-1\n", "100000\n", &value), 0);
	ck_assert_uint_eq(value, UINT64_MAX);
	ck_assert_int_eq(cs_cgroup_text_millicpus("1", "0", &value), -EINVAL);
	ck_assert_int_eq(cs_cgroup_text_millicpus("1", "max", &value), -EINVAL);
	ck_assert_int_eq(cs_cgroup_text_millicpus("9000000000000000000", "1", &value), -EINVAL);
}
END_TEST

START_TEST(cpu_adds_up)
{
	static const struct {
		uint64_t user, system, total, wanted_user;
	} rows[] = {
		{ 15738000, 211800000, 199883000, 13825201 }, /* ticks: 227 ms of 200 */
		{ 3000, 2000, 5000, 3000 },
		{ 0, 0, 700, 700 },
		{ 0, 4000000, 700, 0 },
		{ 4000000, 0, 700, 700 },
		{ UINT64_C(1) << 62, UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_C(1) << 62 },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_cgroup_usage usage = { .cpu_user_ns = rows[i].user,
						 .cpu_system_ns = rows[i].system,
						 .cpu_total_ns = rows[i].total };

		cs_cgroup_cpu_split(&usage);
		ck_assert_uint_eq(usage.cpu_user_ns, rows[i].wanted_user);
		ck_assert_uint_eq(usage.cpu_user_ns + usage.cpu_system_ns, rows[i].total);
	}
	struct cs_cgroup_usage unknown = { .cpu_user_ns = UINT64_MAX, .cpu_system_ns = 5, .cpu_total_ns = 7 };

	cs_cgroup_cpu_split(&unknown);
	ck_assert_uint_eq(unknown.cpu_user_ns, UINT64_MAX);
	ck_assert_uint_eq(unknown.cpu_system_ns, 5);
}
END_TEST

START_TEST(whose_oom)
{
	static const struct cs_cgroup_oom_state none = { 0, 0 }, own = { 1, 1 }, other = { 1, 0 };
	static const struct cs_cgroup_oom_state later = { 2, 1 }, unknown = { UINT64_MAX, UINT64_MAX };

	ck_assert_int_eq(cs_cgroup_oom_judge(true, &none, &none), -ENODATA);
	ck_assert_int_eq(cs_cgroup_oom_judge(true, &none, &own), 0);
	ck_assert_int_eq(cs_cgroup_oom_judge(true, &none, &other), 1);
	ck_assert_int_eq(cs_cgroup_oom_judge(true, &own, &later), 1);
	ck_assert_int_eq(cs_cgroup_oom_judge(false, &none, &other), 1);
	/* v1: `own` is a state, so it may have been there before */
	ck_assert_int_eq(cs_cgroup_oom_judge(false, &own, &later), 0);
	ck_assert_int_eq(cs_cgroup_oom_judge(false, &own, &own), -ENODATA);
	ck_assert_int_eq(cs_cgroup_oom_judge(true, &unknown, &own), -ENODATA);
	ck_assert_int_eq(cs_cgroup_oom_judge(true, &none, &unknown), -ENODATA);
}
END_TEST

/* --- the walk, over plain directories ------------------------------------ */

static int count_group(int dir_fd CS_UNUSED, void *arg)
{
	++*(unsigned *)arg;
	return 0;
}

static int remove_group(int parent_fd, const char *name, void *arg CS_UNUSED)
{
	return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

static int stop(int dir_fd CS_UNUSED, void *arg CS_UNUSED)
{
	return 42;
}

START_TEST(walk_goes_down_and_comes_back)
{
	static const struct cs_cgroup_visitor count = { .enter = count_group };
	static const struct cs_cgroup_visitor remove_all = { .leave = remove_group };
	static const struct cs_cgroup_visitor stopping = { .enter = stop };
	char name[] = "/tmp/caisson-cgtest-XXXXXX";
	unsigned n = 0;
	int top;

	ck_assert_ptr_nonnull(mkdtemp(name));
	top = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(top, 0);
	for (unsigned i = 0; i < 3; i++) {
		cs_autofd int cur = dup(top);

		/* a chain each: wide at the top, then past every descriptor limit of a walk that keeps them */
		for (unsigned k = 0; k < 1500; k++) {
			char part[16];
			int next;

			snprintf(part, sizeof(part), k == 0 ? "g%u" : "g", i);
			ck_assert_int_eq(mkdirat(cur, part, 0755), 0);
			next = openat(cur, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			ck_assert_int_ge(next, 0);
			close(cur);
			cur = next;
		}
	}
	ck_assert_int_eq(cs_cgroup_walk(top, &count, &n), 0);
	ck_assert_uint_eq(n, 1 + 3 * 1500);
	ck_assert_int_eq(cs_cgroup_walk(top, &stopping, NULL), 42);
	ck_assert_int_eq(cs_cgroup_walk(top, &remove_all, NULL), 0);
	n = 0;
	ck_assert_int_eq(cs_cgroup_walk(top, &count, &n), 0);
	ck_assert_uint_eq(n, 1);
	close(top);
	ck_assert_int_eq(rmdir(name), 0);
}
END_TEST

static int add_up(pid_t pid, void *arg)
{
	*(uint64_t *)arg += (uint64_t)pid;
	return 0;
}

START_TEST(pids_across_reads)
{
	char name[] = "/tmp/caisson-cgtest-XXXXXX";
	uint64_t sum = 0, wanted = 0;
	FILE *file;
	int dir, fd;

	ck_assert_ptr_nonnull(mkdtemp(name));
	dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(cs_cgroup_each_pid(dir, add_up, &sum), 0);
	fd = openat(dir, "cgroup.procs", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	file = fdopen(fd, "w");
	ck_assert_ptr_nonnull(file);
	for (unsigned i = 1; i <= 5000; i++) {
		fprintf(file, "%u\n", i * 7);
		wanted += i * 7;
	}
	fclose(file);
	ck_assert_int_eq(cs_cgroup_each_pid(dir, add_up, &sum), 0);
	ck_assert_uint_eq(sum, wanted);
	close(dir);
	dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(cs_path_remove_tree(dir, name + 5), 0);
	close(dir);
}
END_TEST

CS_UNIT_SUITE(cgroup_counters, plain_numbers, keys_are_whole_and_start_a_line, sums_over_devices,
	      limits_and_their_unlimited, quota_as_thousandths, cpu_adds_up, whose_oom, walk_goes_down_and_comes_back,
	      pids_across_reads)
