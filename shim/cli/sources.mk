bin_PROGRAMS += caisson
caisson_SOURCES = \
	shim/cli/check.h \
	shim/cli/check_engine.c \
	shim/cli/check_host.c \
	shim/cli/check_self.c \
	shim/cli/cmd.h \
	shim/cli/cmd_bundle.c \
	shim/cli/cmd_check.c \
	shim/cli/cmd_configure.c \
	shim/cli/cmd_exec.c \
	shim/cli/cmd_gc.c \
	shim/cli/cmd_help.c \
	shim/cli/cmd_kill.c \
	shim/cli/cmd_logs.c \
	shim/cli/cmd_pause.c \
	shim/cli/cmd_ps.c \
	shim/cli/cmd_rm.c \
	shim/cli/cmd_run.c \
	shim/cli/cmd_stats.c \
	shim/cli/cmd_stop.c \
	shim/cli/cmd_wait.c \
	shim/cli/cmds.c \
	shim/cli/detach.c shim/cli/detach.h \
	shim/cli/each.c \
	shim/cli/frame.c \
	shim/cli/main.c \
	shim/cli/outcome.c shim/cli/outcome.h \
	shim/cli/tone.c shim/cli/tone.h
caisson_LDADD = $(LIBS_TASK)
