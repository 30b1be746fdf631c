/*
 * Inside of the value tree, for json*.c only.
 *
 * Two things hold for every tree, so that nobody below has to check them: it
 * is at most CS_JSON_DEPTH_MAX containers deep (walkers may recurse), and no
 * object has the same key twice.
 */
#ifndef CS_OCI_SPEC_JSON_INT_H
#define CS_OCI_SPEC_JSON_INT_H

#include "oci-spec/json.h"

struct cs_json {
	uint8_t kind;   /* enum cs_json_kind */
	uint8_t height; /* containers from here down, this one counted; 0 for scalars */
	bool boolean;
	uint32_t
		key_end; /* where the key ended in the text it was read from; only json_read.c looks */
	char *key;       /* owned; NULL unless the parent is an object */
	struct cs_json *up;
	union {
		struct {
			char *text; /* owned, NUL-terminated behind len: strings and numbers */
			size_t len;
		};
		struct {
			struct cs_json **v; /* owned, each with up == this */
			size_t n, cap;
		};
	};
};

/* An empty value of the kind; NULL when memory ran out. */
struct cs_json *cs__json_new(enum cs_json_kind kind);

/* A string or a number with a copy of len bytes. */
struct cs_json *cs__json_new_text(enum cs_json_kind kind, const char *data, size_t len);

/*
 * Puts a child that stands nowhere, its key set where one is due, before
 * index i. 0; -ENOMEM; -ELOOP when the tree would get too deep. The child
 * stays the caller's on failure.
 */
int cs__json_attach(struct cs_json *parent, size_t i, struct cs_json *child);

static inline bool cs__json_is_container(const struct cs_json *json)
{
	return json->kind == CS_JSON_ARRAY || json->kind == CS_JSON_OBJECT;
}

/* Part of a path up to the next dot; *path is moved behind it, NULL after the last. Returns its length. */
size_t cs__json_path_part(const char **path, const char **ret_part);

/* Child of a container by a part of a path; NULL when it is not there. */
struct cs_json *cs__json_child(const struct cs_json *json, const char *part, size_t len);

#endif
