#!/bin/sh
# Nothing is left when `caisson`, its guardian or both are killed at any moment.
# needs: root python3
# timeout: 240
. "${0%/*}/lib.sh"

state=$T/state
mkdir -m 700 "$state"

# kill_at_random MODE COUNT DESC: sigkill.py, whose last line tells its numbers
kill_at_random() {
    run python3 -B "$_here/sigkill.py" "$1" "$(repeats "$2")" "$rt" "$state" "k$$-$e-$1"
    printf '%s\n' "$out"
    is "$rc" 0 "$e: $3"
}

# The supervisor of a run that prints "up" once it is: sets pid
start_run() {
    : >"$T/spawn.out"
    spawn "$CAISSON" run --runtime "$rt" --state-dir "$state" --id "$id" "$@" -- sh -c 'echo up; exec sleep 98'
    wait_until 10 grep -qx up "$T/spawn.out" || not_ok "$e: a run starts" "$(cat "$T/spawn.err")"
}

# The guardian of the supervisor $pid
guardian() {
    for _child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
        if [ "$(cat "/proc/$_child/comm" 2>/dev/null)" = caisson-guard ]; then echo "$_child"; fi
    done
}

has_guardian() { [ -n "$(guardian)" ] && [ "$(guardian)" != "$1" ]; }
at_home() { [ "$(readlink "/proc/$(guardian)/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ]; }
no_group() { [ -z "$(find /sys/fs/cgroup -type d -path "*/caisson/*$1*" 2>/dev/null)" ]; }
no_record() { [ ! -e "$state/runs/$1" ]; }

guardian_alone() {
    id=k$$-$e-guardian
    start_run
    first=$(guardian)
    kill -KILL "$first"
    check "$e: SIGKILL of the guardian alone: another one takes its place" wait_until 5 has_guardian "$first"
    check "$e: ... and the run goes on" test -e "$state/runs/$id"
    isnt "$(readlink "/proc/$pid/ns/mnt")" "$(readlink /proc/self/ns/mnt)" "$e: ... in a mount namespace of its own"
    check "$e: ... which the other one does not keep" wait_until 5 at_home
    kill -KILL "$pid"
    check "$e: ... guarded: after SIGKILL of the supervisor its groups go" wait_until 2 no_group "$id"
    check "$e: ... and its record" wait_until 2 no_record "$id"
    wait "$pid" 2>/dev/null
}

# A supervisor that cannot act: its guardian does, two seconds late.
stopped_supervisor() {
    id=k$$-$e-stopped
    start_run --timeout 1s
    if [ "$1" = successor ]; then
        first=$(guardian)
        kill -KILL "$first"
        wait_until 5 has_guardian "$first"
    fi
    kill -STOP "$pid"
    began=$(now_ms)
    check "$e: SIGSTOP of the supervisor ($1 guardian): the run ends all the same" wait_until 6 no_sleep
    between $(($(now_ms) - began)) 1000 "$(scaled 5000)" "$e: ... after the wall limit and its grace"
    kill -CONT "$pid"
    if wait "$pid"; then rc=0; else rc=$?; fi
    is "$rc" 124 "$e: ... and the supervisor, when it goes on, says wall-limit"
    check "$e: ... and removes everything" wait_until 2 no_group "$id"
}

# Nothing of the run's group is alive. Its own group stays until the supervisor goes on.
no_sleep() {
    for _dir in /sys/fs/cgroup/freezer/caisson /sys/fs/cgroup/caisson; do
        if [ -n "$(cat "$_dir/$id/cgroup.procs" 2>/dev/null)" ]; then return 1; fi
    done
}

# The same id again, at once: whoever cleans up behind the killed run is waited for.
same_id() {
    id=k$$-$e-same
    start_run
    kill -KILL "$pid"
    run "$CAISSON" run --runtime "$rt" --state-dir "$state" --id "$id" -- sh -c 'exit 6'
    is "$rc|$err" "6|" "F023 $e: the same id right after SIGKILL"
    wait "$pid" 2>/dev/null
    start_run
    kill -STOP "$pid"
    kill -KILL "$(guardian)" "$pid"
    wait "$pid" 2>/dev/null
    run "$CAISSON" run --runtime "$rt" --state-dir "$state" --id "$id" -- sh -c 'exit 6'
    is "$rc|$err" "6|" "F023 $e: the same id after SIGKILL of supervisor and guardian"
    start_run
    run "$CAISSON" run --runtime "$rt" --state-dir "$state" --id "$id" -- true
    is "$rc" 125 "$e: the id of a live run is refused"
    like "$err" "*$id*is live*" "$e: ... and says so"
    run "$CAISSON" run --runtime "$rt" --state-dir "$state.2" --id "$id" -- true
    is "$rc" 125 "$e: also under another state directory"
    like "$err" "*$id*holds processes*" "$e: ... and says so"
    check "$e: ... and the first one lives" test -e "/proc/$pid"
    isnt "$(cat /sys/fs/cgroup/freezer/caisson/"$id"/cgroup.procs /sys/fs/cgroup/caisson/"$id"/cgroup.procs 2>/dev/null)" "" \
        "$e: ... with its program"
    kill "$pid"
    if wait "$pid"; then rc=0; else rc=$?; fi
    is "$rc" 143 "$e: ... until it is cancelled"
}

run "$CAISSON" run --state-dir "$state" -- true
snapshot before
for e in $(engines); do
    rt=$(engine_path "$e")
    kill_at_random alone 500 "F010 SIGKILL of caisson at random moments: the guardian removes everything within 1 s"
    kill_at_random both 200 "F010 SIGKILL of caisson and its guardian: one gc removes everything"
    kill_at_random gc 80 "SIGKILL of gc at random moments: the next one removes everything"
    mount -t tmpfs -o mode=700,nr_inodes=120 caisson-e2e "$state"
    kill_at_random both-full 100 "SIGKILL of both, and no inode is left for gc"
    umount "$state"
    guardian_alone
    stopped_supervisor first
    stopped_supervisor successor
    same_id
done
rmdir "$state.2/runs" "$state.2" 2>/dev/null
compare before "nothing is left at the end"
done_testing
