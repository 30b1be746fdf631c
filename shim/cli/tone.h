/*
 * What a terminal gets and a file does not: colour, marks, a line of progress.
 * Colour only on a terminal that is not dumb, and none with NO_COLOR (set and
 * not empty, https://no-color.org). Marks beyond ASCII only where the locale
 * says UTF-8.
 */
#ifndef CS_CLI_TONE_H
#define CS_CLI_TONE_H

#include <stdbool.h>

#include "shim/base/buf.h"

struct cs_tone {
	bool terminal;
	bool colour;
};

struct cs_tone cs_tone_of(int fd);

/* The locale says UTF-8. Asked for apart: it reads files, which a run need not wait for. */
bool cs_tone_is_utf8(void);

enum cs_colour { CS_COLOUR_GREEN, CS_COLOUR_YELLOW, CS_COLOUR_RED, CS_COLOUR_BOLD, CS_COLOURS };

/* Appends text, in that colour where the tone has one. */
void cs_tone_add(const struct cs_tone *tone, enum cs_colour colour, const char *text, struct cs_buf *out);

/* On stderr, when that is a terminal: a line that the next one overwrites, until it is taken away. */
void cs_tone_progress(const char *fmt, ...) CS_PRINTF(1, 2);
void cs_tone_progress_done(void);

#endif
