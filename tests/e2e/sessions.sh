#!/bin/sh
# Detached runs: begun, used and ended from elsewhere, kept for a while, and gone with everything when they are to go.
# needs: root
# tags: vm peers
# timeout: 300
. "${0%/*}/lib.sh"

sessions=/run/caisson/sessions
number=0

# detach FLAGS... [-- COMMAND...]: a session in $id; rc, out, err of the run -d
detach() {
    id=s$$-$e-$((number += 1))
    run "$CAISSON" run -d --runtime "$(engine_path "$e")" --id "$id" "$@"
}

kept() { field "$1" "$sessions/$id/result"; }
state() { "$CAISSON" ps -a | awk -v id="$id" '$1 == id { print $2 }'; }
pid_of() { "$CAISSON" ps | awk -v id="$id" '$1 == id { print $3 }'; }
no_group() { [ -z "$(find /sys/fs/cgroup -type d -path "*/caisson/*$id*" 2>/dev/null)" ]; }
nothing() { no_group && [ ! -e "/run/caisson/runs/$id" ] && [ ! -e "$sessions/$id" ]; }
has_lines() { [ "$(wc -l <"$2")" -ge "$1" ]; }

# forgotten DESC [SECONDS]: nothing of it is left
forgotten() {
    if wait_until "${2:-0}" nothing; then
        ok "$1"
    else
        not_ok "$1" "$(find /sys/fs/cgroup /run/caisson -path "*$id*" 2>/dev/null)"
    fi
}

first_steps() {
    detach -- sh -c 'printf "a\000b"; printf err >&2; sleep 1; printf c; exit 7'
    is "$rc|$out|$err" "0|$id|" "$e: run -d prints the id"
    is "$(state)" running "$e: ps"
    between "$ms" 0 "$(scaled 2000)" "$e: … without waiting for the end"
    run "$CAISSON" run --id "$id" -- true
    is "$rc" 125 "$e: its id is taken"
    run "$CAISSON" rm "$id"
    is "$rc" 125 "$e: rm refuses a live one"
    like "$err" "caisson: '$id' is live: *" "$e: … and says so"
    run "$CAISSON" wait "$id"
    is "$rc|$out$err" "7|" "$e: wait exits with its code, and prints nothing"
    is "$(kept reason) $(kept exitCode) $(kept outwardCode)" "exited 7 7" "$e: the result is kept"
    is "$(state)" ended "$e: ps -a"
    is "$("$CAISSON" ps | grep -c "$id")" 0 "$e: … and not ps"
    check "$e: its cgroup and its record are gone" eval 'no_group && [ ! -e /run/caisson/runs/$id ]'
    run "$CAISSON" logs "$id"
    is "$(od -An -c "$T/out" | tr -d ' \n')|$err|$rc" 'a\0bc|err|0' "$e: logs, byte for byte, each stream to its own"
    run "$CAISSON" wait "$id"
    is "$rc" 7 "$e: wait for one that has ended"
    run "$CAISSON" stop "$id"
    is "$rc" 0 "$e: stop of one that has ended"
    for verb in kill pause resume stats; do
        run "$CAISSON" $verb "$id"
        is "$rc" 125 "$e: $verb of one that has ended"
    done
    run "$CAISSON" run --id "$id" -- true
    is "$rc" 125 "$e: its id is taken as long as it is kept"
    like "$err" "*caisson rm $id*" "$e: … and how to free it is said"
    run "$CAISSON" rm "$id"
    is "$rc|$out" "0|$id" "$e: rm"
    forgotten "$e: … removes it"
}

refusals() {
    detach -- no-such-command
    is "$rc|$out" "127|" "$e: what cannot start: the code of a run"
    like "$err" "caisson: 'no-such-command'*" "$e: … and its message"
    forgotten "$e: … nothing is kept of it" 2
    for flags in --output-limit=unlimited --stderr-limit=-1 --interactive --format=json --stdout=/dev/null --die-with-parent --result=fd:2; do
        detach "$flags" -- true
        is "$rc" 125 "$e: -d $flags"
        like "$err" "*caisson: --detach *" "$e: … is refused"
    done
    forgotten "$e: … nothing is made for them"
}

names() {
    detach -- sleep 60
    first=$id
    detach -- sleep 60
    run "$CAISSON" pause "s$$-$e-"
    is "$rc" 125 "$e: a beginning that two ids have"
    like "$err" "*more than one id*" "$e: … is refused"
    run "$CAISSON" stop -t 0 "$first" no-such-id "$id"
    is "$rc|$out" "125|$first
$id" "$e: several ids: one that is unknown does not hold up the others"
    is "$err" "caisson: no run or session 'no-such-id': 'caisson ps -a' lists them" "$e: … and is named in one line"
    run "$CAISSON" wait "$first" "$id"
    is "$rc" 137 "$e: wait for several"
    run "$CAISSON" rm "$first" "$id"
    is "$rc" 0 "$e: rm of several"
    for verb in wait logs stop kill pause resume rm; do
        run "$CAISSON" $verb no-such-id
        is "$rc|$out" "125|" "$e: $verb of an unknown id"
    done
    run "$CAISSON" rm -f no-such-id
    is "$rc" 0 "$e: rm -f of an unknown id"
}

stopping() {
    detach -- sh -c 'trap "echo bye; exit 3" TERM; echo up; sleep 60 & wait'
    wait_until 10 has_lines 1 "$sessions/$id/stdout"
    run "$CAISSON" stop "$id"
    is "$rc $(kept reason) $(kept exitCode) $(kept outwardCode)" "0 stopped 3 143" "$e: stop: the program ends itself"
    is "$(cat "$sessions/$id/stdout")" "up
bye" "$e: … with its last words"
    between "$ms" 0 "$(scaled 3000)" "$e: … without more waiting"
    "$CAISSON" rm "$id" >/dev/null
    detach -- sh -c 'trap "" TERM; echo up; while :; do sleep 60; done'
    wait_until 10 has_lines 1 "$sessions/$id/stdout"
    run "$CAISSON" stop -t 300ms "$id"
    is "$rc $(kept reason) $(kept signal) $(kept outwardCode)" "0 stopped 9 137" "$e: stop -t: one that will not is killed"
    between "$ms" 300 "$((300 + $(scaled 2000)))" "$e: … then"
    "$CAISSON" rm "$id" >/dev/null
    detach --stop-signal USR1 -- sh -c 'trap "exit 4" USR1; trap "exit 5" USR2; echo up; sleep 60 & wait'
    wait_until 10 has_lines 1 "$sessions/$id/stdout"
    run "$CAISSON" stop -s USR2 "$id"
    is "$(kept exitCode) $(kept outwardCode)" "5 140" "$e: stop -s"
    "$CAISSON" rm "$id" >/dev/null
    detach -- sh -c 'trap "echo hup" HUP; echo up; while :; do sleep 0.1; done'
    wait_until 10 has_lines 1 "$sessions/$id/stdout"
    run "$CAISSON" kill -s HUP "$id"
    is "$rc" 0 "$e: kill -s HUP"
    check "$e: … is for the program" wait_until 10 has_lines 2 "$sessions/$id/stdout"
    is "$(state)" running "$e: … which goes on"
    run "$CAISSON" kill "$id"
    is "$rc $(kept reason) $(kept signal) $(kept outwardCode)" "0 stopped 9 137" "$e: kill"
    "$CAISSON" rm "$id" >/dev/null
    detach --timeout 2s -- sh -c 'trap "" TERM; echo up; while :; do sleep 60; done'
    wait_until 10 has_lines 1 "$sessions/$id/stdout"
    run "$CAISSON" stop -t 60 "$id"
    is "$rc $(kept reason) $(kept outwardCode)" "0 stopped 137" "$e: stop -t past the wall limit"
    between "$(($(kept wallNs) / 1000000))" 0 "$((2000 + $(scaled 1000)))" "$e: … which stays"
    "$CAISSON" rm "$id" >/dev/null
    # a second stop may hurry the first
    detach -- sh -c 'trap "" TERM; echo up; while :; do sleep 60; done'
    wait_until 10 has_lines 1 "$sessions/$id/stdout"
    spawn "$CAISSON" stop -t 60 "$id"
    run "$CAISSON" stop -t 200ms "$id"
    wait "$pid"
    is "$rc $? $(kept reason)" "0 0 stopped" "$e: a second stop hurries the first"
    "$CAISSON" rm "$id" >/dev/null
}

F025_removed() {
    detach -- sh -c 'while :; do echo x; sleep 0.01; done'
    run "$CAISSON" pause "$id"
    is "$rc $(state)" "0 paused" "F025 $e: paused"
    run "$CAISSON" rm -f "$id"
    is "$rc" 0 "F025 $e: rm -f of one that is paused"
    between "$ms" 0 "$(scaled 1000)" "F025 $e: … takes less than a second"
    forgotten "F025 $e: … and removes it"
}

F025_paused() {
    detach -- sh -c 'while :; do echo x; sleep 0.01; done'
    run "$CAISSON" pause "$id"
    is "$rc $(state)" "0 paused" "$e: pause"
    seen=$(wc -c <"$sessions/$id/stdout")
    run "$CAISSON" pause "$id"
    is "$rc" 125 "$e: pause of one that is paused"
    run "$CAISSON" kill -s HUP "$id"
    is "$rc" 125 "$e: a signal that it would not hear"
    run "$CAISSON" exec "$id" -- true
    is "$rc" 125 "$e: exec in one that is paused"
    like "$err" "*is paused*" "$e: … is refused"
    is "$(wc -c <"$sessions/$id/stdout")" "$seen" "$e: … and it does nothing"
    run "$CAISSON" resume "$id"
    is "$rc $(state)" "0 running" "$e: resume"
    check "$e: … it goes on" wait_until 5 eval '[ "$(wc -c <"$sessions/$id/stdout")" -gt "$seen" ]'
    "$CAISSON" rm -f "$id" >/dev/null
    detach -- sh -c 'trap "exit 6" TERM; echo up; while :; do sleep 0.1; done'
    wait_until 10 has_lines 1 "$sessions/$id/stdout"
    "$CAISSON" pause "$id" >/dev/null
    run "$CAISSON" stop "$id"
    is "$rc $(kept reason) $(kept exitCode)" "0 stopped 6" "F025 $e: stop of one that is paused lets it hear"
    "$CAISSON" rm "$id" >/dev/null
    limit=$((2 + CAISSON_SLOW / 4)) # time enough to pause it, and little more
    detach --timeout "${limit}s" -- sleep 300
    run "$CAISSON" pause "$id"
    is "$rc" 0 "F025 $e: paused before its time is over"
    run "$CAISSON" wait "$id"
    is "$rc $(kept reason)" "124 wall-limit" "F025 $e: the timeout fires while it is paused"
    between "$(($(kept wallNs) / 1000000))" "$((limit * 1000))" "$((limit * 1000 + $(scaled 1000)))" "F025 $e: … in time"
    "$CAISSON" rm "$id" >/dev/null
}

following() {
    detach -- sh -c 'echo one; read x </dev/zero & sleep 1; echo two; echo three >&2; exit 5'
    run "$CAISSON" logs -f "$id"
    is "$rc|$out|$err" "0|one
two|three" "$e: logs -f goes on until the end"
    "$CAISSON" rm -f "$id" >/dev/null
    detach -- sh -c 'i=0; while [ $i -lt 2000 ]; do echo "line $i of some"; i=$((i+1)); done'
    run "$CAISSON" logs -f "$id"
    is "$(wc -l <"$T/out") $(tail -n 1 "$T/out")" "2000 line 1999 of some" "$e: logs -f loses nothing at the end"
    "$CAISSON" rm -f "$id" >/dev/null
    detach -- sh -c 'echo one; sleep 60'
    run sh -c '"$1" logs -f "$2" | head -n 1' sh "$CAISSON" "$id"
    is "$out" one "$e: logs -f ends when its reader goes"
    spawn "$CAISSON" logs -f "$id"
    wait_until 5 has_lines 1 "$T/spawn.out"
    "$CAISSON" rm -f "$id" >/dev/null
    if wait "$pid"; then rc=0; else rc=$?; fi
    is "$rc" 125 "$e: logs -f of one that is taken away"
    detach --output-limit 1000 --on-output-limit discard -- sh -c 'yes | head -c 5000'
    "$CAISSON" wait "$id"
    is "$("$CAISSON" logs "$id" 2>/dev/null | wc -c) $(kept stdout.seenBytes)" "1000 5000" "$e: the output limit holds for what is kept"
    "$CAISSON" rm "$id" >/dev/null
}

# connected PID: it has a socket
connected() { find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null | grep -q .; }

# F010 for sessions: whoever kills the supervisor takes all along
F010_killed() {
    detach -- sh -c '(setsid sleep 60 &); sleep 60'
    supervisor=$(pid_of)
    began=$(now_ms)
    kill -KILL "$supervisor"
    forgotten "$e: SIGKILL of the supervisor: all is gone" 2
    between "$(($(now_ms) - began))" 0 "$(scaled 1000)" "$e: … within a second"
}

killed_or_stopped() {
    detach -- sleep 60
    supervisor=$(pid_of)
    spawn "$CAISSON" wait "$id"
    check "$e: wait connects" wait_until 10 connected "$pid"
    kill -KILL "$supervisor"
    if wait "$pid"; then rc=0; else rc=$?; fi
    is "$rc" 125 "$e: wait of one whose supervisor was killed"
    like "$(cat "$T/spawn.err")" "*supervisor was killed*" "$e: … says so"
    detach -- sleep 60
    supervisor=$(pid_of)
    kill -STOP "$supervisor"
    is "$(state)" running "$e: ps asks no supervisor that is stopped"
    run "$CAISSON" pause "$id"
    is "$rc" 125 "$e: a supervisor that is stopped answers nobody"
    between "$ms" 0 "$((6000 + $(scaled 1000)))" "$e: … and holds nobody up"
    like "$err" "*rm -f $id*" "$e: … and what helps is said"
    run "$CAISSON" rm -f "$id"
    is "$rc" 0 "$e: rm -f ends it all the same"
    between "$ms" 0 "$((3000 + $(scaled 2000)))" "$e: … soon"
    forgotten "$e: … with all that it had" 2
    detach -- sleep 60
    run "$CAISSON" rm -f "$id"
    forgotten "$e: rm -f of a live one"
    # of two who want it gone at once each may have been the one
    detach -- sleep 60
    spawn "$CAISSON" rm -f "$id"
    run "$CAISSON" rm -f "$id"
    if wait "$pid"; then is "$rc" 0 "$e: two rm -f at once"; else not_ok "$e: two rm -f at once" "$(cat "$T/spawn.err")"; fi
    forgotten "$e: … and it is gone"
}

# F023: both guards killed, the container alive: the id is stale, and is cured
F023_stale() {
    detach -- sleep 60
    guardian=
    for p in /proc/[0-9]*; do
        if [ "$(cat "$p/comm" 2>/dev/null)" = caisson-guard ] && grep -q "^PPid:[[:space:]]*$(pid_of)\$" "$p/status" 2>/dev/null; then guardian=${p#/proc/}; fi
    done
    [ -n "$guardian" ] || bail "F023 $e: no guardian of $(pid_of)"
    # stopped first, so that neither acts on the other's end
    supervisor=$(pid_of)
    kill -STOP "$guardian"
    kill -KILL "$supervisor"
    kill -KILL "$guardian"
    wait_until 5 gone "$guardian"
    wait_until 5 gone "$supervisor"
    is "$(state)" dead "F023 $e: nobody answers for it"
    run "$CAISSON" stop "$id"
    is "$rc" 125 "F023 $e: it cannot be stopped"
    like "$err" "*caisson rm -f $id*" "F023 $e: … and the cure is named"
    run "$CAISSON" rm -f "$id"
    is "$rc|$out" "0|$id" "F023 $e: rm -f cures it"
    forgotten "F023 $e: … nothing is left"
    detach --memory 64m -- true
    same=$id
    "$CAISSON" wait "$same"
    "$CAISSON" rm "$same" >/dev/null
    job "$e" --id "$same" -- true
    ended exited 0 null 0 "F023 $e: the id is good again"
}

# F037: of an earlier run with the same id nothing counts
F037_fresh() {
    id=s$$-$e-again
    run "$CAISSON" run -d --runtime "$(engine_path "$e")" --id "$id" --memory 128m --cpu-time 30s -- \
        sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; head -c 50000000 /dev/zero | tail -c 50000000 | wc -c'
    "$CAISSON" wait "$id"
    cpu=$(($(kept cpuUserNs) + $(kept cpuSystemNs)))
    peak=$(kept memoryPeakBytes)
    "$CAISSON" rm "$id" >/dev/null
    run "$CAISSON" run -d --runtime "$(engine_path "$e")" --id "$id" -- true
    "$CAISSON" wait "$id"
    is "$(kept memoryBytes.inForce | sed 's/null/268435456/')" 268435456 "F037 $e: the limit is the second run's own"
    check "F037 $e: its CPU time counts from zero" test "$(($(kept cpuUserNs) + $(kept cpuSystemNs)))" -lt "$cpu"
    check "F037 $e: its peak counts from zero" test "$(kept memoryPeakBytes)" -lt "$peak"
    "$CAISSON" rm "$id" >/dev/null
}

expiry() {
    detach --expire "$((500 * CAISSON_SLOW))ms" -- sleep 60
    began=$(now_ms)
    check "$e: --expire ends what nobody uses" wait_until 10 test -e "$sessions/$id/result"
    is "$(kept reason) $(kept outwardCode)" "expired 124" "$e: … reason expired, code 124"
    between "$(($(now_ms) - began))" "$((300 * CAISSON_SLOW))" "$((2500 * CAISSON_SLOW))" "$e: … then"
    # whole seconds are kept of the moment
    wait_until 10 eval '[ "$(stat -c %Y "$sessions/$id")" -lt "$(date +%s)" ]'
    "$CAISSON" run -- true
    forgotten "$e: a later start removes what has expired"
    detach --expire "$((1500 * CAISSON_SLOW))ms" -- sh -c "sleep $((3 * CAISSON_SLOW)); exit 8"
    run "$CAISSON" wait "$id"
    is "$rc" 8 "$e: one that somebody waits for does not expire"
    run "$CAISSON" gc
    check "$e: gc leaves what has not expired" test -e "$sessions/$id/result"
    touch -d '1 hour ago' "$sessions/$id"
    run "$CAISSON" gc
    is "$rc" 0 "$e: gc"
    forgotten "$e: … removes what has expired"
    detach --expire 0 -- true
    "$CAISSON" wait "$id"
    run "$CAISSON" gc
    check "$e: --expire 0 keeps it" test -e "$sessions/$id/result"
    "$CAISSON" rm "$id" >/dev/null
}

lists() {
    detach -- sh -c 'echo up; sleep 60'
    run "$CAISSON" ps --format json
    like "$out" "*\"id\": \"$id\"*\"state\": \"running\"*\"detached\": true*\"outwardCode\": null*" "$e: ps --format json"
    is "$("$CAISSON" ps -q)" "$id" "$e: ps -q"
    run "$CAISSON" stats "$id"
    like "$out" "ID *
$id *" "$e: stats"
    run "$CAISSON" stats --no-stream
    like "$out" "ID *
$id *" "$e: stats --no-stream, as docker has it"
    run "$CAISSON" stats no-such-id
    is "$rc|$out" "125|" "$e: stats of an unknown id has no heading"
    run "$CAISSON" stats --format json
    like "$out" "*\"id\": \"$id\"*\"memoryBytes\": [1-9]*\"pids\": [1-9]*" "$e: stats --format json"
    "$CAISSON" kill "$id" >/dev/null
    run "$CAISSON" ps -a --format json
    like "$out" "*\"id\": \"$id\"*\"state\": \"ended\"*\"reason\": \"stopped\"*\"outwardCode\": 137*" "$e: ps -a --format json"
    "$CAISSON" rm "$id" >/dev/null
}

# others may be ended from elsewhere too
foreground() {
    id=s$$-$e-fg
    rm -f "$T/record"
    spawn "$CAISSON" run --runtime "$(engine_path "$e")" --id "$id" --result "$T/record" -- sh -c 'echo up; sleep 60'
    wait_until 10 has_lines 1 "$T/spawn.out"
    run "$CAISSON" wait "$id"
    is "$rc" 125 "$e: wait of a run that is no session"
    run "$CAISSON" rm -f "$id"
    is "$rc" 0 "$e: rm -f of one"
    forgotten "$e: … it is gone"
    if wait "$pid"; then rc=0; else rc=$?; fi
    is "$rc $(field reason) $(field outwardCode)" "137 stopped 137" "$e: … and whoever ran it is told"
}

# whoever asked for it is gone before it has started: an engine that waits in create until he is
lost_caller() {
    id=s$$-$e-caller
    mkfifo "$T/gate-$e"
    exec 7<>"$T/gate-$e"
    cat >"$T/patient" <<EOF
#!/bin/sh
for arg; do
    if [ "\$arg" = create ]; then : >"$T/creates-$e" && read line <"$T/gate-$e"; fi
done
exec $(engine_path "$e") "\$@"
EOF
    chmod +x "$T/patient"
    echo "{\"runtimes\":{\"patient\":{\"path\":\"$T/patient\",\"engine\":\"$e\"}}}" >"$T/patient.json"
    spawn "$CAISSON" run -d --config "$T/patient.json" --runtime patient --id "$id" -- sleep 60
    wait_until 10 test -e "$T/creates-$e" || bail "$e: no create: $(cat "$T/spawn.err")"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    echo go >&7
    forgotten "$e: run -d whose caller is gone before the start" 5
    exec 7>&-
    is "$(cat "$T/spawn.out")" "" "$e: … and nobody was told of one"
}

run "$CAISSON" run -- true
# what hangs on the version of cgroups is what caisson does with them, and the rest is the same everywhere: a machine that
# crawls need not see all of it with every engine
slow=0
if [ "$CAISSON_SLOW" -gt 3 ]; then slow=1; fi
for e in $(engines); do
    snapshot before
    lists
    F025_removed
    F010_killed
    if [ $slow = 0 ] || [ "$e" = crun ]; then
        F025_paused
        killed_or_stopped
        F023_stale
        F037_fresh
    fi
    if [ $slow = 0 ]; then
        first_steps
        refusals
        names
        stopping
        following
        expiry
        foreground
        lost_caller
    fi
    compare before "$e: nothing is left of any"
done
done_testing
