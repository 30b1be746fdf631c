/* Whose limit an OOM was at, and the descriptor that tells of one. */
#include "tests/e2e/sys/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_memory(const char *path, const char *bytes)
{
	struct cs_cgroup *cgroup = t_open_group(path);
	/* v1's memory+swap can be set only above memory; no swap accounting is fine too */
	const char *swap = cs_cgroup_is_v2(cgroup) ? "memory.swap.max" : "memory.memsw.limit_in_bytes";

	t_set_limit(cgroup, "memory", "memory.limit_in_bytes", "memory.max", bytes);
	cs_cgroup_write(cgroup, "memory", swap, cs_cgroup_is_v2(cgroup) ? "0" : bytes);
	cs_cgroup_free(cgroup);
}

static void eat(size_t bytes)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(memory != MAP_FAILED);
	memset(memory, 1, bytes);
}

static void eat_much(void)
{
	eat(256 * T_MIB);
}

/* Fills the page cache past the limit first: failed charges that are no OOM. */
static void read_much(void)
{
	char name[300], *block = malloc(T_MIB);
	int fd;

	need(block != NULL);
	memset(block, 'x', T_MIB);
	snprintf(name, sizeof(name), "%s/cache", t_files);
	fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	need(fd >= 0);
	for (unsigned i = 0; i < 64; i++)
		need(write(fd, block, T_MIB) == (ssize_t)T_MIB);
	close(fd);
	unlink(name);
	free(block);
}

static void cache_then_eat(void)
{
	read_much();
	eat(256 * T_MIB);
}

/*
 * One OOM: `fn` in path/leaf while `path` is the group that is asked. Returns
 * what cs_cgroup_oom_is_ancestors says; the event descriptor must have told.
 */
static int oom_in(const char *path, const char *leaf, void (*fn)(void))
{
	struct cs_cgroup *cgroup = t_open_group(path);
	struct pollfd pfd = { .fd = -1 };
	char text[512];
	uint32_t events;
	uint64_t hits;
	int scope, status;
	pid_t pid;

	need_int(cs_cgroup_oom_is_ancestors(cgroup), -ENODATA);
	need_int(cs_cgroup_oom_fd(cgroup, &pfd.fd, &events), 0);
	pfd.events = (short)events;
	need_int(poll(&pfd, 1, 0), 0);
	pid = t_start_in(leaf, fn);
	status = t_wait_for(pid);
	need(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	need_int(cs_cgroup_oom_kills(cgroup), 1);
	if (strcmp(path, leaf) == 0 || cs_cgroup_is_v2(cgroup)) {
		need_int(poll(&pfd, 1, (int)t_scaled_ns(1000)), 1);
		if (cs_cgroup_is_v2(cgroup)) {
			need(pread(pfd.fd, text, sizeof(text), 0) > 0);
			need_int(poll(&pfd, 1, 0), 0);
		} else {
			need_int(read(pfd.fd, &hits, sizeof(hits)), sizeof(hits));
		}
	}
	scope = cs_cgroup_oom_is_ancestors(cgroup);
	close(pfd.fd);
	cs_cgroup_free(cgroup);
	return scope;
}

static void remove_group(const char *path)
{
	need_int(cs_cgroup_remove(&t_host, path, t_in_s(5), NULL), 0);
}

static void case_oom_own(void)
{
	const char *path = t_make("/oom1", false);

	t_need_controller("memory");
	set_memory(path, "33554432");
	need_int(oom_in(path, path, eat_much), 0);
	remove_group(path);
}

static void case_oom_ancestor(void)
{
	const char *outer = t_make("/oom2", true), *path = t_make("/oom2/run", false);

	t_need_controller("memory");
	set_memory(outer, "33554432");
	set_memory(path, "134217728");
	need_int(oom_in(path, path, eat_much), 1);
	remove_group(outer);
}

/* The group's own limit, hit by one of the groups that the program made inside. */
static void case_oom_below(void)
{
	const char *path = t_make("/oom3", true), *leaf = t_make("/oom3/leaf", false);

	t_need_controller("memory");
	set_memory(path, "33554432");
	need_int(oom_in(path, leaf, eat_much), 0);
	remove_group(path);
}

/* A limit that the program set on a group of its own, inside. */
static void case_oom_own_below(void)
{
	const char *path = t_make("/oom4", true), *leaf = t_make("/oom4/leaf", false);

	t_need_controller("memory");
	set_memory(path, "134217728");
	set_memory(leaf, "33554432");
	need_int(oom_in(path, leaf, eat_much), 0);
	remove_group(path);
}

/* F014: a parent with the same limit. Whose counter failed first is chance; that the kill is counted is not. */
static void case_oom_same_limit(void)
{
	const char *outer = t_make("/oom5", true), *path = t_make("/oom5/run", false);
	int scope;

	t_need_controller("memory");
	set_memory(outer, "33554432");
	set_memory(path, "33554432");
	scope = oom_in(path, path, eat_much);
	fprintf(stderr, "same limit twice: %s\n", scope == 1 ? "ancestor" : scope == 0 ? "own" : "unknown");
	need(scope == 0 || scope == 1);
	remove_group(outer);
}

/* Page cache up to the own limit is reclaimed and is no OOM; then the own limit or an ancestor's ends it. */
static void case_oom_own_after_cache(void)
{
	const char *outer = t_make("/oom6", true), *path = t_make("/oom6/run", false);

	t_need_controller("memory");
	set_memory(outer, "134217728");
	set_memory(path, "33554432");
	need_int(oom_in(path, path, cache_then_eat), 0);
	remove_group(outer);
}

static void case_oom_ancestor_after_cache(void)
{
	const char *outer = t_make("/oom7", true), *path = t_make("/oom7/run", false);

	t_need_controller("memory");
	set_memory(outer, "33554432");
	set_memory(path, "134217728");
	need_int(oom_in(path, path, cache_then_eat), 1);
	remove_group(outer);
}

const struct t_case t_oom_cases[] = {
	{ "oom-own", case_oom_own },
	{ "oom-ancestor", case_oom_ancestor },
	{ "oom-below", case_oom_below },
	{ "oom-own-below", case_oom_own_below },
	{ "oom-same-limit", case_oom_same_limit },
	{ "oom-own-after-cache", case_oom_own_after_cache },
	{ "oom-ancestor-after-cache", case_oom_ancestor_after_cache },
	{ NULL, NULL },
};
