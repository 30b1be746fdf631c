#!/bin/sh
# F038: what a limit needs is not there, cannot be switched on, or cannot be written. The run does not start, and the knob
# is named; --best-effort lets it go on where the engine does too, and the record says what is missing.
# needs: root unshare
# tags: vm peers
# timeout: 60
. "${0%/*}/lib.sh"

version=$(cgroup_version)

# In the emulated machine, where a run takes seconds, one limit of each kind
emulated() { [ "$CAISSON_SLOW" -gt 3 ]; }

# Commands that others are run by, in namespaces of their own, so that nobody else's limits are touched.

# v1: without the hierarchy of controller $1
cat >"$T/without-1" <<'EOS'
c=$1 && shift
exec unshare --mount sh -c 'umount "/sys/fs/cgroup/$1" && shift && exec "$@"' sh "$c" "$@"
EOS

# v2: in a cgroup namespace whose root has no controller $1, for nobody above has switched it on
cat >"$T/without-2" <<'EOS'
c=$1 && shift
top=/sys/fs/cgroup/caisson-above-$$
mkdir "$top"
for on in $(cat "$top/cgroup.controllers"); do
    if [ "$on" != "$c" ]; then echo "+$on" >"$top/cgroup.subtree_control"; fi
done
mkdir "$top/root"
# out of the root again: a group that holds processes has no groups under controllers
sh -c 'echo 0 >"$1/root/cgroup.procs" && shift && exec unshare --cgroup --mount sh -c "
    umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && mkdir /sys/fs/cgroup/leaf &&
        echo 0 >/sys/fs/cgroup/leaf/cgroup.procs && exec \"\$@\"" sh "$@"' sh "$top" "$@"
rc=$?
find "$top" -depth -type d -exec rmdir {} +
exit $rc
EOS

# v2: the controllers are there, and cannot be switched on: the namespace's root holds processes
cat >"$T/occupied-2" <<'EOS'
top=/sys/fs/cgroup/caisson-above-$$
mkdir "$top"
for on in $(cat "$top/cgroup.controllers"); do echo "+$on" >"$top/cgroup.subtree_control"; done
mkdir "$top/root"
sh -c 'echo 0 >"$1/root/cgroup.procs" && shift && exec unshare --cgroup --mount sh -c "
    umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec \"\$@\"" sh "$@"' sh "$top" "$@"
rc=$?
find "$top" -depth -type d -exec rmdir {} +
exit $rc
EOS

# the group of run $1 is there, and its file $2 is read-only
cat >"$T/read-only" <<'EOS'
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    above=/sys/fs/cgroup/caisson
    mkdir -p "$above"
    for on in $(cat "$above/cgroup.controllers"); do echo "+$on" >"$above/cgroup.subtree_control"; done
else
    above=/sys/fs/cgroup/${2%%.*}/caisson
fi
mkdir -p "$above/$1"
export file="$above/$1/$2" && shift 2
exec unshare --mount sh -c 'mount --bind "$file" "$file" && mount -o remount,bind,ro "$file" && exec "$@"' sh "$@"
EOS

# under COMMAND FLAGS...: caisson run by that command (words), with the engine and a record
under() {
    _by=$1
    shift
    rm -f "$T/record"
    # shellcheck disable=SC2086 # words are wanted
    run sh $_by "$CAISSON" run --runtime "$(engine_path "$e")" --result "$T/record" "$@" -- sh -c 'echo ran'
}

# closed PATTERN DESC: nothing ran, a start failure, and the knob in the line
closed() {
    is "$rc|$out|$(field reason)" "125||start-failed" "$2: it does not start"
    like "$err" "$1" "$2: the knob is named"
}

missing() {
    for row in "memory --memory --memory=64M memory,swap" "pids --pids-limit --pids-limit=100 pids"; do
        # shellcheck disable=SC2086 # words are wanted
        set -- $row
        under "$T/without-$version $1" "$3"
        closed "caisson: $2*$1 controller*--best-effort=*" "$e: F038 no $1 controller"
        is "$(field error.kind)" limit "$e: F038 ... as a limit's failure"
        under "$T/without-$version $1" "$3" "--best-effort=$4"
        # gVisor cannot do without some controllers, limit or not: memory, and on v2 pids
        if [ "$rc $e" = "125 runsc" ]; then
            like "$err" "caisson: runsc create: *$1*" "$e: F038 ... with --best-effort=$4 the engine refuses"
            continue
        fi
        is "$rc|$out" "0|ran" "$e: F038 ... --best-effort=$4 goes on"
        like "$(field warnings)" "*limit-not-applied: $1*" "$e: F038 ... and the record says so"
        if emulated; then break; fi
    done
    if emulated; then return; fi
    under "$T/without-$version memory" --memory 64M --best-effort=cpu,pids
    closed "caisson: --memory*memory controller*" "$e: F038 --best-effort of other limits"
}

occupied() {
    if [ "$version" = 1 ]; then return; fi
    under "$T/occupied-2" --memory 64M
    is "$rc|$out|$(field reason)" "125||start-failed" "$e: F038 controllers that cannot be switched on: it does not start"
    # each engine has come as far with it
    isnt "$(grep -oE 'memory|pids\.max|subtree_control' "$T/err" | head -n 1)" "" "$e: F038 ... the knob is named"
}

read_only() {
    for file in pids.max $([ "$version" = 2 ] && echo memory.max || echo memory.limit_in_bytes); do
        id=closed-$$-$e
        knob=$file
        # gVisor sets all limits of a group or none, and does not mind: the first one that is missing is named
        if [ "$e" = runsc ]; then knob='in force is no limit*'; fi
        under "$T/read-only $id $file" --id "$id" --memory 64M
        closed "caisson: *$knob*" "$e: F038 $file cannot be written"
        if emulated && [ "$e" != runsc ]; then return; fi
        under "$T/read-only $id $file" --id "$id" --memory 64M --best-effort
        case $rc in
        0) like "$(field warnings)|$out" "*limit-not-applied: *$knob*|ran" "$e: F038 ... --best-effort goes on, and the record says so" ;;
        *) closed "caisson: $e create: *$file*" "$e: F038 ... with --best-effort the engine refuses" ;;
        esac
        if emulated; then return; fi
    done
}

for e in $(engines); do
    job "$e" -- true
    snapshot before
    missing
    occupied
    read_only
    compare before "$e: nothing left"
done
done_testing
