#!/bin/sh
# Replays every committed corpus through its target; fails when one is empty.
: "${SRCDIR:=.}" "${BUILDDIR:=.}"
status=0
for target in $FUZZ_TARGETS; do
	name=${target##*/fuzz_}
	set -- "$SRCDIR/tests/fuzz/corpus/$name/"*
	if [ ! -e "$1" ]; then
		echo "$name: no corpus" >&2
		status=1
	elif ! "$BUILDDIR/$target" "$@"; then
		echo "$name: failed" >&2
		status=1
	fi
done
exit $status
