noinst_LIBRARIES += libcs-sys.a
libcs_sys_a_SOURCES = \
	shim/sys/loop.c shim/sys/loop.h
LIBS_SYS = libcs-sys.a $(LIBS_BASE)
