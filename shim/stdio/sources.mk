noinst_LIBRARIES += libcs-stdio.a
libcs_stdio_a_SOURCES = \
	shim/base/attr.h
LIBS_STDIO = libcs-stdio.a $(LIBS_SYS)
