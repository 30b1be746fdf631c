/*
 * A cgroup under one interface, with a row for v1 (and hybrid) and one for v2
 * (cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/).
 *
 * A cs_cgroup is a path below the hierarchies' roots ("/caisson/ID"), the same
 * in each. It owns directory descriptors, so that counters stay readable and
 * no path is looked up twice. Making and removing are steps of task/undo; this
 * module only does them.
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
		bool v2;
	} mounts[CS_CGROUP_HIERARCHIES_MAX];
};

int cs_cgroup_host_read(struct cs_cgroup_host *ret, struct cs_err *err);

/* Is the controller ("memory", "pids", "cpu", …) there to limit with? */
bool cs_cgroup_host_has(const struct cs_cgroup_host *host, const char *controller);

struct cs_cgroup; /* opaque */

/* Opens an existing group in every hierarchy that has the path. CS_NOT_FOUND when none has. */
int cs_cgroup_open(const struct cs_cgroup_host *host, const char *path, struct cs_cgroup **ret,
		   struct cs_err *err);
/* The group of a live process as /proc/PID/cgroup says; for drivers that choose the path themselves. */
int cs_cgroup_open_of_pid(const struct cs_cgroup_host *host, pid_t pid, struct cs_cgroup **ret,
			  struct cs_err *err);
void cs_cgroup_free(struct cs_cgroup *cgroup); /* NULL allowed; removes nothing */

/*
 * Makes `path` in one hierarchy that can kill or at least list: v2, else
 * freezer, else pids, else the first. For helpers, not for limits. *ret_procs_fd
 * is an fd of its cgroup.procs to write "0" to (CLOEXEC, the caller's).
 */
int cs_cgroup_make_cell(const struct cs_cgroup_host *host, const char *path, int *ret_procs_fd,
			struct cs_err *err);

/* Is pid in the group, in every hierarchy that the group has? 0, 1, -errno. Reads /proc/PID/cgroup. */
int cs_cgroup_holds(const struct cs_cgroup *cgroup, pid_t pid);

/* Text of a file; v1: `controller` picks the hierarchy. -ENOENT, -ENODEV once removed. */
int cs_cgroup_read(const struct cs_cgroup *cgroup, const char *controller, const char *file,
		   struct cs_buf *out);
int cs_cgroup_write(const struct cs_cgroup *cgroup, const char *controller, const char *file,
		    const char *text);
bool cs_cgroup_is_v2(const struct cs_cgroup *cgroup);

/* Every process in it and below: -ENOSPC when there are more than max. */
int cs_cgroup_pids(const struct cs_cgroup *cgroup, pid_t *ret_pids, size_t max, size_t *ret_n);
/* 1 when no process is in it or below, 0 when some is, -errno. A removed group is empty. */
int cs_cgroup_is_empty(const struct cs_cgroup *cgroup);

/*
 * SIGKILL to everything in it and below; frozen, stopped and new-born ones
 * too: cgroup.kill on v2 (Linux 5.14), else freeze, kill, thaw, again until
 * empty. Blocks until it is empty or the deadline. 0, -ETIMEDOUT, -errno.
 */
int cs_cgroup_kill(const struct cs_cgroup *cgroup, int64_t deadline_ns);

/* One sweep of the same, without waiting. */
int cs_cgroup_kill_start(const struct cs_cgroup *cgroup);

int cs_cgroup_freeze(const struct cs_cgroup *cgroup, bool frozen, int64_t deadline_ns);

/*
 * rmdir of it and of all groups below, in every hierarchy; EBUSY is tried
 * again until the deadline. 0 also when it is gone already.
 * -EBUSY: *ret_pid (may be NULL) is one process that is still in it, 0 when none shows.
 */
int cs_cgroup_remove(const struct cs_cgroup_host *host, const char *path, int64_t deadline_ns,
		     pid_t *ret_pid);

/* --- counters: each is UINT64_MAX when the kernel does not have it ------ */

struct cs_cgroup_usage {
	uint64_t cpu_user_ns, cpu_system_ns, cpu_total_ns;
	uint64_t memory_peak_bytes;
	uint64_t memory_bytes;
	uint64_t shmem_bytes;      /* now, not the peak */
	uint64_t swap_peak_bytes;
	uint64_t pids, pids_peak;
	uint64_t pids_limit_hits;  /* forks refused at our limit: pids.events max */
	uint64_t oom_kills;        /* processes of the group that the OOM killer ended */
	uint64_t oom_own;          /* times our own limit was out of memory; v1: UINT64_MAX */
	uint64_t io_read_bytes, io_write_bytes;
};

void cs_cgroup_usage(const struct cs_cgroup *cgroup, struct cs_cgroup_usage *ret);
/* The total alone, cheap. UINT64_MAX when unknown. */
uint64_t cs_cgroup_cpu_ns(const struct cs_cgroup *cgroup);
uint64_t cs_cgroup_oom_kills(const struct cs_cgroup *cgroup);

/*
 * A descriptor that tells of OOM events, to be watched: v1 an eventfd (EPOLLIN,
 * read 8 bytes), v2 memory.events itself (EPOLLPRI, read again). *ret_events is
 * what to wait for. CLOEXEC, the caller's.
 */
int cs_cgroup_oom_fd(const struct cs_cgroup *cgroup, int *ret_fd, uint32_t *ret_events);

/* Limit in force of a resource file as a number; UINT64_MAX for "max" and for v1's largest values. -errno. */
int cs_cgroup_limit(const struct cs_cgroup *cgroup, const char *controller, const char *v1_file,
		    const char *v2_file, uint64_t *ret);

/* Quota in thousandths of a CPU, UINT64_MAX when unlimited. -errno. */
int cs_cgroup_millicpus(const struct cs_cgroup *cgroup, uint64_t *ret);

/* Is the OOM at an ancestor's limit? 1 yes, 0 own, -ENODATA unknown. Compares the own and the ancestors' event counters with those taken at open. */
int cs_cgroup_oom_is_ancestors(const struct cs_cgroup *cgroup);

#endif
