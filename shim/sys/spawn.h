/*
 * The only fork and exec in the tree.
 *
 * File actions are data. An exec that fails is reported with its step and
 * errno through a CLOEXEC pipe, never as exit code 127. The child gets the
 * signal mask it is told, default dispositions, and no descriptor but those
 * named (close_range(2)).
 *
 *     struct cs_spawn_fd fds[] = { { null, 0 }, { out, 1 }, { err, 2 } };
 *     struct cs_spawn s = { .argv = argv, .fds = fds, .n_fds = 3, .new_pgroup = true };
 *     if (cs_spawn(&s, &child, err) < 0) …
 */
#ifndef CS_SYS_SPAWN_H
#define CS_SYS_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/base/err.h"
#include "shim/sys/pidref.h"

struct cs_spawn_fd {
	int from; /* descriptor here, borrowed */
	int to;   /* number in the child */
};

struct cs_spawn {
	const char *path;          /* absolute, or NULL: argv[0], which must then hold a '/' */
	char *const *argv;
	char *const *envp;         /* NULL: ours */
	int cwd_fd;                /* directory to start in when has_cwd */
	bool has_cwd;
	const struct cs_spawn_fd *fds;
	size_t n_fds;
	const sigset_t *mask;      /* NULL: the empty mask */
	bool new_pgroup;           /* its own process group, so that all of it can be killed */
	bool die_with_us;          /* PR_SET_PDEATHSIG SIGKILL, without the race against our death */
	const int *cgroup_procs_fds; /* "cgroup.procs" descriptors that the child writes itself into before exec */
	size_t n_cgroup_procs_fds;
};

/* Fills ret with the child, to be reaped by cs_pidref_reap. CS_NOT_FOUND and CS_DENIED tell why exec failed. Blocks until exec. */
int cs_spawn(const struct cs_spawn *spawn, struct cs_pidref *ret, struct cs_err *err);

/*
 * fork() for a process of our own that does not exec (guardian, attendant).
 * 0 in the child, 1 in the parent with ret filled, -errno. Everything open
 * stays open in the child.
 */
int cs_spawn_fork(struct cs_pidref *ret);

#endif
