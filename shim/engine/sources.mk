noinst_LIBRARIES += libcs-engine.a
libcs_engine_a_SOURCES = \
	shim/engine/engine.c shim/engine/engine.h \
	shim/engine/engine_argv.c shim/engine/engine_argv.h \
	shim/engine/engine_call.c shim/engine/engine_call.h \
	shim/engine/engine_int.h \
	shim/engine/engine_log.c shim/engine/engine_log.h \
	shim/engine/engine_probe.c \
	shim/engine/engine_run.c \
	shim/engine/engine_table.c \
	shim/engine/trace.c shim/engine/trace.h \
	shim/engine/trace_parse.c \
	shim/engine/trace_tree.c shim/engine/trace_tree.h
LIBS_ENGINE = libcs-engine.a libcs-sys.a $(LIBS_SPEC)
