include tests/unit/sources.mk
include tests/fake/sources.mk
include tests/fuzz/sources.mk
include tests/e2e/sys/sources.mk
EXTRA_DIST += tests/run.sh tests/peers.sh tests/tap.awk tests/stream.awk tests/e2e tests/lint tests/vm tests/conformance
