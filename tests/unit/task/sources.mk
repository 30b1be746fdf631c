# task: unit tests of this folder
UNIT_RUNS += tests/unit/task/run
tests_unit_task_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_task_run_LDADD = $(LIBS_TASK) $(CHECK_LIBS)
tests_unit_task_run_SOURCES = $(UNIT_COMMON) tests/unit/task/run.c \
	tests/unit/task/stage.h tests/unit/task/tighten_case.h \
	tests/unit/task/test_attendant.c \
	tests/unit/task/test_attendant_terminal.c \
	tests/unit/task/test_cache.c \
	tests/unit/task/test_config.c \
	tests/unit/task/test_ctl.c \
	tests/unit/task/test_exec_look.c \
	tests/unit/task/test_exec_process.c \
	tests/unit/task/test_exit.c \
	tests/unit/task/test_level.c \
	tests/unit/task/test_record.c \
	tests/unit/task/test_result.c \
	tests/unit/task/test_results.c \
	tests/unit/task/test_rlimits.c \
	tests/unit/task/test_session.c \
	tests/unit/task/test_settings.c \
	tests/unit/task/test_terminal.c \
	tests/unit/task/test_tighten.c \
	tests/unit/task/test_tighten_random.c \
	tests/unit/task/tighten_gen.c tests/unit/task/tighten_oracle.c tests/unit/task/tighten_random.h
