/*
 * Changes of a JSON tree by path. What an edit does not name stays as it is;
 * an edit that fails changes nothing.
 *
 * A path is keys joined by dots; a part made of digits is an index where an
 * array stands. Keys that hold dots are reached with cs_json_member and
 * cs_json_put. A null in the place of a parent or of an array counts as
 * absent, as engines take it. Values handed over are consumed in every case
 * (also NULL, which makes the call fail with CS_LIMIT: out of memory).
 *
 * All return 0 or -1: CS_INVALID, naming the part, when something of the wrong
 * kind stands in the way; CS_LIMIT without memory or past CS_JSON_DEPTH_MAX.
 */
#ifndef CS_OCI_SPEC_JSON_EDIT_H
#define CS_OCI_SPEC_JSON_EDIT_H

#include "oci-spec/json.h"

/*
 * Puts value at path: in place of what stands there, else as the last key;
 * makes missing parent objects. An array gets no new elements: cs_json_append.
 */
int cs_json_set(struct cs_json *root, const char *path, struct cs_json *value_consume,
		struct cs_err *err);

/* Adds value at the end of the array at path; makes the array when it is absent or null. */
int cs_json_append(struct cs_json *root, const char *path, struct cs_json *value_consume,
		   struct cs_err *err);

/* Adds value before index i of the array at path; i may be its length. */
int cs_json_insert(struct cs_json *root, const char *path, size_t i, struct cs_json *value_consume,
		   struct cs_err *err);

/* Takes the value at path out; 0 also when nothing stood there. */
int cs_json_remove(struct cs_json *root, const char *path, struct cs_err *err);

/* Shorthands of cs_json_set. */
int cs_json_set_bool(struct cs_json *root, const char *path, bool value, struct cs_err *err);
int cs_json_set_u64(struct cs_json *root, const char *path, uint64_t value, struct cs_err *err);
int cs_json_set_i64(struct cs_json *root, const char *path, int64_t value, struct cs_err *err);
int cs_json_set_string(struct cs_json *root, const char *path, const char *value,
		       struct cs_err *err);
int cs_json_set_strv(struct cs_json *root, const char *path, const struct cs_strv *value,
		     struct cs_err *err);
/* Adds the string to the array at path unless it is already in. */
int cs_json_append_unique(struct cs_json *root, const char *path, const char *value,
			  struct cs_err *err);

#endif
