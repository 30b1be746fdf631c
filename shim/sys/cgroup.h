/*
 * A cgroup under one interface, with rows for v1 (and hybrid) and for v2
 * (cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/).
 *
 * A cs_cgroup is a path below the hierarchies' roots ("/caisson/ID"), the same
 * in each. It owns directory descriptors, so that counters stay readable and
 * no path is looked up twice. Making and removing are steps of task/undo; this
 * module only does them. It knows nothing of containers, and never touches a
 * group that it was not given: the root group is refused everywhere.
 *
 *     struct cs_cgroup_host host;
 *     struct cs_cgroup *group;
 *
 *     cs_cgroup_host_read(&host, &err);
 *     cs_cgroup_open(&host, "/caisson/web1", &group, &err);   // after create
 *     … limits, counters, OOM descriptor …
 *     cs_cgroup_kill(group, cs_clock_deadline_ns(CS_NSEC_PER_SEC));
 *     cs_cgroup_usage(group, &usage);                         // before it is removed
 *     cs_cgroup_free(group);
 *     cs_cgroup_remove(&host, "/caisson/web1", deadline_ns, &pid);
 *
 * Functions without an err return 0 or a value, and -errno. Deadlines are
 * moments of CLOCK_MONOTONIC (cs_clock_deadline_ns); one that has passed still
 * lets one attempt be made.
 */
#ifndef CS_SYS_CGROUP_H
#define CS_SYS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/base/buf.h"
#include "shim/base/err.h"

enum cs_cgroup_layout {
	CS_CGROUP_V1,     /* controllers in hierarchies of their own */
	CS_CGROUP_HYBRID, /* the same, with a v2 mount without controllers beside */
	CS_CGROUP_V2,
	CS_CGROUP_NONE
};

#define CS_CGROUP_HIERARCHIES_MAX 24

/* The mounted hierarchies, read once from /proc/self/mountinfo; by value, owns no descriptor. */
struct cs_cgroup_host {
	enum cs_cgroup_layout layout;
	size_t n;
	struct cs_cgroup_mount {
		char point[128];       /* "/sys/fs/cgroup/memory" */
		char controllers[128]; /* ",cpu,cpuacct," ; ",name=systemd," ; v2: content of cgroup.controllers */
		char root[256];        /* group that the mount shows as its top: "/", or deeper in a container */
		bool v2;
	} mounts[CS_CGROUP_HIERARCHIES_MAX];
};

/*
 * Each hierarchy once (the mount that shows most of it), only mounts that can
 * be reached. No cgroup mount at all is no error: layout CS_CGROUP_NONE.
 */
int cs_cgroup_host_read(struct cs_cgroup_host *ret, struct cs_err *err);

/*
 * Is the controller ("memory", "pids", "cpu", …) there to limit with? On v2
 * "freezer" and "devices" are none: the first is part of every group.
 */
bool cs_cgroup_host_has(const struct cs_cgroup_host *host, const char *controller);

struct cs_cgroup; /* opaque */

/*
 * Opens an existing group in every hierarchy that has the path, and keeps the
 * OOM counters of now for cs_cgroup_oom_is_ancestors. CS_NOT_FOUND when none
 * has it; CS_INVALID for "/", a relative path, empty components or "..".
 */
int cs_cgroup_open(const struct cs_cgroup_host *host, const char *path, struct cs_cgroup **ret,
		   struct cs_err *err);
/*
 * The group of a live process as /proc/PID/cgroup says; for drivers that
 * choose the path themselves. Where the hierarchies disagree it is the longest
 * path, and only the hierarchies that have the process there: a process that
 * sits in "/" of one of them must not make that one's root a target.
 * CS_NOT_FOUND for a process that is gone, in no group but "/", and on v1 a zombie.
 */
int cs_cgroup_open_of_pid(const struct cs_cgroup_host *host, pid_t pid, struct cs_cgroup **ret,
			  struct cs_err *err);
/*
 * The same with every hierarchy's own group, whatever the paths, "/" left out:
 * to read what is in force for the process. Not for what ends or removes: a
 * hierarchy's group may hold others too.
 */
int cs_cgroup_open_each_of_pid(const struct cs_cgroup_host *host, pid_t pid, struct cs_cgroup **ret,
			       struct cs_err *err);
void cs_cgroup_free(struct cs_cgroup *cgroup); /* NULL allowed; removes nothing; keeps errno */

/* The path it was opened by. Borrowed. */
const char *cs_cgroup_path(const struct cs_cgroup *cgroup);

/*
 * Ways into a cell on v1; on v2 both are cgroup.procs. To move a process takes
 * a lock over all forks of the host, for which somebody waits an RCU grace
 * period, 7 to 15 ms, unless somebody has just done so. To move the current
 * thread takes none since Linux 5.5 (cgroup_procs_write_start()): 0.1 ms.
 */
enum cs_cgroup_door {
	CS_CGROUP_BY_PROCESS, /* cgroup.procs */
	CS_CGROUP_BY_THREAD   /* tasks: for a process of one thread */
};

/*
 * Makes `path` (missing parents too, and they stay) in one hierarchy that can
 * kill or at least list: v2 where that is the layout, else freezer, else pids,
 * else the first. Not the bare v2 of a hybrid host: engines do not move their
 * container out of a cell there, and it would die with the helper. For
 * helpers, not for limits. *ret_procs_fd is an fd (CLOEXEC, the caller's) to
 * which a process writes "0" to move in. One that is there
 * already will do.
 */
int cs_cgroup_make_cell(const struct cs_cgroup_host *host, const char *path, enum cs_cgroup_door door,
			int *ret_procs_fd, struct cs_err *err);

/*
 * Makes the group `name` below an open one, in every hierarchy that it has,
 * and opens it; *ret is the caller's. On v1 CPUs and memory nodes of a cpuset
 * are the parent's. CS_EXISTS when it is there in one of them; after a failure
 * nothing is left of it. To be removed with cs_cgroup_remove.
 */
int cs_cgroup_make_below(const struct cs_cgroup_host *host, const struct cs_cgroup *parent, const char *name,
			 struct cs_cgroup **ret, struct cs_err *err);

/*
 * On v2 a group with processes in it can give those below it no controllers
 * (cgroup-v2.rst, "No Internal Process Constraint"): moves its processes into
 * `leaf` below it until none is found any more, and turns on what controllers there
 * are. What limits the group goes on doing so, and its counters count on. A leaf
 * that is there is taken, and what is missing done. Nothing to do on v1. Blocks,
 * until the deadline at most.
 * 0, -ETIMEDOUT, -EOPNOTSUPP for processes of a pid namespace outside ours, -errno.
 */
int cs_cgroup_split(const struct cs_cgroup *cgroup, const char *leaf, int64_t deadline_ns);

/* Moves the calling process, of one thread, to the top of the hierarchy that cells are in, so that its cell can be removed. 0 or -errno. */
int cs_cgroup_leave_cell(const struct cs_cgroup_host *host);

/*
 * Is pid in the group (itself or below), in every hierarchy that the group
 * has (the bare v2 tree of hybrid hosts aside)? 0, 1, -ESRCH, -errno. Reads
 * /proc/PID/cgroup: of a zombie v1 no longer says it (0), v2 does until the
 * group is removed.
 */
int cs_cgroup_holds(const struct cs_cgroup *cgroup, pid_t pid);

/*
 * Appends the text of a file; v1: `controller` picks the hierarchy, NULL the
 * one that kills. -ENOENT without file or hierarchy, -ENODEV once removed.
 */
int cs_cgroup_read(const struct cs_cgroup *cgroup, const char *controller, const char *file,
		   struct cs_buf *out);
/* One write(2). The same errors, and those of the file. */
int cs_cgroup_write(const struct cs_cgroup *cgroup, const char *controller, const char *file,
		    const char *text);
/* Are its controllers v2's? False on hybrid hosts. */
bool cs_cgroup_is_v2(const struct cs_cgroup *cgroup);

/*
 * Every process in it and below, each once, ascending: -ENOSPC when there are
 * more than max (ret_pids is full then). Zombies are not listed, nor are
 * processes of a pid namespace outside ours. *ret_n is what was written.
 */
int cs_cgroup_pids(const struct cs_cgroup *cgroup, pid_t *ret_pids, size_t max, size_t *ret_n);
/* 1 when no process is in it or below, 0 when some is, -errno. A removed group is empty. */
int cs_cgroup_is_empty(const struct cs_cgroup *cgroup);

/*
 * SIGKILL to everything in it and below; frozen, stopped and new-born ones
 * too: cgroup.kill on v2 (Linux 5.14), else freeze, kill, thaw, again until
 * empty. Blocks until it is empty or the deadline. 0, also for a removed
 * group; -ETIMEDOUT; -EDEADLK when the caller itself is in it; -errno.
 */
int cs_cgroup_kill(const struct cs_cgroup *cgroup, int64_t deadline_ns);

/* One sweep of the same: everything that is in it now will die. Does not wait for that. */
int cs_cgroup_kill_start(const struct cs_cgroup *cgroup);

/*
 * Blocks until it is frozen (or thawed). -ETIMEDOUT leaves the request in
 * force; a task in uninterruptible sleep, or a frozen ancestor when thawing,
 * does that. -EOPNOTSUPP without a freezer.
 */
int cs_cgroup_freeze(const struct cs_cgroup *cgroup, bool frozen, int64_t deadline_ns);

/* 1 when it is frozen whole, 0 when not, -EOPNOTSUPP, -errno. A kill freezes it for a moment on v1. */
int cs_cgroup_is_frozen(const struct cs_cgroup *cgroup);

/*
 * rmdir of it and of all groups below, in every hierarchy; EBUSY is tried
 * again until the deadline (some milliseconds after the last exit are normal).
 * Kills nothing; parents stay. 0 also when it is gone already.
 * -EBUSY: *ret_pid (may be NULL) is one process that is still in it, 0 when none shows.
 */
int cs_cgroup_remove(const struct cs_cgroup_host *host, const char *path, int64_t deadline_ns,
		     pid_t *ret_pid);

/*
 * A group that several processes have theirs in, such as a common parent: made
 * by the first, removed by the last. Makes `path` in the hierarchy that cells
 * are in, with a shared flock(2) on its directory; as long as *ret_fd (CLOEXEC,
 * the caller's) or a copy of it is open, cs_cgroup_drop leaves the group alone
 * in every hierarchy. May wait for a drop that is under way.
 */
int cs_cgroup_hold(const struct cs_cgroup_host *host, const char *path, int *ret_fd, struct cs_err *err);

/*
 * Removes such a group, and `inner` (a path below it, or NULL) before it, in
 * every hierarchy, unless somebody holds it: close one's own hold first. What
 * is not empty stays.
 */
void cs_cgroup_drop(const struct cs_cgroup_host *host, const char *path, const char *inner);

/* --- counters: each is UINT64_MAX when the kernel does not have it ------ */

/* All count the group and everything below it. */
struct cs_cgroup_usage {
	uint64_t cpu_user_ns, cpu_system_ns, cpu_total_ns; /* the first two make up the third */
	uint64_t memory_peak_bytes; /* page cache and kernel memory of the group included */
	uint64_t memory_bytes;
	uint64_t shmem_bytes;       /* now, not the peak */
	uint64_t swap_peak_bytes;   /* v2, Linux 6.5 */
	uint64_t pids, pids_peak;   /* threads count; the peak since Linux 6.1, on v1 later */
	uint64_t pids_limit_hits;   /* forks refused at our limit: pids.events max */
	uint64_t oom_kills;         /* processes of the group that the OOM killer ended */
	uint64_t oom_own;           /* times our own limit was out of memory; v1: UINT64_MAX */
	uint64_t io_read_bytes, io_write_bytes; /* block devices; v1 since Linux 6.10: only under a throttle or BFQ */
};

void cs_cgroup_usage(const struct cs_cgroup *cgroup, struct cs_cgroup_usage *ret);
/* The total alone, cheap. UINT64_MAX when unknown. */
uint64_t cs_cgroup_cpu_ns(const struct cs_cgroup *cgroup);
uint64_t cs_cgroup_oom_kills(const struct cs_cgroup *cgroup);

/*
 * A descriptor that tells of OOM events, to be watched: v1 an eventfd (EPOLLIN,
 * read 8 bytes), v2 memory.events itself (EPOLLPRI; after each, pread(2) it
 * from 0, or it stays ready). *ret_events is what to wait for. CLOEXEC, the
 * caller's. An event is a hint to read the counters, no proof: the removal of
 * the group raises one too, and on v1 it comes before the kill is counted.
 * -ENOENT without a memory controller.
 */
int cs_cgroup_oom_fd(const struct cs_cgroup *cgroup, int *ret_fd, uint32_t *ret_events);

/* Limit in force of a resource file as a number; UINT64_MAX for "max", "-1" and v1's largest values. -errno. */
int cs_cgroup_limit(const struct cs_cgroup *cgroup, const char *controller, const char *v1_file,
		    const char *v2_file, uint64_t *ret);

/* Quota in thousandths of a CPU, to the nearest, UINT64_MAX when unlimited. -errno. */
int cs_cgroup_millicpus(const struct cs_cgroup *cgroup, uint64_t *ret);

/*
 * Was the OOM since open at an ancestor's limit (or the host's)? 1 yes, 0 own
 * (the group's or one below it), -ENODATA: none was seen, or unknown. The rule
 * is in cgroup_oom.c. To be asked before the group is removed.
 */
int cs_cgroup_oom_is_ancestors(const struct cs_cgroup *cgroup);

#endif
