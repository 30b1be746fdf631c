/* Rows as people read them: help and manual. */
#include "shim/base/opt.h"

#include <errno.h>
#include <string.h>

/* Help is for terminals of this width. */
#define HELP_COLUMNS 80
#define HELP_INDENT 31

/* "-m, --memory SIZE", "--best-effort[=LIST]" */
static void spelling(const struct cs_opt *row, struct cs_buf *out)
{
	if (row->letter)
		cs_buf_addf(out, "-%c, ", row->letter);
	cs_buf_addf(out, "--%s", row->name);
	if (row->arg)
		cs_buf_addf(out, row->absent ? "[=%s]" : " %s", row->arg);
}

/* Text in lines of at most HELP_COLUMNS, all but the first one indented. */
static void wrapped(const char *text, size_t column, struct cs_buf *out)
{
	size_t indent = column;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > indent && column + 1 + len > HELP_COLUMNS) {
			cs_buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			cs_buf_addc(out, ' ');
			column++;
		}
		cs_buf_add(out, text, len);
		column += len;
		text += len + strspn(text + len, " ");
	}
	cs_buf_addc(out, '\n');
}

/* "(64m)" behind the help of a row that has a value to begin with. */
static void add_value(const struct cs_opt_set *set, const struct cs_opt *row, struct cs_buf *out)
{
	cs_auto(buf) value = CS_BUF_INIT(1024);

	if (!set->target || row->type == CS_OPT_SWITCH || cs_opt_value_text(set, row, &value) < 0 || value.len == 0 ||
	    strcmp(value.data, "unlimited") == 0 || strcmp(value.data, "0") == 0)
		return;
	cs_buf_addf(out, " (%s)", value.data);
}

int cs_opt_help(const struct cs_opt_set *set, struct cs_buf *out)
{
	const char *group = NULL, *shown = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const struct cs_opt *row = &set->rows[i];
		cs_auto(buf) left = CS_BUF_INIT(128), text = CS_BUF_INIT(4096);

		group = row->group ? row->group : group;
		if (row->hidden || !cs_opt_in_scope(set, row, CS_ORIGIN_FLAG))
			continue;
		if (group != shown)
			cs_buf_addf(out, "\n%s:\n", group);
		shown = group;
		cs_buf_adds(&left, row->letter ? "  " : "      ");
		spelling(row, &left);
		cs_buf_adds(&text, row->help);
		add_value(set, row, &text);
		if (left.failed || text.failed)
			return -ENOSPC;
		cs_buf_addf(out, "%-*s", HELP_INDENT - 1, left.data);
		/* what is too long for its column has a line of its own */
		if (left.len >= HELP_INDENT)
			cs_buf_addf(out, "\n%*s", HELP_INDENT, "");
		else
			cs_buf_addc(out, ' ');
		wrapped(text.data, HELP_INDENT, out);
	}
	return out->failed ? -ENOSPC : 0;
}

/* Text for roff: a dash is \-, a line never begins with a dot or a quote. */
static void roff(const char *text, struct cs_buf *out)
{
	if (*text == '.' || *text == '\'')
		cs_buf_adds(out, "\\&");
	for (; *text; text++) {
		if (*text == '\\')
			cs_buf_adds(out, "\\e");
		else if (*text == '-')
			cs_buf_adds(out, "\\-");
		else
			cs_buf_addc(out, *text);
	}
}

int cs_opt_man(const struct cs_opt_set *set, struct cs_buf *out)
{
	const char *group = NULL, *shown = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const struct cs_opt *row = &set->rows[i];
		cs_auto(buf) left = CS_BUF_INIT(128);

		group = row->group ? row->group : group;
		if (row->hidden || !cs_opt_in_scope(set, row, CS_ORIGIN_FLAG))
			continue;
		if (group != shown)
			cs_buf_addf(out, ".SS %s\n", group);
		shown = group;
		spelling(row, &left);
		cs_buf_adds(out, ".TP\n.B ");
		roff(left.data ? left.data : "", out);
		cs_buf_adds(out, "\n");
		roff(row->help, out);
		cs_buf_adds(out, ".\n");
		if (row->man) {
			roff(row->man, out);
			cs_buf_adds(out, "\n");
		}
		if (row->key) {
			cs_buf_adds(out, "Configuration key: ");
			roff(row->key, out);
			cs_buf_adds(out, ".\n");
		}
	}
	return out->failed ? -ENOSPC : 0;
}
