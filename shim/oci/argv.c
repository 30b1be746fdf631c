#include "shim/oci/argv.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/parse.h"

static void release_given(struct cs_oci_given *given, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(given[i].value);
		free(given[i].word);
	}
	free(given);
}

void cs_oci_call_release(struct cs_oci_call *call)
{
	release_given(call->globals, call->n_globals);
	release_given(call->flags, call->n_flags);
	free(call->verb_word);
	cs_strv_release(&call->operands);
	*call = (struct cs_oci_call){ 0 };
}

/* --- finding rows -------------------------------------------------------------- */

/* The part of a command line that flags belong to: 0 before the verb, else its bit. */
static unsigned scope_of(const struct cs_oci_call *call)
{
	return call->verb_word ? 1U << call->verb : 0;
}

static bool in_scope(const struct cs_oci_flag *row, unsigned scope)
{
	return scope == 0 ? row->verbs == 0 : (row->verbs & scope) != 0;
}

static const struct cs_oci_flag *by_name(unsigned scope, const char *name, size_t len)
{
	const struct cs_oci_flag *row;

	for (size_t i = 0; (row = cs_oci_flag_at(i)); i++)
		if (in_scope(row, scope) && strlen(row->name) == len && strncmp(row->name, name, len) == 0)
			return row;
	return NULL;
}

static const struct cs_oci_flag *by_letter(unsigned scope, char letter)
{
	const struct cs_oci_flag *row;

	for (size_t i = 0; letter && (row = cs_oci_flag_at(i)); i++)
		if (in_scope(row, scope) && row->letter == letter)
			return row;
	return NULL;
}

/* --- reading ------------------------------------------------------------------- */

struct reader {
	struct cs_oci_call *call;
	int argc, at;
	char *const *argv;
	/* the operand behind an odd flag, which may be its value; -1: none */
	int maybe_value;
	size_t maybe_flag;
	struct cs_err *err;
};

static struct cs_oci_given *add(struct cs_oci_call *call, const struct cs_oci_flag *row, const char *word, const char *value)
{
	bool global = !call->verb_word;
	struct cs_oci_given **list = global ? &call->globals : &call->flags;
	size_t *n = global ? &call->n_globals : &call->n_flags;
	struct cs_oci_given *longer = reallocarray(*list, *n + 1, sizeof(**list));
	struct cs_oci_given *given;

	if (!longer)
		return NULL;
	*list = longer;
	given = &longer[*n];
	*given = (struct cs_oci_given){ .row = row, .word = strdup(word), .value = value ? strdup(value) : NULL };
	(*n)++;
	return given->word && (given->value || !value) ? given : NULL;
}

static int no_memory(struct cs_err *err)
{
	return cs_fail(err, CS_LIMIT, ENOMEM, "arguments");
}

/* As it was written, for the engine to judge. */
static int add_odd(struct reader *reader, const char *word)
{
	reader->call->odd = true;
	return add(reader->call, NULL, word, NULL) ? 0 : no_memory(reader->err);
}

static char *absolute(const char *path)
{
	cs_autofree char *cwd = NULL;
	char *whole = NULL;

	/* "-" is stdin; "file:F", "journald:X" are crun's ways to say where a log goes */
	if (path[0] == '/' || path[0] == '\0' || strcmp(path, "-") == 0 || strchr(path, ':'))
		return strdup(path);
	cwd = getcwd(NULL, 0);
	if (strcmp(path, ".") == 0)
		return cs_take_ptr(&cwd);
	while (path[0] == '.' && path[1] == '/')
		path += 1 + strspn(path + 1, "/");
	return cwd && asprintf(&whole, "%s/%s", cwd, path) >= 0 ? whole : NULL;
}

static int add_value(struct reader *reader, const struct cs_oci_flag *row, const char *word, const char *value)
{
	cs_autofree char *path = row->traits & CS_OCI_PATH ? absolute(value) : NULL;

	if ((row->traits & CS_OCI_PATH) && !path)
		return no_memory(reader->err);
	return add(reader->call, row, word, path ? path : value) ? 0 : no_memory(reader->err);
}

static bool is_flag(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* A word that would make sense where it stands even if it is nobody's value. */
static bool stands_alone(const struct reader *reader, const char *word)
{
	return is_flag(word) || (!reader->call->verb_word && cs_oci_verb_of(word) != CS_OCI_OTHER);
}

/* A flag whose row is known, with what stands joined to it (NULL: nothing). */
static int take_known(struct reader *reader, const struct cs_oci_flag *row, const char *word, const char *joined)
{
	const char *next = reader->at + 1 < reader->argc ? reader->argv[reader->at + 1] : NULL;
	bool on;

	if (row->arity == CS_OCI_SWITCH) {
		if (joined && cs_parse_bool(joined, &on) < 0)
			return add_odd(reader, word);
		return add(reader->call, row, word, joined && !on ? "false" : "true") ? 0 : no_memory(reader->err);
	}
	if (joined)
		return add_value(reader, row, word, joined);
	if (row->arity == CS_OCI_LOOSE && (!next || stands_alone(reader, next)))
		return add(reader->call, row, word, NULL) ? 0 : no_memory(reader->err);
	if (next) {
		reader->at++;
		return add_value(reader, row, word, next);
	}
	if (!(row->traits & CS_OCI_OURS))
		return add_odd(reader, word);
	return cs_fail(reader->err, CS_INVALID, 0, "flag needs an argument: --%s", row->name);
}

/* "-dt", "-bDIR", "-e A=B": letters, of which only the last may take a value. False when it is none. */
static bool is_cluster(const struct reader *reader, const char *letters)
{
	unsigned scope = scope_of(reader->call);

	for (; *letters; letters++) {
		const struct cs_oci_flag *row = by_letter(scope, *letters);

		if (!row)
			return false;
		if (row->arity != CS_OCI_SWITCH)
			return true;
	}
	return true;
}

static int take_cluster(struct reader *reader, const char *letters)
{
	unsigned scope = scope_of(reader->call);

	for (; *letters; letters++) {
		const struct cs_oci_flag *row = by_letter(scope, *letters);
		char word[] = { '-', *letters, '\0' };

		if (row->arity != CS_OCI_SWITCH)
			return take_known(reader, row, word, letters[1] ? letters + 1 : NULL);
		if (take_known(reader, row, word, NULL) < 0)
			return -1;
	}
	return 0;
}

/* One that is in no table: what stands behind it may be its value. */
static int take_unknown(struct reader *reader, const char *word)
{
	const char *next = reader->at + 1 < reader->argc ? reader->argv[reader->at + 1] : NULL;

	if (add_odd(reader, word) < 0)
		return -1;
	if (strchr(word, '=') || !next || stands_alone(reader, next))
		return 0;
	if (!reader->call->verb_word) {
		reader->at++;
		return add_odd(reader, next);
	}
	if (reader->maybe_value < 0) {
		reader->maybe_value = (int)reader->call->operands.n;
		reader->maybe_flag = reader->call->n_flags;
	}
	return 0;
}

static int take_flag(struct reader *reader)
{
	const char *word = reader->argv[reader->at];
	const char *name = word + strspn(word, "-");
	size_t dashes = (size_t)(name - word), len = strcspn(name, "=");
	const char *joined = name[len] == '=' ? name + len + 1 : NULL;
	unsigned scope = scope_of(reader->call);
	const struct cs_oci_flag *row = dashes <= 2 ? by_name(scope, name, len) : NULL;

	if (!row && len == 1 && dashes <= 2)
		row = by_letter(scope, name[0]);
	if (row)
		return take_known(reader, row, word, joined);
	if (dashes == 1 && is_cluster(reader, name))
		return take_cluster(reader, name);
	return take_unknown(reader, word);
}

static int take_verb(struct reader *reader, const char *word)
{
	reader->call->verb = cs_oci_verb_of(word);
	reader->call->verb_word = strdup(word);
	return reader->call->verb_word ? 0 : no_memory(reader->err);
}

/* All that is left goes to the operands. */
static int take_rest(struct reader *reader)
{
	for (; reader->at < reader->argc; reader->at++)
		if (cs_strv_add(&reader->call->operands, reader->argv[reader->at]) < 0)
			return no_memory(reader->err);
	return 0;
}

/* One operand too many and an odd flag before one of them: that one was its value. */
static int settle(struct reader *reader)
{
	struct cs_oci_call *call = reader->call;
	const struct cs_oci_verb_row *verb = cs_oci_verb_row(call->verb);
	size_t at = (size_t)reader->maybe_value;
	struct cs_oci_given value = { 0 };

	if (verb->has_id && call->operands.n == 0)
		call->odd = true;
	if (call->operands.n <= verb->operands_max)
		return 0;
	call->odd = true;
	if (reader->maybe_value < 0 || at >= call->operands.n)
		return 0;
	if (!add(call, NULL, call->operands.v[at], NULL))
		return no_memory(reader->err);
	value = call->flags[call->n_flags - 1];
	memmove(&call->flags[reader->maybe_flag + 1], &call->flags[reader->maybe_flag],
		(call->n_flags - 1 - reader->maybe_flag) * sizeof(value));
	call->flags[reader->maybe_flag] = value;
	free(call->operands.v[at]);
	memmove(&call->operands.v[at], &call->operands.v[at + 1], (call->operands.n - at) * sizeof(char *));
	call->operands.n--;
	return 0;
}

/* The word at hand. */
static int take_word(struct reader *reader)
{
	const char *word = reader->argv[reader->at];
	struct cs_oci_call *call = reader->call;

	if (call->verb_word && call->verb == CS_OCI_OTHER)
		return take_rest(reader);
	if (strcmp(word, "--") == 0) {
		if (!call->verb_word)
			return 0;
		reader->at++;
		return take_rest(reader);
	}
	if (is_flag(word))
		return take_flag(reader);
	if (!call->verb_word)
		return take_verb(reader, word);
	if (cs_oci_verb_row(call->verb)->in_order)
		return take_rest(reader);
	return cs_strv_add(&call->operands, word) < 0 ? no_memory(reader->err) : 0;
}

int cs_oci_call_parse(int argc, char *const argv[], struct cs_oci_call *ret, struct cs_err *err)
{
	struct cs_err later = CS_ERR_INIT;
	struct reader reader = { .call = ret, .argc = argc, .at = 1, .argv = argv, .maybe_value = -1, .err = err };

	*ret = (struct cs_oci_call){ .verb = CS_OCI_OTHER };
	for (; reader.at < argc; reader.at++)
		if (take_word(&reader) < 0) {
			/* the first one counts */
			reader.err = &later;
			cs_err_clear(&later);
		}
	if (settle(&reader) < 0 || cs_err_is_set(err))
		return -1;
	return 0;
}

/* --- asking and changing --------------------------------------------------------- */

static struct cs_oci_given *find(struct cs_oci_given *list, size_t n, const char *name)
{
	while (n-- > 0)
		if (list[n].row && strcmp(list[n].row->name, name) == 0)
			return &list[n];
	return NULL;
}

const char *cs_oci_global(const struct cs_oci_call *call, const char *name)
{
	const struct cs_oci_given *given = find(call->globals, call->n_globals, name);

	return given ? given->value : NULL;
}

const char *cs_oci_flag(const struct cs_oci_call *call, const char *name)
{
	const struct cs_oci_given *given = find(call->flags, call->n_flags, name);

	return given ? given->value : NULL;
}

bool cs_oci_switch(const struct cs_oci_call *call, const char *name)
{
	const char *value = cs_oci_flag(call, name);

	return value && strcmp(value, "true") == 0;
}

static void take_out(struct cs_oci_call *call, const char *name)
{
	struct cs_oci_given *given;

	while ((given = find(call->flags, call->n_flags, name))) {
		size_t at = (size_t)(given - call->flags);

		free(given->value);
		free(given->word);
		memmove(given, given + 1, (call->n_flags - at - 1) * sizeof(*given));
		call->n_flags--;
	}
}

int cs_oci_set_flag(struct cs_oci_call *call, const char *name, const char *value)
{
	const struct cs_oci_flag *row = by_name(scope_of(call), name, strlen(name));

	take_out(call, name);
	if (!value)
		return 0;
	return row && add(call, row, name, value) ? 0 : -ENOMEM;
}

const char *cs_oci_id(const struct cs_oci_call *call)
{
	return cs_oci_verb_row(call->verb)->has_id && call->operands.n > 0 ? call->operands.v[0] : NULL;
}

/* --- writing ------------------------------------------------------------------- */

static int add_given(const struct cs_oci_given *given, struct cs_strv *ret)
{
	const struct cs_oci_flag *row = given->row;

	if (!row || (row->arity == CS_OCI_LOOSE && !given->value))
		return cs_strv_add(ret, given->word);
	if (row->arity == CS_OCI_SWITCH)
		return strcmp(given->value, "true") == 0 ? cs_strv_addf(ret, "--%s", row->name) : 0;
	return cs_strv_addf(ret, "--%s=%s", row->name, given->value);
}

static int add_list(const struct cs_oci_given *list, size_t n, cs_oci_skip_fn *skip, const void *arg, struct cs_strv *ret)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct cs_oci_flag *row = list[i].row;

		if ((row && (row->traits & CS_OCI_OURS)) || (skip && skip(&list[i], arg)))
			continue;
		r = add_given(&list[i], ret);
	}
	return r;
}

int cs_oci_add_globals(const struct cs_oci_call *call, cs_oci_skip_fn *skip, const void *arg, struct cs_strv *ret)
{
	return add_list(call->globals, call->n_globals, skip, arg, ret);
}

int cs_oci_add_verb(const struct cs_oci_call *call, cs_oci_skip_fn *skip, const void *arg, struct cs_strv *ret)
{
	bool dash = false;
	int r = call->verb_word ? cs_strv_add(ret, call->verb_word) : 0;

	if (r == 0)
		r = add_list(call->flags, call->n_flags, skip, arg, ret);
	/* an operand that looks like a flag was behind "--": engines that read on would take it for one */
	for (size_t i = 0; i < call->operands.n && !cs_oci_verb_row(call->verb)->in_order; i++)
		dash |= is_flag(call->operands.v[i]);
	if (r == 0 && dash)
		r = cs_strv_add(ret, "--");
	return r < 0 ? r : cs_strv_add_all(ret, (const char *const *)cs_strv_v(&call->operands));
}
