/*
 * The groups below a group, and the processes in them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/sys/cgroup_int.h"

/* Names waiting to be visited. A guest that owns its group can make many. */
#define NAMES_MAX (8U << 20)

/* Walks again when a branch went away under one. */
#define WALKS_MAX 8

/* pid_max is at most 2^22 (proc_sys_kernel(5)). */
#define PIDS_MAX (1U << 22)

/* --- the walk ----------------------------------------------------------- */

/*
 * The stack holds NUL-terminated names: those of groups still to visit, and
 * "/NAME" for each one that was entered, as the mark where to go back up.
 */
static const char *stack_top(const struct cs_buf *stack)
{
	size_t at = stack->len - 1;

	while (at > 0 && stack->data[at - 1] != '\0')
		at--;
	return stack->data + at;
}

static int push(struct cs_buf *stack, const char *mark, const char *name)
{
	int r = cs_buf_adds(stack, mark);

	if (r == 0)
		r = cs_buf_add(stack, name, strlen(name) + 1);
	return r;
}

static bool is_gone(int error)
{
	return error == ENOENT || error == ENODEV;
}

static int push_children(struct cs_buf *stack, int dir_fd)
{
	const struct dirent *entry;
	DIR *dir;
	int r = 0;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return is_gone(errno) ? 0 : -errno;
	dir = fdopendir(fd);
	if (dir == NULL) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
		/* cgroupfs tells the type of each entry */
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			r = push(stack, "", entry->d_name);
	}
	if (r == 0 && entry == NULL && errno != 0 && !is_gone(errno))
		r = -errno;
	closedir(dir);
	return r;
}

static int enter(int dir_fd, struct cs_buf *stack, const struct cs_cgroup_visitor *visitor, void *arg)
{
	int r = visitor->enter != NULL ? visitor->enter(dir_fd, arg) : 0;

	return r != 0 ? r : push_children(stack, dir_fd);
}

/* One step: into the name on top, or back up when it is a mark. *cur moves along. */
static int step(int *cur, struct cs_buf *stack, const struct cs_cgroup_visitor *visitor, void *arg)
{
	const char *name = stack_top(stack);
	size_t len = strlen(name);
	char copy[NAME_MAX + 2];
	bool up = name[0] == '/';
	int fd, r;

	memcpy(copy, name, len + 1);
	stack->len -= len + 1;
	fd = openat(*cur, up ? ".." : copy, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && is_gone(errno))
		return up ? -EAGAIN : 0;
	if (fd < 0)
		return -errno;
	cs_close_fd(cur);
	*cur = fd;
	if (up)
		return visitor->leave != NULL ? visitor->leave(fd, copy + 1, arg) : 0;
	r = push(stack, "/", copy);
	return r != 0 ? r : enter(fd, stack, visitor, arg);
}

/* kernfs counts the directories in a directory as links to it. */
static bool has_children(int dir_fd)
{
	struct stat st;

	return fstat(dir_fd, &st) < 0 || st.st_nlink != 2;
}

int cs_cgroup_walk(int dir_fd, const struct cs_cgroup_visitor *visitor, void *arg)
{
	cs_auto(buf) stack = CS_BUF_INIT(NAMES_MAX);
	cs_autofd int cur = -1;
	int r = visitor->enter != NULL ? visitor->enter(dir_fd, arg) : 0;

	/* after the visit, as below: what moves from a group into a new one below it is seen in one of them */
	if (r != 0 || !has_children(dir_fd))
		return r;
	cur = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cur < 0)
		return is_gone(errno) ? 0 : -errno;
	r = push_children(&stack, cur);
	while (r == 0 && stack.len > 0)
		r = step(&cur, &stack, visitor, arg);
	return r;
}

/* --- processes ---------------------------------------------------------- */

int cs_cgroup_each_pid(int dir_fd, cs_cgroup_pid_fn *fn, void *arg)
{
	/* opened anew each time: v1 keeps the list it made for an open file */
	cs_autofd int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	bool digits = false;
	char chunk[4096];
	ssize_t n;
	pid_t pid = 0;
	int r = 0;

	if (fd < 0)
		return is_gone(errno) ? 0 : -errno;
	while (r == 0 && (n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		/* EOPNOTSUPP: a threaded v2 group, whose processes show further up */
		if (n < 0)
			return is_gone(errno) || errno == EOPNOTSUPP ? 0 : -errno;
		for (ssize_t i = 0; i < n && r == 0; i++) {
			if (chunk[i] >= '0' && chunk[i] <= '9') {
				pid = pid * 10 + (chunk[i] - '0');
				digits = true;
			} else if (digits) {
				r = fn(pid, arg);
				pid = 0;
				digits = false;
			}
		}
	}
	return r;
}

void cs_cgroup_pidlist_release(struct cs_cgroup_pidlist *list)
{
	cs_free_ptr(&list->v);
	list->n = list->cap = 0;
}

static int add_pid(pid_t pid, void *arg)
{
	struct cs_cgroup_pidlist *list = arg;

	if (pid <= 0) {
		list->foreign = true;
		return 0;
	}
	if (list->n >= PIDS_MAX)
		return -ENOSPC;
	if (list->n == list->cap) {
		size_t cap = list->cap > 0 ? 2 * list->cap : 64;
		pid_t *more = reallocarray(list->v, cap, sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		list->v = more;
		list->cap = cap;
	}
	list->v[list->n++] = pid;
	return 0;
}

static int add_pids_of(int dir_fd, void *arg)
{
	return cs_cgroup_each_pid(dir_fd, add_pid, arg);
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

bool cs_cgroup_pidlist_has(const struct cs_cgroup_pidlist *list, pid_t pid)
{
	return list->n > 0 && bsearch(&pid, list->v, list->n, sizeof(pid), compare_pids) != NULL;
}

static void sort_unique(struct cs_cgroup_pidlist *list)
{
	size_t kept = 0;

	if (list->n == 0)
		return;
	qsort(list->v, list->n, sizeof(*list->v), compare_pids);
	for (size_t i = 0; i < list->n; i++) {
		if (kept == 0 || list->v[i] != list->v[kept - 1])
			list->v[kept++] = list->v[i];
	}
	list->n = kept;
}

static int list_once(const struct cs_cgroup *cgroup, struct cs_cgroup_pidlist *list)
{
	static const struct cs_cgroup_visitor visitor = { .enter = add_pids_of };
	int r = 0;

	list->n = 0;
	list->foreign = false;
	for (size_t i = 0; i < cgroup->n && r == 0; i++)
		r = cs_cgroup_walk(cgroup->dirs[i].fd, &visitor, list);
	return r;
}

int cs_cgroup_list(const struct cs_cgroup *cgroup, struct cs_cgroup_pidlist *list)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < WALKS_MAX && r == -EAGAIN; i++)
		r = list_once(cgroup, list);
	sort_unique(list);
	return r;
}

int cs_cgroup_pids(const struct cs_cgroup *cgroup, pid_t *ret_pids, size_t max, size_t *ret_n)
{
	struct cs_cgroup_pidlist list = { 0 };
	int r = cs_cgroup_list(cgroup, &list);

	if (r == 0) {
		*ret_n = CS_MIN(list.n, max);
		if (*ret_n > 0)
			memcpy(ret_pids, list.v, *ret_n * sizeof(*ret_pids));
		r = list.n > max ? -ENOSPC : 0;
	}
	cs_cgroup_pidlist_release(&list);
	return r;
}

static int stop_at_pid(pid_t pid CS_UNUSED, void *arg CS_UNUSED)
{
	return 1;
}

static int stop_at_any(int dir_fd, void *arg CS_UNUSED)
{
	return cs_cgroup_each_pid(dir_fd, stop_at_pid, NULL);
}

int cs_cgroup_is_empty(const struct cs_cgroup *cgroup)
{
	static const struct cs_cgroup_visitor visitor = { .enter = stop_at_any };

	for (size_t i = 0; i < cgroup->n; i++) {
		const struct cs_cgroup_dir *dir = &cgroup->dirs[i];
		/* v2 knows it of the whole tree, also while a thread without a leader is left */
		uint64_t populated = dir->mount.v2 ? cs_cgroup_file_number(dir->fd, "cgroup.events",
									   CS_CGROUP_KEY, "populated")
						   : UINT64_MAX;
		int r = populated != UINT64_MAX ? (int)(populated != 0) : -EAGAIN;

		for (unsigned k = 0; k < WALKS_MAX && r == -EAGAIN; k++)
			r = cs_cgroup_walk(dir->fd, &visitor, NULL);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return 1;
}
