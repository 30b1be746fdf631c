/*
 * The real message in an engine's log and stderr: JSON lines or text, of which
 * anything may be garbage. Pure.
 */
#ifndef CS_ENGINE_ENGINE_LOG_H
#define CS_ENGINE_ENGINE_LOG_H

#include "shim/base/buf.h"

/*
 * Picks the last error of a log (JSON lines with "level" and "msg"; plain text
 * lines otherwise), without prefixes such as time stamps and "level=error";
 * one line, printable, at most out->max. 0, or -ENODATA when there is none.
 */
int cs_engine_log_message(const char *log, size_t len, struct cs_buf *out);

/* What a message says about the program: for 126 and 127 as a second source. */
enum cs_engine_blame { CS_BLAME_NONE, CS_BLAME_NOT_FOUND, CS_BLAME_NOT_EXECUTABLE };
enum cs_engine_blame cs_engine_log_blame(const char *message);

#endif
