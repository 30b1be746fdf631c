# The scripted engine that tests use in place of a real one.
check_PROGRAMS += tests/fake/fakerun
tests_fake_fakerun_SOURCES = tests/fake/fakerun.c \
	tests/fake/box.c tests/fake/box.h \
	tests/fake/script.c tests/fake/script.h
tests_fake_fakerun_LDADD = $(LIBS_ENGINE)
