#include "oci-spec/features.h"

#include "tests/unit/unit.h"

static int parse(const char *text, struct cs_features *ret, struct cs_err *err)
{
	return cs_features_parse(text, strlen(text), ret, err);
}

START_TEST(questions_are_answered)
{
	struct cs_features features = { 0 };
	struct cs_err err = CS_ERR_INIT;

	ck_ok(parse("{\"ociVersionMin\":\"1.0.0\",\"ociVersionMax\":\"1.2.1\",\"hooks\":["
		    "\"prestart\"],"
		    "\"mountOptions\":[\"ro\",\"rro\",\"rbind\"],\"linux\":{\"namespaces\":["
		    "\"pid\"],"
		    "\"seccomp\":{\"enabled\":true,\"actions\":[]},"
		    "\"mountExtensions\":{\"idmap\":{\"enabled\":true}}},\"annotations\":{}}",
		    &features, &err),
	      err);
	ck_assert(features.known && features.rro && features.seccomp && features.idmap);
	ck_assert_str_eq(features.oci_version_max, "1.2.1");
}
END_TEST

START_TEST(absent_means_no)
{
	static const char *const texts[] = {
		"{}",
		"{\"mountOptions\":[\"ro\",\"rr\",\"rrox\"]}",
		"{\"linux\":{\"seccomp\":{\"enabled\":false}}}",
		"{\"mountOptions\":null,\"linux\":null,\"ociVersionMax\":null}",
		"{\"linux\":{\"seccomp\":null,\"mountExtensions\":{\"idmap\":{\"enabled\":null}}}}",
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(texts); i++) {
		struct cs_features features = { 0 };
		struct cs_err err = CS_ERR_INIT;

		ck_ok(parse(texts[i], &features, &err), err);
		ck_assert(features.known);
		ck_assert(!features.rro && !features.seccomp && !features.idmap);
		ck_assert_str_eq(features.oci_version_max, "");
	}
}
END_TEST

START_TEST(other_kinds_are_refused)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "unknown command features\n", "features: line 1" },
		{ "", "premature EOF" },
		{ "null", "root: is null" },
		{ "{\"mountOptions\":\"rro\"}", "mountOptions: is a string" },
		{ "{\"mountOptions\":[1]}", "mountOptions: is a number" },
		{ "{\"linux\":{\"seccomp\":{\"enabled\":\"yes\"}}}", "linux.seccomp.enabled" },
		{ "{\"linux\":{\"mountExtensions\":{\"idmap\":{\"enabled\":1}}}}",
		  "idmap.enabled" },
		{ "{\"ociVersionMax\":1.2}", "ociVersionMax: is a number" },
		{ "{\"ociVersionMax\":\"12345678901234567890123456789012\"}", "ociVersionMax" },
	};

	for (size_t i = 0; i < CS_ARRAY_LEN(rows); i++) {
		struct cs_features features = { 0 };
		struct cs_err err = CS_ERR_INIT;

		ck_fails(parse(rows[i].text, &features, &err), err, rows[i].words);
		ck_assert_int_eq(err.kind, CS_ENGINE);
		ck_assert(!features.known);
	}
}
END_TEST

CS_UNIT_SUITE(features, questions_are_answered, absent_means_no, other_kinds_are_refused)
