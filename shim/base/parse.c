#include "shim/base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shim/base/clock.h"

/* Reads digits at *p and moves it behind them; at least one is needed. */
static int take_digits(const char **p, uint64_t *ret)
{
	uint64_t value = 0;

	if (!isdigit((unsigned char)**p))
		return -EINVAL;
	for (; isdigit((unsigned char)**p); (*p)++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(**p - '0'), &value))
			return -ERANGE;
	*ret = value;
	return 0;
}

int cs_parse_u64(const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = take_digits(&text, &value);

	if (r < 0)
		return r;
	if (*text != '\0')
		return -EINVAL;
	*ret = value;
	return 0;
}

int cs_parse_u32(const char *text, uint32_t *ret)
{
	uint64_t value;
	int r = cs_parse_u64(text, &value);

	if (r < 0)
		return r;
	if (value > UINT32_MAX)
		return -ERANGE;
	*ret = (uint32_t)value;
	return 0;
}

int cs_parse_i64(const char *text, int64_t *ret)
{
	bool negative = *text == '-';
	uint64_t value;
	int r = cs_parse_u64(text + negative, &value);

	if (r < 0)
		return r;
	if (value > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = negative ? (int64_t)-value : (int64_t)value;
	return 0;
}

/*
 * Reads "12" or "12.034" at *p as whole × scale + the fraction's share of
 * scale, rounded down. More digits than scale can tell apart are read over.
 */
static int take_scaled(const char **p, uint64_t scale, uint64_t *ret)
{
	uint64_t whole, value, part = scale;
	int r = take_digits(p, &whole);

	if (r < 0)
		return r;
	if (__builtin_mul_overflow(whole, scale, &value))
		return -ERANGE;
	if (**p == '.') {
		__extension__ unsigned __int128 fraction = 0, base = 1;

		(*p)++;
		if (!isdigit((unsigned char)**p))
			return -EINVAL;
		for (; isdigit((unsigned char)**p); (*p)++) {
			if (base > UINT64_C(1000000000000000000))
				continue;
			fraction = fraction * 10 + (unsigned)(**p - '0');
			base *= 10;
		}
		if (__builtin_add_overflow(value, (uint64_t)(fraction * part / base), &value))
			return -ERANGE;
	}
	*ret = value;
	return 0;
}

int cs_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "bkmgt";
	const char *end = text + strspn(text, "0123456789.");
	const char *unit, *rest = end;
	unsigned shift = 0;
	uint64_t bytes;
	int r;

	if (*rest != '\0') {
		unit = strchr(units, tolower((unsigned char)*rest));
		if (!unit)
			return -EINVAL;
		shift = (unsigned)(unit - units) * 10;
		rest++;
		if (shift > 0 && (strcasecmp(rest, "ib") == 0 || strcasecmp(rest, "b") == 0))
			rest = "";
	}
	if (*rest != '\0' || (shift == 0 && memchr(text, '.', (size_t)(end - text))))
		return -EINVAL;
	r = take_scaled(&text, UINT64_C(1) << shift, &bytes);
	if (r < 0)
		return r;
	if (text != end)
		return -EINVAL;
	if (bytes > INT64_MAX)
		return -ERANGE;
	*ret_bytes = bytes;
	return 0;
}

struct duration_unit {
	const char *word;
	int64_t ns;
};

/* longest words first where one is the beginning of another */
static const struct duration_unit duration_units[] = {
	{ "ns", 1 },
	{ "us", CS_NSEC_PER_USEC },
	{ "ms", CS_NSEC_PER_MSEC },
	{ "s", CS_NSEC_PER_SEC },
	{ "m", 60 * CS_NSEC_PER_SEC },
	{ "h", 3600 * CS_NSEC_PER_SEC },
	{ "d", 86400 * CS_NSEC_PER_SEC },
};

static const struct duration_unit *take_unit(const char **p)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(duration_units); i++) {
		size_t len = strlen(duration_units[i].word);

		if (strncmp(*p, duration_units[i].word, len) == 0) {
			*p += len;
			return &duration_units[i];
		}
	}
	return NULL;
}

int cs_parse_duration(const char *text, int64_t *ret_ns)
{
	int64_t last_unit = INT64_MAX, total = 0;
	const char *p = text;

	do {
		const char *number = p, *behind = p + strspn(p, "0123456789.");
		const struct duration_unit *unit;
		uint64_t value;
		int r;

		if (*behind == '\0') {
			if (p != text) /* "1m30": thirty what? */
				return -EINVAL;
			unit = &duration_units[3];
		} else {
			unit = take_unit(&behind);
		}
		if (!unit || unit->ns >= last_unit)
			return -EINVAL;
		r = take_scaled(&number, (uint64_t)unit->ns, &value);
		if (r < 0)
			return r;
		if (number != p + strspn(p, "0123456789."))
			return -EINVAL;
		if (value > INT64_MAX || __builtin_add_overflow(total, (int64_t)value, &total))
			return -ERANGE;
		last_unit = unit->ns;
		p = behind;
	} while (*p != '\0');
	if (total == CS_NEVER)
		return -ERANGE;
	*ret_ns = total;
	return 0;
}

int cs_parse_cpus(const char *text, uint64_t *ret_millicpus)
{
	uint64_t value;
	int r = take_scaled(&text, 1000, &value);

	if (r < 0)
		return r;
	if (*text != '\0')
		return -EINVAL;
	if (value < 10 || value > UINT64_C(1000) * 1000000)
		return -ERANGE;
	*ret_millicpus = value;
	return 0;
}

/* signal(7). Where a number has several names the usual one comes first. */
static const struct signal_row {
	const char *name;
	int number;
} signal_rows[] = {
	{ "SIGHUP", SIGHUP },       { "SIGINT", SIGINT },       { "SIGQUIT", SIGQUIT },
	{ "SIGILL", SIGILL },       { "SIGTRAP", SIGTRAP },     { "SIGABRT", SIGABRT },
	{ "SIGIOT", SIGIOT },       { "SIGBUS", SIGBUS },       { "SIGFPE", SIGFPE },
	{ "SIGKILL", SIGKILL },     { "SIGUSR1", SIGUSR1 },     { "SIGSEGV", SIGSEGV },
	{ "SIGUSR2", SIGUSR2 },     { "SIGPIPE", SIGPIPE },     { "SIGALRM", SIGALRM },
	{ "SIGTERM", SIGTERM },     { "SIGSTKFLT", SIGSTKFLT }, { "SIGCHLD", SIGCHLD },
	{ "SIGCLD", SIGCHLD },      { "SIGCONT", SIGCONT },     { "SIGSTOP", SIGSTOP },
	{ "SIGTSTP", SIGTSTP },     { "SIGTTIN", SIGTTIN },     { "SIGTTOU", SIGTTOU },
	{ "SIGURG", SIGURG },       { "SIGXCPU", SIGXCPU },     { "SIGXFSZ", SIGXFSZ },
	{ "SIGVTALRM", SIGVTALRM }, { "SIGPROF", SIGPROF },     { "SIGWINCH", SIGWINCH },
	{ "SIGIO", SIGIO },         { "SIGPOLL", SIGPOLL },     { "SIGPWR", SIGPWR },
	{ "SIGSYS", SIGSYS },
};

/* Behind "RTMIN" or "RTMAX": nothing, or the sign and how far from there. */
static int take_rt_offset(const char *text, char sign, uint64_t *ret)
{
	*ret = 0;
	if (*text == '\0')
		return 0;
	if (*text != sign)
		return -EINVAL;
	return cs_parse_u64(text + 1, ret);
}

static int parse_rt_signal(const char *text, int *ret_signal)
{
	bool from_min = strncasecmp(text, "RTMIN", 5) == 0;
	uint64_t offset;
	int r;

	if (!from_min && strncasecmp(text, "RTMAX", 5) != 0)
		return -EINVAL;
	r = take_rt_offset(text + 5, from_min ? '+' : '-', &offset);
	if (r < 0)
		return r;
	if (offset > (uint64_t)(SIGRTMAX - SIGRTMIN))
		return -ERANGE;
	*ret_signal = from_min ? SIGRTMIN + (int)offset : SIGRTMAX - (int)offset;
	return 0;
}

int cs_parse_signal(const char *text, int *ret_signal)
{
	if (isdigit((unsigned char)*text)) {
		uint64_t number;
		int r = cs_parse_u64(text, &number);

		if (r < 0)
			return r;
		if (number == 0 || number > (uint64_t)SIGRTMAX)
			return -ERANGE;
		*ret_signal = (int)number;
		return 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < CS_ARRAY_LEN(signal_rows); i++) {
		if (strcasecmp(signal_rows[i].name + 3, text) == 0) {
			*ret_signal = signal_rows[i].number;
			return 0;
		}
	}
	return parse_rt_signal(text, ret_signal);
}

const char *cs_signal_name(int signal)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(signal_rows); i++)
		if (signal_rows[i].number == signal)
			return signal_rows[i].name;
	return NULL;
}

bool cs_id_valid(const char *id)
{
	size_t len = strlen(id);

	if (len == 0 || len > CS_ID_MAX || !isalnum((unsigned char)id[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)id[i];

		if (c >= 0x80 || (!isalnum(c) && !strchr("_.-", c)))
			return false;
	}
	return true;
}

int cs_parse_bool(const char *text, bool *ret)
{
	static const char *const yes[] = { "true", "yes", "on", "1" };
	static const char *const no[] = { "false", "no", "off", "0" };

	for (size_t i = 0; i < CS_ARRAY_LEN(yes); i++) {
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*ret = strcmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

char *cs_size_text(uint64_t bytes, char text[static CS_SIZE_TEXT])
{
	static const char units[] = "kmgt";
	char unit[2] = "";

	for (size_t i = 0; units[i] && bytes > 0 && bytes % 1024 == 0; i++) {
		bytes /= 1024;
		unit[0] = units[i];
	}
	snprintf(text, CS_SIZE_TEXT, "%llu%s", (unsigned long long)bytes, unit);
	return text;
}

char *cs_duration_text(int64_t ns, char text[static CS_DURATION_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = CS_ARRAY_LEN(duration_units); i-- > 0 && ns > 0;) {
		int64_t n = ns / duration_units[i].ns;

		if (n == 0)
			continue;
		used += (size_t)snprintf(text + used, CS_DURATION_TEXT - used, "%lld%s",
					 (long long)n, duration_units[i].word);
		ns %= duration_units[i].ns;
	}
	if (used == 0)
		snprintf(text, CS_DURATION_TEXT, "0s");
	return text;
}

size_t cs_edit_distance(const char *a, const char *b, size_t max)
{
	size_t la = strlen(a), lb = strlen(b);
	size_t row[64];

	if (lb >= CS_ARRAY_LEN(row) || la >= CS_ARRAY_LEN(row))
		return max;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t above = row[j];
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			row[j] = CS_MIN(CS_MIN(row[j] + 1, row[j - 1] + 1), change);
			diagonal = above;
		}
	}
	return CS_MIN(row[lb], max);
}

/* --- lists of CPUs ------------------------------------------------------ */

/* Above what any kernel has (CONFIG_NR_CPUS). */
#define CPUS_MAX 65536

static int take_cpu(const char **p, unsigned *ret)
{
	size_t len = strspn(*p, "0123456789");

	if (len == 0)
		return -EINVAL;
	*ret = 0;
	for (size_t i = 0; i < len; i++) {
		*ret = *ret * 10 + (unsigned)((*p)[i] - '0');
		if (*ret >= CPUS_MAX)
			return -ERANGE;
	}
	*p += len;
	return 0;
}

/* The next "N" or "N-M" with the comma behind it. 1, 0 at the end, -errno. */
static int take_cpu_range(const char **p, unsigned *ret_first, unsigned *ret_last)
{
	if (**p == '\0')
		return 0;
	if (take_cpu(p, ret_first) < 0)
		return -EINVAL;
	*ret_last = *ret_first;
	if (**p == '-') {
		(*p)++;
		if (take_cpu(p, ret_last) < 0 || *ret_last < *ret_first)
			return -EINVAL;
	}
	if (**p == ',' && (*p)[1] != '\0')
		(*p)++;
	else if (**p != '\0')
		return -EINVAL;
	return 1;
}

static bool cpulist_has(const char *list, unsigned cpu)
{
	unsigned first, last;

	while (take_cpu_range(&list, &first, &last) > 0)
		if (cpu >= first && cpu <= last)
			return true;
	return false;
}

bool cs_cpulist_within(const char *inner, const char *outer)
{
	unsigned first, last;
	bool some = false;
	int r;

	while ((r = take_cpu_range(&inner, &first, &last)) > 0) {
		for (unsigned cpu = first; cpu <= last; cpu++)
			if (!cpulist_has(outer, cpu))
				return false;
		some = true;
	}
	return r == 0 && some;
}
