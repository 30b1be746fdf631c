#include "oci-spec/features.h"

#include <stddef.h>
#include <string.h>

/* Questions with a yes or no. */
struct switch_row {
	const char *path;
	size_t offset;
};

static const struct switch_row switch_rows[] = {
	{ "linux.seccomp.enabled", offsetof(struct cs_features, seccomp) },
	{ "linux.mountExtensions.idmap.enabled", offsetof(struct cs_features, idmap) },
};

static int fail_kind(struct cs_err *err, const char *path, const struct cs_json *json,
		     const char *wanted)
{
	return cs_fail(err, CS_ENGINE, 0, "features: %s: is %s where %s is needed", path,
		       cs_json_kind_word(cs_json_kind(json)), wanted);
}

static int read_switches(const struct cs_json *json, struct cs_features *features,
			 struct cs_err *err)
{
	for (size_t i = 0; i < CS_ARRAY_LEN(switch_rows); i++) {
		const struct switch_row *row = &switch_rows[i];
		const struct cs_json *value = cs_json_get(json, row->path);

		/* Go prints null for a question that it leaves open */
		if (cs_json_kind(value) == CS_JSON_NULL)
			continue;
		if (cs_json_get_bool(value, (bool *)((char *)features + row->offset)) < 0)
			return fail_kind(err, row->path, value, "a boolean");
	}
	return 0;
}

static int read_mount_options(const struct cs_json *json, struct cs_features *features,
			      struct cs_err *err)
{
	const struct cs_json *options = cs_json_member(json, "mountOptions");
	const struct cs_json *child;

	if (cs_json_kind(options) == CS_JSON_NULL)
		return 0;
	if (cs_json_kind(options) != CS_JSON_ARRAY)
		return fail_kind(err, "mountOptions", options, "an array");
	cs_json_each (child, options) {
		const char *word = cs_json_string(child);

		if (!word)
			return fail_kind(err, "mountOptions", child, "a string");
		features->rro |= strcmp(word, "rro") == 0;
	}
	return 0;
}

static int read_version(const struct cs_json *json, struct cs_features *features,
			struct cs_err *err)
{
	const struct cs_json *value = cs_json_member(json, "ociVersionMax");
	const char *text = cs_json_string(value);

	if (cs_json_kind(value) == CS_JSON_NULL)
		return 0;
	if (!text || strlen(text) >= sizeof(features->oci_version_max))
		return fail_kind(err, "ociVersionMax", value, "a short string");
	memcpy(features->oci_version_max, text, strlen(text) + 1);
	return 0;
}

int cs_features_parse(const char *text, size_t len, struct cs_features *ret, struct cs_err *err)
{
	struct cs_features features = { .known = true };
	cs_autojson struct cs_json *json = NULL;

	if (cs_json_parse(text, len, "features", &json, err) < 0) {
		if (err->kind == CS_INVALID)
			err->kind = CS_ENGINE; /* who printed it is at fault */
		return -1;
	}
	if (cs_json_kind(json) != CS_JSON_OBJECT)
		return fail_kind(err, "root", json, "an object");
	if (read_switches(json, &features, err) < 0 ||
	    read_mount_options(json, &features, err) < 0 || read_version(json, &features, err) < 0)
		return -1;
	*ret = features;
	return 0;
}
