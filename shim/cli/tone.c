#include "shim/cli/tone.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"

/* Without setlocale(): nothing else here shall depend on the caller's locale. */
bool cs_tone_is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8;

	if (locale == (locale_t)0)
		return false;
	utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return utf8;
}

struct cs_tone cs_tone_of(int fd)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
	bool terminal = isatty(fd);

	return (struct cs_tone){
		.terminal = terminal,
		.colour = terminal && !(none && none[0]) && term && strcmp(term, "dumb") != 0,
	};
}

void cs_tone_add(const struct cs_tone *tone, enum cs_colour colour, const char *text, struct cs_buf *out)
{
	static const char *const codes[] = {
		[CS_COLOUR_GREEN] = "32", [CS_COLOUR_YELLOW] = "33", [CS_COLOUR_RED] = "31", [CS_COLOUR_BOLD] = "1",
	};
	_Static_assert(CS_ARRAY_LEN(codes) == CS_COLOURS, "a code for every colour");

	if (tone->colour)
		cs_buf_addf(out, "\033[%sm%s\033[0m", codes[colour], text);
	else
		cs_buf_adds(out, text);
}

static void overwrite(const char *text)
{
	cs_auto(buf) line = CS_BUF_INIT(512);

	if (!isatty(STDERR_FILENO))
		return;
	/* back to the first column, and clear what stands there (ECMA-48, EL) */
	cs_buf_addf(&line, "\r\033[K%s", text);
	if (!line.failed)
		(void)!cs_fd_write_all(STDERR_FILENO, line.data, line.len);
}

void cs_tone_progress(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	overwrite(text);
}

void cs_tone_progress_done(void)
{
	overwrite("");
}
