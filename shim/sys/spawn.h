/*
 * The only fork and exec in the tree.
 *
 * A request is data: program, directory, descriptors, cgroups. The child gets
 * the signal mask it is told, default dispositions, and no descriptor but
 * those named (close_range(2)). An exec that fails is reported with its step
 * and errno, never as exit code 127: the child shares our memory until exec
 * (CLONE_VFORK, clone(2)) and writes them down. That also makes the cost
 * independent of our size, about 0.1 ms.
 *
 *     struct cs_spawn_fd fds[] = { { null, 0 }, { out, 1 }, { errors, 2 } };
 *     struct cs_spawn s = { .argv = argv, .fds = fds, .n_fds = 3, .new_pgroup = true };
 *     if (cs_spawn(&s, &child, err) < 0) …
 *     … the loop watches child.fd (EPOLLIN, CS_PRIO_EXIT) …
 *     cs_pidref_reap(&child, &status); cs_pidref_release(&child);
 *
 * Steps in the child, in this order: dispositions, death signal, process
 * group, cgroups, directory, descriptors, mask, exec.
 */
#ifndef CS_SYS_SPAWN_H
#define CS_SYS_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/base/err.h"
#include "shim/sys/pidref.h"

/* From and to may overlap in any way, and one descriptor may go to several numbers. */
struct cs_spawn_fd {
	int from; /* descriptor here, borrowed */
	int to;   /* number in the child, where it is not CLOEXEC */
};

/* All borrowed, for the time of the call. */
struct cs_spawn {
	const char *path;          /* absolute, or NULL: argv[0], which must then hold a '/' */
	char *const *argv;
	char *const *envp;         /* NULL: ours */
	int image_fd;              /* when has_image: what is executed (execveat(2)); path where the kernel will not have it */
	bool has_image;
	int cwd_fd;                /* directory to start in when has_cwd */
	bool has_cwd;
	const struct cs_spawn_fd *fds;
	size_t n_fds;
	const sigset_t *mask;      /* NULL: the empty mask */
	bool new_pgroup;           /* its own process group, so that all of it can be killed */
	bool die_with_us;          /* PR_SET_PDEATHSIG SIGKILL, without the race against our death; exec of a set-user-ID file drops it */
	const int *cgroup_procs_fds; /* of cs_cgroup_make_cell: the child writes itself into them before exec */
	size_t n_cgroup_procs_fds;
};

/*
 * Starts it and fills ret with the child, the caller's, to be reaped by
 * cs_pidref_reap. Blocks until the child has called exec or failed to; nothing
 * is left of a child that failed.
 *
 * exec itself failed: CS_NOT_FOUND (no such file, or its interpreter is
 * missing: the text tells), CS_DENIED (no x bit, a directory), or what
 * cs_err_kind_of_errno makes of it. An earlier step failed: CS_IO, the text
 * names the step. No process to be had (EAGAIN: a pids limit; ENOMEM): CS_LIMIT.
 */
int cs_spawn(const struct cs_spawn *spawn, struct cs_pidref *ret, struct cs_err *err);

/*
 * fork() for a process of our own that does not exec (guardian, attendant).
 * 0 in the child, 1 in the parent with ret filled (the caller's, to be
 * reaped), -errno. Everything open stays open in the child, mask and
 * dispositions stay. When the pidfd cannot be had the child is killed at once.
 */
int cs_spawn_fork(struct cs_pidref *ret);

#endif
