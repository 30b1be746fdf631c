include tests/unit/sources.mk
include tests/fuzz/sources.mk
