UNIT_RUNS += tests/unit/oci-spec/run
tests_unit_oci_spec_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_oci_spec_run_LDADD = $(LIBS_SPEC) $(CHECK_LIBS)
tests_unit_oci_spec_run_SOURCES = $(UNIT_COMMON) tests/unit/oci-spec/run.c \
	tests/unit/oci-spec/test_bundle.c \
	tests/unit/oci-spec/test_features.c \
	tests/unit/oci-spec/test_json.c \
	tests/unit/oci-spec/test_json_edit.c \
	tests/unit/oci-spec/test_json_read.c \
	tests/unit/oci-spec/test_json_text.c \
	tests/unit/oci-spec/test_json_write.c \
	tests/unit/oci-spec/test_profile.c \
	tests/unit/oci-spec/test_profile_both.c \
	tests/unit/oci-spec/test_resources.c \
	tests/unit/oci-spec/test_spec_check.c \
	tests/unit/oci-spec/test_spec_new.c \
	tests/unit/oci-spec/test_spec_tables.c \
	tests/unit/oci-spec/test_state.c
EXTRA_DIST += tests/golden/json/config-full.json tests/golden/json/config-odd.json \
	tests/golden/json/escapes.json tests/golden/json/numbers.json
EXTRA_DIST += tests/golden/spec/full.json tests/golden/spec/joined.json \
	tests/golden/spec/strict.json tests/golden/spec/unlimited.json
