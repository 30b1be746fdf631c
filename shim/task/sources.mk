noinst_LIBRARIES += libcs-task.a
libcs_task_a_SOURCES = \
	shim/task/attendant.c shim/task/attendant.h shim/task/attendant_int.h \
	shim/task/attendant_end.c \
	shim/task/attendant_main.c \
	shim/task/attendant_second.c \
	shim/task/attendant_terminal.c \
	shim/task/attendant_wire.c \
	shim/task/cache.c shim/task/cache.h \
	shim/task/config.c shim/task/config.h \
	shim/task/configure.c shim/task/configure.h \
	shim/task/confine.c shim/task/confine.h \
	shim/task/ctl.c shim/task/ctl.h \
	shim/task/ctl_client.c \
	shim/task/exec.c shim/task/exec.h shim/task/exec_int.h \
	shim/task/exec_end.c \
	shim/task/exec_look.c shim/task/exec_look.h \
	shim/task/exec_process.c shim/task/exec_process.h \
	shim/task/exec_session.c shim/task/exec_session.h \
	shim/task/exec_setup.c \
	shim/task/exec_tree.c shim/task/exec_tree.h \
	shim/task/exit.c shim/task/exit.h \
	shim/task/foreign.c shim/task/foreign.h shim/task/foreign_cgroup.c \
	shim/task/gc.c \
	shim/task/guardian.c shim/task/guardian.h \
	shim/task/job.c shim/task/job.h shim/task/job_int.h \
	shim/task/job_ctl.c \
	shim/task/job_end.c \
	shim/task/job_setup.c \
	shim/task/job_start.c \
	shim/task/job_watch.c \
	shim/task/jobspec.c shim/task/jobspec.h shim/task/jobspec_int.h \
	shim/task/jobspec_files.c \
	shim/task/level.c shim/task/level.h \
	shim/task/limits.c shim/task/limits.h \
	shim/task/policy.c shim/task/policy.h \
	shim/task/probe.c shim/task/probe.h \
	shim/task/record.c shim/task/record.h shim/task/record_int.h \
	shim/task/record_end.c \
	shim/task/result.c shim/task/result.h \
	shim/task/results.c shim/task/results.h \
	shim/task/rlimits.c shim/task/rlimits.h \
	shim/task/session.c shim/task/session.h shim/task/session_int.h \
	shim/task/session_list.c \
	shim/task/settings.c shim/task/settings.h shim/task/settings_rows.c \
	shim/task/streams.c shim/task/streams.h \
	shim/task/terminal.c shim/task/terminal.h \
	shim/task/tighten.c shim/task/tighten.h shim/task/tighten_int.h \
	shim/task/tighten_annotations.c \
	shim/task/tighten_edit.c \
	shim/task/tighten_limits.c \
	shim/task/tighten_mounts.c \
	shim/task/tighten_realtime.c \
	shim/task/tighten_rights.c \
	shim/task/tighten_rlimits.c \
	shim/task/tighten_seccomp.c \
	shim/task/tighten_words.c \
	shim/task/undo.c \
	shim/task/verify.c shim/task/verify.h
LIBS_TASK = libcs-task.a libcs-files.a libcs-engine.a libcs-stdio.a libcs-sys.a $(LIBS_SPEC)
