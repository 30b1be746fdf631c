# What tests/e2e/sys.sh runs: a program of its own, because it needs root.
check_PROGRAMS += tests/e2e/sys/root
tests_e2e_sys_root_LDADD = $(LIBS_SYS)
tests_e2e_sys_root_SOURCES = tests/e2e/sys/root.c tests/e2e/sys/test.h \
	tests/e2e/sys/cases_cgroup.c \
	tests/e2e/sys/cases_mount.c \
	tests/e2e/sys/cases_oom.c \
	tests/e2e/sys/cases_tree.c \
	tests/e2e/sys/files.c \
	tests/e2e/sys/groups.c
