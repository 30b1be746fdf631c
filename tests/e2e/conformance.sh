#!/bin/sh
# needs: root runc
# timeout: 1800
# runtime-tools' validation suite: what passes on an engine must pass through caisson-runtime over it.
. "${0%/*}/lib.sh"

suite=$(cd "${0%/*}/../conformance" && pwd)/runtime-tools.sh
# one engine takes a minute or two; with full counts all are asked, strict too, of runsc what it does not take minutes to fail
set -- --policy none --policy default runc
if [ "$CAISSON_REPEAT_DIV" -eq 1 ]; then
    set -- --policy none --policy default --policy strict --quick runsc
    for e in runc crun runsc; do
        if command -v $e >/dev/null; then set -- "$@" $e; fi
    done
fi
"$suite" "$@" >"$T/out" 2>"$T/err"
rc=$?
if [ $rc -eq 77 ]; then skip_all "$(sed 's/^runtime-tools: skipped: //' "$T/err" | tail -n 1)"; fi
if [ $rc -gt 1 ]; then bail "$(tail -n 3 "$T/err")"; fi
cat "$T/out"
exit $rc
