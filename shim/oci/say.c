#include "shim/oci/say.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/clock.h"
#include "shim/base/fd.h"

#define LINE_MAX_BYTES (64 * 1024)

/* The file of --log; NULL when there is none, or it is no file of ours to write (crun's "journald:"). */
static const char *log_path(const struct cs_oci_call *call)
{
	const char *log = cs_oci_global(call, "log");

	if (log && strncmp(log, "file:", 5) == 0)
		return log + 5;
	return log && log[0] == '/' ? log : NULL;
}

static bool is_json(const struct cs_oci_call *call)
{
	const char *format = cs_oci_global(call, "log-format");

	return format && strcmp(format, "json") == 0;
}

static void add_line(struct cs_buf *line, bool json, const char *message)
{
	char stamp[CS_CLOCK_TEXT];

	cs_clock_rfc3339(cs_clock_wall_ns(), stamp);
	cs_buf_addf(line, json ? "{\"level\":\"error\",\"msg\":\"" : "time=\"%s\" level=error msg=\"", stamp);
	cs_buf_add_json_escaped(line, message, strlen(message));
	cs_buf_adds(line, "\"");
	if (json)
		cs_buf_addf(line, ",\"time\":\"%s\"}", stamp);
	cs_buf_addc(line, '\n');
}

/* Appends; like every engine makes the file when it is missing. What goes wrong here can be told nobody. */
static void write_log(const struct cs_oci_call *call, const char *message)
{
	cs_auto(buf) line = CS_BUF_INIT(LINE_MAX_BYTES);
	const char *path = log_path(call);
	cs_autofd int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644) : -1;

	add_line(&line, is_json(call), message);
	if (fd >= 0 && !line.failed && cs_fd_write_all(fd, line.data, line.len) < 0)
		return;
}

void cs_oci_say_words(const char *words, size_t len)
{
	/* null stdio of a shim is open for reading only: nobody listens there */
	while (write(STDERR_FILENO, words, len) < 0 && errno == EINTR)
		;
}

void cs_oci_say(const struct cs_oci_call *call, const char *message)
{
	cs_auto(buf) line = CS_BUF_INIT(LINE_MAX_BYTES);

	write_log(call, message);
	/* without a log runc writes the log's line to stderr */
	if (log_path(call))
		cs_buf_addf(&line, "%s\n", message);
	else
		add_line(&line, is_json(call), message);
	if (!line.failed)
		cs_oci_say_words(line.data, line.len);
}

off_t cs_oci_log_end(const struct cs_oci_call *call)
{
	const char *path = log_path(call);
	struct stat st;

	return path && stat(path, &st) == 0 ? st.st_size : 0;
}

bool cs_oci_log_complete(const struct cs_oci_call *call, off_t from, const char *message)
{
	const char *path = log_path(call);
	cs_autofd int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	char text[16 * 1024 + 1];
	ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, from);

	text[CS_MAX(n, 0)] = '\0';
	/* both formats of all engines have one of these */
	if (!path || strstr(text, "\"error\"") || strstr(text, "level=error"))
		return false;
	write_log(call, message);
	return true;
}
