# Each parser of outside bytes has a target. Without --enable-fuzzing the same
# file is linked with a main that replays corpus/<name>/* (make check).
FUZZ_TARGETS = \
	tests/fuzz/fuzz_engine_log \
	tests/fuzz/fuzz_features \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_parse \
	tests/fuzz/fuzz_state \
	tests/fuzz/fuzz_trace

if FUZZING
FUZZ_MAIN =
FUZZ_LINK = -fsanitize=fuzzer
else
FUZZ_MAIN = tests/fuzz/replay.c
FUZZ_LINK =
TESTS += tests/fuzz/replay.sh
endif
check_PROGRAMS += $(FUZZ_TARGETS)
dist_check_SCRIPTS = tests/fuzz/replay.sh
EXTRA_DIST += tests/fuzz/fuzz.h tests/fuzz/corpus
AM_TESTS_ENVIRONMENT = FUZZ_TARGETS='$(FUZZ_TARGETS)'; export FUZZ_TARGETS; \
	SRCDIR='$(abs_top_srcdir)'; export SRCDIR; BUILDDIR='$(abs_top_builddir)'; export BUILDDIR;

tests_fuzz_fuzz_parse_SOURCES = tests/fuzz/fuzz_parse.c $(FUZZ_MAIN)
tests_fuzz_fuzz_parse_LDADD = $(LIBS_BASE)
tests_fuzz_fuzz_parse_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_features_SOURCES = tests/fuzz/fuzz_features.c $(FUZZ_MAIN)
tests_fuzz_fuzz_features_LDADD = $(LIBS_SPEC)
tests_fuzz_fuzz_features_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c $(FUZZ_MAIN)
tests_fuzz_fuzz_json_LDADD = $(LIBS_SPEC)
tests_fuzz_fuzz_json_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_state_SOURCES = tests/fuzz/fuzz_state.c $(FUZZ_MAIN)
tests_fuzz_fuzz_state_LDADD = $(LIBS_SPEC)
tests_fuzz_fuzz_state_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_engine_log_SOURCES = tests/fuzz/fuzz_engine_log.c $(FUZZ_MAIN)
tests_fuzz_fuzz_engine_log_LDADD = $(LIBS_ENGINE)
tests_fuzz_fuzz_engine_log_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz_trace.c $(FUZZ_MAIN)
tests_fuzz_fuzz_trace_LDADD = $(LIBS_ENGINE)
tests_fuzz_fuzz_trace_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_config
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c $(FUZZ_MAIN)
tests_fuzz_fuzz_config_LDADD = $(LIBS_TASK)
tests_fuzz_fuzz_config_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_resolve_format
tests_fuzz_fuzz_resolve_format_SOURCES = tests/fuzz/fuzz_resolve_format.c $(FUZZ_MAIN)
tests_fuzz_fuzz_resolve_format_LDADD = $(LIBS_FILES)
tests_fuzz_fuzz_resolve_format_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_volume
tests_fuzz_fuzz_volume_SOURCES = tests/fuzz/fuzz_volume.c $(FUZZ_MAIN)
tests_fuzz_fuzz_volume_LDADD = $(LIBS_FILES)
tests_fuzz_fuzz_volume_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_spec
tests_fuzz_fuzz_spec_SOURCES = tests/fuzz/fuzz_spec.c $(FUZZ_MAIN)
tests_fuzz_fuzz_spec_LDADD = $(LIBS_SPEC)
tests_fuzz_fuzz_spec_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_ctl
tests_fuzz_fuzz_ctl_SOURCES = tests/fuzz/fuzz_ctl.c $(FUZZ_MAIN)
tests_fuzz_fuzz_ctl_LDADD = $(LIBS_TASK)
tests_fuzz_fuzz_ctl_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)

FUZZ_TARGETS += tests/fuzz/fuzz_tighten
tests_fuzz_fuzz_tighten_SOURCES = tests/fuzz/fuzz_tighten.c $(FUZZ_MAIN)
tests_fuzz_fuzz_tighten_LDADD = $(LIBS_TASK)
tests_fuzz_fuzz_tighten_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LINK)
