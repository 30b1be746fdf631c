#include "shim/engine/engine_call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/clock.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/engine/engine_int.h"
#include "shim/engine/engine_log.h"

/* Of a log only its last part is looked at: errors come last. */
#define LOG_READ_MAX (64 * 1024)
#define MESSAGE_MAX 768

/* Times the base; 0 is 1. */
static const int64_t timeout_factors[CS_VERBS] = {
	[CS_VERB_CREATE] = 3,
};

int64_t cs_engine_timeout_ns(enum cs_verb verb, int64_t base_ns)
{
	int64_t factor = timeout_factors[verb] ? timeout_factors[verb] : 1, ns;

	return __builtin_mul_overflow(base_ns, factor, &ns) ? CS_NEVER : ns;
}

static int64_t timeout_of(const struct cs_engine_call *call)
{
	return call->timeout_ns ? call->timeout_ns : cs_engine_timeout_ns(call->verb, CS_ENGINE_TIMEOUT_NS);
}

void cs_engine_result_release(struct cs_engine_result *result)
{
	cs_buf_release(&result->output);
	cs_buf_release(&result->errors);
	*result = (struct cs_engine_result){ 0 };
}

/* --- the log: only what this call wrote ----------------------------------- */

/* The log as a regular file; -1 when it is not there or something else stands in its place. */
static int open_log(const char *path, off_t *ret_size)
{
	cs_autofd int fd = -1;
	struct stat st;

	if (!path)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	*ret_size = st.st_size;
	return cs_take_fd(&fd);
}

static off_t log_size(const char *path)
{
	off_t size = 0;
	cs_autofd int fd = open_log(path, &size);

	return fd < 0 ? 0 : size;
}

/* Message in what was written behind `from`; -ENODATA when there is none. */
static int message_of_log(const char *path, off_t from, struct cs_buf *out)
{
	cs_auto(buf) text = CS_BUF_INIT(LOG_READ_MAX);
	off_t size = 0;
	cs_autofd int fd = open_log(path, &size);
	char chunk[4096];

	if (fd < 0)
		return -ENODATA;
	if (from > size)
		from = 0; /* begun anew */
	if (size - from > LOG_READ_MAX)
		from = size - LOG_READ_MAX;
	while (from < size) {
		ssize_t n = pread(fd, chunk, CS_MIN(sizeof(chunk), (size_t)(size - from)), from);

		if (n <= 0 || cs_buf_add(&text, chunk, (size_t)n) < 0)
			break;
		from += n;
	}
	return text.len > 0 ? cs_engine_log_message(text.data, text.len, out) : -ENODATA;
}

/* --- what came of it -------------------------------------------------------- */

static int fail_status(const struct cs_engine_call *call, int status, struct cs_err *err)
{
	const char *name = WIFSIGNALED(status) ? cs_signal_name(WTERMSIG(status)) : NULL;

	if (WIFSIGNALED(status))
		return cs_fail(err, CS_ENGINE, 0, "%s %s: killed by signal %d%s%s",
			       call->engine->kind->name, cs_verb_word(call->verb), WTERMSIG(status),
			       name ? " " : "", name ? name : "");
	/* what it said on the caller's own descriptors is the caller's to read */
	return cs_fail(err, CS_ENGINE, 0, "%s %s: ended with status %d and %s",
		       call->engine->kind->name, cs_verb_word(call->verb), WEXITSTATUS(status),
		       call->stdio ? "logged nothing" : "said nothing");
}

static int judge(const struct cs_engine_call *call, const struct cs__run_result *run, off_t log_from,
		 struct cs_err *err)
{
	const char *name = call->engine->kind->name, *word = cs_verb_word(call->verb);
	const char *log = call->args ? call->args->log : NULL;
	cs_auto(buf) message = CS_BUF_INIT(MESSAGE_MAX);
	char text[CS_DURATION_TEXT];

	switch (run->end) {
	case CS__RUN_TIMED_OUT:
		return cs_fail(err, CS_TIMEOUT, 0, "%s %s: no answer within %s, %s", name, word,
			       cs_duration_text(timeout_of(call), text),
			       run->stuck ? "and SIGKILL does not end it" : "killed");
	case CS__RUN_CANCELLED:
		return cs_fail(err, CS_STATE, 0, "%s %s: cancelled", name, word);
	case CS__RUN_EXITED:
		break;
	}
	if (run->stuck)
		return cs_fail(err, CS_BUG, 0, "%s %s: somebody else reaped it", name, word);
	if (run->status == 0)
		return 0;
	if (message_of_log(log, log_from, &message) < 0 &&
	    (run->errors.len == 0 ||
	     cs_engine_log_message(run->errors.data, run->errors.len, &message) < 0))
		return fail_status(call, run->status, err);
	return cs_fail(err, CS_ENGINE, 0, "%s %s: %s", name, word, message.data);
}

int cs_engine_call(struct cs_loop *loop, const struct cs_engine_call *call,
		   struct cs_engine_result *ret, struct cs_err *err)
{
	cs_auto(strv) argv = CS_STRV_INIT;
	struct cs__run_result result;
	struct cs__run run = {
		.cloned_env = call->engine->kind->cloned_env,
		.stdio = call->stdio,
		.cgroup_procs_fds = call->cgroup_procs_fds,
		.n_cgroup_procs_fds = call->n_cgroup_procs_fds,
		.timeout_ns = timeout_of(call),
		.cancelled = call->cancelled,
	};
	off_t log_from = log_size(call->args ? call->args->log : NULL);
	int r;

	if (cs_engine_argv(call->engine, call->verb, call->args, &argv, err) < 0)
		return -1;
	run.argv = cs_strv_v(&argv);
	if (cs__run(loop, &run, &result, err) < 0)
		return cs_wrap(err, "%s %s", call->engine->kind->name, cs_verb_word(call->verb));

	r = judge(call, &result, log_from, err);
	if (ret)
		*ret = (struct cs_engine_result){
			.status = result.status,
			.timed_out = result.end == CS__RUN_TIMED_OUT,
			.output = result.output,
			.errors = result.errors,
		};
	else
		cs__run_result_release(&result);
	return r;
}

/* --- what it made ------------------------------------------------------------------- */

static int read_pid(const char *call, const char *pid_file, pid_t *ret, struct cs_err *err)
{
	cs_auto(buf) text = CS_BUF_INIT(64);
	int r = cs_file_read(AT_FDCWD, pid_file, &text);
	int64_t pid;

	if (r < 0)
		return cs_fail(err, CS_ENGINE, -r, "%s left no pid file", call);
	while (text.len > 0 && strchr(" \n\r\t", text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	if (text.len == 0 || cs_parse_i64(text.data, &pid) < 0 || pid < 2 || pid > INT32_MAX)
		return cs_fail(err, CS_ENGINE, 0, "%s left a pid file that holds no pid", call);
	*ret = (pid_t)pid;
	return 0;
}

int cs_engine_hold_process(const char *call, const char *pid_file, struct cs_pidref *ret, struct cs_err *err)
{
	siginfo_t info;
	pid_t pid = 0;
	int r;

	if (read_pid(call, pid_file, &pid, err) < 0)
		return -1;
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return cs_fail(err, CS_ENGINE, errno, "%s named process %d, which is none of ours", call, (int)pid);
	r = cs_pidref_open(pid, ret);
	return r < 0 ? cs_fail(err, CS_IO, -r, "process %d of %s", (int)pid, call) : 0;
}
