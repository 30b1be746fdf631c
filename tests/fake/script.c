#include "tests/fake/script.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/file.h"
#include "shim/base/parse.h"

static void add_line(struct script *script, char *line, const char *verb)
{
	size_t len;

	line += strspn(line, " \t");
	len = strcspn(line, " \t");
	if (line[0] == '#' || line[0] == '\0')
		return;
	if (!(len == 1 && line[0] == '*') && !(len == strlen(verb) && memcmp(line, verb, len) == 0))
		return;
	line += len;
	cs_strv_add(&script->lines, line + strspn(line, " \t"));
}

void script_read(struct script *script, const char *binary, const char *verb)
{
	cs_auto(buf) text = CS_BUF_INIT(64 * 1024);
	char path[4096], *line, *rest;

	*script = (struct script){ 0 };
	snprintf(path, sizeof(path), "%s.script", binary);
	if (cs_file_read(AT_FDCWD, path, &text) < 0 || text.len == 0)
		return;
	for (rest = text.data; (line = strsep(&rest, "\n"));)
		add_line(script, line, verb);
}

void script_release(struct script *script)
{
	cs_strv_release(&script->lines);
}

/* Argument of a line, NULL when it is another action. */
static const char *argument(const char *line, const char *action)
{
	size_t len = strlen(action);

	if (strncmp(line, action, len) != 0 || (line[len] != ' ' && line[len] != '\0'))
		return NULL;
	return line + len + strspn(line + len, " ");
}

const char *script_get(const struct script *script, const char *action)
{
	const char *found = NULL;

	for (size_t i = 0; i < script->lines.n; i++) {
		const char *text = argument(script->lines.v[i], action);

		found = text ? text : found;
	}
	return found;
}

static long number(const char *text, long otherwise)
{
	int64_t value;

	return text && cs_parse_i64(text, &value) == 0 ? (long)value : otherwise;
}

long script_number(const struct script *script, const char *action, long otherwise)
{
	return number(script_get(script, action), otherwise);
}

void script_wait_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* --- actions ------------------------------------------------------------------ */

static void write_bytes(int fd, long n, char c)
{
	char chunk[4096];

	memset(chunk, c, sizeof(chunk));
	while (n > 0) {
		size_t len = (size_t)CS_MIN(n, (long)sizeof(chunk));

		if (cs_fd_write_all(fd, chunk, len) < 0)
			return;
		n -= (long)len;
	}
}

static void write_log(const char *path, const char *data, size_t len)
{
	cs_autofd int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd >= 0 && cs_fd_write_all(fd, data, len) < 0)
		perror(path);
}

static void log_error(const char *path, const char *text)
{
	cs_auto(buf) line = CS_BUF_INIT(8192);

	cs_buf_adds(&line, "{\"level\":\"error\",\"msg\":\"");
	cs_buf_add_json_escaped(&line, text, strlen(text));
	cs_buf_adds(&line, "\",\"time\":\"2026-01-01T00:00:00Z\"}\n");
	write_log(path, line.data, line.len);
}

static void log_garbage(const char *path, long n)
{
	cs_auto(buf) bytes = CS_BUF_INIT(16 << 20);

	for (long i = 0; i < n; i++)
		cs_buf_addc(&bytes, (char)(i * 37 + i / 256));
	write_log(path, bytes.data, bytes.len);
}

static void linger(long ms, bool own_session)
{
	if (fork() != 0)
		return;
	if (own_session)
		setsid();
	script_wait_ms(ms);
	_exit(0);
}

static void die(const char *name)
{
	int signal_number = SIGKILL;

	if (cs_parse_signal(name, &signal_number) == 0)
		signal(signal_number, SIG_DFL);
	kill(getpid(), signal_number);
}

static void perform_line(const char *line, const char *log_path, const char *verb)
{
	const char *text;

	if (argument(line, "ignore-term"))
		signal(SIGTERM, SIG_IGN);
	else if ((text = argument(line, "delay")))
		script_wait_ms(number(text, 0));
	else if ((text = argument(line, "stdout")))
		write_bytes(STDOUT_FILENO, number(text, 0), 'O');
	else if ((text = argument(line, "stderr")))
		write_bytes(STDERR_FILENO, number(text, 0), 'E');
	else if ((text = argument(line, "say")))
		fprintf(stderr, "%s\n", text);
	else if ((text = argument(line, "log")))
		log_error(log_path, text);
	else if ((text = argument(line, "garbage-log")))
		log_garbage(log_path, number(text, 0));
	else if ((text = argument(line, "linger")))
		linger(number(text, 0), true);
	else if ((text = argument(line, "linger-group")))
		linger(number(text, 0), false);
	else if ((text = argument(line, "die")))
		die(text);
	else if ((text = argument(line, "exit")))
		exit((int)number(text, 1));
	else if (argument(line, "unknown")) {
		fprintf(stderr, "unknown command %s\n", verb);
		exit(1);
	} else if (argument(line, "hang"))
		for (;;)
			pause();
}

void script_perform(const struct script *script, const char *log_path, const char *verb)
{
	for (size_t i = 0; i < script->lines.n; i++)
		perform_line(script->lines.v[i], log_path, verb);
}
