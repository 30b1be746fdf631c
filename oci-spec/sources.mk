noinst_LIBRARIES += libcs-oci-spec.a
libcs_oci_spec_a_SOURCES = \
	oci-spec/bundle.c oci-spec/bundle.h \
	oci-spec/features.c oci-spec/features.h \
	oci-spec/json.c oci-spec/json.h oci-spec/json_int.h \
	oci-spec/json_edit.c oci-spec/json_edit.h \
	oci-spec/json_read.c \
	oci-spec/json_text.c oci-spec/json_text.h \
	oci-spec/json_write.c \
	oci-spec/profile.c oci-spec/profile.h oci-spec/profile_int.h \
	oci-spec/profile_both.c \
	oci-spec/profile_compile.c \
	oci-spec/profile_file.c \
	oci-spec/profile_table.c oci-spec/profile_table.h \
	oci-spec/profile_words.c \
	oci-spec/resources.c oci-spec/resources.h \
	oci-spec/spec.c oci-spec/spec.h \
	oci-spec/spec_check.c oci-spec/spec_check.h \
	oci-spec/spec_new.c oci-spec/spec_new.h \
	oci-spec/spec_rules.c oci-spec/spec_rules.h \
	oci-spec/spec_tables.c oci-spec/spec_tables.h \
	oci-spec/state.c oci-spec/state.h
LIBS_SPEC = libcs-oci-spec.a $(LIBS_BASE) $(YAJL_LIBS) $(SECCOMP_LIBS) $(CAP_LIBS)
