#include "shim/task/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/sys/cgroup.h"
#include "shim/sys/mount.h"
#include "shim/sys/spawn.h"

/* How long the guardian goes on trying before it leaves the rest to gc. */
#define CLEAN_NS (10 * CS_NSEC_PER_SEC)
#define KILL_NS (2 * CS_NSEC_PER_SEC)

enum word { MOVE, ARM, DISMISS };

struct message {
	enum word word;
	int64_t deadline_ns;
};

/* --- in the guardian --------------------------------------------------------- */

struct watch {
	struct cs_record *record;
	const char *cgroup_path;
	struct cs_pidref supervisor;
	int socket;
	int cell_procs_fd; /* -1: none, or entered */
	int64_t deadline_ns;
};

static void kill_run(const struct watch *watch)
{
	struct cs_cgroup_host host;
	struct cs_cgroup *cgroup = NULL;
	struct cs_err err = CS_ERR_INIT;

	if (cs_cgroup_host_read(&host, &err) < 0 ||
	    cs_cgroup_open(&host, watch->cgroup_path, &cgroup, &err) < 0)
		return;
	cs_cgroup_kill(cgroup, cs_clock_deadline_ns(KILL_NS));
	cs_cgroup_free(cgroup);
}

/*
 * The group that holds guardians can only be removed by somebody outside of
 * it, and after a supervisor's death nobody else is there.
 */
static void leave_cell(void)
{
	struct cs_cgroup_host host;
	struct cs_err err = CS_ERR_INIT;

	if (cs_cgroup_host_read(&host, &err) == 0 && cs_cgroup_leave_cell(&host) < 0) {
		/* the group stays; the next run to end removes it */
	}
}

static void clean_up(const struct watch *watch)
{
	cs_auto(strv) leftovers = CS_STRV_INIT;

	cs_record_clean_up(watch->record, cs_clock_deadline_ns(CLEAN_NS), &leftovers);
	leave_cell();
	cs_record_tidy(watch->record);
}

static void enter_cell(struct watch *watch)
{
	if (watch->cell_procs_fd >= 0 && write(watch->cell_procs_fd, "0", 1) < 0) {
		/* it stays in the supervisor's group: guarded against its death, not against its group's */
	}
	cs_close_fd(&watch->cell_procs_fd);
}

/* True when a message says that all is done. */
static bool read_message(struct watch *watch)
{
	struct message message;
	ssize_t n = recv(watch->socket, &message, sizeof(message), MSG_DONTWAIT);

	if (n == 0) /* the supervisor's end is closed: its pidfd tells the rest */
		cs_close_fd(&watch->socket);
	if (n != (ssize_t)sizeof(message))
		return false;
	if (message.word == MOVE)
		enter_cell(watch);
	if (message.word == ARM)
		watch->deadline_ns = message.deadline_ns;
	return message.word == DISMISS;
}

static void watch_supervisor(struct watch *watch)
{
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = watch->socket, .events = POLLIN },
			{ .fd = watch->supervisor.fd, .events = POLLIN },
		};
		struct timespec ts;
		int n = ppoll(fds, 2, cs_clock_left(watch->deadline_ns, &ts), NULL);

		if (n < 0 && errno != EINTR)
			return;
		/* a last word counts, even of one who died right after it */
		if (n > 0 && fds[0].revents && read_message(watch))
			return;
		if (n > 0 && fds[1].revents && !fds[0].revents) {
			clean_up(watch);
			return;
		}
		if (n == 0) {
			kill_run(watch);
			watch->deadline_ns = cs_clock_deadline_ns(KILL_NS);
		}
	}
}

/* Nothing of the caller's stays open: /dev/null for stdio, no working directory. */
static void let_go(const struct watch *watch)
{
	int keep[] = { watch->socket, watch->supervisor.fd, watch->cell_procs_fd,
		       watch->record->runs_fd, watch->record->parent_fd };
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
		dup2(null_fd, fd);
	cs_fd_close_except(3, keep, CS_ARRAY_LEN(keep));
	if (chdir("/") < 0) {
		/* the root is always there; staying where we are would only pin a directory */
	}
}

static CS_NORETURN void guardian_main(struct watch *watch, int namespace_fd)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "caisson-guard");
	prctl(PR_SET_PDEATHSIG, 0);
	/* before anything is opened: it would hold a mount of the run's */
	if (namespace_fd >= 0 && cs_mount_enter_namespace(namespace_fd) < 0) {
		/* it guards all the same; the run's mounts last as long as it does */
	}
	let_go(watch);
	/* a successor's copies of the lock on the record, which it would stand in its own way with */
	watch->record->dir_fd = watch->record->file_fd = -1;
	watch_supervisor(watch);
	_exit(0);
}

/* --- in the supervisor --------------------------------------------------------- */

int cs_guardian_start(struct cs_record *record, const char *cgroup_path, int cell_procs_fd, int namespace_fd,
		      struct cs_guardian *ret, struct cs_err *err)
{
	struct watch watch = {
		.record = record,
		.cgroup_path = cgroup_path,
		.supervisor = CS_PIDREF_INIT,
		.cell_procs_fd = cell_procs_fd,
		.deadline_ns = CS_NEVER,
	};
	int pair[2], r, forked = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return cs_fail(err, CS_IO, errno, "guardian: socket pair");
	/* opened here, where our own pid cannot be somebody else's */
	r = cs_pidref_open(getpid(), &watch.supervisor);
	watch.socket = pair[1];
	if (r == 0)
		forked = r = cs_spawn_fork(&ret->process);
	if (forked == 0) {
		close(pair[0]);
		guardian_main(&watch, namespace_fd);
	}
	cs_pidref_release(&watch.supervisor);
	cs_close_fd(&pair[1]);
	if (r < 0) {
		cs_close_fd(&pair[0]);
		return cs_fail(err, CS_IO, -r, "guardian: fork");
	}
	ret->socket = pair[0];
	return 0;
}

static int tell(struct cs_guardian *guardian, enum word word, int64_t deadline_ns)
{
	struct message message;

	memset(&message, 0, sizeof(message));
	message.word = word;
	message.deadline_ns = deadline_ns;
	return send(guardian->socket, &message, sizeof(message), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int cs_guardian_move(struct cs_guardian *guardian)
{
	return tell(guardian, MOVE, 0);
}

int cs_guardian_arm(struct cs_guardian *guardian, int64_t deadline_ns)
{
	return tell(guardian, ARM, deadline_ns);
}

void cs_guardian_dismiss(struct cs_guardian *guardian)
{
	int status;

	if (guardian->socket < 0)
		return;
	if (tell(guardian, DISMISS, 0) < 0)
		cs_pidref_kill(&guardian->process, SIGKILL);
	if (cs_pidref_wait_dead(&guardian->process, cs_clock_deadline_ns(KILL_NS)) < 0)
		cs_pidref_kill(&guardian->process, SIGKILL);
	cs_pidref_wait_dead(&guardian->process, CS_NEVER);
	cs_pidref_reap(&guardian->process, &status);
	cs_pidref_release(&guardian->process);
	cs_close_fd(&guardian->socket);
}
