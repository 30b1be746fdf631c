noinst_LIBRARIES += libcs-oci-spec.a
libcs_oci_spec_a_SOURCES = \
	shim/base/attr.h
LIBS_SPEC = libcs-oci-spec.a $(LIBS_BASE) $(YAJL_LIBS) $(SECCOMP_LIBS) $(CAP_LIBS)
