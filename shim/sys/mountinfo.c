#include "shim/sys/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "shim/base/file.h"
#include "shim/base/parse.h"

int cs_mountinfo_read(struct cs_buf *buf)
{
	int r = cs_file_read(AT_FDCWD, "/proc/self/mountinfo", buf);

	if (r < 0)
		return r;
	return buf->data != NULL ? 0 : -ENODATA;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* "\040" → " ", in place: the result is never longer. */
static char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0';) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
			*to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

static bool parse_line(char *line, struct cs_mountinfo *row)
{
	enum { ID, PARENT, DEVICE, ROOT, POINT, OPTIONS, FIXED };
	enum { FSTYPE, SOURCE, SUPER, LAST };
	char *fixed[FIXED], *last[LAST], *field;

	for (size_t i = 0; i < FIXED; i++) {
		fixed[i] = strsep(&line, " ");
		if (fixed[i] == NULL)
			return false;
	}
	/* optional fields, as many as there are, end at a lone hyphen */
	do
		field = strsep(&line, " ");
	while (field != NULL && strcmp(field, "-") != 0);
	for (size_t i = 0; i < LAST; i++) {
		last[i] = strsep(&line, " ");
		if (last[i] == NULL)
			return false;
	}
	if (cs_parse_u32(fixed[ID], &row->id) < 0 || cs_parse_u32(fixed[PARENT], &row->parent) < 0)
		return false;
	row->root = unescape(fixed[ROOT]);
	row->point = unescape(fixed[POINT]);
	row->options = fixed[OPTIONS];
	row->fstype = unescape(last[FSTYPE]);
	row->source = unescape(last[SOURCE]);
	row->super_options = last[SUPER];
	return true;
}

int cs_mountinfo_next(char **cursor, struct cs_mountinfo *ret)
{
	struct cs_mountinfo row;
	char *line;

	while ((line = strsep(cursor, "\n")) != NULL) {
		if (parse_line(line, &row)) {
			*ret = row;
			return 1;
		}
	}
	return 0;
}

bool cs_mountinfo_has_option(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; len > 0 && *p != '\0';) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, word, len) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

bool cs_mountinfo_is_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	while (len > 0 && prefix[len - 1] == '/')
		len--;
	return strncmp(path, prefix, len) == 0 && (path[len] == '/' || path[len] == '\0');
}
