UNIT_RUNS += tests/unit/sys/run
tests_unit_sys_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_sys_run_LDADD = $(LIBS_SYS) $(CHECK_LIBS)
tests_unit_sys_run_SOURCES = $(UNIT_COMMON) tests/unit/sys/run.c \
	tests/unit/sys/children.h \
	tests/unit/sys/test_cgroup_counters.c \
	tests/unit/sys/test_cgroup_host.c \
	tests/unit/sys/test_hold.c \
	tests/unit/sys/test_kin.c \
	tests/unit/sys/test_loop.c \
	tests/unit/sys/test_mountinfo.c \
	tests/unit/sys/test_path.c \
	tests/unit/sys/test_pidref.c \
	tests/unit/sys/test_pty.c \
	tests/unit/sys/test_ptykeep.c \
	tests/unit/sys/test_ptysock.c \
	tests/unit/sys/test_reaper.c \
	tests/unit/sys/test_sandbox.c \
	tests/unit/sys/test_signals.c \
	tests/unit/sys/test_spawn.c
