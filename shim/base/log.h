/*
 * Diagnostics of a program, as opposed to its output and its errors.
 *
 * The only state of the ground floor. Libraries log at debug only; the mains
 * report errors once, through cs_log_error. Lines longer than 2 KiB are cut.
 * Every line is one write(2), so that lines of several processes do not mix.
 * Messages may hold what hostile code chose: control characters never reach a
 * terminal.
 */
#ifndef CS_BASE_LOG_H
#define CS_BASE_LOG_H

#include <stdbool.h>

#include "shim/base/attr.h"

enum cs_log_level {
	CS_LOG_ERROR,
	CS_LOG_WARN,
	CS_LOG_INFO,
	CS_LOG_DEBUG,
	CS_LOG_LEVELS
};

enum cs_log_format {
	CS_LOG_TEXT, /* "caisson: text" */
	CS_LOG_JSON, /* {"level":"error","msg":"…","time":"…"}: what dockerd and go-runc read */
};

struct cs_log_config {
	const char *program;       /* borrowed for ever */
	enum cs_log_level level;   /* the last level that is written */
	enum cs_log_format format;
	int fd;                    /* where to; borrowed, -1 for none */
	bool colour;               /* of the words before a text line; for terminals */
};

/* Sets everything at once. Before the first call: text to fd 2, warnings and errors. */
void cs_log_setup(const struct cs_log_config *config);

/*
 * While the terminal that lines go to is in raw mode, where a newline alone
 * leaves the cursor in its column: text lines end with "\r\n" then, and begin with "\r".
 */
void cs_log_to_raw_terminal(bool raw);

bool cs_log_enabled(enum cs_log_level level);

void cs_log(enum cs_log_level level, const char *fmt, ...) CS_PRINTF(2, 3);

#define cs_log_error(...) cs_log(CS_LOG_ERROR, __VA_ARGS__)
#define cs_log_warn(...) cs_log(CS_LOG_WARN, __VA_ARGS__)
#define cs_log_info(...) cs_log(CS_LOG_INFO, __VA_ARGS__)
#define cs_log_debug(...) cs_log(CS_LOG_DEBUG, __VA_ARGS__)

#endif
