noinst_LIBRARIES += libcs-base.a
libcs_base_a_SOURCES = \
	shim/base/attr.h \
	shim/base/banned.h \
	shim/base/buf.c shim/base/buf.h \
	shim/base/clock.c shim/base/clock.h \
	shim/base/err.c shim/base/err.h \
	shim/base/fd.c shim/base/fd.h \
	shim/base/file.c shim/base/file.h \
	shim/base/hash.h \
	shim/base/log.c shim/base/log.h \
	shim/base/opt.c shim/base/opt.h shim/base/opt_help.c shim/base/opt_tighten.c \
	shim/base/parse.c shim/base/parse.h \
	shim/base/strv.c shim/base/strv.h
LIBS_BASE = libcs-base.a
