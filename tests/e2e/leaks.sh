#!/bin/sh
# Many runs, one after the other and at once: each with its own exit status, and nothing is left of any.
# needs: root python3 xargs
# tags: peers
# timeout: 300
. "${0%/*}/lib.sh"

# The statement of one run in many: number N must end with status N % 200; says so if it does not.
cat >"$T/one" <<'END'
n=$1
shift
"$CAISSON" run "$@" -- sh -c "$SCRIPT exit $((n % 200))" >"$T/one.$n" 2>&1 </dev/null
rc=$?
if [ "$rc" -ne $((n % 200)) ] || [ -s "$T/one.$n" ]; then
    echo "run $n: status $rc: $(head -c 500 "$T/one.$n")"
fi
rm -f "$T/one.$n"
END

# many COUNT PARALLEL DESC FLAGS...: %s in the flags is the run's number modulo 4
many() {
    _total=$1 _parallel=$2 _what=$3
    shift 3
    export SCRIPT T
    i=0
    while [ $i -lt "$_total" ]; do
        echo "$i $*" | sed "s/%s/$((i % 4))/g"
        i=$((i + 1))
    done | xargs -P "$_parallel" -L 1 sh "$T/one" >"$T/wrong" 2>&1
    is "$(wc -l <"$T/wrong")" 0 "$_what ($_total runs)"
    diag_file "$T/wrong"
}

# Fewer for the engine that takes ten times as long
fewer() { if [ "$e" = runsc ]; then echo $((($1 + 9) / 10)); else echo "$1"; fi; }

under_load() {
    # shellcheck disable=SC2034
    for i in 1 2 3 4 5 6 7 8; do
        sh -c 'while :; do :; done' &
        loads="$loads $!"
    done
    many "$(repeats 500)" 1 "F020 $e: very short runs on a busy host" --runtime "$rt"
    # shellcheck disable=SC2086
    kill $loads
    # shellcheck disable=SC2086
    wait $loads 2>/dev/null
    loads=
}
loads=
at_exit 'if [ -n "$loads" ]; then kill $loads; fi'

SCRIPT=
run "$CAISSON" run -- true
is "$rc" 0 "a first run"
for e in $(engines); do
    rt=$(engine_path "$e")
    SCRIPT=
    snapshot before
    many "$(repeats 300)" 1 "$e: one after the other" --runtime "$rt"
    many $((50 * $(repeats 20))) 50 "F026 $e: 50 at once" --runtime "$rt"
    many "$(repeats "$(fewer 2000)")" 8 "$e: under four state directories, which share the parent cgroup" \
        --runtime "$rt" --state-dir "$T/state-%s"
    SCRIPT='(sleep 0.01 &);'
    many "$(repeats "$(fewer 5000)")" 4 "F061 $e: orphans that end while the program does" --runtime "$rt"
    SCRIPT=
    if [ "$e" != crun ]; then under_load; fi
    check "$e: a caller that lives on has no descriptor and no child more" \
        python3 -B "$_here/parent.py" "$(repeats "$(fewer 1000)")" "$CAISSON" run --runtime "$rt" -- sh -c
    compare before "$e: nothing is left of any"
    is "$(find "$T"/state-* -mindepth 1 2>/dev/null)" "" "$e: nor in the other state directories"
done
done_testing
