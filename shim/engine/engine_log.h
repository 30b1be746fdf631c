/*
 * The real message in an engine's log and stderr: JSON lines or text, of which
 * anything may be garbage. Pure; fuzzed (tests/fuzz/fuzz_engine_log.c).
 */
#ifndef CS_ENGINE_ENGINE_LOG_H
#define CS_ENGINE_ENGINE_LOG_H

#include "shim/base/buf.h"

/*
 * Picks the last error of a log: JSON lines with "level" and "msg", logfmt
 * lines (level=error msg="…"), plain text lines, in any mixture. A crash of a
 * Go program counts more than errors, those more than plain text, that more than
 * warnings and stack traces; a line that is mostly unprintable counts nothing. Appends it to out without prefixes such as time
 * stamps and "level=error": one line, printable UTF-8, cut at out->max.
 * 0, or -ENODATA when there is none. `log` (borrowed) need not be terminated.
 */
int cs_engine_log_message(const char *log, size_t len, struct cs_buf *out);

/*
 * What a message says about the program: for 126 and 127 as a second source,
 * behind the look at the file itself. The same words about another file
 * ("open '/b/config.json': no such file …") are no blame.
 */
enum cs_engine_blame { CS_BLAME_NONE, CS_BLAME_NOT_FOUND, CS_BLAME_NOT_EXECUTABLE };
enum cs_engine_blame cs_engine_log_blame(const char *message);

#endif
