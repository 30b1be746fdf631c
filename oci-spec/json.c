#include "oci-spec/json_int.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/parse.h"

static const char *const kind_words[] = {
	[CS_JSON_NULL] = "null",       [CS_JSON_BOOL] = "a boolean", [CS_JSON_NUMBER] = "a number",
	[CS_JSON_STRING] = "a string", [CS_JSON_ARRAY] = "an array", [CS_JSON_OBJECT] = "an object",
};
_Static_assert(CS_ARRAY_LEN(kind_words) == CS_JSON_KINDS, "a word for every kind");

const char *cs_json_kind_word(enum cs_json_kind kind)
{
	return kind < CS_JSON_KINDS ? kind_words[kind] : "nothing known";
}

/* --- making and freeing ------------------------------------------------ */

struct cs_json *cs__json_new(enum cs_json_kind kind)
{
	struct cs_json *json = calloc(1, sizeof(*json));

	if (!json)
		return NULL;
	json->kind = (uint8_t)kind;
	json->height = cs__json_is_container(json);
	return json;
}

struct cs_json *cs__json_new_text(enum cs_json_kind kind, const char *data, size_t len)
{
	struct cs_json *json = cs__json_new(kind);

	if (!json)
		return NULL;
	json->text = malloc(len + 1);
	if (!json->text) {
		free(json);
		return NULL;
	}
	if (len > 0)
		memcpy(json->text, data, len);
	json->text[len] = '\0';
	json->len = len;
	return json;
}

static void free_one(struct cs_json *json)
{
	if (cs__json_is_container(json))
		free(json->v);
	else
		free(json->text);
	free(json->key);
	free(json);
}

void cs_json_free(struct cs_json *json)
{
	int saved = errno;

	assert(!json || !json->up);
	while (json) {
		struct cs_json *up = json->up;

		if (cs__json_is_container(json) && json->n > 0) {
			json = json->v[--json->n];
			continue;
		}
		free_one(json);
		json = up;
	}
	errno = saved;
}

void cs_json_free_ptr(struct cs_json **json)
{
	cs_json_free(*json);
	*json = NULL;
}

struct cs_json *cs_json_new_null(void)
{
	return cs__json_new(CS_JSON_NULL);
}

struct cs_json *cs_json_new_bool(bool value)
{
	struct cs_json *json = cs__json_new(CS_JSON_BOOL);

	if (json)
		json->boolean = value;
	return json;
}

struct cs_json *cs_json_new_u64(uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, value);

	return cs__json_new_text(CS_JSON_NUMBER, text, (size_t)n);
}

struct cs_json *cs_json_new_i64(int64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRId64, value);

	return cs__json_new_text(CS_JSON_NUMBER, text, (size_t)n);
}

struct cs_json *cs_json_new_string(const char *text)
{
	return text ? cs_json_new_string_n(text, strlen(text)) : NULL;
}

struct cs_json *cs_json_new_string_n(const char *data, size_t len)
{
	return cs__json_new_text(CS_JSON_STRING, data, len);
}

struct cs_json *cs_json_new_words(const char *text)
{
	/* one wrong byte becomes three */
	cs_auto(buf) words = CS_BUF_INIT(3 * (text ? strlen(text) : 0));

	if (!text || cs_buf_add_utf8(&words, text, strlen(text)) < 0)
		return NULL;
	return cs_json_new_string_n(words.data ? words.data : "", words.len);
}

struct cs_json *cs_json_new_array(void)
{
	return cs__json_new(CS_JSON_ARRAY);
}

struct cs_json *cs_json_new_object(void)
{
	return cs__json_new(CS_JSON_OBJECT);
}

struct cs_json *cs_json_new_strv(const struct cs_strv *strv)
{
	struct cs_json *array = cs_json_new_array();

	for (size_t i = 0; array && i < strv->n; i++)
		if (cs_json_add(array, cs_json_new_string(strv->v[i])) < 0)
			cs_json_free_ptr(&array);
	return array;
}

/* Copy of one value without children and key. */
static struct cs_json *copy_one(const struct cs_json *json)
{
	switch (json->kind) {
	case CS_JSON_BOOL:
		return cs_json_new_bool(json->boolean);
	case CS_JSON_NUMBER:
	case CS_JSON_STRING:
		return cs__json_new_text(json->kind, json->text, json->len);
	default:
		return cs__json_new(json->kind);
	}
}

struct cs_json *cs_json_copy(const struct cs_json *json)
{
	struct cs_json *copy = json ? copy_one(json) : NULL;

	if (!copy || !cs__json_is_container(json))
		return copy;
	for (size_t i = 0; i < json->n; i++) {
		struct cs_json *child = cs_json_copy(json->v[i]);
		const char *key = json->v[i]->key;

		if (child && key)
			child->key = strdup(key);
		if (!child || (key && !child->key) || cs__json_attach(copy, i, child) < 0) {
			cs_json_free(child);
			cs_json_free(copy);
			return NULL;
		}
	}
	return copy;
}

/* --- joining and parting ------------------------------------------------ */

static int make_room(struct cs_json *parent)
{
	size_t cap = parent->cap ? parent->cap * 2 : 4;
	struct cs_json **v;

	if (parent->n < parent->cap)
		return 0;
	v = reallocarray(parent->v, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	parent->v = v;
	parent->cap = cap;
	return 0;
}

static size_t depth_of(const struct cs_json *json)
{
	size_t depth = 0;

	for (; json; json = json->up)
		depth++;
	return depth;
}

int cs__json_attach(struct cs_json *parent, size_t i, struct cs_json *child)
{
	int r;

	assert(!child->up && cs__json_is_container(parent) && i <= parent->n);
	/* scalars never make a tree deeper: the walk up is for containers */
	if (child->height > 0 && depth_of(parent) + child->height > CS_JSON_DEPTH_MAX)
		return -ELOOP;
	r = make_room(parent);
	if (r < 0)
		return r;
	memmove(parent->v + i + 1, parent->v + i, (parent->n - i) * sizeof(*parent->v));
	parent->v[i] = child;
	parent->n++;
	child->up = parent;
	for (; parent && parent->height < child->height + 1; child = parent, parent = parent->up)
		parent->height = (uint8_t)(child->height + 1);
	return 0;
}

/* Heights from json up, after a child was taken out. */
static void lower_heights(struct cs_json *json)
{
	for (; json; json = json->up) {
		uint8_t height = 1;

		for (size_t i = 0; i < json->n; i++)
			height = CS_MAX(height, (uint8_t)(json->v[i]->height + 1));
		if (height == json->height)
			return;
		json->height = height;
	}
}

struct cs_json *cs_json_take_at(struct cs_json *container, size_t i)
{
	struct cs_json *child = cs_json_at(container, i);

	if (!child)
		return NULL;
	container->n--;
	memmove(container->v + i, container->v + i + 1, (container->n - i) * sizeof(*container->v));
	child->up = NULL;
	free(cs_take_ptr(&child->key));
	lower_heights(container);
	return child;
}

/* Attaches under the key, or under none; consumes the child. */
static int attach_consume(struct cs_json *parent, size_t i, const char *key, struct cs_json *child)
{
	int r;

	free(cs_take_ptr(&child->key));
	child->key = key ? strdup(key) : NULL;
	r = key && !child->key ? -ENOMEM : cs__json_attach(parent, i, child);
	if (r < 0)
		cs_json_free(child);
	return r;
}

/* What a child and its parent must be; consumes the child when they are not. */
static int check_pair(const struct cs_json *parent, bool kind_fits, struct cs_json *child_consume)
{
	int r = 0;

	if (!parent || !child_consume)
		r = -ENOMEM; /* calls nest: one of them was not made */
	else if (!kind_fits)
		r = -EINVAL;
	if (r < 0)
		cs_json_free(child_consume);
	return r;
}

int cs_json_insert_at(struct cs_json *array, size_t i, struct cs_json *child_consume)
{
	bool fits = cs_json_kind(array) == CS_JSON_ARRAY && i <= array->n;
	int r = check_pair(array, fits, child_consume);

	return r < 0 ? r : attach_consume(array, i, NULL, child_consume);
}

int cs_json_add(struct cs_json *array, struct cs_json *child_consume)
{
	return cs_json_insert_at(array, cs_json_count(array), child_consume);
}

int cs_json_put(struct cs_json *object, const char *key, struct cs_json *child_consume)
{
	int r = check_pair(object, cs_json_kind(object) == CS_JSON_OBJECT, child_consume);

	if (r < 0)
		return r;
	if (cs_json_member(object, key)) {
		cs_json_free(child_consume);
		return -EEXIST;
	}
	return attach_consume(object, object->n, key, child_consume);
}

int cs_json_replace_at(struct cs_json *container, size_t i, struct cs_json *child_consume)
{
	int r = check_pair(container, cs_json_at(container, i) != NULL, child_consume);

	if (r < 0)
		return r;
	/* the new one goes in first, so that failing changes nothing */
	r = attach_consume(container, i, container->v[i]->key, child_consume);
	if (r < 0)
		return r;
	cs_json_free(cs_json_take_at(container, i + 1));
	return 0;
}

/* --- looking ------------------------------------------------------------ */

enum cs_json_kind cs_json_kind(const struct cs_json *json)
{
	return json ? json->kind : CS_JSON_NULL;
}

size_t cs_json_count(const struct cs_json *json)
{
	return json && cs__json_is_container(json) ? json->n : 0;
}

struct cs_json *cs_json_at(const struct cs_json *json, size_t i)
{
	return i < cs_json_count(json) ? json->v[i] : NULL;
}

const char *cs_json_key_at(const struct cs_json *json, size_t i)
{
	struct cs_json *child = cs_json_at(json, i);

	return child ? child->key : NULL;
}

static size_t find_key(const struct cs_json *object, const char *key, size_t len)
{
	if (cs_json_kind(object) != CS_JSON_OBJECT)
		return cs_json_count(object);
	for (size_t i = 0; i < object->n; i++)
		if (strncmp(object->v[i]->key, key, len) == 0 && object->v[i]->key[len] == '\0')
			return i;
	return object->n;
}

size_t cs_json_find(const struct cs_json *object, const char *key)
{
	return find_key(object, key, strlen(key));
}

struct cs_json *cs_json_member(const struct cs_json *json, const char *key)
{
	return cs_json_at(json, cs_json_find(json, key));
}

size_t cs__json_path_part(const char **path, const char **ret_part)
{
	const char *end = strchrnul(*path, '.');
	size_t len = (size_t)(end - *path);

	*ret_part = *path;
	*path = *end == '.' ? end + 1 : NULL;
	return len;
}

struct cs_json *cs__json_child(const struct cs_json *json, const char *part, size_t len)
{
	char digits[24];
	uint64_t i;

	if (cs_json_kind(json) != CS_JSON_ARRAY)
		return cs_json_at(json, find_key(json, part, len));
	if (len >= sizeof(digits))
		return NULL;
	memcpy(digits, part, len);
	digits[len] = '\0';
	return cs_parse_u64(digits, &i) == 0 && i < json->n ? json->v[i] : NULL;
}

struct cs_json *cs_json_get(const struct cs_json *json, const char *path)
{
	while (json && path) {
		const char *part;
		size_t len = cs__json_path_part(&path, &part);

		json = cs__json_child(json, part, len);
	}
	return (struct cs_json *)json;
}

/* --- reading values ------------------------------------------------------ */

static int check_kind(const struct cs_json *json, enum cs_json_kind kind)
{
	if (!json)
		return -ENOENT;
	return json->kind == kind ? 0 : -EINVAL;
}

int cs_json_get_bool(const struct cs_json *json, bool *ret)
{
	int r = check_kind(json, CS_JSON_BOOL);

	if (r == 0)
		*ret = json->boolean;
	return r;
}

int cs_json_get_u64(const struct cs_json *json, uint64_t *ret)
{
	int r = check_kind(json, CS_JSON_NUMBER);

	return r < 0 ? r : cs_parse_u64(json->text, ret);
}

int cs_json_get_i64(const struct cs_json *json, int64_t *ret)
{
	int r = check_kind(json, CS_JSON_NUMBER);

	return r < 0 ? r : cs_parse_i64(json->text, ret);
}

const char *cs_json_string(const struct cs_json *json)
{
	if (check_kind(json, CS_JSON_STRING) < 0 || strlen(json->text) != json->len)
		return NULL;
	return json->text;
}

const char *cs_json_string_n(const struct cs_json *json, size_t *ret_len)
{
	if (check_kind(json, CS_JSON_STRING) < 0)
		return NULL;
	*ret_len = json->len;
	return json->text;
}

const char *cs_json_number_text(const struct cs_json *json)
{
	return check_kind(json, CS_JSON_NUMBER) < 0 ? NULL : json->text;
}

int cs_json_get_strv(const struct cs_json *json, struct cs_strv *ret)
{
	cs_auto(strv) texts = CS_STRV_INIT;
	struct cs_json *child;
	int r = check_kind(json, CS_JSON_ARRAY);

	if (r < 0)
		return r;
	cs_json_each (child, json) {
		const char *text = cs_json_string(child);

		if (!text)
			return -EINVAL;
		r = cs_strv_add(&texts, text);
		if (r < 0)
			return r;
	}
	return cs_strv_copy(ret, &texts);
}
