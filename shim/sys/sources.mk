noinst_LIBRARIES += libcs-sys.a
libcs_sys_a_SOURCES = \
	shim/sys/cgroup.c shim/sys/cgroup.h shim/sys/cgroup_int.h \
	shim/sys/cgroup_below.c \
	shim/sys/cgroup_counters.c \
	shim/sys/cgroup_host.c \
	shim/sys/cgroup_kill.c \
	shim/sys/cgroup_oom.c \
	shim/sys/cgroup_remove.c \
	shim/sys/cgroup_walk.c \
	shim/sys/hold.c shim/sys/hold.h \
	shim/sys/kin.c shim/sys/kin.h \
	shim/sys/loop.c shim/sys/loop.h \
	shim/sys/mount.c shim/sys/mount.h \
	shim/sys/mountinfo.c shim/sys/mountinfo.h \
	shim/sys/path.c shim/sys/path.h \
	shim/sys/path_remove.c \
	shim/sys/pidref.c shim/sys/pidref.h \
	shim/sys/pty.c shim/sys/pty.h \
	shim/sys/ptykeep.c shim/sys/ptykeep.h \
	shim/sys/ptysock.c shim/sys/ptysock.h \
	shim/sys/reaper.c shim/sys/reaper.h \
	shim/sys/sandbox.c shim/sys/sandbox.h \
	shim/sys/signals.c shim/sys/signals.h \
	shim/sys/spawn.c shim/sys/spawn.h
LIBS_SYS = libcs-sys.a $(LIBS_BASE) $(SECCOMP_LIBS)
