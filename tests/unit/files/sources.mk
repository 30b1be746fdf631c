UNIT_RUNS += tests/unit/files/run
tests_unit_files_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_files_run_LDADD = $(LIBS_FILES) $(CHECK_LIBS)
tests_unit_files_run_SOURCES = $(UNIT_COMMON) tests/unit/files/run.c \
	tests/unit/files/program.c tests/unit/files/program.h \
	tests/unit/files/tree.c tests/unit/files/tree.h \
	tests/unit/files/test_hostroot.c \
	tests/unit/files/test_hostroot_point.c \
	tests/unit/files/test_init.c \
	tests/unit/files/test_resolve.c \
	tests/unit/files/test_resolve_format.c \
	tests/unit/files/test_volume.c
