#!/bin/sh
# A single system call of the supervisor fails: the run works all the same, or says why it did not; nothing is left.
# needs: root python3 strace
# timeout: 200
. "${0%/*}/lib.sh"

state=$T/state
mkdir -m 700 "$state"
if ! strace -qq -o /dev/null true 2>/dev/null; then skip_all "strace may not trace here"; fi

most=$(repeats 80)
run "$CAISSON" run --state-dir "$state" -- true
snapshot before
for e in $(engines); do
    rt=$(engine_path "$e")
    run python3 -B "$_here/inject.py" "$most" "$rt" "$state" "i$$-$e"
    printf '%s\n' "$out"
    is "$rc" 0 "$e: each kind of system call fails, $most of each at most"
done
compare before "nothing is left at the end"
done_testing
