/*
 * Changes of somebody's JSON file as text: what is not named keeps every byte,
 * with its spaces, escapes and digits. What is added looks like what stands
 * beside it: line breaks, indentation, the space behind a colon.
 *
 * For files that people keep (cs_json_edit changes trees, and a tree forgets
 * how it was laid out). The text must be one that cs_json_parse takes; its
 * errors come first and name line and column. Pure; nothing blocks.
 */
#ifndef CS_OCI_SPEC_JSON_TEXT_H
#define CS_OCI_SPEC_JSON_TEXT_H

#include "oci-spec/json.h"

/*
 * Appends to `out` the text with `key` of an object set to `value`: in the
 * place of an old value, else as the last member. `parent` is the key of the
 * object among the top ones; NULL is the top itself. `name` is the file's in
 * errors. CS_INVALID for a text that is no object at the top, for a parent
 * that is missing or no object, and for a key that is spelt with escapes;
 * CS_LIMIT when `out` is full.
 */
int cs_json_text_put(const char *text, size_t len, const char *name, const char *parent, const char *key,
		     const struct cs_json *value, struct cs_buf *out, struct cs_err *err);

/*
 * Appends the text without that member and the comma before it, so that what
 * cs_json_text_put added as the last member goes without a trace. 0, also when there was none. Errors as above, but
 * that a missing parent is none.
 */
int cs_json_text_remove(const char *text, size_t len, const char *name, const char *parent, const char *key,
			struct cs_buf *out, struct cs_err *err);

#endif
