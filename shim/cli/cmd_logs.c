/* caisson logs: what a session has written, byte for byte: its stdout to stdout, its stderr to stderr. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/cli/cmd.h"
#include "shim/task/ctl.h"
#include "shim/task/session.h"
#include "shim/task/settings.h"

/* As a shell sees a program that SIGPIPE ended. */
#define READER_GONE 141

struct logs {
	bool follow;
};

static const struct cs_opt rows[] = {
	{ "follow", 'f', CS_OPT_SWITCH, offsetof(struct logs, follow), .help = "go on until the session ends" },
};
static const size_t n_rows = CS_ARRAY_LEN(rows);

struct follower {
	const char *state_dir, *id;
	int dir_fd, from[2];
	int watch_fd;
	struct cs_ctl_client client; /* its end is the run's */
};

/* --- copying ---------------------------------------------------------------------- */

/* What has come since the last time. */
static int copy(int from, int to, struct cs_err *err)
{
	char chunk[64 * 1024];
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(from, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cs_fail(err, CS_IO, errno, "read the log");
		r = cs_fd_write_all(to, chunk, (size_t)n);
	}
	return r < 0 ? cs_fail(err, CS_IO, -r, "write to %s", to == STDOUT_FILENO ? "stdout" : "stderr") : 0;
}

static int copy_both(const struct follower *f, struct cs_err *err)
{
	if (copy(f->from[0], STDOUT_FILENO, err) < 0)
		return -1;
	return copy(f->from[1], STDERR_FILENO, err);
}

static int open_files(struct follower *f, struct cs_err *err)
{
	static const char *const names[] = { "stdout", "stderr" };

	for (size_t i = 0; i < CS_ARRAY_LEN(names); i++) {
		f->from[i] = openat(f->dir_fd, names[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (f->from[i] < 0)
			return cs_fail(err, cs_err_kind_of_errno(errno), errno, "session '%s': %s", f->id, names[i]);
	}
	return 0;
}

/* --- following ------------------------------------------------------------------------ */

/* Of a directory one hears of its files too: inotify(7). */
static int watch(struct follower *f, struct cs_err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->dir_fd);
	f->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->watch_fd < 0 || inotify_add_watch(f->watch_fd, path, IN_MODIFY | IN_ONLYDIR) < 0)
		return cs_fail(err, CS_IO, errno, "watch session '%s'", f->id);
	return 0;
}

/* 0: its supervisor tells us of the end; 1: that has been; -1. */
static int attach(struct follower *f, struct cs_err *err)
{
	int r = cs_ctl_connect(f->state_dir, f->id, CS_CMD_CONNECT_NS, &f->client, err);

	if (r == 0)
		r = cs_ctl_call(&f->client, cs_ctl_request("wait"), cs_clock_deadline_ns(CS_CMD_ANSWER_NS), NULL, err);
	if (r < 0 && (err->kind == CS_NOT_FOUND || err->kind == CS_STATE))
		return cs_err_clear(err), 1;
	return r;
}

static void take_events(int fd)
{
	char events[4096];

	while (read(fd, events, sizeof(events)) > 0)
		;
}

/* 0 when there may be more to read, 1 at the end, 2 when nobody reads us any more. */
static int wait_for_more(const struct follower *f, struct cs_err *err)
{
	struct pollfd fds[] = {
		{ .fd = f->watch_fd, .events = POLLIN },
		{ .fd = f->client.fd, .events = POLLIN },
		{ .fd = STDOUT_FILENO }, /* for POLLERR: poll(2), a pipe without a reader */
	};

	while (poll(fds, CS_ARRAY_LEN(fds), -1) < 0)
		if (errno != EINTR)
			return cs_fail(err, CS_IO, errno, "poll");
	if (fds[2].revents & POLLERR)
		return 2;
	if (fds[0].revents)
		take_events(f->watch_fd);
	return fds[1].revents && cs_ctl_wait_closed(&f->client, cs_clock_now_ns()) == 0;
}

static int follow(struct follower *f, int *ret_code, struct cs_err *err)
{
	/* all that is written after the watch began is heard of */
	int r = watch(f, err) < 0 ? -1 : attach(f, err);

	while (r == 0) {
		if (copy_both(f, err) < 0)
			return -1;
		r = wait_for_more(f, err);
	}
	if (r == 2)
		*ret_code = READER_GONE;
	return r == 1 ? copy_both(f, err) : r == 2 ? 0 : -1;
}

/* Whether it ended or was taken away: a log that stops in the middle shall not look whole. */
static int check_end(const struct follower *f, struct cs_err *err)
{
	cs_autojson struct cs_json *result = NULL;

	if (cs_session_result(f->dir_fd, &result, err) == 0)
		return 0;
	cs_err_clear(err);
	return cs_fail(err, CS_STATE, 0, "how '%s' ended is not known: it was removed, or its supervisor was killed", f->id);
}

static int print_one(const struct logs *logs, struct follower *f, int *ret_code, struct cs_err *err)
{
	f->dir_fd = cs_session_open(f->state_dir, f->id, err);
	if (f->dir_fd < 0 || open_files(f, err) < 0)
		return -1;
	if (!logs->follow)
		return copy_both(f, err);
	if (follow(f, ret_code, err) < 0)
		return -1;
	return *ret_code == READER_GONE ? 0 : check_end(f, err);
}

static int print(const char *state_dir, const char *id, void *arg, struct cs_err *err)
{
	struct cs_cmd_call *call = arg;
	struct follower f = { .state_dir = state_dir, .id = id, .dir_fd = -1, .from = { -1, -1 }, .watch_fd = -1,
			      .client = CS_CTL_CLIENT_INIT };
	int r = print_one(call->own, &f, &call->code, err);

	cs_ctl_client_release(&f.client);
	cs_close_fd(&f.watch_fd);
	cs_close_fd(&f.from[0]);
	cs_close_fd(&f.from[1]);
	cs_close_fd(&f.dir_fd);
	return r;
}

static int each(struct cs_cmd_call *call, struct cs_err *err)
{
	return cs_cmd_each_id(call, 0, print, call, err);
}

const struct cs_cmd cs_cmd_logs = {
	.name = "logs",
	.summary = "print what a session has written",
	.usage = "[FLAGS] ID",
	.rows = rows,
	.n_rows = &n_rows,
	.settings = CS_FOR_RECORDS,
	.own_size = sizeof(struct logs),
	.operands_min = 1,
	.operands_max = 1,
	.operand = "id",
	.act = each,
};
