#!/bin/sh
# Cancelling: signals, callers and readers that go away, patience with the program, and nothing left behind.
# needs: root mkfifo
# timeout: 200
. "${0%/*}/lib.sh"

rec=$T/record

# begin FLAGS... [-- COMMAND...]: in the background with a record, until the program has said "up"; sets pid, began
begin() {
    id=c$$-$e-$((number += 1))
    rm -f "$rec"
    : >"$T/spawn.out"
    spawn "$CAISSON" run --runtime "$rt" --id "$id" --result "$rec" "$@"
    wait_until 10 grep -qx up "$T/spawn.out" || not_ok "$e: a run starts" "$(cat "$T/spawn.err")"
    began=$(now_ms)
}
number=0

# finish: its status in rc, the time since begin in ms
finish() {
    if wait "$pid"; then rc=0; else rc=$?; fi
    ms=$(($(now_ms) - began))
    _ran="the run $id"
    cp "$T/spawn.err" "$T/err"
}

no_group() { [ -z "$(find /sys/fs/cgroup -type d -path "*/caisson/*$1*" 2>/dev/null)" ]; }

# clean DESC [SECONDS]: where our own supervisor has ended this needs no waiting
clean() {
    if wait_until "${2:-0}" no_group "$id" && wait_until "${2:-0}" test ! -e "/run/caisson/runs/$id"; then
        ok "$1: nothing is left"
    else
        not_ok "$1: nothing is left" "$(find /sys/fs/cgroup /run/caisson -path "*$id*" 2>/dev/null)"
    fi
}

signals() {
    for pair in INT:130 TERM:143 HUP:129 QUIT:131; do
        begin -- sh -c 'trap "" INT TERM HUP QUIT; (setsid sleep 95 &); echo up; while :; do sleep 95; done'
        kill -"${pair%:*}" "$pid"
        finish
        is "$rc $(field reason) $(field outwardCode)" "${pair#*:} cancelled ${pair#*:}" "$e: SIG${pair%:*} cancels"
        between "$ms" 0 "$(scaled 2000)" "$e: SIG${pair%:*} cancels at once"
        clean "$e: SIG${pair%:*}"
    done
}

# Who ignored a signal for us meant it, as nohup(1) does of SIGHUP and a shell of SIGINT and SIGQUIT for background jobs.
ignored() {
    for by in "env --ignore-signal=HUP,INT,QUIT" "nohup"; do
        id=c$$-$e-$((number += 1))
        rm -f "$rec" "$T/go"
        mkfifo "$T/go"
        : >"$T/spawn.out"
        # shellcheck disable=SC2086 # words are wanted
        env --default-signal $by "$CAISSON" run --runtime "$rt" --id "$id" --result "$rec" -i -- \
            sh -c 'echo up; read -r line; exit 4' <"$T/go" >"$T/spawn.out" 2>"$T/spawn.err" &
        pid=$!
        exec 6>"$T/go"
        wait_until 10 grep -qx up "$T/spawn.out"
        began=$(now_ms)
        kill -HUP "$pid"
        if [ "$by" != nohup ]; then kill -INT "$pid" && kill -QUIT "$pid"; fi
        echo go >&6
        exec 6>&-
        finish
        is "$rc $(field reason)" "4 exited" "$e: ${by%% *}: signals that were ignored at the start cancel nothing"
    done
    begin -- sh -c 'echo up; exec sleep 95'
    kill -HUP "$pid"
    finish
    is "$rc $(field reason)" "129 cancelled" "$e: ... and without that they do"
}

# A signal while the sandbox is being made, at any moment of it
early_signals() {
    wrong=0
    i=0
    n=$(repeats 400)
    while [ $i -lt "$n" ]; do
        delay=$(awk -v seed="$CAISSON_SEED" -v i=$i -v most=$((span * CAISSON_SLOW)) \
            'BEGIN { srand(seed * 1000 + i); printf "%.3f", rand() * most / 1000 }')
        id=c$$-$e-early$i
        rm -f "$rec"
        spawn "$CAISSON" run --runtime "$rt" --id "$id" --result "$rec" -- sleep 94
        sleep "$delay" # the moment is the point
        kill -TERM "$pid"
        if wait "$pid"; then rc=0; else rc=$?; fi
        # before main has blocked the signal it kills caisson, like any other program
        if [ "$rc" != 143 ] || ! no_group "$id" || [ -e "/run/caisson/runs/$id" ] ||
            { [ -e "$rec" ] && [ "$(field reason)" != cancelled ]; }; then
            wrong=$((wrong + 1))
            diag "after $delay s: status $rc, $(field reason) $(field error.message)"
            diag_file "$T/spawn.err"
        fi
        i=$((i + 1))
    done
    is "$wrong" 0 "$e: SIGTERM at random moments of the start ($n runs, seed $CAISSON_SEED)"
}

patience() {
    begin --stop-timeout 20s -- sh -c 'trap "echo bye; exit 5" TERM; echo up; sleep 93 & wait'
    kill -INT "$pid"
    finish
    is "$rc $(field reason) $(field exitCode) $(cat "$T/spawn.out")" "130 cancelled 5 up
bye" "$e: --stop-timeout: the program ends by itself"
    between "$ms" 0 "$(scaled 5000)" "$e: --stop-timeout: without waiting longer"
    clean "$e: --stop-timeout"
    begin --stop-timeout 20s --stop-signal USR1 -- sh -c 'trap "echo bye; exit 6" USR1; trap "" TERM; echo up; sleep 93 & wait'
    kill -TERM "$pid"
    finish
    is "$rc $(field reason) $(field exitCode)" "143 cancelled 6" "$e: --stop-signal: the program gets that one"
    begin --stop-timeout 300ms -- sh -c 'trap "" TERM; echo up; while :; do sleep 93; done'
    kill -TERM "$pid"
    finish
    is "$rc $(field reason)" "143 cancelled" "$e: --stop-timeout: a program that will not is killed"
    between "$ms" 300 "$(scaled 2500)" "$e: --stop-timeout: then"
    clean "$e: --stop-timeout and SIGKILL"
    begin --stop-timeout 60s -- sh -c 'trap "" TERM; echo up; while :; do sleep 93; done'
    kill -TERM "$pid"
    wait_until 5 grep -q . "$T/spawn.out"
    kill -INT "$pid"
    finish
    is "$rc $(field reason)" "143 cancelled" "$e: a second signal ends the patience"
    between "$ms" 0 "$(scaled 3000)" "$e: a second signal: at once"
    clean "$e: a second signal"
    begin --timeout 300ms --stop-timeout 20s -- sh -c 'trap "echo bye; exit 7" TERM; echo up; sleep 93 & wait'
    finish
    is "$rc $(field reason) $(field exitCode)" "124 wall-limit 7" "$e: --stop-timeout holds for limits too"
}

# F010: whoever wanted the result is gone.
callers() {
    id=c$$-$e-caller
    run timeout 1 "$CAISSON" run --runtime "$rt" --id "$id" -- sleep 92
    is "$rc" 124 "F010 $e: under timeout(1)"
    clean "F010 $e: under timeout(1)"
    run timeout -s KILL 1 "$CAISSON" run --runtime "$rt" --id "$id" -- sleep 92
    is "$rc" 137 "F010 $e: under timeout -s KILL"
    clean "F010 $e: under timeout -s KILL" 2
    rm -f "$rec"
    : >"$T/out.parent"
    # shellcheck disable=SC2016
    env --default-signal sh -c '"$@" & wait' sh "$CAISSON" run --runtime "$rt" --id "$id" --result "$rec" --die-with-parent \
        -- sh -c 'echo up; sleep 92' >"$T/out.parent" 2>"$T/err" &
    parent=$!
    wait_until 10 grep -qx up "$T/out.parent"
    kill -KILL "$parent"
    wait "$parent" 2>/dev/null
    check "F010 $e: --die-with-parent: the parent's death is noticed" wait_until 3 test -s "$rec"
    is "$(field reason) $(field outwardCode)" "cancelled 129" "F010 $e: --die-with-parent: 129"
    clean "F010 $e: --die-with-parent" 2
}

# into COMMAND: what it does with a pipe that both of the run's streams go into; the status is in $T/rc
into() {
    _reader=$1
    shift
    id=c$$-$e-reader$((number += 1))
    rm -f "$rec" "$T/rc"
    began=$(now_ms)
    { if "$CAISSON" run --runtime "$rt" --id "$id" --result "$rec" "$@" 2>&1; then echo 0 >"$T/rc"; else echo $? >"$T/rc"; fi; } |
        sh -c "$_reader"
    ms=$(($(now_ms) - began))
    rc=$(cat "$T/rc")
}

readers() {
    into 'head -n 1 >/dev/null' -- sh -c 'while :; do echo y; done'
    is "$rc $(field reason) $(field outwardCode)" "141 cancelled 141" "F010 $e: the reader goes while the program writes"
    clean "F010 $e: the reader goes while the program writes"
    into 'head -n 1 >/dev/null' -- sh -c 'echo y; sleep 91'
    is "$rc $(field reason)" "141 cancelled" "F010 $e: the reader goes while the program is silent"
    between "$ms" 0 "$(scaled 5000)" "F010 $e: ... and that is seen without a write"
    into 'head -n 1 >/dev/null' --on-sink-gone drop --output-limit 64m -- sh -c 'seq 1 100000; exit 4'
    is "$rc $(field reason)" "4 exited" "F010 $e: --on-sink-gone drop: the program goes on"
    is "$(field stdout.seenBytes)" 588895 "F010 $e: --on-sink-gone drop: and is drained"
    rm -f "$rec" "$T/rc"
    { if "$CAISSON" run --runtime "$rt" --result "$rec" --output-limit 64m -- sh -c 'seq 1 100000; exit 4' 2>"$T/err"; then
        echo 0 >"$T/rc"; else echo $? >"$T/rc"; fi; } | head -n 1 >/dev/null
    is "$(cat "$T/rc") $(field reason) $(field stdout.seenBytes)" "4 exited 588895" "$e: one of two readers goes: the program goes on"
}

# A reader that is there and takes nothing, and a pipe that is full: neither kill nor clean-up wait for it, only
# caisson's own exit does. Returns when the program writes: sets pid, reader
stuck_reader() {
    id=c$$-$e-stuck$((number += 1))
    rm -f "$rec" "$T/fifo"
    mkfifo "$T/fifo"
    # shellcheck disable=SC2217 # it holds the end that is read from
    sleep 90 <"$T/fifo" &
    reader=$!
    head -c 65536 /dev/zero >"$T/fifo"
    env --default-signal "$CAISSON" run --runtime "$rt" --id "$id" --result "$rec" --output-limit unlimited "$@" \
        -- sh -c 'echo out; echo up >&2; while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done' \
        >"$T/fifo" 2>"$T/spawn.err" &
    pid=$!
    wait_until 10 grep -qx up "$T/spawn.err"
}

stuck_readers() {
    stuck_reader --flush-timeout 1500ms
    began=$(now_ms)
    kill -TERM "$pid"
    check "$e: SIGTERM while the reader is stuck: the program is killed and removed at once" wait_until 1 no_group "$id"
    finish
    is "$rc $(field reason) $(field stdout.sinkStalled)" "143 cancelled true" "$e: SIGTERM while the reader is stuck"
    between "$ms" 1400 "$(scaled 4000)" "$e: ... and caisson waits for the reader as long as --flush-timeout"
    kill "$reader"
    wait "$reader" 2>/dev/null
    stuck_reader --flush-timeout 60s --timeout 500ms
    wait_until 10 no_group "$id"
    began=$(now_ms)
    kill -TERM "$pid"
    finish
    is "$rc $(field reason)" "124 wall-limit" "$e: a signal while only the reader is waited for: the reason stays"
    between "$ms" 0 "$(scaled 3000)" "$e: ... and the waiting ends"
    kill "$reader"
    wait "$reader" 2>/dev/null
}

# The same with the record: the run is over, all of it is gone, and nobody reads what it was.
unread_record() {
    id=c$$-$e-unread$((number += 1))
    rm -f "$T/fifo"
    mkfifo "$T/fifo"
    # shellcheck disable=SC2217 # it holds the end that is read from
    sleep 90 <"$T/fifo" &
    reader=$!
    head -c 65536 /dev/zero >"$T/fifo"
    for how in "--flush-timeout 300ms" "--flush-timeout 60s"; do
        rm -f "$rec"
        # shellcheck disable=SC2086 # words are wanted
        env --default-signal "$CAISSON" run --runtime "$rt" --id "$id" --result "$rec" --format json $how \
            -- sh -c 'exit 3' >"$T/fifo" 2>"$T/spawn.err" &
        pid=$!
        check "$e: a record that nobody reads: it has gone where it could" wait_until 10 test -s "$rec"
        check "$e: ... and nothing of the run is left" no_group "$id"
        began=$(now_ms)
        if [ "$how" = "--flush-timeout 60s" ]; then kill -TERM "$pid"; fi
        finish
        is "$rc $(field exitCode)" "125 3" "$e: ... $how: caisson says that not all of it could be told"
        like "$(cat "$T/err")" "caisson: result record to stdout: nobody t*" "$e: ... and why"
        between "$ms" 0 "$(scaled 3000)" "$e: ... and ends"
    done
    kill "$reader"
    wait "$reader" 2>/dev/null
}

run "$CAISSON" run -- true
for e in $(engines); do
    rt=$(engine_path "$e")
    span=$([ "$e" = runsc ] && echo 600 || echo 200)
    snapshot before
    signals
    ignored
    early_signals
    patience
    callers
    readers
    stuck_readers
    unread_record
    compare before "$e: nothing is left of any"
done
done_testing
