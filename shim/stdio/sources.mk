noinst_LIBRARIES += libcs-stdio.a
libcs_stdio_a_SOURCES = \
	shim/stdio/bucket.c shim/stdio/bucket.h \
	shim/stdio/console.c shim/stdio/console.h \
	shim/stdio/drain.c shim/stdio/drain.h shim/stdio/drain_int.h \
	shim/stdio/drain_pump.c \
	shim/stdio/drain_watch.c \
	shim/stdio/feed.c shim/stdio/feed.h \
	shim/stdio/own.c shim/stdio/own.h \
	shim/stdio/sink.c shim/stdio/sink.h shim/stdio/sink_int.h \
	shim/stdio/sink_fd.c \
	shim/stdio/sink_file.c \
	shim/stdio/sink_mem.c
LIBS_STDIO = libcs-stdio.a $(LIBS_SYS)
