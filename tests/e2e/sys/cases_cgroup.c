/* Groups: opening, killing, freezing, removing, counters, limits. */
#include "tests/e2e/sys/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void case_open(void)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup, *of_pid;
	const char *path = t_make("/open", false);
	pid_t pids[4], pid;
	size_t n;

	need(cs_cgroup_open(&t_host, t_group("/nowhere"), &cgroup, &err) < 0 && err.kind == CS_NOT_FOUND);
	cs_err_clear(&err);
	need(cs_cgroup_open(&t_host, "/", &cgroup, &err) < 0 && err.kind == CS_INVALID);
	cs_err_clear(&err);
	cgroup = t_open_group(path);
	need_int(cs_cgroup_is_empty(cgroup), 1);
	pid = t_start_in(path, t_sleep_for_ever);
	need_int(cs_cgroup_holds(cgroup, pid), 1);
	need_int(cs_cgroup_holds(cgroup, getpid()), 0);
	need_int(cs_cgroup_is_empty(cgroup), 0);
	need_int(cs_cgroup_pids(cgroup, pids, 4, &n), 0);
	need(n == 1 && pids[0] == pid);
	need_int(cs_cgroup_pids(cgroup, pids, 0, &n), -ENOSPC);
	need_ok(cs_cgroup_open_of_pid(&t_host, pid, &of_pid, &err), err);
	need(strcmp(cs_cgroup_path(of_pid), path) == 0);
	need_int(cs_cgroup_holds(of_pid, pid), 1);
	cs_cgroup_free(of_pid);
	/* a zombie does not fill its group; v1 no longer says where it was */
	need_int(cs_cgroup_kill(cgroup, t_in_s(5)), 0);
	need_int(cs_cgroup_is_empty(cgroup), 1);
	need_int(cs_cgroup_holds(cgroup, pid), cs_cgroup_is_v2(cgroup));
	need_int(cs_cgroup_remove(&t_host, path, t_in_s(5), NULL), 0);
	need_int(cs_cgroup_is_empty(cgroup), 1);
	need_int(cs_cgroup_kill(cgroup, t_in_s(5)), 0);
	need_int(cs_cgroup_holds(cgroup, pid), 0);
	t_wait_for(pid);
	need_int(cs_cgroup_holds(cgroup, pid), -ESRCH);
	cs_cgroup_free(cgroup);
}

static void case_cell(void)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup;
	int fd, again;
	pid_t pid;

	need_ok(cs_cgroup_make_cell(&t_host, t_group("/cells/one"), CS_CGROUP_BY_THREAD, &fd, &err), err);
	need_ok(cs_cgroup_make_cell(&t_host, t_group("/cells/one"), CS_CGROUP_BY_PROCESS, &again, &err), err);
	close(again);
	need((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	pid = fork();
	need(pid >= 0);
	if (pid == 0) {
		need(write(fd, "0", 1) == 1);
		t_sleep_for_ever();
	}
	cgroup = t_open_group(t_group("/cells/one"));
	while (cs_cgroup_holds(cgroup, pid) == 0)
		sched_yield();
	need_int(cs_cgroup_kill_start(cgroup), 0);
	need(WTERMSIG(t_wait_for(pid)) == SIGKILL);
	close(fd);
	t_kill_and_remove(cgroup);
}

/* One that goes out of its cell by itself, as who removes it must. */
static void case_cell_left(void)
{
	const char *path = t_group("/cells/left");
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup;
	int fd;
	pid_t pid;

	need_ok(cs_cgroup_make_cell(&t_host, path, CS_CGROUP_BY_THREAD, &fd, &err), err);
	cgroup = t_open_group(path);
	pid = fork();
	need(pid >= 0);
	if (pid == 0) {
		need(write(fd, "0", 1) == 1);
		need_int(cs_cgroup_is_empty(cgroup), 0);
		need_int(cs_cgroup_leave_cell(&t_host), 0);
		need_int(cs_cgroup_is_empty(cgroup), 1);
		need_int(cs_cgroup_remove(&t_host, path, t_in_s(1), NULL), 0);
		_exit(0);
	}
	need_int(t_wait_for(pid), 0);
	need_int(cs_cgroup_is_empty(cgroup), 1);
	close(fd);
	cs_cgroup_free(cgroup);
}

static bool is_there(const char *path)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *cgroup;

	if (cs_cgroup_open(&t_host, path, &cgroup, &err) < 0)
		return false;
	cs_cgroup_free(cgroup);
	return true;
}

/* A group in common goes with the last hold, and not while something is in it. */
static void case_common(void)
{
	const char *path = t_make("/common", false);
	struct cs_err err = CS_ERR_INIT;
	int one, two;

	need_ok(cs_cgroup_hold(&t_host, path, &one, &err), err);
	need_ok(cs_cgroup_hold(&t_host, path, &two, &err), err);
	t_make("/common/inner", false);
	close(one);
	cs_cgroup_drop(&t_host, path, t_group("/common/inner"));
	need(is_there(path) && is_there(t_group("/common/inner")));
	close(two);
	cs_cgroup_drop(&t_host, path, NULL);
	need(is_there(path));
	cs_cgroup_drop(&t_host, path, t_group("/common/inner"));
	need(!is_there(path));
	need_ok(cs_cgroup_hold(&t_host, path, &one, &err), err);
	need(is_there(path));
	close(one);
	cs_cgroup_drop(&t_host, path, NULL);
	need(!is_there(path));
}

/* A stopped, a frozen, a plain process, some in a group below. */
static void case_kill(void)
{
	const char *path = t_make("/kill", true);
	const char *leaf = t_make("/kill/leaf", false), *middle = t_make("/kill/deep", true);
	const char *deeper = t_make("/kill/deep/er", false);
	struct cs_cgroup *cgroup = t_open_group(path);
	pid_t pids[3] = { t_start_in(leaf, t_sleep_for_ever), t_start_in(deeper, t_sleep_for_ever),
			  t_start_in(deeper, t_sleep_for_ever) };
	int64_t before, took;

	need(strncmp(deeper, middle, strlen(middle)) == 0);
	need(kill(pids[1], SIGSTOP) == 0);
	need_int(cs_cgroup_freeze(cgroup, true, t_in_s(2)), 0);
	before = cs_clock_now_ns();
	need_int(cs_cgroup_kill(cgroup, t_in_s(5)), 0);
	took = cs_clock_now_ns() - before;
	fprintf(stderr, "frozen, stopped, sleeping: empty after %lld us\n", (long long)(took / 1000));
	need(took < t_scaled_ns(200 * CS_NSEC_PER_MSEC));
	need_int(cs_cgroup_is_empty(cgroup), 1);
	for (size_t i = 0; i < CS_ARRAY_LEN(pids); i++)
		need(WTERMSIG(t_wait_for(pids[i])) == SIGKILL);
	t_kill_and_remove(cgroup);
}

static void case_freeze(void)
{
	const char *path = t_make("/freeze", false);
	struct cs_cgroup *cgroup = t_open_group(path);
	pid_t pid = t_start_in(path, t_sleep_for_ever);

	need_int(cs_cgroup_freeze(cgroup, true, t_in_s(2)), 0);
	need_int(cs_cgroup_freeze(cgroup, true, t_in_s(2)), 0);
	need_int(cs_cgroup_freeze(cgroup, false, t_in_s(2)), 0);
	need(kill(pid, SIGTERM) == 0);
	need(WTERMSIG(t_wait_for(pid)) == SIGTERM);
	t_kill_and_remove(cgroup);
}

/* A paused container, of which one exec is to end and the rest to stay paused. */
static void case_kill_below_frozen(void)
{
	struct cs_cgroup *outer = t_open_group(t_make("/paused", true));
	const char *bystander_path = t_make("/paused/bystander", false), *path = t_make("/paused/exec", false);
	struct cs_cgroup *cgroup = t_open_group(path);
	pid_t bystander = t_start_in(bystander_path, t_sleep_for_ever);
	pid_t pid = t_start_in(path, t_sleep_for_ever);

	need_int(cs_cgroup_freeze(outer, true, t_in_s(2)), 0);
	need_int(cs_cgroup_kill(cgroup, t_in_s(5)), 0);
	need(WTERMSIG(t_wait_for(pid)) == SIGKILL);
	need_int(waitpid(bystander, NULL, WNOHANG), 0);
	need_int(cs_cgroup_is_empty(outer), 0);
	cs_cgroup_free(cgroup);
	t_kill_and_remove(outer);
	t_wait_for(bystander);
}

static void fork_bomb(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		if (fork() < 0)
			sched_yield();
	}
}

/* 60 processes that fork as fast as they can, ended through what `hierarchies` offers. */
static void end_bomb(const struct cs_cgroup_host *hierarchies, const char *path)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_cgroup *all = t_open_group(path), *cgroup;
	pid_t pids[80], pid;
	int64_t before, took;
	size_t n = 0;

	need_ok(cs_cgroup_open(hierarchies, path, &cgroup, &err), err);
	t_set_limit(all, "pids", "pids.max", "pids.max", "60");
	pid = t_start_in(path, fork_bomb);
	while (cs_cgroup_pids(cgroup, pids, CS_ARRAY_LEN(pids), &n) == 0 && n < 50)
		sched_yield();
	before = cs_clock_now_ns();
	need_int(cs_cgroup_kill(cgroup, t_in_s(10)), 0);
	took = cs_clock_now_ns() - before;
	fprintf(stderr, "60 forking processes: empty after %lld us\n", (long long)(took / 1000));
	need(took < t_scaled_ns(CS_NSEC_PER_SEC));
	need_int(cs_cgroup_is_empty(all), 1);
	need(WTERMSIG(t_wait_for(pid)) == SIGKILL);
	cs_cgroup_free(cgroup);
	t_kill_and_remove(all);
}

static void case_kill_fork_bomb(void)
{
	t_need_controller("pids");
	end_bomb(&t_host, t_make("/bomb", false));
}

/* Neither freezer nor v2: forks are stopped by pids.max, and the rest is a matter of listings. */
static void case_kill_without_freezer(void)
{
	struct cs_cgroup_host few = t_host;

	t_need_controller("pids");
	few.n = 0;
	for (size_t i = 0; i < t_host.n; i++) {
		const struct cs_cgroup_mount *mount = &t_host.mounts[i];

		if (!mount->v2 && strcmp(mount->controllers, ",freezer,") != 0)
			few.mounts[few.n++] = *mount;
	}
	if (few.n == 0)
		t_skip("v2 always has a freezer");
	few.layout = CS_CGROUP_V1;
	end_bomb(&few, t_make("/nofreezer", false));
}

/* Before Linux 5.14: v2 with its freezer, but without the file that kills. Here one that takes no write stands over it. */
static void case_kill_without_kill_file(void)
{
	struct cs_cgroup_host only_v2 = t_host;
	const char *path = t_make("/nokill", false);
	char file[256];

	t_need_controller("pids");
	only_v2.n = 0;
	for (size_t i = 0; i < t_host.n; i++) {
		if (t_host.mounts[i].v2)
			only_v2.mounts[only_v2.n++] = t_host.mounts[i];
	}
	if (only_v2.n == 0)
		t_skip("no v2 mount");
	only_v2.layout = CS_CGROUP_V2;
	t_new_namespace();
	snprintf(file, sizeof(file), "%s%s/cgroup.kill", only_v2.mounts[0].point, path);
	if (mount("/dev/full", file, NULL, MS_BIND, NULL) < 0) {
		need(errno == ENOENT);
		fprintf(stderr, "this kernel has none itself\n");
	}
	end_bomb(&only_v2, path);
}

static void case_kill_refuses_itself(void)
{
	const char *path = t_make("/self", false);
	struct cs_cgroup *cgroup = t_open_group(path);
	pid_t pid = fork();

	need(pid >= 0);
	if (pid == 0) {
		t_join(path);
		need_int(cs_cgroup_kill(cgroup, t_in_s(1)), -EDEADLK);
		need_int(cs_cgroup_kill_start(cgroup), -EDEADLK);
		_exit(0);
	}
	need_int(t_wait_for(pid), 0);
	t_kill_and_remove(cgroup);
}

static void case_remove(void)
{
	const char *path = t_make("/rm", true), *leaf = t_make("/rm/leaf", false);
	const char *neighbour = t_make("/rmother", false);
	struct cs_cgroup *cgroup;
	pid_t pid, inside = -1;

	t_make("/rm/a", true);
	t_make("/rm/a/b", true);
	t_make("/rm/a/b/c", false);
	pid = t_start_in(leaf, t_sleep_for_ever);
	need_int(cs_cgroup_remove(&t_host, path, cs_clock_deadline_ns(20 * CS_NSEC_PER_MSEC), &inside), -EBUSY);
	need_int(inside, pid);
	cgroup = t_open_group(path);
	need_int(cs_cgroup_kill_start(cgroup), 0);
	/* not waited for: it has to bridge the last exit by itself */
	need_int(cs_cgroup_remove(&t_host, path, t_in_s(5), NULL), 0);
	need_int(cs_cgroup_remove(&t_host, path, 0, NULL), 0);
	need_int(cs_cgroup_remove(&t_host, "/", 0, NULL), -EINVAL);
	need_int(cs_cgroup_remove(&t_host, t_group("/../x"), 0, NULL), -EINVAL);
	t_wait_for(pid);
	cs_cgroup_free(cgroup);
	need_int(cs_cgroup_remove(&t_host, neighbour, t_in_s(1), NULL), 0);
}

/* --- cases: counters ---------------------------------------------------- */

/* What the child below has used when it stops; in memory that both have. */
static int64_t *burnt_ns;

static void burn_and_touch(void)
{
	char *memory = mmap(NULL, 20 * T_MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec cpu;

	need(memory != MAP_FAILED);
	memset(memory, 1, 20 * T_MIB);
	memory = mmap(NULL, 5 * T_MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(memory != MAP_FAILED);
	memset(memory, 1, 5 * T_MIB);
	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
		*burnt_ns = cpu.tv_sec * CS_NSEC_PER_SEC + cpu.tv_nsec;
	} while (*burnt_ns < 200 * CS_NSEC_PER_MSEC);
	need(raise(SIGSTOP) == 0);
}

static bool is_about(uint64_t value, uint64_t wanted, uint64_t slack)
{
	return value + slack >= wanted && value <= wanted + slack;
}

static void case_usage(void)
{
	const char *path = t_make("/usage", true), *leaf = t_make("/usage/leaf", false);
	struct cs_cgroup *cgroup = t_open_group(path);
	struct cs_cgroup_usage usage;
	int64_t deadline, nap_ns = CS_NAP_NS;
	int status;
	pid_t pid;

	t_need_controller("memory");
	t_need_controller("cpu");
	burnt_ns = mmap(NULL, sizeof(*burnt_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(burnt_ns != MAP_FAILED);
	cs_cgroup_usage(cgroup, &usage);
	need(usage.cpu_total_ns == 0);
	need(usage.oom_kills == 0 && usage.pids == 0 && usage.pids_limit_hits == 0);
	pid = t_start_in(leaf, burn_and_touch);
	need(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	/* memory.stat may be two seconds late (memcontrol.c, FLUSH_TIME) */
	deadline = cs_clock_deadline_ns(t_scaled_ns(5 * CS_NSEC_PER_SEC));
	cs_cgroup_usage(cgroup, &usage);
	while (usage.shmem_bytes < 5 * T_MIB && cs_clock_left_ns(deadline) > 0) {
		cs_clock_nap(&nap_ns, deadline);
		cs_cgroup_usage(cgroup, &usage);
	}
	fprintf(stderr, "cpu %lld = %lld + %lld us, memory %lld peak %lld, shmem %lld, pids %lld peak %lld, io %lld %lld\n",
		(long long)usage.cpu_total_ns / 1000, (long long)usage.cpu_user_ns / 1000,
		(long long)usage.cpu_system_ns / 1000, (long long)usage.memory_bytes,
		(long long)usage.memory_peak_bytes, (long long)usage.shmem_bytes, (long long)usage.pids,
		(long long)usage.pids_peak, (long long)usage.io_read_bytes, (long long)usage.io_write_bytes);
	/* what it used before it joined, and its way to the stop, are the difference */
	need(is_about(usage.cpu_total_ns, (uint64_t)*burnt_ns, (uint64_t)t_scaled_ns(20 * CS_NSEC_PER_MSEC)));
	/* it may be on its way to the stop yet */
	need(is_about(cs_cgroup_cpu_ns(cgroup), usage.cpu_total_ns, (uint64_t)t_scaled_ns(20 * CS_NSEC_PER_MSEC)));
	need(usage.cpu_user_ns + usage.cpu_system_ns == usage.cpu_total_ns);
	need(usage.memory_bytes >= 25 * T_MIB && usage.memory_bytes < 60 * T_MIB);
	need(usage.memory_peak_bytes >= usage.memory_bytes - T_MIB && usage.memory_peak_bytes < 60 * T_MIB);
	need(usage.shmem_bytes >= 5 * T_MIB && usage.shmem_bytes < 6 * T_MIB);
	need(usage.pids == 1);
	need(usage.pids_peak == UINT64_MAX || usage.pids_peak == 1);
	need_int(cs_cgroup_kill(cgroup, t_in_s(5)), 0);
	t_wait_for(pid);
	/* F074: after the last exit all but what is "now" is still there */
	need(cs_cgroup_cpu_ns(cgroup) >= usage.cpu_total_ns);
	cs_cgroup_usage(cgroup, &usage);
	need(usage.pids == 0 && usage.memory_peak_bytes >= 25 * T_MIB);
	t_kill_and_remove(cgroup);
}

static void fork_until_refused(void)
{
	unsigned refused = 0;

	while (refused < 3) {
		pid_t pid = fork();

		if (pid == 0)
			t_sleep_for_ever();
		if (pid < 0)
			refused++;
	}
	raise(SIGSTOP);
}

static void case_pids_limit_hits(void)
{
	const char *path = t_make("/pids", true), *leaf = t_make("/pids/leaf", false);
	struct cs_cgroup *cgroup = t_open_group(path);
	struct cs_cgroup_usage usage;
	uint64_t limit;
	int status;
	pid_t pid;

	t_need_controller("pids");
	need_int(cs_cgroup_limit(cgroup, "pids", "pids.max", "pids.max", &limit), 0);
	need(limit == UINT64_MAX);
	t_set_limit(cgroup, "pids", "pids.max", "pids.max", "5");
	need_int(cs_cgroup_limit(cgroup, "pids", "pids.max", "pids.max", &limit), 0);
	need(limit == 5);
	pid = t_start_in(leaf, fork_until_refused);
	need(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	cs_cgroup_usage(cgroup, &usage);
	need_int(usage.pids_limit_hits, 3);
	need_int(usage.pids, 5);
	need(usage.pids_peak == UINT64_MAX || usage.pids_peak == 5);
	t_kill_and_remove(cgroup);
	t_wait_for(pid);
}

static void case_limits(void)
{
	struct cs_cgroup *cgroup = t_open_group(t_make("/limits", false));
	cs_auto(buf) text = CS_BUF_INIT(4096);
	uint64_t value;

	t_need_controller("memory");
	t_need_controller("cpu");
	need_int(cs_cgroup_limit(cgroup, "memory", "memory.limit_in_bytes", "memory.max", &value), 0);
	need(value == UINT64_MAX);
	t_set_limit(cgroup, "memory", "memory.limit_in_bytes", "memory.max", "67108864");
	need_int(cs_cgroup_limit(cgroup, "memory", "memory.limit_in_bytes", "memory.max", &value), 0);
	need(value == 64 * T_MIB);
	need_int(cs_cgroup_millicpus(cgroup, &value), 0);
	need(value == UINT64_MAX);
	t_set_limit(cgroup, "cpu", "cpu.cfs_quota_us", "cpu.max", "125000");
	need_int(cs_cgroup_millicpus(cgroup, &value), 0);
	need(value == 1250);
	need_int(cs_cgroup_read(cgroup, "memory", "memory.no_such_file", &text), -ENOENT);
	need_int(cs_cgroup_limit(cgroup, "nosuch", "nosuch.max", "nosuch.max", &value), -ENOENT);
	need_int(cs_cgroup_remove(&t_host, cs_cgroup_path(cgroup), t_in_s(1), NULL), 0);
	value = (uint64_t)cs_cgroup_limit(cgroup, "memory", "memory.limit_in_bytes", "memory.max", &value);
	need((int64_t)value == -ENODEV || (int64_t)value == -ENOENT);
	cs_cgroup_free(cgroup);
}

const struct t_case t_cgroup_cases[] = {
	{ "open", case_open },
	{ "cell", case_cell },
	{ "cell-left", case_cell_left },
	{ "common", case_common },
	{ "kill", case_kill },
	{ "freeze", case_freeze },
	{ "kill-below-frozen", case_kill_below_frozen },
	{ "kill-fork-bomb", case_kill_fork_bomb },
	{ "kill-without-freezer", case_kill_without_freezer },
	{ "kill-without-kill-file", case_kill_without_kill_file },
	{ "kill-refuses-itself", case_kill_refuses_itself },
	{ "remove", case_remove },
	{ "usage", case_usage },
	{ "pids-limit-hits", case_pids_limit_hits },
	{ "limits", case_limits },
	{ NULL, NULL },
};
