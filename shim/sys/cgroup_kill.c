/*
 * Ending everything in a group, and freezing.
 *
 * v2 has one file for it. Elsewhere a sweep freezes the group so that it does
 * not outrun us, sends SIGKILL to all that are listed until a listing shows
 * nobody new, and thaws: frozen v1 tasks die only then. A process with SIGKILL
 * pending cannot fork (copy_process() looks for signals under the lock that
 * sending takes), so once a listing brings nobody new, nobody was missed; the
 * freezer only makes that come soon. Hence no wait for state FROZEN, which a
 * single task in uninterruptible sleep would deny us for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/sys/cgroup_int.h"

/* Listings in a sweep: two when nothing forks, more for a fork bomb on a kernel without freezer. */
#define LISTINGS_MAX 64

/* How long a sweep may take to have effect before the next. */
#define SWEEP_PATIENCE_NS (50 * CS_NSEC_PER_MSEC)

/* Processes whose end is waited for at once. */
#define WATCHED_MAX 64

static int poll_until(struct pollfd *fds, nfds_t n, int64_t deadline_ns)
{
	struct timespec ts;
	int r = ppoll(fds, n, cs_clock_left(deadline_ns, &ts), NULL);

	return r < 0 && errno == EINTR ? 0 : r < 0 ? -errno : r;
}

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV;
}

/* On v1 a freezing that does not come to its end is begun again after so long. */
#define REFREEZE_NS (20 * CS_NSEC_PER_MSEC)

/* --- the freezer -------------------------------------------------------- */

struct freezer {
	const struct cs_cgroup_dir *dir; /* NULL: there is none */
	const char *file, *on, *off;
};

static struct freezer find_freezer(const struct cs_cgroup *cgroup)
{
	const struct cs_cgroup_dir *dir = cs_cgroup_dir_of(cgroup, "freezer");

	for (size_t i = 0; i < cgroup->n && dir == NULL; i++) {
		if (cgroup->dirs[i].mount.v2)
			dir = &cgroup->dirs[i];
	}
	if (dir == NULL)
		return (struct freezer){ 0 };
	if (!dir->mount.v2)
		return (struct freezer){ dir, "freezer.state", "FROZEN", "THAWED" };
	/* Linux 5.2 */
	if (faccessat(dir->fd, "cgroup.freeze", F_OK, 0) < 0 && errno == ENOENT)
		return (struct freezer){ 0 };
	return (struct freezer){ dir, "cgroup.freeze", "1", "0" };
}

/* 1 reached, 0 not yet. */
static int freezer_reached(const struct freezer *freezer, bool frozen)
{
	const char *want = frozen ? freezer->on : freezer->off;
	cs_auto(buf) text = CS_BUF_INIT(4096);
	uint64_t state;
	int r;

	if (freezer->dir->mount.v2) {
		state = cs_cgroup_file_number(freezer->dir->fd, "cgroup.events", CS_CGROUP_KEY, "frozen");
		return state == UINT64_MAX ? -ENODEV : (state == 1) == frozen;
	}
	r = cs_file_read(freezer->dir->fd, freezer->file, &text);
	if (r < 0)
		return is_gone(r) ? -ENODEV : r;
	return text.len > 0 && strncmp(text.data, want, strlen(want)) == 0;
}

/*
 * Tasks that trace each other or fork all the time may stay half frozen for
 * ever, each waiting for one that is frozen already; let go on for a moment
 * they get in step.
 */
static void refreeze(const struct freezer *freezer)
{
	if (cs_file_put(freezer->dir->fd, freezer->file, freezer->off) < 0 ||
	    cs_file_put(freezer->dir->fd, freezer->file, freezer->on) < 0)
		cs_log_debug("freezer: %s", strerror(errno));
}

int cs_cgroup_freeze(const struct cs_cgroup *cgroup, bool frozen, int64_t deadline_ns)
{
	struct freezer freezer = find_freezer(cgroup);
	cs_autofd int events = -1;
	int64_t nap_ns = CS_NAP_NS, again_ns = cs_clock_deadline_ns(REFREEZE_NS);
	int r;

	if (freezer.dir == NULL)
		return -EOPNOTSUPP;
	r = cs_file_put(freezer.dir->fd, freezer.file, frozen ? freezer.on : freezer.off);
	if (r < 0)
		return is_gone(r) ? -ENODEV : r;
	if (freezer.dir->mount.v2) {
		events = openat(freezer.dir->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
		if (events < 0)
			return -errno;
	}
	for (;;) {
		char text[512];

		/* reading before the look, so that no change between look and poll is lost */
		if (events >= 0 && pread(events, text, sizeof(text), 0) < 0)
			return -errno;
		r = freezer_reached(&freezer, frozen);
		if (r != 0)
			return r < 0 ? r : 0;
		if (cs_clock_left_ns(deadline_ns) == 0)
			return -ETIMEDOUT;
		if (events >= 0) {
			struct pollfd pfd = { .fd = events, .events = POLLPRI };

			r = poll_until(&pfd, 1, deadline_ns);
			if (r < 0)
				return r;
		} else {
			/* v1 tells nobody when the last task has frozen */
			cs_clock_nap(&nap_ns, deadline_ns);
			if (frozen && cs_clock_left_ns(again_ns) == 0) {
				refreeze(&freezer);
				again_ns = cs_clock_deadline_ns(REFREEZE_NS);
			}
		}
	}
}

int cs_cgroup_is_frozen(const struct cs_cgroup *cgroup)
{
	struct freezer freezer = find_freezer(cgroup);

	return freezer.dir ? freezer_reached(&freezer, true) : -EOPNOTSUPP;
}

/* --- the sweep ---------------------------------------------------------- */

/*
 * By pidfd, and only after a look that what it refers to is still in the
 * group: between listing and kill the number may have gone to a stranger.
 */
static int kill_one(const struct cs_cgroup *cgroup, pid_t pid)
{
	cs_autofd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r;

	if (fd < 0)
		return errno == ESRCH ? 0 : -errno;
	r = cs_cgroup_holds_in(cgroup, pid, true);
	if (r <= 0)
		return r == -ESRCH ? 0 : r;
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return -errno;
	return 0;
}

/* Lists and kills until a listing shows nobody new. `killed` is the last listing. */
static int kill_all(const struct cs_cgroup *cgroup, struct cs_cgroup_pidlist *killed)
{
	struct cs_cgroup_pidlist now = { 0 };
	int r = 0, first = 0;

	for (unsigned i = 0; i < LISTINGS_MAX && r == 0; i++) {
		struct cs_cgroup_pidlist before = *killed;
		size_t fresh = 0;

		r = cs_cgroup_list(cgroup, &now);
		for (size_t k = 0; k < now.n && r == 0; k++) {
			int error;

			if (cs_cgroup_pidlist_has(&before, now.v[k]))
				continue;
			error = kill_one(cgroup, now.v[k]);
			first = first != 0 ? first : error;
			fresh++;
		}
		*killed = now;
		now = before;
		if (fresh == 0)
			break;
	}
	cs_cgroup_pidlist_release(&now);
	return r != 0 ? r : first;
}

/* What only helps the sweep along may fail. */
static void try_put(int dir_fd, const char *file, const char *text)
{
	int r = cs_file_put(dir_fd, file, text);

	if (r < 0 && !is_gone(r))
		cs_log_debug("cgroup: write '%s' to %s: %s", text, file, strerror(-r));
}

/*
 * v1: below a frozen ancestor (a paused container, say) our thaw has no
 * effect. The ancestor is not ours to thaw, but the doomed can leave it: in
 * the hierarchy's top group they thaw, and die without running another
 * instruction of theirs, SIGKILL being pending.
 */
static void leave_frozen_ancestor(const struct freezer *freezer, const struct cs_cgroup_pidlist *killed)
{
	cs_autofd int top = -1;

	if (freezer->dir->mount.v2 || cs_cgroup_file_number(freezer->dir->fd, "freezer.parent_freezing",
							    CS_CGROUP_NUMBER, NULL) != 1)
		return;
	top = open(freezer->dir->mount.point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < killed->n && top >= 0; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%d", (int)killed->v[i]);
		try_put(top, "cgroup.procs", text);
	}
}

static int sweep(const struct cs_cgroup *cgroup)
{
	const struct cs_cgroup_dir *pids = cs_cgroup_dir_of(cgroup, "pids");
	struct freezer freezer = find_freezer(cgroup);
	struct cs_cgroup_pidlist killed = { 0 };
	int r;

	if (freezer.dir != NULL)
		try_put(freezer.dir->fd, freezer.file, freezer.on);
	else if (pids != NULL)
		try_put(pids->fd, "pids.max", "0"); /* no freezer: no forks either */
	r = kill_all(cgroup, &killed);
	if (freezer.dir != NULL) {
		int thawed = cs_file_put(freezer.dir->fd, freezer.file, freezer.off);

		if (r == 0 && thawed < 0 && !is_gone(thawed))
			r = thawed;
		leave_frozen_ancestor(&freezer, &killed);
	}
	cs_cgroup_pidlist_release(&killed);
	return r;
}

/* One sweep: v2's file where it is, by hand where it is not. */
static int kill_once(const struct cs_cgroup *cgroup)
{
	bool by_hand = false;

	for (size_t i = 0; i < cgroup->n; i++) {
		const struct cs_cgroup_dir *dir = &cgroup->dirs[i];
		int r = dir->mount.v2 ? cs_file_put(dir->fd, "cgroup.kill", "1") : -EOPNOTSUPP;

		if (r == -ENODEV)
			continue;
		by_hand = by_hand || r < 0;
	}
	return by_hand ? sweep(cgroup) : 0;
}

int cs_cgroup_kill_start(const struct cs_cgroup *cgroup)
{
	int r = cs_cgroup_holds_in(cgroup, getpid(), true);

	if (r != 0)
		return r > 0 ? -EDEADLK : r;
	return kill_once(cgroup);
}

/* --- waiting until it is empty ------------------------------------------ */

static const struct cs_cgroup_dir *only_v2(const struct cs_cgroup *cgroup)
{
	return cgroup->n == 1 && cgroup->dirs[0].mount.v2 ? &cgroup->dirs[0] : NULL;
}

/* v2: the kernel says when `populated` changes. 1 empty, 0 at the deadline. */
static int wait_empty_event(const struct cs_cgroup_dir *dir, int64_t deadline_ns)
{
	cs_autofd int fd = openat(dir->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd pfd = { .fd = fd, .events = POLLPRI };
	char text[512];

	if (fd < 0)
		return is_gone(-errno) ? 1 : -errno;
	for (;;) {
		ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
		int r;

		if (n < 0)
			return is_gone(-errno) ? 1 : -errno;
		text[n] = '\0';
		if (cs_cgroup_text_number(text, CS_CGROUP_KEY, "populated") == 0)
			return 1;
		if (cs_clock_left_ns(deadline_ns) == 0)
			return 0;
		r = poll_until(&pfd, 1, deadline_ns);
		if (r < 0)
			return r;
	}
}

/* Blocks until those of the listed processes that fit are dead, or the deadline. How many were waited for. */
static int wait_dead(const struct cs_cgroup_pidlist *list, int64_t deadline_ns)
{
	struct pollfd fds[WATCHED_MAX];
	size_t n = 0, alive;
	int r = 0;

	for (size_t i = 0; i < list->n && n < WATCHED_MAX; i++) {
		int fd = (int)syscall(SYS_pidfd_open, list->v[i], 0);

		if (fd >= 0)
			fds[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	alive = n;
	while (alive > 0 && r >= 0 && cs_clock_left_ns(deadline_ns) > 0) {
		r = poll_until(fds, n, deadline_ns);
		for (size_t i = 0; i < n && r > 0; i++) {
			if (fds[i].fd >= 0 && fds[i].revents != 0) {
				cs_close_fd(&fds[i].fd);
				alive--;
			}
		}
	}
	for (size_t i = 0; i < n; i++)
		cs_close_fd(&fds[i].fd);
	return r < 0 ? r : (int)(n - alive);
}

/*
 * v1 has no event for it; the ends of the processes in it are events. A nap
 * comes in only where none of them can be watched: out of descriptors, or
 * processes of a pid namespace outside ours.
 */
static int wait_empty_pidfds(const struct cs_cgroup *cgroup, int64_t deadline_ns)
{
	struct cs_cgroup_pidlist list = { 0 };
	int64_t nap_ns = CS_NAP_NS;
	int r, ended;

	for (;;) {
		r = cs_cgroup_is_empty(cgroup);
		if (r != 0 || cs_clock_left_ns(deadline_ns) == 0)
			break;
		r = cs_cgroup_list(cgroup, &list);
		if (r < 0)
			break;
		ended = wait_dead(&list, deadline_ns);
		if (ended <= 0)
			cs_clock_nap(&nap_ns, deadline_ns);
	}
	cs_cgroup_pidlist_release(&list);
	return r;
}

int cs_cgroup_kill(const struct cs_cgroup *cgroup, int64_t deadline_ns)
{
	const struct cs_cgroup_dir *v2 = only_v2(cgroup);
	int r = cs_cgroup_holds_in(cgroup, getpid(), true);

	if (r != 0)
		return r > 0 ? -EDEADLK : r;
	/* the common end of a run: to freeze and thaw a v1 group stops every CPU for a moment */
	if (cs_cgroup_is_empty(cgroup) == 1)
		return 0;
	for (;;) {
		int64_t until = CS_MIN(cs_clock_deadline_ns(SWEEP_PATIENCE_NS), deadline_ns);
		int error = kill_once(cgroup);

		r = v2 != NULL ? wait_empty_event(v2, until) : wait_empty_pidfds(cgroup, until);
		if (r != 0)
			return r < 0 ? r : 0;
		if (cs_clock_left_ns(deadline_ns) == 0)
			return error < 0 ? error : -ETIMEDOUT;
	}
}
