#include "shim/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/clock.h"

#define LINE_MAX_BYTES 2048

static struct cs_log_config current = {
	.program = "caisson",
	.level = CS_LOG_WARN,
	.format = CS_LOG_TEXT,
	.fd = STDERR_FILENO,
};

static const char *const level_words[] = {
	[CS_LOG_ERROR] = "error",
	[CS_LOG_WARN] = "warning",
	[CS_LOG_INFO] = "info",
	[CS_LOG_DEBUG] = "debug",
};
_Static_assert(CS_ARRAY_LEN(level_words) == CS_LOG_LEVELS, "a word for every level");

void cs_log_setup(const struct cs_log_config *config)
{
	current = *config;
}

bool cs_log_enabled(enum cs_log_level level)
{
	return current.fd >= 0 && level <= current.level;
}

static void format_text(struct cs_buf *line, enum cs_log_level level, const char *text)
{
	cs_buf_addf(line, "%s: ", current.program);
	if (level != CS_LOG_ERROR)
		cs_buf_addf(line, "%s: ", level_words[level]);
	/* one message is one line, whatever an engine put into it */
	for (const char *p = text; *p != '\0'; p++)
		cs_buf_addc(line, (*p == '\n' || *p == '\r') ? ' ' : *p);
	cs_buf_addc(line, '\n');
}

static void format_json(struct cs_buf *line, enum cs_log_level level, const char *text)
{
	char stamp[CS_CLOCK_TEXT];

	cs_clock_rfc3339(cs_clock_wall_ns(), stamp);
	cs_buf_addf(line, "{\"level\":\"%s\",\"msg\":\"", level_words[level]);
	cs_buf_add_json_escaped(line, text, strlen(text));
	cs_buf_addf(line, "\",\"time\":\"%s\"}\n", stamp);
}

void cs_log(enum cs_log_level level, const char *fmt, ...)
{
	int saved = errno;
	char text[LINE_MAX_BYTES];
	cs_auto(buf) line = CS_BUF_INIT(8 * LINE_MAX_BYTES);
	va_list ap;

	if (!cs_log_enabled(level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	if (current.format == CS_LOG_JSON)
		format_json(&line, level, text);
	else
		format_text(&line, level, text);
	if (!line.failed && write(current.fd, line.data, line.len) < 0) {
		/* there is nowhere left to say it */
	}
	errno = saved;
}
