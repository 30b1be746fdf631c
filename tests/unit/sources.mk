# A program a folder; it links that folder's library and those below it.
# A new test is one file here and one line in the folder's run.c.
if HAVE_CHECK
UNIT_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
UNIT_COMMON = tests/unit/unit.c tests/unit/unit.h

UNIT_RUNS =
check_PROGRAMS += $(UNIT_RUNS)
TESTS += $(UNIT_RUNS)

include tests/unit/base/sources.mk
include tests/unit/oci-spec/sources.mk
include tests/unit/sys/sources.mk
include tests/unit/stdio/sources.mk
include tests/unit/engine/sources.mk
include tests/unit/files/sources.mk
include tests/unit/task/sources.mk
include tests/unit/oci/sources.mk
endif
