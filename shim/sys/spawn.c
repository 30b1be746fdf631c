#include "shim/sys/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/attr.h"
#include "shim/base/parse.h"

/*
 * The child is made by CLONE_VM | CLONE_VFORK, as posix_spawn(3) does it: no
 * page table is copied, we stand still until it has called exec or exit, and
 * what it writes down we can read. So the code that runs in it
 *   - calls async-signal-safe functions only and allocates nothing,
 *   - has a stack of its own, and no signal handler may run on it,
 *   - returns instead of calling exit,
 *   - is not instrumented: frames that exec abandons would stay poisoned.
 */
#define CHILD_CODE __attribute__((no_sanitize_address))
#define CHILD_STACK_BYTES (32 * 1024)

enum step {
	STEP_DEATH_SIGNAL,
	STEP_PGROUP,
	STEP_CGROUP,
	STEP_CWD,
	STEP_DESCRIPTOR,
	STEP_CLOSE,
	STEP_MASK,
	STEP_EXEC,
	STEPS
};

static const char *const step_words[] = {
	[STEP_DEATH_SIGNAL] = "ask for death with its parent",
	[STEP_PGROUP] = "make a process group",
	[STEP_CGROUP] = "enter the cgroup",
	[STEP_CWD] = "change to the working directory",
	[STEP_DESCRIPTOR] = "place descriptor",
	[STEP_CLOSE] = "close descriptors",
	[STEP_MASK] = "set the signal mask",
	[STEP_EXEC] = "exec",
};
_Static_assert(CS_ARRAY_LEN(step_words) == STEPS, "words for every step");

/* What the child is told, and what it tells. */
struct child {
	const struct cs_spawn *spawn;
	const char *path;
	sigset_t mask;
	pid_t parent;
	int *aside; /* n_fds: where each descriptor waits for its place */
	int image;  /* spawn->image_fd, above them all, CLOEXEC; -1 */
	int lowest; /* above every number in `to` */

	enum step step;
	size_t at;  /* which descriptor or cgroup */
	int errnum; /* 0: exec went well */
};

/* --- in the child ---------------------------------------------------------- */

/*
 * Handlers are ours and must not run in its place; what is ignored here it
 * shall not ignore. By the system call, because libc keeps two signals to
 * itself that whoever started us may have ignored; all zero is SIG_DFL.
 */
CHILD_CODE static void default_signals(void)
{
	static const long zero[16];

	for (int signal = 1; signal < _NSIG; signal++)
		syscall(SYS_rt_sigaction, signal, zero, NULL, _NSIG / 8);
}

CHILD_CODE static int die_with_parent(const struct child *child)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	/* one that died before the call above sends nothing any more */
	return getppid() == child->parent ? 0 : -ESRCH;
}

CHILD_CODE static int enter_cgroups(struct child *child)
{
	for (child->at = 0; child->at < child->spawn->n_cgroup_procs_fds; child->at++)
		if (write(child->spawn->cgroup_procs_fds[child->at], "0", 1) < 0)
			return -errno;
	return 0;
}

/* All that lie where something must go are moved out of the way first: then the order does not matter. */
CHILD_CODE static int place_descriptors(struct child *child)
{
	const struct cs_spawn_fd *fds = child->spawn->fds;
	size_t n = child->spawn->n_fds;

	/* without it the path is executed, which is as good */
	if (child->spawn->has_image)
		child->image = fcntl(child->spawn->image_fd, F_DUPFD_CLOEXEC, child->lowest);
	for (child->at = 0; child->at < n; child->at++) {
		int fd = fds[child->at].from;

		if (fd < child->lowest)
			fd = fcntl(fd, F_DUPFD_CLOEXEC, child->lowest);
		if (fd < 0)
			return -errno;
		child->aside[child->at] = fd;
	}
	/* the two numbers differ, so that dup2 clears CLOEXEC */
	for (child->at = 0; child->at < n; child->at++)
		if (dup2(child->aside[child->at], fds[child->at].to) < 0)
			return -errno;
	return 0;
}

struct dirent64_head {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

CHILD_CODE static unsigned number_of(const char *digits)
{
	unsigned number = 0;

	for (; *digits >= '0' && *digits <= '9'; digits++)
		number = number * 10 + (unsigned)(*digits - '0');
	return number;
}

/* For Linux < 5.9 and filters that do not know close_range: /proc/self/fd, without opendir's memory. */
CHILD_CODE static int close_walk(unsigned first, unsigned last)
{
	_Alignas(struct dirent64_head) char block[1024];
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (dir < 0)
		return -errno;
	while ((n = syscall(SYS_getdents64, dir, block, sizeof(block))) > 0) {
		for (long at = 0; at < n;) {
			struct dirent64_head *entry = (struct dirent64_head *)(block + at);
			unsigned fd = number_of(entry->name);

			at += entry->len;
			/* "." and ".." look like 0 */
			if (entry->name[0] != '.' && fd >= first && fd <= last &&
			    fd != (unsigned)dir)
				close((int)fd);
		}
	}
	/* the directory's own descriptor ends with exec */
	return n < 0 ? -errno : 0;
}

CHILD_CODE static int close_span(unsigned first, unsigned last)
{
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return 0;
	return close_walk(first, last);
}

/* The smallest number to be kept that is not below `first`; UINT_MAX: none. */
CHILD_CODE static unsigned next_kept(const struct child *child, unsigned first)
{
	const struct cs_spawn *spawn = child->spawn;
	unsigned next = UINT_MAX;

	if (child->image >= 0 && (unsigned)child->image >= first)
		next = (unsigned)child->image;
	for (size_t i = 0; i < spawn->n_fds; i++) {
		unsigned to = (unsigned)spawn->fds[i].to;

		if (to >= first && to < next)
			next = to;
	}
	return next;
}

/* Closes every number that is none of those: the gaps between them, and all above. */
CHILD_CODE static int close_others(const struct child *child)
{
	unsigned first = 0, next;
	int r = 0;

	while (r == 0 && (next = next_kept(child, first)) != UINT_MAX) {
		if (next > first)
			r = close_span(first, next - 1);
		first = next + 1;
	}
	return r < 0 ? r : close_span(first, UINT_MAX);
}

CHILD_CODE static int run_step(struct child *child)
{
	const struct cs_spawn *spawn = child->spawn;

	switch (child->step) {
	case STEP_DEATH_SIGNAL:
		return spawn->die_with_us ? die_with_parent(child) : 0;
	case STEP_PGROUP:
		return spawn->new_pgroup && setpgid(0, 0) < 0 ? -errno : 0;
	case STEP_CGROUP:
		return enter_cgroups(child);
	case STEP_CWD:
		return spawn->has_cwd && fchdir(spawn->cwd_fd) < 0 ? -errno : 0;
	case STEP_DESCRIPTOR:
		return place_descriptors(child);
	case STEP_CLOSE:
		return close_others(child);
	case STEP_MASK:
		return sigprocmask(SIG_SETMASK, &child->mask, NULL) < 0 ? -errno : 0;
	case STEP_EXEC:
		if (child->image >= 0)
			syscall(SYS_execveat, child->image, "", spawn->argv, spawn->envp ? spawn->envp : environ,
				AT_EMPTY_PATH);
		execve(child->path, spawn->argv, spawn->envp ? spawn->envp : environ);
		return -errno;
	default:
		return -EINVAL;
	}
}

CHILD_CODE static int child_main(void *arg)
{
	struct child *child = arg;
	int r = 0;

	default_signals();
	for (enum step step = 0; step < STEPS && r == 0; step++) {
		child->step = step;
		r = run_step(child);
	}
	child->errnum = -r;
	return 1;
}

/* --- in the parent --------------------------------------------------------- */

/* ENOENT is also said of a file that is there and whose "#!" or ELF interpreter is not (execve(2)). */
static int fail_exec(const struct child *child, struct cs_err *err)
{
	int errnum = child->errnum;

	if (errnum == ENOENT && faccessat(AT_FDCWD, child->path, F_OK, 0) == 0)
		return cs_fail(err, CS_NOT_FOUND, errnum, "exec '%s': its interpreter or loader",
			       child->path);
	return cs_fail(err, cs_err_kind_of_errno(errnum), errnum, "exec '%s'", child->path);
}

static int fail_child(const struct child *child, struct cs_err *err)
{
	const char *word = step_words[child->step];

	if (child->step == STEP_EXEC)
		return fail_exec(child, err);
	if (child->step == STEP_DESCRIPTOR)
		return cs_fail(err, CS_IO, child->errnum, "start '%s': %s %d at %d", child->path,
			       word, child->spawn->fds[child->at].from,
			       child->spawn->fds[child->at].to);
	return cs_fail(err, CS_IO, child->errnum, "start '%s': %s", child->path, word);
}

/* Of a child that wrote down why it ends: it is on its way out, or gone. */
static void reap_failed(struct cs_pidref *ref)
{
	siginfo_t info;
	int r;

	do
		r = waitid(P_PID, (id_t)ref->pid, &info, WEXITED);
	while (r < 0 && errno == EINTR);
	cs_pidref_release(ref);
}

/* Makes the child and waits for its exec or its end. 0 or -errno of clone(2). */
static int clone_child(struct child *child, struct cs_pidref *ret)
{
	_Alignas(16) char stack[CHILD_STACK_BYTES];
	sigset_t all, old;
	int fd = -1, errnum;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = clone(child_main, stack + sizeof(stack),
		    CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, child, &fd);
	errnum = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return -errnum;
	*ret = (struct cs_pidref){ .pid = pid, .fd = fd };
	return 0;
}

static int check_request(const struct cs_spawn *spawn, const char *path, struct cs_err *err)
{
	if (!path || !strchr(path, '/'))
		return cs_fail(err, CS_BUG, 0, "start '%s': a path is needed", path ? path : "");
	for (size_t i = 0; i < spawn->n_fds; i++)
		if (spawn->fds[i].to < 0 || spawn->fds[i].to == INT_MAX)
			return cs_fail(err, CS_BUG, 0, "start '%s': no descriptor can be at %d",
				       path, spawn->fds[i].to);
	return 0;
}

int cs_spawn(const struct cs_spawn *spawn, struct cs_pidref *ret, struct cs_err *err)
{
	struct child child = {
		.spawn = spawn,
		.path = spawn->path ? spawn->path : spawn->argv[0],
		.parent = getpid(),
		.image = -1,
	};
	struct cs_pidref ref = CS_PIDREF_INIT;
	cs_autofree int *aside = NULL;
	int r;

	if (check_request(spawn, child.path, err) < 0)
		return -1;
	aside = calloc(spawn->n_fds + 1, sizeof(*aside));
	if (!aside)
		return cs_fail(err, CS_LIMIT, ENOMEM, "start '%s'", child.path);
	child.aside = aside;
	for (size_t i = 0; i < spawn->n_fds; i++)
		child.lowest = CS_MAX(child.lowest, spawn->fds[i].to + 1);
	if (spawn->mask)
		child.mask = *spawn->mask;
	else
		sigemptyset(&child.mask);

	r = clone_child(&child, &ref);
	if (r < 0)
		return cs_fail(err, r == -EAGAIN ? CS_LIMIT : cs_err_kind_of_errno(-r), -r,
			       "start '%s': make a process", child.path);
	if (child.errnum != 0) {
		reap_failed(&ref);
		return fail_child(&child, err);
	}
	*ret = ref;
	return 0;
}

int cs_spawn_fork(struct cs_pidref *ret)
{
	pid_t pid = fork();
	int r;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		return 0;
	r = cs_pidref_open(pid, ret); /* unreaped, so it cannot be anybody else */
	if (r == 0)
		return 1;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}
