#include "oci-spec/spec.h"

#include <string.h>

const struct cs_json *cs_spec_namespace(const struct cs_json *config, enum cs_namespace ns)
{
	const struct cs_json *row;

	cs_json_each (row, cs_json_get(config, "linux.namespaces")) {
		const char *type = cs_json_string(cs_json_member(row, "type"));

		if (type && strcmp(type, cs_namespace_word(ns)) == 0)
			return row;
	}
	return NULL;
}

bool cs_spec_mount_is_bind(const struct cs_json *mount)
{
	const char *type = cs_json_string(cs_json_member(mount, "type"));
	const struct cs_json *option;

	if (type && strcmp(type, "bind") == 0)
		return true;
	cs_json_each (option, cs_json_member(mount, "options")) {
		const char *text = cs_json_string(option);

		if (text && (strcmp(text, "bind") == 0 || strcmp(text, "rbind") == 0))
			return true;
	}
	return false;
}
