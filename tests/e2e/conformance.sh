#!/bin/sh
# needs: root runc
# timeout: 1800
# runtime-tools' validation suite: what passes on an engine must pass through caisson-runtime over it.
. "${0%/*}/lib.sh"

suite=$(cd "${0%/*}/../conformance" && pwd)/runtime-tools.sh
# one engine takes some minutes
engines=runc
if [ "$CAISSON_REPEAT_DIV" -eq 1 ] && command -v crun >/dev/null; then engines="runc crun"; fi
# shellcheck disable=SC2086 # a list
"$suite" $engines >"$T/out" 2>"$T/err"
rc=$?
if [ $rc -eq 77 ]; then skip_all "$(sed 's/^runtime-tools: skipped: //' "$T/err" | tail -n 1)"; fi
if [ $rc -gt 1 ]; then bail "$(tail -n 3 "$T/err")"; fi
cat "$T/out"
exit $rc
