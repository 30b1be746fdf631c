UNIT_RUNS += tests/unit/stdio/run
tests_unit_stdio_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_stdio_run_LDADD = $(LIBS_STDIO) $(CHECK_LIBS)
tests_unit_stdio_run_SOURCES = $(UNIT_COMMON) tests/unit/stdio/run.c \
	tests/unit/stdio/plumbing.c tests/unit/stdio/plumbing.h \
	tests/unit/stdio/test_bucket.c \
	tests/unit/stdio/test_console.c \
	tests/unit/stdio/test_drain.c \
	tests/unit/stdio/test_drain_end.c \
	tests/unit/stdio/test_drain_random.c \
	tests/unit/stdio/test_feed.c \
	tests/unit/stdio/test_sink.c
