noinst_LIBRARIES += libcs-sys.a
libcs_sys_a_SOURCES = \
	shim/base/attr.h
LIBS_SYS = libcs-sys.a $(LIBS_BASE)
