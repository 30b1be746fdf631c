noinst_LIBRARIES += libcs-files.a
libcs_files_a_SOURCES = \
	shim/base/attr.h
LIBS_FILES = libcs-files.a libcs-sys.a $(LIBS_SPEC)
