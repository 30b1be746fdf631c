#include "oci-spec/json_edit.h"

#include <errno.h>
#include <string.h>

#include "oci-spec/json_int.h"

/* How far a path can be walked in a tree that is there. */
struct walk {
	struct cs_json *parent; /* container in which `part` was looked for */
	struct cs_json *found;  /* what stands there, or NULL */
	const char *part;       /* the last part looked for */
	size_t part_len;
	const char *rest; /* path behind `part`; NULL when that was the last part */
};

static int fail_memory(const char *path, struct cs_err *err)
{
	return cs_fail(err, CS_LIMIT, ENOMEM, "%s", path);
}

/* What -errno of an adder means for the caller of an edit. */
static int fail_adder(int r, const char *path, struct cs_err *err)
{
	if (r == -ENOMEM)
		return fail_memory(path, err);
	if (r == -ELOOP)
		return cs_fail(err, CS_LIMIT, 0, "%s: nested deeper than %d levels", path,
			       CS_JSON_DEPTH_MAX);
	return cs_fail(err, CS_BUG, -r, "%s", path);
}

static int fail_kind(const char *path, size_t len, const struct cs_json *json, const char *wanted,
		     struct cs_err *err)
{
	return cs_fail(err, CS_INVALID, 0, "%.*s: is %s where %s is needed", (int)len, path,
		       cs_json_kind_word(cs_json_kind(json)), wanted);
}

/*
 * Walks to the value at path, or to the first part that is missing. A null in
 * the place of a parent counts as missing: engines and Go programs write it
 * for what they left empty.
 */
static int walk_path(struct cs_json *root, const char *path, struct walk *ret, struct cs_err *err)
{
	struct walk walk = { .found = root, .rest = path };

	do {
		walk.parent = walk.found;
		if (!walk.parent || !cs__json_is_container(walk.parent)) {
			size_t len = walk.part ? (size_t)(walk.part + walk.part_len - path) : 0;

			return fail_kind(len ? path : "root", len ? len : 4, walk.parent,
					 "an object", err);
		}
		walk.part_len = cs__json_path_part(&walk.rest, &walk.part);
		walk.found = cs__json_child(walk.parent, walk.part, walk.part_len);
	} while (walk.rest && walk.found && cs_json_kind(walk.found) != CS_JSON_NULL);
	*ret = walk;
	return 0;
}

static size_t index_of(const struct cs_json *container, const struct cs_json *child)
{
	size_t i = 0;

	while (container->v[i] != child)
		i++;
	return i;
}

/* {"last part": …} around value for each part of path, the last innermost. NULL when memory ran out. */
static struct cs_json *wrap_in_objects(const char *path, struct cs_json *value_consume,
				       int *ret_error)
{
	struct cs_json *value = value_consume;
	size_t end = strlen(path);

	for (;;) {
		const char *dot = memrchr(path, '.', end);
		const char *part = dot ? dot + 1 : path;
		struct cs_json *object = cs_json_new_object();
		cs_autofree char *key = strndup(part, end - (size_t)(part - path));
		int r = -ENOMEM;

		if (key && object)
			r = cs_json_put(object, key, value);
		else
			cs_json_free(value);
		if (r < 0) {
			cs_json_free(object);
			*ret_error = r;
			return NULL;
		}
		value = object;
		if (!dot)
			return value;
		end = (size_t)(dot - path);
	}
}

/* Puts value where the walk ended; missing parents are made first and join the tree in one step. */
static int put_at_walk(const struct walk *walk, struct cs_json *value_consume)
{
	struct cs_json *value = value_consume;
	int r = -ENOMEM;

	if (walk->rest) {
		value = wrap_in_objects(walk->rest, value, &r);
		if (!value)
			return r;
	}
	if (walk->found)
		return cs_json_replace_at(walk->parent, index_of(walk->parent, walk->found), value);

	cs_autofree char *key = strndup(walk->part, walk->part_len);
	if (!key) {
		cs_json_free(value);
		return -ENOMEM;
	}
	return cs_json_put(walk->parent, key, value);
}

int cs_json_set(struct cs_json *root, const char *path, struct cs_json *value_consume,
		struct cs_err *err)
{
	struct walk walk;
	int r;

	if (!value_consume)
		return fail_memory(path, err);
	if (walk_path(root, path, &walk, err) < 0) {
		cs_json_free(value_consume);
		return -1;
	}
	if (!walk.found && cs_json_kind(walk.parent) == CS_JSON_ARRAY) {
		cs_json_free(value_consume);
		return cs_fail(err, CS_INVALID, 0, "%s: the array has no element '%.*s'", path,
			       (int)walk.part_len, walk.part);
	}
	r = put_at_walk(&walk, value_consume);
	return r < 0 ? fail_adder(r, path, err) : 0;
}

/* An array that holds the value alone; consumes it. */
static struct cs_json *array_around(struct cs_json *value_consume)
{
	struct cs_json *array = cs_json_new_array();

	if (cs_json_add(array, value_consume) < 0)
		cs_json_free_ptr(&array);
	return array;
}

/* The array at path, NULL when it is absent or null; another kind is an error. */
static int find_array(struct cs_json *root, const char *path, struct cs_json **ret,
		      struct cs_err *err)
{
	struct walk walk;

	if (walk_path(root, path, &walk, err) < 0)
		return -1;
	*ret = NULL;
	if (cs_json_kind(walk.found) == CS_JSON_NULL)
		return 0;
	if (cs_json_kind(walk.found) != CS_JSON_ARRAY)
		return fail_kind(path, strlen(path), walk.found, "an array", err);
	*ret = walk.found;
	return 0;
}

int cs_json_append(struct cs_json *root, const char *path, struct cs_json *value_consume,
		   struct cs_err *err)
{
	struct cs_json *array;
	int r;

	if (!value_consume)
		return fail_memory(path, err);
	if (find_array(root, path, &array, err) < 0) {
		cs_json_free(value_consume);
		return -1;
	}
	if (!array)
		return cs_json_set(root, path, array_around(value_consume), err);
	r = cs_json_add(array, value_consume);
	return r < 0 ? fail_adder(r, path, err) : 0;
}

int cs_json_insert(struct cs_json *root, const char *path, size_t i, struct cs_json *value_consume,
		   struct cs_err *err)
{
	struct cs_json *array;
	int r;

	if (!value_consume)
		return fail_memory(path, err);
	if (find_array(root, path, &array, err) < 0) {
		cs_json_free(value_consume);
		return -1;
	}
	if (i > cs_json_count(array)) {
		cs_json_free(value_consume);
		return cs_fail(err, CS_INVALID, 0, "%s: no place %zu among %zu elements", path, i,
			       cs_json_count(array));
	}
	if (!array)
		return cs_json_set(root, path, array_around(value_consume), err);
	r = cs_json_insert_at(array, i, value_consume);
	return r < 0 ? fail_adder(r, path, err) : 0;
}

int cs_json_remove(struct cs_json *root, const char *path, struct cs_err *err)
{
	struct walk walk;

	if (walk_path(root, path, &walk, err) < 0)
		return -1;
	if (walk.found && !walk.rest)
		cs_json_free(cs_json_take_at(walk.parent, index_of(walk.parent, walk.found)));
	return 0;
}

int cs_json_set_bool(struct cs_json *root, const char *path, bool value, struct cs_err *err)
{
	return cs_json_set(root, path, cs_json_new_bool(value), err);
}

int cs_json_set_u64(struct cs_json *root, const char *path, uint64_t value, struct cs_err *err)
{
	return cs_json_set(root, path, cs_json_new_u64(value), err);
}

int cs_json_set_i64(struct cs_json *root, const char *path, int64_t value, struct cs_err *err)
{
	return cs_json_set(root, path, cs_json_new_i64(value), err);
}

int cs_json_set_string(struct cs_json *root, const char *path, const char *value,
		       struct cs_err *err)
{
	return cs_json_set(root, path, cs_json_new_string(value), err);
}

int cs_json_set_strv(struct cs_json *root, const char *path, const struct cs_strv *value,
		     struct cs_err *err)
{
	return cs_json_set(root, path, cs_json_new_strv(value), err);
}

int cs_json_append_unique(struct cs_json *root, const char *path, const char *value,
			  struct cs_err *err)
{
	struct cs_json *array, *child;

	if (find_array(root, path, &array, err) < 0)
		return -1;
	cs_json_each (child, array) {
		const char *text = cs_json_string(child);

		if (text && strcmp(text, value) == 0)
			return 0;
	}
	return cs_json_append(root, path, cs_json_new_string(value), err);
}
