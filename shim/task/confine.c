#include "shim/task/confine.h"

#include <string.h>

static const char *const words[] = {
	[CS_CONFINE_CAPABILITIES] = "capabilities",
	[CS_CONFINE_PRIVILEGES] = "privileges",
	[CS_CONFINE_ROOT] = "root",
	[CS_CONFINE_NAMESPACES] = "namespaces",
	[CS_CONFINE_DEVICES] = "devices",
	[CS_CONFINE_SECCOMP] = "seccomp",
	[CS_CONFINE_MASKED] = "masked",
	[CS_CONFINE_READONLY] = "readonly",
	[CS_CONFINE_RLIMITS] = "rlimits",
	[CS_CONFINE_CORE] = "core",
};
_Static_assert(CS_ARRAY_LEN(words) == CS_CONFINES, "a word for every right");

int cs_confine_parse(const char *text, unsigned *ret_bits, struct cs_err *err)
{
	unsigned bits = 0;

	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ","), i = 0;

		while (i < CS_ARRAY_LEN(words) && (strlen(words[i]) != len || strncmp(words[i], p, len) != 0))
			i++;
		if (i == CS_ARRAY_LEN(words))
			return cs_fail(err, CS_INVALID, 0,
				       "'%.*s' is none of capabilities, privileges, root, namespaces, devices, "
				       "seccomp, masked, readonly, rlimits, core",
				       (int)CS_MIN(len, (size_t)64), p);
		bits |= 1u << i;
		p += len + (p[len] == ',');
	}
	if (ret_bits)
		*ret_bits |= bits;
	return 0;
}

unsigned cs_confine_bits(const struct cs_strv *list)
{
	unsigned bits = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct cs_err ignored = CS_ERR_INIT; /* the row's check has seen every element */

		cs_confine_parse(list->v[i], &bits, &ignored);
	}
	return bits;
}
