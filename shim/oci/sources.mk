sbin_PROGRAMS += caisson-runtime
noinst_LIBRARIES += libcs-oci.a
libcs_oci_a_SOURCES = \
	shim/oci/argv.c shim/oci/argv.h \
	shim/oci/argv_rows.c \
	shim/oci/child.c shim/oci/child.h \
	shim/oci/face.c shim/oci/face.h \
	shim/oci/means.c \
	shim/oci/say.c shim/oci/say.h \
	shim/oci/verb_create.c \
	shim/oci/verb_delete.c \
	shim/oci/verb_events.c \
	shim/oci/verb_exec.c \
	shim/oci/verb_start.c \
	shim/oci/verb_state.c \
	shim/oci/verb_update.c \
	shim/oci/verbs.c shim/oci/verbs.h
LIBS_OCI = libcs-oci.a $(LIBS_TASK)
caisson_runtime_SOURCES = shim/oci/main.c
caisson_runtime_LDADD = $(LIBS_OCI)
