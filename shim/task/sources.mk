noinst_LIBRARIES += libcs-task.a
libcs_task_a_SOURCES = \
	shim/base/attr.h
LIBS_TASK = libcs-task.a libcs-files.a libcs-engine.a libcs-stdio.a libcs-sys.a $(LIBS_SPEC)
