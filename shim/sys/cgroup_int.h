/*
 * Shared by the cgroup*.c files (and their tests): the opened group, the walk
 * over the groups below, parsers of the kernel's texts.
 */
#ifndef CS_SYS_CGROUP_INT_H
#define CS_SYS_CGROUP_INT_H

#include "shim/sys/cgroup.h"

/* Caps on what is read of one file of procfs or cgroupfs. */
#define CS_CGROUP_TEXT_MAX (256U << 10)

struct cs_cgroup_dir {
	int fd; /* owned */
	struct cs_cgroup_mount mount;
};

/* What tells whose limit an OOM was at; UINT64_MAX when not there. */
struct cs_cgroup_oom_state {
	uint64_t kills; /* OOM kills in the group and below */
	uint64_t own;   /* v2: OOM events of the group and below; v1: how many of them are or were full */
};

struct cs_cgroup {
	char *path; /* owned */
	enum cs_cgroup_layout layout;
	struct cs_cgroup_oom_state oom_at_open;
	size_t n;
	struct cs_cgroup_dir dirs[CS_CGROUP_HIERARCHIES_MAX];
};

/* --- cgroup_host.c ------------------------------------------------------ */

/* Mounts of a mountinfo text (changed in place) that `usable` (NULL: all) lets pass. v2's controllers stay empty. */
typedef bool cs_cgroup_usable_fn(const struct cs_cgroup_mount *mount);
void cs_cgroup_host_parse(char *mountinfo, cs_cgroup_usable_fn *usable, struct cs_cgroup_host *ret);

/* "cpu memory pids\n" → ",cpu,memory,pids,": what fits, whole words. */
void cs_cgroup_controllers_pack(const char *text, char *ret, size_t size);

/* Is the word in a packed list? */
bool cs_cgroup_controllers_have(const char *packed, const char *word);

/*
 * The group of a hierarchy in the text of /proc/PID/cgroup, as a path below
 * the mount's top. False when the text has no such line or the group lies
 * outside of what the mount shows.
 */
bool cs_cgroup_text_path(const char *text, const struct cs_cgroup_mount *mount, char *ret, size_t size);

/* /proc/PID/cgroup appended to buf. -ESRCH when there is no such process. */
int cs_cgroup_text_of_pid(pid_t pid, struct cs_buf *buf);

/* --- cgroup.c ----------------------------------------------------------- */

/* "/a/b": absolute, no empty, "." or ".." component, not "/". */
bool cs_cgroup_path_valid(const char *path);

/* The directory whose hierarchy has the controller; NULL: none. On v2 the only one. */
const struct cs_cgroup_dir *cs_cgroup_dir_of(const struct cs_cgroup *cgroup, const char *controller);

/* Is pid in the group or below in all (any: in one) of its hierarchies? 0, 1, -ESRCH, -errno. */
int cs_cgroup_holds_in(const struct cs_cgroup *cgroup, pid_t pid, bool any);

/* --- cgroup_walk.c ------------------------------------------------------ */

/*
 * Called on every group from the top down / on the way back up. leave is not
 * called for the top itself. A value other than 0 ends the walk and is its result.
 */
struct cs_cgroup_visitor {
	int (*enter)(int dir_fd, void *arg);                      /* or NULL */
	int (*leave)(int parent_fd, const char *name, void *arg); /* or NULL */
};

/*
 * Walks the groups at and below an open one, in two descriptors and memory
 * for the names still to visit; any depth. Groups that vanish meanwhile are
 * passed over; -EAGAIN when a whole branch did, so that the way back is lost.
 */
int cs_cgroup_walk(int dir_fd, const struct cs_cgroup_visitor *visitor, void *arg);

/* Calls back with each number in cgroup.procs of one group; 0 is a process outside our pid namespace. */
typedef int cs_cgroup_pid_fn(pid_t pid, void *arg);
int cs_cgroup_each_pid(int dir_fd, cs_cgroup_pid_fn *fn, void *arg);

/* A list of processes that grows. */
struct cs_cgroup_pidlist {
	pid_t *v;
	size_t n, cap;
	bool foreign; /* there were some that our pid namespace does not show */
};
void cs_cgroup_pidlist_release(struct cs_cgroup_pidlist *list);
bool cs_cgroup_pidlist_has(const struct cs_cgroup_pidlist *list, pid_t pid);

/* All processes of the group and below, in all its hierarchies, sorted, each once. Replaces what list had. */
int cs_cgroup_list(const struct cs_cgroup *cgroup, struct cs_cgroup_pidlist *list);

/* --- cgroup_kill.c ------------------------------------------------------ */

/* The hierarchy that cells and holds are in; NULL when no cgroup file system is mounted. */
const struct cs_cgroup_mount *cs_cgroup_mount_for_cell(const struct cs_cgroup_host *host);

/* --- cgroup_counters.c -------------------------------------------------- */

/* How a number stands in a text. */
enum cs_cgroup_form {
	CS_CGROUP_NUMBER, /* "123\n" */
	CS_CGROUP_KEY,    /* "key 123" on a line of its own */
	CS_CGROUP_SUM_EQ, /* "8:0 … key=123 …" per device: the sum */
	CS_CGROUP_SUM_OP  /* "8:0 Key 123" per device: the sum */
};
/*
 * The number, UINT64_MAX when the text does not have it; "max" is UINT64_MAX
 * too. No line to sum is 0 for v2's io.stat, which is always counted, and
 * unknown for v1, where Linux 6.10 and later count only under a throttle.
 */
uint64_t cs_cgroup_text_number(const char *text, enum cs_cgroup_form form, const char *key);

/* The number in a file of an open group, UINT64_MAX without. */
uint64_t cs_cgroup_file_number(int dir_fd, const char *file, enum cs_cgroup_form form, const char *key);

/* Its sum over the group and all below; UINT64_MAX when the group itself does not have it. */
uint64_t cs_cgroup_tree_number(int dir_fd, const char *file, enum cs_cgroup_form form, const char *key);

/* Limit as text: UINT64_MAX for "max", negative values and the largest that v1 can hold. 0, -EINVAL. */
int cs_cgroup_text_limit(const char *text, uint64_t *ret);

/* Quota and period in µs → thousandths of a CPU. */
int cs_cgroup_text_millicpus(const char *quota, const char *period, uint64_t *ret);

/*
 * Makes user + system = total where all three are known. v1's two are counted
 * in ticks (cpuacct.c, since Linux 5.9), several milliseconds each, the total
 * is exact; only the ratio is worth something. v2's add up as they come.
 */
void cs_cgroup_cpu_split(struct cs_cgroup_usage *usage);

/* --- cgroup_oom.c ------------------------------------------------------- */

void cs_cgroup_oom_read(const struct cs_cgroup *cgroup, struct cs_cgroup_oom_state *ret);

/* The verdict from two looks at the counters: as cs_cgroup_oom_is_ancestors. */
int cs_cgroup_oom_judge(bool v2, const struct cs_cgroup_oom_state *before,
			const struct cs_cgroup_oom_state *now);


#endif
