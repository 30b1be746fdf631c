/*
 * A scripted OCI engine for tests: works without isolation, and does wrong what
 * its script says (script.h). Called by a symbolic link named like an engine it
 * passes for that; a file BINARY.calls, when it is there, gets a line of each call.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oci-spec/json.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"
#include "shim/engine/engine.h"
#include "tests/fake/box.h"
#include "tests/fake/script.h"

#define DEFAULT_ROOT "/run/fakerun"

struct call {
	char binary[4096];
	const char *root, *log, *bundle, *pid_file, *process, *pid;
	bool force, all, detach;
	const char *verb;
	const char *operands[2];
	size_t n_operands;
	struct script script;
};

static CS_NORETURN CS_PRINTF(2, 3) void fail(const struct call *call, const char *fmt, ...)
{
	char text[2048], line[2200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "log %s", text);
	if (call->log) {
		struct script log = { 0 };

		cs_strv_add(&log.lines, line);
		script_perform(&log, call->log, call->verb);
		script_release(&log);
	}
	fprintf(stderr, "%s\n", text);
	exit(1);
}

/* --- what it remembers of a container: ROOT/ID/{pid,bundle,start} ------------------ */

static const char *id_of(const struct call *call)
{
	if (call->n_operands == 0 || !cs_id_valid(call->operands[0]))
		fail(call, "%s: no container id", call->verb);
	return call->operands[0];
}

static char *file_of(const struct call *call, const char *name, char path[static 4096])
{
	snprintf(path, 4096, "%s/%s%s%s", call->root, id_of(call), name[0] ? "/" : "", name);
	return path;
}

static void remember(const struct call *call, const char *name, const char *text)
{
	char path[4096];
	int r = cs_file_write_atomic(AT_FDCWD, file_of(call, name, path), text, strlen(text), 0600, false);

	if (r < 0)
		fail(call, "write %s: %s", path, strerror(-r));
}

static void recall(const struct call *call, const char *name, struct cs_buf *ret)
{
	char path[4096];

	if (cs_file_read(AT_FDCWD, file_of(call, name, path), ret) < 0 || ret->len == 0)
		fail(call, "container does not exist");
}

static pid_t pid_of(const struct call *call)
{
	cs_auto(buf) text = CS_BUF_INIT(32);
	uint32_t pid;

	recall(call, "pid", &text);
	if (cs_parse_u32(text.data, &pid) < 0 || pid == 0)
		fail(call, "pid of the container: '%s'", text.data);
	return (pid_t)pid;
}

/* A zombie is stopped. */
static bool is_alive(pid_t pid)
{
	cs_auto(buf) text = CS_BUF_INIT(4096);
	char path[64], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (cs_file_read(AT_FDCWD, path, &text) < 0 || !text.data)
		return false;
	state = strrchr(text.data, ')');
	return state && strlen(state) > 2 && state[2] != 'Z' && state[2] != 'X';
}

static struct cs_json *config_of(const struct call *call, const char *bundle)
{
	struct cs_err err = CS_ERR_INIT;
	struct cs_json *config;
	char path[4096];

	snprintf(path, sizeof(path), "%s/config.json", bundle);
	if (cs_json_read_file(AT_FDCWD, path, &config, &err) < 0)
		fail(call, "%s", err.text);
	return config;
}

/* --- verbs --------------------------------------------------------------------------- */

static void write_pid_file(const struct call *call, pid_t pid)
{
	long late_ms = script_number(&call->script, "late-pid-file", 0);
	char text[32];

	if (!call->pid_file || script_get(&call->script, "no-pid-file"))
		return;
	if (late_ms > 0) {
		if (fork() != 0)
			return;
		setsid();
		script_wait_ms(late_ms);
	}
	snprintf(text, sizeof(text), "%ld", script_number(&call->script, "pid", (long)pid));
	if (cs_file_write_atomic(AT_FDCWD, call->pid_file, text, strlen(text), 0600, false) < 0)
		fail(call, "cannot write the pid file '%s'", call->pid_file);
	if (late_ms > 0)
		_exit(0);
}

static enum box_limits limits_of(const struct script *script)
{
	const char *word = script_get(script, "limits");

	if (word && strcmp(word, "skip") == 0)
		return BOX_LIMITS_SKIP;
	return word && strcmp(word, "half") == 0 ? BOX_LIMITS_HALF : BOX_LIMITS_APPLY;
}

static enum box_walls walls_of(const struct script *script)
{
	const char *word = script_get(script, "walls");

	if (!word)
		return BOX_WALLS_NONE;
	return strcmp(word, "holes") == 0 ? BOX_WALLS_HOLES : BOX_WALLS_WHOLE;
}

static void verb_create(const struct call *call)
{
	cs_autojson struct cs_json *config = NULL;
	char path[4096], bundle[4096], text[32];
	struct box_plan plan = { .bundle = bundle, .limits = limits_of(&call->script), .walls = walls_of(&call->script) };
	pid_t pid;

	if (!realpath(call->bundle ? call->bundle : ".", bundle))
		fail(call, "bundle '%s': %s", call->bundle, strerror(errno));
	config = config_of(call, bundle);
	if (cs_file_mkdirs(call->root, 0700) < 0 || mkdir(file_of(call, "", path), 0700) < 0)
		fail(call, "container '%s': %s", id_of(call), strerror(errno));
	/* read and write: it waits for a byte also while nobody is there to write one */
	if (mkfifo(file_of(call, "start", path), 0600) < 0 || (plan.start_fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		fail(call, "'%s': %s", path, strerror(errno));
	pid = box_create(config, &plan);
	if (pid < 0)
		fail(call, "container: %s", strerror(errno));
	if (script_get(&call->script, "half"))
		fail(call, "container half made");
	snprintf(text, sizeof(text), "%d", (int)pid);
	remember(call, "pid", text);
	remember(call, "bundle", bundle);
	write_pid_file(call, pid);
}

static void verb_start(const struct call *call)
{
	cs_autofd int fd = -1;
	char path[4096];

	pid_of(call);
	fd = open(file_of(call, "start", path), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fail(call, "cannot start a container that is %s",
		     errno == ENOENT ? "started" : errno == ENXIO ? "dead" : "odd");
	unlink(path);
	if (cs_fd_write_all(fd, "s", 1) < 0)
		fail(call, "start: %s", strerror(errno));
}

static const char *status_of(const struct call *call, pid_t pid)
{
	char path[4096];

	if (!is_alive(pid))
		return "stopped";
	return access(file_of(call, "start", path), F_OK) == 0 ? "created" : "running";
}

static void verb_state(const struct call *call)
{
	cs_auto(buf) bundle = CS_BUF_INIT(4096);
	pid_t pid = pid_of(call);
	const char *status = status_of(call, pid);

	recall(call, "bundle", &bundle);
	printf("{\"ociVersion\":\"1.0.2\",\"id\":\"%s\",\"status\":\"%s\",\"pid\":%d,\"bundle\":\"%s\"}\n", id_of(call),
	       status, strcmp(status, "stopped") == 0 ? 0 : (int)pid, bundle.data);
}

static void verb_kill(const struct call *call)
{
	pid_t pid = pid_of(call);
	int signal_number = SIGTERM;

	if (call->n_operands > 1 && cs_parse_signal(call->operands[1], &signal_number) < 0)
		fail(call, "unknown signal '%s'", call->operands[1]);
	if (!is_alive(pid))
		fail(call, "process already finished");
	/* the session's group is all that there is of a container here */
	if (kill(call->all ? -pid : pid, signal_number) < 0)
		fail(call, "kill: %s", strerror(errno));
}

static void verb_delete(const struct call *call)
{
	static const char *const files[] = { "pid", "bundle", "start" };
	cs_auto(buf) bundle = CS_BUF_INIT(4096);
	char path[4096];

	if (access(file_of(call, "", path), F_OK) < 0) {
		if (call->force)
			return;
		fail(call, "container does not exist");
	}
	if (cs_file_read(AT_FDCWD, file_of(call, "bundle", path), &bundle) == 0 && bundle.len > 0) {
		cs_autojson struct cs_json *config = NULL;
		struct cs_err err = CS_ERR_INIT;
		pid_t pid = pid_of(call);

		if (is_alive(pid) && !call->force)
			fail(call, "container is not stopped");
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		while (is_alive(pid))
			script_wait_ms(1);
		snprintf(path, sizeof(path), "%s/config.json", bundle.data);
		if (cs_json_read_file(AT_FDCWD, path, &config, &err) == 0)
			box_remove(config);
	}
	for (size_t i = 0; i < CS_ARRAY_LEN(files); i++)
		unlink(file_of(call, files[i], path));
	if (rmdir(file_of(call, "", path)) < 0)
		fail(call, "remove '%s': %s", path, strerror(errno));
}

static void verb_exec(const struct call *call)
{
	cs_autojson struct cs_json *config = NULL, *process = NULL;
	cs_auto(buf) bundle = CS_BUF_INIT(4096);
	struct cs_err err = CS_ERR_INIT;
	int status = 0;
	pid_t pid;

	recall(call, "bundle", &bundle);
	config = config_of(call, bundle.data);
	if (!call->process || cs_json_read_file(AT_FDCWD, call->process, &process, &err) < 0)
		fail(call, "exec without a process: %s", err.text);
	if (!is_alive(pid_of(call)))
		fail(call, "cannot exec in a stopped container");
	pid = box_exec(config, process);
	if (pid < 0)
		fail(call, "fork: %s", strerror(errno));
	write_pid_file(call, pid);
	if (call->detach)
		return;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void verb_pause(const struct call *call)
{
	kill(-pid_of(call), SIGSTOP);
}

static void verb_resume(const struct call *call)
{
	kill(-pid_of(call), SIGCONT);
}

static void verb_ps(const struct call *call)
{
	pid_t pid = pid_of(call);

	if (is_alive(pid))
		printf("[%d]\n", (int)pid);
	else
		printf("[]\n");
}

static void verb_update(const struct call *call)
{
	pid_of(call);
}

static void verb_features(const struct call *call)
{
	printf("{\"ociVersionMin\":\"1.0.0\",\"ociVersionMax\":\"1.0.2\",\"mountOptions\":[\"ro\",\"rw\"],"
	       "\"linux\":{\"seccomp\":{\"enabled\":%s}}}\n",
	       script_get(&call->script, "no-seccomp") ? "false" : "true");
}

static void verb_version(const struct call *call)
{
	const char *base = strrchr(call->binary, '/'), *version = script_get(&call->script, "version");
	const struct cs_engine_kind *kind = cs_engine_kind_by_name(base ? base + 1 : call->binary);

	printf("%s %s\n", (kind ? kind : cs_engine_kind_by_name("runc"))->version_prefix, version ? version : "99.0-fake");
}

static void verb_flags(const struct call *call)
{
	(void)call;
	printf("  -overlay2 value\n  -network value\n  -root string\n");
}

static const struct {
	const char *word;
	void (*run)(const struct call *call);
} verbs[] = {
	{ "create", verb_create }, { "start", verb_start },       { "state", verb_state },
	{ "kill", verb_kill },     { "delete", verb_delete },     { "exec", verb_exec },
	{ "pause", verb_pause },   { "resume", verb_resume },     { "ps", verb_ps },
	{ "update", verb_update }, { "features", verb_features }, { "--version", verb_version },
	{ "flags", verb_flags },   { "--help", verb_flags },
};

/* --- the command line ---------------------------------------------------------------- */

/* Value of "--name VALUE" or "--name=VALUE" at argv[*i]; *i is moved behind it. */
static bool take_value(int argc, char **argv, int *i, const char *name, const char **ret)
{
	size_t len = strlen(name);

	if (strncmp(argv[*i], name, len) != 0)
		return false;
	if (argv[*i][len] == '=')
		*ret = argv[*i] + len + 1;
	else if (argv[*i][len] == '\0' && *i + 1 < argc)
		*ret = argv[++*i];
	else
		return false;
	return true;
}

static void parse_arg(struct call *call, int argc, char **argv, int *i)
{
	static const char *const ignored[] = { "--log-format", "--format", "--resources", "--console-socket",
					       "--internal-pid-file", "--pod-init-config", "--network", "--overlay2" };
	const char *arg = argv[*i], *value;

	if (take_value(argc, argv, i, "--root", &call->root) || take_value(argc, argv, i, "--log", &call->log) ||
	    take_value(argc, argv, i, "--bundle", &call->bundle) || take_value(argc, argv, i, "--pid-file", &call->pid_file) ||
	    take_value(argc, argv, i, "--process", &call->process) || take_value(argc, argv, i, "--pid", &call->pid))
		return;
	for (size_t k = 0; k < CS_ARRAY_LEN(ignored); k++)
		if (take_value(argc, argv, i, ignored[k], &value))
			return;
	if (strcmp(arg, "--force") == 0)
		call->force = true;
	else if (strcmp(arg, "--all") == 0)
		call->all = true;
	else if (strcmp(arg, "--detach") == 0)
		call->detach = true;
	else if (!call->verb && (arg[0] != '-' || strcmp(arg, "--version") == 0 || strcmp(arg, "--help") == 0))
		call->verb = arg;
	else if (arg[0] != '-' && call->n_operands < CS_ARRAY_LEN(call->operands))
		call->operands[call->n_operands++] = arg;
}

static void note_call(const struct call *call, int argc, char **argv)
{
	cs_auto(buf) line = CS_BUF_INIT(64 * 1024);
	cs_autofd int fd = -1;
	char path[4200];

	snprintf(path, sizeof(path), "%s.calls", call->binary);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	for (int i = 1; i < argc; i++)
		cs_buf_addf(&line, "%s%s", argv[i], i + 1 < argc ? " " : "\n");
	if (fd >= 0 && cs_fd_write_all(fd, line.data, line.len) < 0)
		perror(path);
}

int main(int argc, char **argv)
{
	struct call call = { .root = DEFAULT_ROOT };
	int status;

	if (strchr(argv[0], '/'))
		snprintf(call.binary, sizeof(call.binary), "%s", argv[0]);
	else if (readlink("/proc/self/exe", call.binary, sizeof(call.binary) - 1) < 0)
		return EXIT_FAILURE;
	for (int i = 1; i < argc; i++)
		parse_arg(&call, argc, argv, &i);
	note_call(&call, argc, argv);
	if (!call.verb)
		fail(&call, "no command");
	script_read(&call.script, call.binary, call.verb);
	script_perform(&call.script, call.log, call.verb);
	status = (int)script_number(&call.script, "then-exit", 0);
	for (size_t i = 0; i < CS_ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].word, call.verb) == 0) {
			verbs[i].run(&call);
			script_release(&call.script);
			return status;
		}
	fail(&call, "unknown command %s", call.verb);
}
