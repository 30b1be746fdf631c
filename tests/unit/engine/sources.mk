UNIT_RUNS += tests/unit/engine/run
tests_unit_engine_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_engine_run_LDADD = $(LIBS_ENGINE) $(CHECK_LIBS)
tests_unit_engine_run_SOURCES = $(UNIT_COMMON) tests/unit/engine/run.c \
	tests/unit/engine/fake.c tests/unit/engine/fake.h \
	tests/unit/engine/test_engine.c \
	tests/unit/engine/test_engine_argv.c \
	tests/unit/engine/test_engine_call.c \
	tests/unit/engine/test_engine_log.c \
	tests/unit/engine/test_engine_table.c \
	tests/unit/engine/test_trace.c \
	tests/unit/engine/test_trace_parse.c \
	tests/unit/engine/test_trace_tree.c
EXTRA_DIST += tests/golden/argv.txt
# run by these tests
EXTRA_tests_unit_engine_run_DEPENDENCIES = tests/fake/fakerun$(EXEEXT)
