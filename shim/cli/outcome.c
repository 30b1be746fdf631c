#include "shim/cli/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/log.h"
#include "shim/sys/signals.h"
#include "shim/task/job.h"

#define RECORD_MAX (64 << 20)

/* --- where it goes ------------------------------------------------------------------ */

static int open_target_fd(const char *result, struct cs_outcome_target *ret, struct cs_err *err)
{
	uint32_t fd;
	int flags;

	if (cs_parse_u32(result + 3, &fd) < 0 || fd > INT32_MAX)
		return cs_fail(err, CS_INVALID, 0, "--result: '%.64s' is no fd:N", result);
	flags = fcntl((int)fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return cs_fail(err, CS_INVALID, 0, "--result: descriptor %u is not open for writing", fd);
	ret->fd = (int)fd;
	return 0;
}

static int open_target_file(const char *result, struct cs_outcome_target *ret, struct cs_err *err)
{
	const char *slash = strrchr(result, '/');
	cs_autofree char *dir = slash ? strndup(result, (size_t)CS_MAX(slash - result, 1)) : strdup(".");
	cs_autofd int dir_fd = -1;
	struct stat st;

	ret->name = slash ? slash + 1 : result;
	if (!dir)
		return cs_fail(err, CS_LIMIT, ENOMEM, "--result");
	if (ret->name[0] == '\0')
		return cs_fail(err, CS_INVALID, 0, "--result: '%s' names no file", result);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || fstat(dir_fd, &st) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "--result: directory '%s'", dir);
	if (st.st_nlink == 0)
		return cs_fail(err, CS_NOT_FOUND, 0, "--result: directory '%s' has been removed", dir);
	if (faccessat(dir_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return cs_fail(err, cs_err_kind_of_errno(errno), errno, "--result: directory '%s'", dir);
	/* the record takes the name over in one step: nobody means that of /dev/null or /dev/stderr */
	if (fstatat(dir_fd, ret->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return cs_fail(err, CS_INVALID, 0, "--result: '%s' is there and no regular file: give a file, or open it yourself and give fd:N",
			       result);
	ret->dir_fd = cs_take_fd(&dir_fd);
	return 0;
}

int cs_outcome_open(const char *result, struct cs_outcome_target *ret, struct cs_err *err)
{
	if (!result)
		return 0;
	if (strncmp(result, "fd:", 3) == 0)
		return open_target_fd(result, ret, err);
	return open_target_file(result, ret, err);
}

void cs_outcome_close(struct cs_outcome_target *target)
{
	cs_close_fd(&target->dir_fd);
}

/* --- its way out ---------------------------------------------------------------------- */

/*
 * Writes to a descriptor that may be a pipe whose reader is slow or stuck: in
 * pieces that POLLOUT promises room for (pipe(7), PIPE_BUF), until nothing is
 * taken for stall_ns, or until stop_fd can be read while nothing is.
 */
static int write_patiently(int fd, const char *data, size_t len, int64_t stall_ns, int stop_fd)
{
	while (len > 0) {
		struct pollfd p[] = { { .fd = fd, .events = POLLOUT }, { .fd = stop_fd, .events = POLLIN } };
		int n = poll(p, 2, stall_ns >= CS_NSEC_PER_SEC * 3600 ? -1 : (int)(stall_ns / CS_NSEC_PER_MSEC));
		ssize_t written;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ETIMEDOUT;
		if (!p[0].revents)
			return -EINTR;
		written = write(fd, data, CS_MIN(len, (size_t)PIPE_BUF));
		if (written < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (written > 0) {
			data += written;
			len -= (size_t)written;
		}
	}
	return 0;
}

static int make_text(const struct cs_result *result, struct cs_buf *out, struct cs_err *err)
{
	cs_autojson struct cs_json *record = NULL;

	if (cs_result_json(result, &record, err) < 0 || cs_json_write(record, CS_JSON_COMPACT, out, err) < 0)
		return -1;
	cs_buf_addc(out, '\n');
	return out->failed ? cs_fail(err, CS_LIMIT, 0, "result record: it does not fit into memory") : 0;
}

/* The failure of one way out; of two, the first is told. */
static void fail_way(int r, const char *where, struct cs_err *err)
{
	if (r == 0 || cs_err_is_set(err))
		return;
	if (r == -ETIMEDOUT)
		cs_fail(err, CS_TIMEOUT, 0, "result record to %s: nobody takes it (--flush-timeout)", where);
	else if (r == -EINTR)
		cs_fail(err, CS_TIMEOUT, 0, "result record to %s: nobody took it until a signal came", where);
	else
		cs_fail(err, CS_IO, -r, "result record to %s", where);
}

int cs_outcome_write(const struct cs_settings *s, const struct cs_outcome_target *target,
		     const struct cs_result *result, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(RECORD_MAX), where = CS_BUF_INIT(PATH_MAX + 16);
	cs_autofd int stop_fd = -1;
	sigset_t cancelling;
	int r = 0;

	if (s->format != CS_FORMAT_JSON && target->fd < 0 && target->dir_fd < 0)
		return 0;
	if (make_text(result, &text, err) < 0)
		return -1;
	cs_job_cancelling(&cancelling);
	stop_fd = cs_signals_open(&cancelling);
	if (target->fd >= 0)
		r = write_patiently(target->fd, text.data, text.len, s->flush_timeout_ns, stop_fd);
	else if (target->dir_fd >= 0)
		r = cs_file_write_atomic(target->dir_fd, target->name, text.data, text.len, 0644, false);
	cs_buf_addf(&where, "'%s'", s->result ? s->result : "");
	fail_way(r, where.data ? where.data : "--result", err);
	r = 0;
	if (s->format == CS_FORMAT_JSON)
		r = write_patiently(STDOUT_FILENO, text.data, text.len, s->flush_timeout_ns, stop_fd);
	fail_way(r, "stdout", err);
	return cs_err_is_set(err) ? -1 : 0;
}

void cs_outcome_refused(const struct cs_settings *s, const struct cs_err *why)
{
	struct cs_outcome_target target = CS_OUTCOME_TARGET_INIT;
	struct cs_err err = CS_ERR_INIT;
	struct cs_result result;

	if (cs_outcome_open(s->result, &target, &err) < 0) {
		cs_log_debug("%s", err.text);
		cs_err_clear(&err);
	}
	cs_result_init(&result);
	result.reason = CS_REASON_START_FAILED;
	result.start_kind = CS_START_USAGE;
	result.finished_wall_ns = cs_clock_wall_ns();
	snprintf(result.error, sizeof(result.error), "%s", why->text);
	if (cs_result_choose_id(&result, s->id) < 0 || cs_outcome_write(s, &target, &result, &err) < 0)
		cs_log_warn("%s", cs_err_is_set(&err) ? err.text : "result record: no random id");
	cs_result_release(&result);
	cs_outcome_close(&target);
}

/* --- a person's view ----------------------------------------------------------------- */

/* A terminal's output that was cut at its cap leaves the cursor anywhere. */
static void leave_cut_line(const struct cs_settings *s, const struct cs_result *result)
{
	if (s->tty && result->reason == CS_REASON_OUTPUT_LIMIT && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) &&
	    cs_fd_write_all(STDERR_FILENO, "\n", 1) < 0)
		cs_log_debug("stderr: %s", strerror(errno));
}

void cs_outcome_report(const struct cs_settings *s, const struct cs_result *result)
{
	cs_auto(buf) sentence = CS_BUF_INIT(4096);
	bool people = s->format == CS_FORMAT_TEXT && !s->quiet;

	cs_result_sentence(result, &sentence);
	if (result->error[0] && strstr(result->error, result->engine_message))
		cs_log_error("%s", result->error);
	else if (result->error[0])
		cs_log_error("%s: %s says: %s", result->error, result->engine_name, result->engine_message);
	else if (sentence.len > 0 && people) {
		leave_cut_line(s, result);
		cs_log_error("%s", sentence.data);
	}
	for (size_t i = 0; people && i < result->warnings.n; i++)
		cs_log_warn("%s", result->warnings.v[i]);
	for (size_t i = 0; i < result->leftovers.n; i++)
		cs_log_warn("left behind, 'caisson gc' tries again: %s", result->leftovers.v[i]);
}
