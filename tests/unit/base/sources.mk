UNIT_RUNS += tests/unit/base/run
tests_unit_base_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_base_run_LDADD = $(LIBS_BASE) $(CHECK_LIBS)
tests_unit_base_run_SOURCES = $(UNIT_COMMON) tests/unit/base/run.c \
	tests/unit/base/test_buf.c \
	tests/unit/base/test_clock.c \
	tests/unit/base/test_err.c \
	tests/unit/base/test_fd.c \
	tests/unit/base/test_file.c \
	tests/unit/base/test_hash.c \
	tests/unit/base/test_log.c \
	tests/unit/base/test_opt.c \
	tests/unit/base/test_parse.c \
	tests/unit/base/test_strv.c
