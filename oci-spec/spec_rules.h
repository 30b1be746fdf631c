/*
 * One value, one rule: the rows that spec_check.c walks. For it and its tests.
 */
#ifndef CS_OCI_SPEC_SPEC_RULES_H
#define CS_OCI_SPEC_SPEC_RULES_H

#include "oci-spec/json.h"

struct cs_spec_rule {
	const char *path;       /* keys joined by dots; "*" is every child of an array or object */
	enum cs_json_kind kind; /* of the value; null counts as absent */
	bool required;          /* where the object around it is there */
	bool (*test)(const struct cs_json *value); /* NULL: every value of the kind */
	const char *message;    /* when the test fails: "must be …" */
};

/* i-th row; a row stands behind that of the object around it. NULL past the end. */
const struct cs_spec_rule *cs_spec_rule_at(size_t i);

#endif
