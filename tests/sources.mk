include tests/unit/sources.mk
include tests/fake/sources.mk
include tests/fuzz/sources.mk
include tests/e2e/sys/sources.mk
EXTRA_DIST += tests/run.sh tests/peers.sh tests/tap.awk tests/stream.awk tests/e2e tests/lint tests/vm tests/conformance

# a directory of EXTRA_DIST is copied from the build tree too, with what was built in it
dist-hook:
	cd $(distdir)/tests/e2e/sys && rm -rf root *.o .deps .dirstamp
