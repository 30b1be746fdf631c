#include "shim/engine/engine_log.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "oci-spec/json.h"
#include "shim/base/attr.h"

/* A piece of the log; not terminated. */
struct span {
	const char *at;
	size_t len;
};

static bool starts_with(struct span line, const char *text)
{
	size_t len = strlen(text);

	return line.len >= len && memcmp(line.at, text, len) == 0;
}

static const char *find(struct span line, const char *text)
{
	return memmem(line.at, line.len, text, strlen(text));
}

static struct span trim(struct span line)
{
	while (line.len > 0 && isspace((unsigned char)line.at[0])) {
		line.at++;
		line.len--;
	}
	while (line.len > 0 && (isspace((unsigned char)line.at[line.len - 1]) || line.at[line.len - 1] == '\0'))
		line.len--;
	return line;
}

/* --- how much a line says ------------------------------------------------ */

/* Of two lines the one with the higher rank wins, the later of equals. */
enum rank {
	RANK_NONE,    /* nothing, or nothing that is text */
	RANK_NOISE,   /* below an error by its own word, or the inside of a crash report */
	RANK_TEXT,    /* no level known */
	RANK_ERROR,   /* says of itself that it is an error */
	RANK_CRASH    /* the engine itself fell over, or did not understand us: what follows is a trace, or its help */
};

static enum rank rank_of_level(struct span level)
{
	static const char *const errors[] = { "error", "fatal", "panic", "critical" };

	for (size_t i = 0; i < CS_ARRAY_LEN(errors); i++)
		if (level.len == strlen(errors[i]) && strncasecmp(level.at, errors[i], level.len) == 0)
			return RANK_ERROR;
	return RANK_NOISE;
}

/* At least half of it is printable: what is not is no message of anybody. */
static bool is_text(struct span line)
{
	size_t printable = 0;

	for (size_t i = 0; i < line.len;) {
		size_t n = cs_utf8_len(line.at + i, line.len - i);

		if (n > 1 || (n == 1 && isprint((unsigned char)line.at[i])))
			printable += n;
		i += n ? n : 1;
	}
	return printable > 0 && printable >= line.len - printable;
}

static enum rank rank_of_text(struct span line)
{
	static const char *const crashes[] = {
		"panic: ", "fatal error: ", "runtime: failed to create new OS thread", "SIGSEGV: ",
		"flag provided but not defined: ",
	};
	/* what a Go stack trace is made of */
	static const char *const inside[] = {
		"goroutine ", "created by ", "runtime.", "main.", "github.com/", "\t", "r1", "rax ", "exit status ",
	};

	if (!is_text(line))
		return RANK_NONE;
	for (size_t i = 0; i < CS_ARRAY_LEN(crashes); i++)
		if (starts_with(line, crashes[i]))
			return RANK_CRASH;
	/* getopt(3), behind the path that the engine was called by */
	if (find(line, ": unrecognized option ") || find(line, ": invalid option "))
		return RANK_CRASH;
	for (size_t i = 0; i < CS_ARRAY_LEN(inside); i++)
		if (starts_with(line, inside[i]))
			return RANK_NOISE;
	return RANK_TEXT;
}

/* --- text lines ------------------------------------------------------------ */

/* Value of key="…" or key=word in a logfmt line; the span is still escaped. */
static bool logfmt_value(struct span line, const char *key, struct span *ret)
{
	const char *at = find(line, key), *end = line.at + line.len, *stop;

	if (!at)
		return false;
	at += strlen(key);
	if (at < end && *at == '"') {
		for (stop = ++at; stop < end && *stop != '"'; stop++)
			if (*stop == '\\' && stop + 1 < end)
				stop++;
		if (stop > end)
			stop = end;
	} else {
		for (stop = at; stop < end && !isspace((unsigned char)*stop); stop++)
			;
	}
	*ret = (struct span){ at, (size_t)(stop - at) };
	return true;
}

/* "2026-11-30T17:16:08.673591Z: text", as crun writes into a file: the text. */
static struct span without_stamp(struct span line)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	size_t n = sizeof(form) - 1;

	if (line.len < n)
		return line;
	for (size_t i = 0; i < n; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)line.at[i]) : line.at[i] != form[i])
			return line;
	while (n < line.len && (isdigit((unsigned char)line.at[n]) || strchr(".Z+", line.at[n])))
		n++;
	while (n < line.len && (line.at[n] == ':' || line.at[n] == ' '))
		n++;
	return (struct span){ line.at + n, line.len - n };
}

/* --- out ----------------------------------------------------------------- */

/* Appends text as one printable line of UTF-8 without runs of white space, cut where the room ends. */
static void add_printable(struct cs_buf *out, struct span text)
{
	bool space = false;

	text = trim(text);
	for (size_t i = 0; i < text.len;) {
		unsigned char c = (unsigned char)text.at[i];
		size_t n = cs_utf8_len(text.at + i, text.len - i);
		const char *piece = n ? text.at + i : "?";
		size_t width = n ? n : 1;

		i += width;
		if (c <= ' ' || c == 0x7f) {
			space = true;
			continue;
		}
		if (out->max - out->len < width + space)
			return;
		if (space && out->len > 0)
			cs_buf_addc(out, ' ');
		space = false;
		cs_buf_add(out, piece, width);
	}
}

/* The inside of a quoted logfmt value: a backslash stands before what is meant; \n and \t are white space. */
static void add_unescaped(struct cs_buf *out, struct span text)
{
	cs_auto(buf) plain = CS_BUF_INIT(text.len);

	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if (c == '\\' && i + 1 < text.len) {
			c = text.at[++i];
			if (c == 'n' || c == 't' || c == 'r')
				c = ' ';
		}
		cs_buf_addc(&plain, c);
	}
	if (plain.len > 0)
		add_printable(out, (struct span){ plain.data, plain.len });
}

/*
 * One line: how much it says, and with `out` not NULL what it says. A message
 * that is empty says nothing.
 */
static enum rank read_json_line(struct span line, struct cs_buf *out)
{
	cs_autojson struct cs_json *json = NULL;
	struct cs_err err = CS_ERR_INIT;
	struct span level = { "", 0 }, message;

	if (line.at[0] != '{' || cs_json_parse(line.at, line.len, "log", &json, &err) < 0)
		return RANK_NONE;
	message.at = cs_json_string_n(cs_json_member(json, "msg"), &message.len);
	if (!message.at || trim(message).len == 0)
		return RANK_NONE;
	if (out)
		add_printable(out, message);
	level.at = cs_json_string_n(cs_json_member(json, "level"), &level.len);
	return level.at ? rank_of_level(level) : RANK_TEXT;
}

static enum rank read_line(struct span line, struct cs_buf *out)
{
	struct span level, message;
	enum rank rank;

	line = trim(line);
	if (line.len == 0)
		return RANK_NONE;
	rank = read_json_line(line, out);
	if (rank != RANK_NONE)
		return rank;
	if (logfmt_value(line, "level=", &level) && logfmt_value(line, "msg=", &message)) {
		if (out)
			add_unescaped(out, message);
		return rank_of_level(level);
	}
	if (out)
		add_printable(out, without_stamp(line));
	return rank_of_text(line);
}

/* Where the JSON object that text begins with is closed; 0 when it is not, or is none. */
static size_t object_len(struct span text)
{
	bool quoted = false;
	size_t depth = 0;

	for (size_t i = 0; i < text.len && text.at[0] == '{'; i++) {
		char c = text.at[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && c == '{')
			depth++;
		else if (!quoted && c == '}' && --depth == 0)
			return i + 1;
	}
	return 0;
}

/* The next piece of a log: a line, or one of the objects that runsc writes behind each other in a line. */
static struct span next_piece(const char *log, size_t len)
{
	const char *end = memchr(log, '\n', len);
	struct span line = { log, end ? (size_t)(end - log) : len };
	size_t object = object_len(line);

	if (object > 0)
		line.len = object;
	return line;
}

int cs_engine_log_message(const char *log, size_t len, struct cs_buf *out)
{
	struct span best = { NULL, 0 };
	enum rank best_rank = RANK_NONE;

	for (size_t i = 0; i < len;) {
		struct span line = next_piece(log + i, len - i);
		enum rank rank = read_line(line, NULL);

		/* of a crash the first line tells the cause, of errors the last one */
		if (rank > best_rank || (rank == best_rank && rank != RANK_NONE && rank != RANK_CRASH)) {
			best = line;
			best_rank = rank;
		}
		i += line.len + (i + line.len < len && log[i + line.len] == '\n');
	}
	if (best_rank == RANK_NONE)
		return -ENODATA;
	read_line(best, out);
	return out->len > 0 ? 0 : -ENODATA;
}

/*
 * What engines say of a program they could not execute, as seen with runc 1.1.5,
 * crun 1.8.1 and runsc 20221219. The same words about another file (a mount
 * source, config.json) are no blame, so each row asks for the engine's own
 * lead-in as well.
 */
static const struct blame_row {
	const char *lead; /* must come first */
	const char *word; /* must come behind it */
	enum cs_engine_blame blame;
} blames[] = {
	{ "exec: \"", ": executable file not found", CS_BLAME_NOT_FOUND },         /* runc create */
	{ "exec: \"", ": no such file or directory", CS_BLAME_NOT_FOUND },
	{ "exec: \"", ": not a directory", CS_BLAME_NOT_FOUND },
	{ "exec: \"", ": permission denied", CS_BLAME_NOT_EXECUTABLE },
	{ "exec: \"", ": is a directory", CS_BLAME_NOT_EXECUTABLE },
	{ "exec: \"", ": operation not permitted", CS_BLAME_NOT_EXECUTABLE },
	{ "exec: \"", ": exec format error", CS_BLAME_NOT_EXECUTABLE },
	{ "exec /", ": no such file or directory", CS_BLAME_NOT_FOUND },           /* runc init, behind start */
	{ "exec /", ": permission denied", CS_BLAME_NOT_EXECUTABLE },
	{ "exec /", ": exec format error", CS_BLAME_NOT_EXECUTABLE },
	{ "executable file `", " not found", CS_BLAME_NOT_FOUND },                 /* crun create */
	{ "open executable", ": no such file or directory", CS_BLAME_NOT_FOUND },
	{ "open executable", ": not a directory", CS_BLAME_NOT_FOUND },
	{ "open executable", ": permission denied", CS_BLAME_NOT_EXECUTABLE },
	{ "open executable", ": operation not permitted", CS_BLAME_NOT_EXECUTABLE },
	{ "exec container process", ": no such file or directory", CS_BLAME_NOT_FOUND }, /* crun, behind start */
	{ "exec container process", ": permission denied", CS_BLAME_NOT_EXECUTABLE },
	{ "exec container process", ": exec format error", CS_BLAME_NOT_EXECUTABLE },
	{ "failed to load ", ": no such file or directory", CS_BLAME_NOT_FOUND },  /* runsc start */
	{ "failed to load ", ": not a directory", CS_BLAME_NOT_FOUND },
	{ "failed to load ", ": permission denied", CS_BLAME_NOT_EXECUTABLE },
	{ "failed to load ", ": exec format error", CS_BLAME_NOT_EXECUTABLE },
	{ "error finding executable ", ": no such file or directory", CS_BLAME_NOT_FOUND },
};

enum cs_engine_blame cs_engine_log_blame(const char *message)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(blames); i++) {
		const char *lead = strcasestr(message, blames[i].lead);

		if (lead && strcasestr(lead, blames[i].word))
			return blames[i].blame;
	}
	return CS_BLAME_NONE;
}
