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

static bool to_raw_terminal;

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

void cs_log_to_raw_terminal(bool raw)
{
	to_raw_terminal = raw;
}

bool cs_log_enabled(enum cs_log_level level)
{
	return current.fd >= 0 && level <= current.level;
}

/*
 * One message is one line, and does nothing to the terminal it is read on,
 * whatever an engine or a container put into it: C0 and C1 control characters
 * and bytes that are no UTF-8 become question marks.
 */
static void add_plain(struct cs_buf *line, const char *text)
{
	size_t left = strlen(text), n;

	for (; left > 0; text += n, left -= n) {
		unsigned char c = (unsigned char)text[0];

		n = cs_utf8_len(text, left);
		if (c == '\n' || c == '\r' || c == '\t')
			cs_buf_addc(line, ' ');
		else if (n == 0 || c < 0x20 || c == 0x7f ||
			 (c == 0xc2 && (unsigned char)text[1] < 0xa0))
			cs_buf_addc(line, '?');
		else
			cs_buf_add(line, text, n);
		n = n ? n : 1;
	}
}

static void format_text(struct cs_buf *line, enum cs_log_level level, const char *text)
{
	/* ECMA-48, SGR */
	static const char *const colours[] = {
		[CS_LOG_ERROR] = "\033[31m", [CS_LOG_WARN] = "\033[33m", [CS_LOG_INFO] = "", [CS_LOG_DEBUG] = "\033[2m",
	};
	_Static_assert(CS_ARRAY_LEN(colours) == CS_LOG_LEVELS, "a colour for every level");
	const char *colour = current.colour ? colours[level] : "";

	cs_buf_addf(line, "%s%s%s:", to_raw_terminal ? "\r" : "", colour, current.program);
	if (level != CS_LOG_ERROR)
		cs_buf_addf(line, " %s:", level_words[level]);
	cs_buf_addf(line, "%s ", colour[0] ? "\033[0m" : "");
	add_plain(line, text);
	cs_buf_adds(line, to_raw_terminal ? "\r\n" : "\n");
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
	/* any other failure stays unsaid: there is nowhere left to say it */
	while (!line.failed && write(current.fd, line.data, line.len) < 0 && errno == EINTR)
		;
	errno = saved;
}
