UNIT_RUNS += tests/unit/oci/run
tests_unit_oci_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_oci_run_LDADD = $(LIBS_OCI) $(CHECK_LIBS)
tests_unit_oci_run_SOURCES = $(UNIT_COMMON) tests/unit/oci/run.c \
	tests/unit/oci/test_argv.c \
	tests/unit/oci/test_say.c
