#!/bin/sh
# The truth about how a run ended: runs drawn from every kind of end, and their reason, exitCode, signal and outward code.
# needs: root python3
# tags: peers
# timeout: 240
. "${0%/*}/lib.sh"

tab=$(printf '\t')
n=$(repeats 1000)
if [ "$CAISSON_SLOW" -gt 3 ]; then n=0; fi # in the emulated machine: what may differ there
diag "seed $CAISSON_SEED, $n runs an engine (0: one of each kind that has to do with control groups)"
for e in $(engines); do
    job "$e" -- true
    snapshot before
    mkdir "$T/$e"
    python3 "$_here/draw.py" "$CAISSON" "$e" "$(engine_path "$e")" "$T/$e" "$n" "$CAISSON_SEED" "$CAISSON_SLOW" >"$T/drawn" 2>"$T/draw.err"
    is "$?" 0 "$e: the generator ran"
    diag_file "$T/draw.err"
    while IFS=$tab read -r kind good total fault; do
        case $kind in *'at the end') kind="F004 $kind" ;; 'oom of init') kind="F014 $kind" ;; 'not found' | 'not executable') kind="F019 $kind" ;; esac
        if [ "$good" = "$total" ]; then ok "$e: $kind, $total times"; else not_ok "$e: $kind, $good of $total" "$fault"; fi
    done <"$T/drawn"
    compare before "$e: nothing left"
done
done_testing
