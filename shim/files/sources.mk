noinst_LIBRARIES += libcs-files.a
libcs_files_a_SOURCES = \
	shim/files/user.c shim/files/user.h \
	shim/files/hostroot.c shim/files/hostroot.h shim/files/hostroot_int.h \
	shim/files/hostroot_point.c shim/files/hostroot_rows.c \
	shim/files/init.c shim/files/init.h \
	shim/files/resolve.c shim/files/resolve.h shim/files/resolve_int.h \
	shim/files/resolve_format.c shim/files/resolve_walk.c shim/files/resolve_world.c \
	shim/files/volume.c shim/files/volume.h shim/files/volume_int.h \
	shim/files/volume_parse.c
LIBS_FILES = libcs-files.a libcs-sys.a $(LIBS_SPEC)
