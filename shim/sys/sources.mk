noinst_LIBRARIES += libcs-sys.a
libcs_sys_a_SOURCES = \
	shim/sys/loop.c shim/sys/loop.h \
	shim/sys/pidref.c shim/sys/pidref.h \
	shim/sys/reaper.c shim/sys/reaper.h \
	shim/sys/sandbox.c shim/sys/sandbox.h \
	shim/sys/signals.c shim/sys/signals.h \
	shim/sys/spawn.c shim/sys/spawn.h
LIBS_SYS = libcs-sys.a $(LIBS_BASE)
