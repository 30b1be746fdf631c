noinst_LIBRARIES += libcs-engine.a
libcs_engine_a_SOURCES = \
	shim/base/attr.h
LIBS_ENGINE = libcs-engine.a libcs-sys.a $(LIBS_SPEC)
