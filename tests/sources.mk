include tests/unit/sources.mk
EXTRA_DIST += tests/tap.awk tests/e2e tests/vm
include tests/fuzz/sources.mk
