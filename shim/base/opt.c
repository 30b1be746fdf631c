#include "shim/base/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/base/parse.h"

static void *place(const struct cs_opt_set *set, const struct cs_opt *row)
{
	return (char *)set->target + row->offset;
}

/* Is it the row of that long name, or (name NULL) of that letter? */
static bool is_row(const struct cs_opt *row, const char *name, char letter)
{
	return name ? strcmp(row->name, name) == 0 : row->letter == letter;
}

/*
 * The row of a flag and the set it stands in: this one or a further one. A row
 * that is for other commands is only found where no set has one that applies.
 */
static const struct cs_opt *find_flag(const struct cs_opt_set **set, const char *name, char letter)
{
	const struct cs_opt_set *other_set = NULL;
	const struct cs_opt *other = NULL;

	for (const struct cs_opt_set *in = *set; in; in = in->more)
		for (size_t i = 0; i < in->n; i++) {
			const struct cs_opt *row = &in->rows[i];

			if (!is_row(row, name, letter))
				continue;
			if (cs_opt_in_scope(in, row, CS_ORIGIN_FLAG)) {
				*set = in;
				return row;
			}
			if (!other) {
				other = row;
				other_set = in;
			}
		}
	if (other)
		*set = other_set;
	return other;
}

const struct cs_opt *cs_opt_by_name(const struct cs_opt_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->rows[i].name, name) == 0)
			return &set->rows[i];
	return NULL;
}

const struct cs_opt *cs_opt_by_key(const struct cs_opt_set *set, const char *key)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->rows[i].key && strcmp(set->rows[i].key, key) == 0)
			return &set->rows[i];
	return NULL;
}

bool cs_opt_in_scope(const struct cs_opt_set *set, const struct cs_opt *row, enum cs_opt_origin origin)
{
	unsigned scope = row->scope ? row->scope : 1;

	if (origin == CS_ORIGIN_POLICY || origin == CS_ORIGIN_FILE)
		scope &= ~row->flag_only;
	return set->scope == 0 || (scope & set->scope) != 0;
}

const char *cs_opt_nearest(const struct cs_opt_set *set, const char *wrong, bool keys)
{
	size_t best = strlen(wrong) / 3 + 2;
	const char *nearest = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const char *known = keys ? set->rows[i].key : set->rows[i].name;
		size_t distance;

		if (!known || set->rows[i].hidden || !cs_opt_in_scope(set, &set->rows[i], CS_ORIGIN_FLAG))
			continue;
		distance = cs_edit_distance(wrong, known, best);
		if (distance < best) {
			best = distance;
			nearest = known;
		}
	}
	return nearest;
}

enum cs_opt_origin cs_opt_origin_of(const struct cs_opt_set *set, const struct cs_opt *row)
{
	return set->origins ? set->origins[row - set->rows] : CS_ORIGIN_BUILTIN;
}

const char *cs_opt_origin_word(enum cs_opt_origin origin)
{
	static const char *const words[] = { "built in", "policy", "file", "flag", "annotation" };

	_Static_assert(CS_ARRAY_LEN(words) == CS_ORIGINS, "a word for every origin");
	return words[origin];
}

/* --- one value ------------------------------------------------------- */

/* Position of `value` among "a|b|c", or -1. */
static int choice_find(const char *choices, const char *value)
{
	size_t len = strlen(value);
	int at = 0;

	for (const char *p = choices;; at++) {
		const char *end = strchrnul(p, '|');

		if ((size_t)(end - p) == len && strncmp(p, value, len) == 0)
			return at;
		if (*end == '\0')
			return -1;
		p = end + 1;
	}
}

/* Is each part between commas among "a|b|c"? */
static bool are_choices(const char *choices, const char *value)
{
	for (const char *p = value;; p++) {
		size_t len = strcspn(p, ",");
		char part[64];

		if (snprintf(part, sizeof(part), "%.*s", (int)CS_MIN(len, sizeof(part)), p) >= (int)sizeof(part) ||
		    choice_find(choices, part) < 0)
			return false;
		p += len;
		if (*p == '\0')
			return true;
	}
}

static int put_list(const struct cs_opt *row, struct cs_strv *list, const char *value)
{
	bool emptied = value[0] == '=';

	value += emptied;
	if (row->choices && !(emptied && value[0] == '\0') && !are_choices(row->choices, value))
		return -EINVAL;
	if (emptied) {
		cs_strv_release(list);
		if (value[0] == '\0')
			return 0;
	}
	return cs_strv_add(list, value);
}

static int put_text(char **target, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*target);
	*target = copy;
	return 0;
}

static int in_range(const struct cs_opt *row, uint64_t value)
{
	return value < row->min || (row->max != 0 && value > row->max) ? -ERANGE : 0;
}

static bool is_lifted(const struct cs_opt *row, const char *value)
{
	if (row->lift == CS_LIFT_NEVER)
		return false;
	return strcmp(value, "unlimited") == 0 || strcmp(value, "-1") == 0 ||
	       (row->lift == CS_LIFT_ZERO && strcmp(value, "0") == 0);
}

/* Converts and stores. 0, -EINVAL, -ERANGE, -ENOMEM; the target is changed on success only. */
static int convert(const struct cs_opt *row, void *target, const char *value)
{
	uint64_t number = 0;
	int64_t ns = 0;
	int r;

	if (is_lifted(row, value)) {
		if (row->type == CS_OPT_DURATION)
			*(int64_t *)target = CS_NEVER;
		else
			*(uint64_t *)target = CS_OPT_UNLIMITED;
		return 0;
	}
	switch (row->type) {
	case CS_OPT_SWITCH:
		return cs_parse_bool(value, target);
	case CS_OPT_TEXT:
		return put_text(target, value);
	case CS_OPT_LIST:
		return put_list(row, target, value);
	case CS_OPT_SIGNAL:
		return cs_parse_signal(value, target);
	case CS_OPT_CHOICE:
		r = choice_find(row->choices, value);
		if (r < 0)
			return -EINVAL;
		*(int *)target = r;
		return 0;
	case CS_OPT_DURATION:
		r = cs_parse_duration(value, &ns);
		if (r == 0)
			r = in_range(row, (uint64_t)ns);
		if (r == 0)
			*(int64_t *)target = ns;
		return r;
	case CS_OPT_U64:
		r = cs_parse_u64(value, &number);
		break;
	case CS_OPT_SIZE:
		r = cs_parse_size(value, &number);
		break;
	case CS_OPT_CPUS:
		r = cs_parse_cpus(value, &number);
		break;
	default:
		return -EINVAL;
	}
	if (r == 0)
		r = in_range(row, number);
	if (r == 0)
		*(uint64_t *)target = number;
	return r;
}

static const char *wanted(const struct cs_opt *row)
{
	switch (row->type) {
	case CS_OPT_SWITCH:
		return "true or false";
	case CS_OPT_U64:
		return "a whole number, without a sign";
	case CS_OPT_SIZE:
		return "a size such as 4096, 64k or 1.5g";
	case CS_OPT_DURATION:
		return "a duration such as 10, 500ms or 1m30s";
	case CS_OPT_CPUS:
		return "a number of CPUs such as 0.5 or 2";
	case CS_OPT_SIGNAL:
		return "a signal such as TERM or 15";
	case CS_OPT_CHOICE:
		return row->choices;
	case CS_OPT_LIST:
		return row->choices ? row->choices : "text";
	default:
		return "text";
	}
}

/* "2", "0.5", "1.25" for thousandths. */
static void cpus_text(uint64_t millicpus, struct cs_buf *out)
{
	unsigned part = millicpus % 1000;

	cs_buf_addf(out, "%llu", (unsigned long long)(millicpus / 1000));
	if (part == 0)
		return;
	cs_buf_addf(out, ".%03u", part);
	while (!out->failed && out->data[out->len - 1] == '0')
		out->data[--out->len] = '\0';
}

/* The bounds of a row in the row's own unit, for "must be from … to …". */
static void bound_text(const struct cs_opt *row, uint64_t value, struct cs_buf *out)
{
	char text[CS_MAX(CS_SIZE_TEXT, CS_DURATION_TEXT)];

	if (row->type == CS_OPT_SIZE)
		cs_buf_adds(out, cs_size_text(value, text));
	else if (row->type == CS_OPT_DURATION)
		cs_buf_adds(out, cs_duration_text((int64_t)value, text));
	else if (row->type == CS_OPT_CPUS)
		cpus_text(value, out);
	else
		cs_buf_addf(out, "%llu", (unsigned long long)value);
}

static int fail_range(const struct cs_opt *row, const char *what, const char *value,
		      struct cs_err *err)
{
	cs_auto(buf) bounds = CS_BUF_INIT(128);

	if (row->min > 0) {
		cs_buf_adds(&bounds, ", at least ");
		bound_text(row, row->min, &bounds);
	}
	if (row->max > 0) {
		cs_buf_adds(&bounds, ", at most ");
		bound_text(row, row->max, &bounds);
	}
	return cs_fail(err, CS_INVALID, 0, "%s: '%.64s' is out of range: give %s%s", what, value,
		       wanted(row), bounds.data ? bounds.data : "");
}

int cs_opt_put(const struct cs_opt_set *set, const struct cs_opt *row, const char *what,
	       const char *value, enum cs_opt_origin origin, struct cs_err *err)
{
	int r;

	/* what is built in is a value to begin with, for whoever looks */
	if (origin > CS_ORIGIN_BUILTIN && !cs_opt_in_scope(set, row, origin))
		return origin == CS_ORIGIN_FLAG ? cs_fail(err, CS_INVALID, 0, "%s does not apply to this command", what) : 0;
	if (!set->target)
		return 0;
	if (row->type != CS_OPT_LIST && origin < cs_opt_origin_of(set, row))
		return 0;
	if (row->check && !(row->type == CS_OPT_LIST && strcmp(value, "=") == 0)) {
		bool emptied = row->type == CS_OPT_LIST && value[0] == '=';

		if (row->check(value + emptied, err) < 0)
			return cs_wrap(err, "%s", what);
	}
	r = convert(row, place(set, row), value);
	if (r == -ENOMEM)
		return cs_fail(err, CS_LIMIT, ENOMEM, "%s", what);
	if (r == -ERANGE)
		return fail_range(row, what, value, err);
	if (r < 0)
		return cs_fail(err, CS_INVALID, 0, "%s: '%.64s' is not %s%s", what, value,
			       row->choices ? "one of " : "", wanted(row));
	if (set->origins)
		set->origins[row - set->rows] = (unsigned char)origin;
	if (set->layers) {
		uint32_t *layers = &set->layers[row - set->rows], own = UINT32_C(1) << set->layer;

		*layers = row->type == CS_OPT_LIST && value[0] != '=' ? *layers | own : own;
	}
	return 0;
}

/* --- the command line ------------------------------------------------ */

/* A walk over argv: at is the element in hand, text what is left of it. */
struct cursor {
	int argc;
	char *const *argv;
	int at;
	bool salvage; /* wrong values are passed over */
};

static int fail_unknown(const struct cs_opt_set *set, const char *name, struct cs_err *err)
{
	const char *nearest = NULL;

	for (const struct cs_opt_set *in = set; in && !nearest; in = in->more)
		nearest = cs_opt_nearest(in, name, false);
	if (nearest)
		return cs_fail(err, CS_INVALID, 0, "unknown flag '--%.64s': did you mean '--%s'?",
			       name, nearest);
	return cs_fail(err, CS_INVALID, 0, "unknown flag '--%.64s': --help lists them", name);
}

/* The value of a flag whose text stands apart: the next element. */
static const char *next_value(struct cursor *c)
{
	return c->at + 1 < c->argc ? c->argv[++c->at] : NULL;
}

static int put_flag(const struct cursor *c, const struct cs_opt_set *set, const struct cs_opt *row,
		    const char *what, const char *value, struct cs_err *err)
{
	int r = cs_opt_put(set, row, what, value, CS_ORIGIN_FLAG, err);

	if (r < 0 && c->salvage) {
		cs_err_clear(err);
		return 0;
	}
	return r;
}

static int parse_long(const struct cs_opt_set *set, struct cursor *c, struct cs_err *err)
{
	const char *text = c->argv[c->at] + 2;
	const char *equals = strchr(text, '=');
	char name[64], what[68];
	const struct cs_opt *row;
	const char *value;

	if (snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - text) : (int)strlen(text),
		     text) >= (int)sizeof(name))
		return fail_unknown(set, text, err);
	row = find_flag(&set, name, 0);
	if (!row)
		return fail_unknown(set, name, err);
	snprintf(what, sizeof(what), "--%s", name);

	if (equals)
		value = equals + 1;
	else if (row->type == CS_OPT_SWITCH)
		value = "true";
	else if (row->absent)
		value = row->absent;
	else
		value = next_value(c);
	if (!value)
		return cs_fail(err, CS_INVALID, 0, "%s needs a value: %s", what, wanted(row));
	return put_flag(c, set, row, what, value, err);
}

static int parse_letters(const struct cs_opt_set *set, struct cursor *c, struct cs_err *err)
{
	const struct cs_opt_set *any = set;
	const char *text = c->argv[c->at] + 1;

	/* "-env" is no "-e nv" to whoever writes it */
	if (text[1] != '\0' && find_flag(&any, text, 0))
		return cs_fail(err, CS_INVALID, 0, "unknown flag '-%.64s': did you mean '--%.64s'?", text, text);
	for (const char *p = c->argv[c->at] + 1; *p != '\0'; p++) {
		const struct cs_opt_set *in = set;
		const struct cs_opt *row = find_flag(&in, NULL, *p);
		const char what[] = { '-', *p, '\0' };
		const char *alone, *value;

		if (!row)
			return cs_fail(err, CS_INVALID, 0, "unknown flag '%s'%s%.64s%s: --help lists them", what,
				       text[1] ? " in '" : "", text[1] ? c->argv[c->at] : "", text[1] ? "'" : "");
		alone = row->type == CS_OPT_SWITCH ? "true" : row->absent;
		if (alone) {
			if (put_flag(c, in, row, what, alone, err) < 0)
				return -1;
			continue;
		}
		value = p[1] != '\0' ? p + 1 : next_value(c);
		if (!value)
			return cs_fail(err, CS_INVALID, 0, "%s needs a value: %s", what,
				       wanted(row));
		return put_flag(c, in, row, what, value, err);
	}
	return 0;
}

static int parse(const struct cs_opt_set *set, struct cursor *c, struct cs_err *err)
{
	for (; c->at < c->argc; c->at++) {
		const char *text = c->argv[c->at];

		if (text[0] != '-' || text[1] == '\0')
			break;
		if (strcmp(text, "--") == 0)
			return c->at + 1;
		if ((text[1] == '-' ? parse_long(set, c, err) : parse_letters(set, c, err)) < 0)
			return -1;
	}
	return CS_MIN(c->at, c->argc);
}

int cs_opt_parse(const struct cs_opt_set *set, int argc, char *const argv[], struct cs_err *err)
{
	struct cursor c = { .argc = argc, .argv = argv, .at = 1 };

	return parse(set, &c, err);
}

void cs_opt_salvage(const struct cs_opt_set *set, int argc, char *const argv[])
{
	struct cursor c = { .argc = argc, .argv = argv, .at = 1, .salvage = true };
	struct cs_err err = CS_ERR_INIT;

	parse(set, &c, &err);
}

/* --- values ----------------------------------------------------------- */

static void choice_text(const char *choices, int at, struct cs_buf *out)
{
	const char *p = choices;

	while (at-- > 0)
		p = strchrnul(p, '|') + 1;
	cs_buf_add(out, p, (size_t)(strchrnul(p, '|') - p));
}

static void list_text(const struct cs_strv *list, struct cs_buf *out)
{
	for (size_t i = 0; i < list->n; i++)
		cs_buf_addf(out, "%s%s", i ? ", " : "", list->v[i]);
}

int cs_opt_value_text(const struct cs_opt_set *set, const struct cs_opt *row, struct cs_buf *out)
{
	const void *at = place(set, row);
	char text[CS_MAX(CS_SIZE_TEXT, CS_DURATION_TEXT)];

	if (row->lift != CS_LIFT_NEVER &&
	    (row->type == CS_OPT_DURATION ? *(const int64_t *)at == CS_NEVER
					  : *(const uint64_t *)at == CS_OPT_UNLIMITED)) {
		cs_buf_adds(out, "unlimited");
		return out->failed ? -ENOSPC : 0;
	}
	switch (row->type) {
	case CS_OPT_SWITCH:
		cs_buf_adds(out, *(const bool *)at ? "true" : "false");
		break;
	case CS_OPT_TEXT:
		if (*(char *const *)at)
			cs_buf_adds(out, *(char *const *)at);
		break;
	case CS_OPT_LIST:
		list_text(at, out);
		break;
	case CS_OPT_CHOICE:
		choice_text(row->choices, *(const int *)at, out);
		break;
	case CS_OPT_SIGNAL:
		if (cs_signal_name(*(const int *)at))
			cs_buf_adds(out, cs_signal_name(*(const int *)at));
		else
			cs_buf_addf(out, "%d", *(const int *)at);
		break;
	case CS_OPT_DURATION:
		cs_buf_adds(out, cs_duration_text(*(const int64_t *)at, text));
		break;
	case CS_OPT_SIZE:
		cs_buf_adds(out, cs_size_text(*(const uint64_t *)at, text));
		break;
	case CS_OPT_CPUS:
		cpus_text(*(const uint64_t *)at, out);
		break;
	default:
		cs_buf_addf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
		break;
	}
	return out->failed ? -ENOSPC : 0;
}

void cs_opt_release(const struct cs_opt_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->rows[i].type == CS_OPT_TEXT)
			cs_free_ptr(place(set, &set->rows[i]));
		else if (set->rows[i].type == CS_OPT_LIST)
			cs_strv_release(place(set, &set->rows[i]));
	}
}
