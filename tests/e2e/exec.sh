#!/bin/sh
# What `caisson exec` does in a live session: bounds of its own, an end of its own, and nothing that stays.
# needs: root python3
# tags: vm peers
# timeout: 300
. "${0%/*}/lib.sh"

# its init ignores SIGCHLD, so that the kernel reaps what loses its parent inside
init='import signal,time; signal.signal(signal.SIGCHLD, signal.SIG_IGN); time.sleep(3600)'

# engines too are slow where all is
echo "{\"engineTimeout\":\"$(scaled 10)s\"}" >"$T/patience.json"
export CAISSON_CONFIG="$T/patience.json"

alive() { "$CAISSON" exec "$s" -- true >/dev/null 2>&1; }

begin() {
    s=x-$e-$$
    spawn "$CAISSON" run --runtime "$(engine_path "$e")" --id "$s" --timeout 0 -- python3 -c "$init"
    session=$pid
    wait_until 20 alive || bail "$e: no session: $(cat "$T/spawn.err")"
}

# its status; nobody is left for at_exit to kill, since another may have the number by then
finish() {
    _session=$session session=
    kill "$_session"
    wait "$_session"
}
at_exit '[ -z "${session-}" ] || kill "$session" 2>/dev/null; wait'

# x FLAGS... -- COMMAND...: an exec, with the record in $T/record
x() {
    rm -f "$T/record"
    _flags=
    for _arg in "$@"; do
        if [ "$_arg" = -- ]; then break; fi
        _flags="$_flags $_arg"
        shift
    done
    # shellcheck disable=SC2086 # no flag here holds a blank
    run "$CAISSON" exec --result "$T/record"$_flags "$s" "$@"
}

# how many processes inside have TEXT in their command line; a zombie has none
inside() { "$CAISSON" exec "$s" -- sh -c 'cat /proc/[0-9]*/cmdline' 2>/dev/null | tr '\000' ' ' | grep -aoF "$1" | wc -l; }
# seen from outside: no process is just TEXT
no_process() {
    for _p in /proc/[0-9]*/cmdline; do
        if [ "$(tr '\000' ' ' <"$_p" 2>/dev/null)" = "$1 " ]; then return 1; fi
    done
}
is_gone() { [ "$(inside "$1")" = 0 ]; }
zombies() { "$CAISSON" exec "$s" -- sh -c 'cat /proc/[0-9]*/stat' 2>/dev/null | grep -c ') Z '; }

# init_of ID: what the supervisor holds for its init, which is the sandbox where the engine has one
init_of() {
    python3 - "$1" <<'EOF'
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("/run/caisson/runs/%s/ctl" % sys.argv[1])
s.send(b'{"op":"hello"}')
print(json.loads(s.recv(65536))["initPid"])
EOF
}

first_steps() {
    x -- sh -c 'echo out; echo err >&2; exit 7'
    is "$rc|$out|$err" "7|out|err" "$e: output and exit status"
    ended exited 7 null 7 "$e: the record"
    is "$(field id)" "$s" "$e: the record names the session"
    run "$CAISSON" exec "$s" sh -c 'exit 3'
    is "$rc" 3 "$e: without -- too"
    rm -f "$T/record"
    run "$CAISSON" exec --result "$T/record" "${s%"$$"}" sh -c 'exit 4'
    is "$rc $(field id)" "4 $s" "$e: the beginning of the id is enough"
    x -- sh -c 'exit 137'
    ended exited 137 null 137 "$e: a code is a code"
    # shellcheck disable=SC2016
    x -- sh -c 'kill -9 $$'
    ended signaled null 9 137 "$e: a signal is a signal"
    x -e A=1 -w /usr/bin -u 1000:1001 -- sh -c 'echo "$A $(pwd) $(id -u) $(id -g)"'
    is "$out" "1 /usr/bin 1000 1001" "$e: -e -w -u"
    # some versions of runsc show no descriptors
    run "$CAISSON" exec "$s" -- sh -c 'ls /proc/self/fd 2>/dev/null || printf "0\n1\n2\n3\n"' 9</
    is "$(echo "$out" | tr '\n' ' ')" "0 1 2 3 " "$e: F056 no descriptor but the three (and the one of ls itself)"
}

wrong() {
    x -- /no/such/cmd
    is "$rc $(field reason) $(field error.kind)" "127 start-failed not-found" "$e: F019 not found"
    x -- no-such-cmd
    is "$rc $(field error.kind)" "127 not-found" "$e: F019 not in PATH"
    x -- /etc
    is "$rc $(field error.kind)" "126 not-executable" "$e: F019 a directory"
    "$CAISSON" exec "$s" -- sh -c 'printf "#!/bin/sh\necho made\n" >/tmp/made; chmod 755 /tmp/made'
    x -- /tmp/made
    is "$rc|$out" "0|made" "$e: what the session made in its own memory is found"
    x --rootfs /x -- true
    is "$rc $(field reason) $(field error.kind)" "125 start-failed usage" "$e: a flag that is not for exec"
    like "$err" "caisson: --rootfs*" "$e: … is named"
    x --no-such-flag -- true
    is "$rc $(field reason) $(field error.kind)" "125 start-failed usage" "$e: a flag that nobody knows"
    x
    is "$rc $(field reason) $(field error.kind) $(field id)" "125 start-failed usage $s" "$e: no command"
    like "$err" "caisson: no command*" "$e: … is said"
    rm -f "$T/record"
    run "$CAISSON" exec --result "$T/record" no-such-session -- true
    is "$rc $(field reason) $(field id)" "125 start-failed no-such-session" "$e: no session"
    like "$err" "caisson: *no-such-session*" "$e: … is named"
    run "$CAISSON" exec --result "$T/no/such/dir" --format json "$s" -- true
    is "$rc $(field reason "$T/out") $(field error.kind "$T/out")" "125 start-failed usage" "$e: no place for the record: it is in the other one"
    x --timeout 1x -- true
    is "$rc $(field reason) $(field error.kind)" "125 start-failed usage" "$e: a value that is none"
    run "$CAISSON" exec
    is "$rc" 125 "$e: no id"
    like "$err" "caisson: no id*" "$e: … is said"
}

F007_as_in_a_run() {
    look='grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; for o in c d f l n s t v; do ulimit -S$o; ulimit -H$o; done'
    job "$e" --timeout 0 -- sh -c "$look"
    of_run=$out
    x -- sh -c "$look"
    is "$out" "$of_run" "$e: F007 capabilities, no_new_privs, seccomp and rlimits are those of a run"
    run "$CAISSON" exec --result "$T/record" "$s" -- sh -c 'yes | head -c 2000000000'
    is "$(field reason) $rc $(wc -c <"$T/out")" "output-limit 153 1048576" "$e: F007 output is bounded as a run's is"
}

own_limits() {
    if [ "$e" = runsc ]; then
        for flag in --memory=64m --pids-limit=9 --cpus=1 --cpu-time=1s --ulimit=nofile=99; do
            x "$flag" -- true
            is "$rc $(field reason) $(field error.kind)" "125 start-failed limit" "$e: $flag cannot be had"
            like "$err" "caisson: ${flag%%=*}: *" "$e: … and is named"
        done
        return
    fi
    x --memory 32m --pids-limit 20 --cpus 0.5 -- true
    is "$rc $(field memoryBytes.inForce) $(field pids.inForce) $(field millicpus.inForce)" "0 33554432 20 500" "$e: limits of its own, read back"
    x --ulimit nofile=99 -- sh -c 'ulimit -n'
    is "$out" 99 "$e: F007 --ulimit is in force"
    x --memory 32m -- python3 -c 'a = bytearray(1 << 27)'
    ended oom null 9 137 "$e: memory of its own: oom"
    is "$(field oomScope)" own "$e: … at its own limit"
    x --pids-limit 8 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; wait'
    like "$(field pidsLimitHits)" '[1-9]*' "$e: processes of its own"
    x --cpu-time 300ms -- sh -c 'while :; do :; done'
    is "$(field reason) $rc" "cpu-limit 152" "$e: CPU time of its own"
    check "$e: the session has felt nothing of it" alive
}

F008_ends_its_tree() {
    for how in 'sleep 777 & sleep 777' 'setsid sleep 777 & sleep 777' '(setsid sh -c "sleep 777 & exit" &); sleep 777'; do
        x --timeout 1s -- sh -c "$how"
        is "$(field reason) $rc" "wall-limit 124" "$e: F008 $how"
        between "$ms" 1000 "$((1000 + $(scaled 1500)))" "$e: F008 … in time"
        is "$(inside 'sleep 777')" 0 "$e: F008 … and none is left"
    done
    check "$e: F008 the session is healthy" alive
    x --timeout 2s -- sh -c 'sh -c "kill -STOP 0; sleep 50"; sleep 50'
    is "$(field reason) $rc" "wall-limit 124" "$e: F011 a stopped group"
    between "$ms" 2000 "$((2000 + $(scaled 1500)))" "$e: F011 … in time"
    is "$(inside 'sleep 50')" 0 "$e: F011 … and none is left"
}

endless_output() {
    run "$CAISSON" exec --result "$T/record" --output-limit 1m "$s" -- dd if=/dev/zero bs=1M count=100000
    is "$rc $(field reason) $(wc -c <"$T/out")" "153 output-limit 1048576" "$e: endless output: exactly 1 MiB"
    is "$(inside 'dd if=/dev/zero')" 0 "$e: … its tree is dead"
    check "$e: … and the session alive" alive
}

# files in the session's own file system, descriptors of its supervisor, groups, processes
counts() {
    echo "$(find "/proc/$session/root/run/caisson" 2>/dev/null | wc -l) $(find "/proc/$session/fd" | wc -l)" \
        "$(find /sys/fs/cgroup -path "*$s*" -type d 2>/dev/null | wc -l) $(find /proc -maxdepth 1 -name '[0-9]*' -exec grep -l ') Z ' {}/stat \; 2>/dev/null | wc -l)"
}
as_after_the_first() { [ "$(counts)" = "$first" ]; }

F028_many() {
    alive
    init_of "$s" >/dev/null # answered behind the news that the exec is over
    first=$(counts)
    n=$(repeats 1000) bad=0
    for i in $(seq "$n"); do
        "$CAISSON" exec "$s" -- sh -c 'exit 5' >/dev/null 2>&1
        [ $? = 5 ] || bad=$((bad + 1))
    done
    is "$bad" 0 "$e: $n execs: each with its own status"
    wait_until 3 as_after_the_first
    is "$(counts)" "$first" "$e: F028 files, descriptors, groups and zombies as after the first"
}

F043_stdin() {
    n=$(repeats 200) bad=0
    for i in $(seq "$n"); do
        [ "$(echo hi | timeout 10 "$CAISSON" exec -i "$s" cat)" = hi ] || bad=$((bad + 1))
    done
    is "$bad" 0 "$e: F043 $n times: the end of stdin arrives"
    run "$CAISSON" exec "$s" cat </dev/zero
    is "$rc|$out" "0|" "$e: F043 without -i stdin is empty"
}

F056_working_directory() {
    x -w /proc/self/fd/7 -- pwd
    is "$rc $(field reason)" "125 start-failed" "$e: F056 a working directory among descriptors"
    "$CAISSON" exec "$s" -- sh -c 'for i in 3 4 5 6 7 8 9; do ln -s /proc/self/fd/$i /tmp/l$i; done; ln -s /usr /tmp/good'
    for i in 3 4 5 6 7 8 9; do
        x -w "/tmp/l$i" -- sh -c 'pwd; ls /proc/self/cwd/'
        isnt "$rc|$out" "0|$out" "$e: F056 … through a link, $i"
        unlike "$out" "*boot*" "$e: F056 … shows nothing of the host"
    done
    x -w /tmp/good -- sh -c 'pwd -P'
    is "$out" /usr "$e: a link that leads somewhere"
}

F059_orphans() {
    x -- sh -c 'sleep 778 & (sleep 779 &); sleep 0.2 & exit 0'
    is "$rc" 0 "$e: F059 orphans"
    is "$(inside 'sleep 77')" 0 "$e: F059 … are ended with the exec"
    n=$(repeats 1000)
    x -- sh -c "i=0; while [ \$i -lt $n ]; do (sleep 0.01 &); i=\$((i + 1)); done"
    is "$rc $(zombies)" "0 0" "$e: F059 $n of them: the session's init reaps, no zombie is seen"
}

F068_held_streams() {
    x -- sh -c 'sleep 300 & echo ok'
    is "$rc|$out|$(field stdioHeld)" "0|ok|true" "$e: F068 a child that holds the streams"
    between "$ms" 0 "$(scaled 1500)" "$e: F068 … delays nothing"
    is "$(inside 'sleep 300')" 0 "$e: F068 … and is ended"
    x -- sh -c 'echo ok'
    is "$(field stdioHeld)" false "$e: F068 nobody holds them"
}

caller_gone() {
    spawn "$CAISSON" exec "$s" -- sh -c 'sleep 780 & setsid sleep 780 & (sleep 780 &); echo up; sleep 780'
    caller=$pid
    wait_until 10 grep -q up "$T/spawn.out"
    kill -9 "$caller"
    wait "$caller" 2>/dev/null
    t0=$(now_ms)
    wait_until 5 is_gone 'sleep 780'
    between "$(($(now_ms) - t0))" 0 "$(scaled 1000)" "$e: caisson killed: its tree is gone within a second"
    check "$e: … and the session is healthy" alive
    rm -f "$T/record"
    spawn "$CAISSON" exec --result "$T/record" "$s" -- sh -c 'echo up; sleep 781'
    caller=$pid
    wait_until 10 grep -q up "$T/spawn.out"
    kill "$caller"
    wait "$caller"
    is "$? $(field reason)" "143 cancelled" "$e: TERM to caisson cancels the exec"
    is "$(inside 'sleep 781')" 0 "$e: … and ends it"
    rm -f "$T/record"
    { timeout 20 "$CAISSON" exec --result "$T/record" "$s" -- sh -c 'exec 2>&1; while :; do echo y; done' 2>&1; echo $? >"$T/status"; } | head -c 1 >/dev/null
    is "$(cat "$T/status") $(field reason)" "141 cancelled" "$e: nobody reads any more"
    rm -f "$T/record"
    spawn "$CAISSON" exec --result "$T/record" --stop-timeout 20s "$s" -- \
        sh -c 'trap "echo asked; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    caller=$pid
    wait_until 10 grep -q up "$T/spawn.out"
    kill "$caller"
    wait "$caller"
    is "$? $(field reason) $(tr '\n' ' ' <"$T/spawn.out")" "143 cancelled up asked " "$e: --stop-timeout gives it a chance"
}

is_stopped() { grep -q '^State:.T' "/proc/$1/status" 2>/dev/null; }
goes_on() { ! is_stopped "$1"; }

# SIGSTOP to caisson stops neither its wall limit nor the session's end
caller_stopped() {
    # an emulated engine takes a second and more
    limit=1s engine_limit=1s
    if [ "$CAISSON_SLOW" -gt 3 ]; then limit=5s engine_limit=10s; fi
    spawn "$CAISSON" exec --timeout $limit --engine-timeout $engine_limit "$s" -- sh -c 'echo up; sleep 783'
    caller=$pid
    check "$e: an exec that is to be stopped" wait_until 10 grep -q up "$T/spawn.out"
    kill -STOP "$caller"
    check "$e: caisson stopped: the wall limit holds all the same" wait_until 8 is_gone 'sleep 783'
    check "$e: … and it does not keep the session in use" wait_until 8 goes_on "$caller"
    kill -CONT "$caller" 2>/dev/null
    wait "$caller" 2>/dev/null
    is $? 137 "$e: … but goes too"
    check "$e: … and the session is healthy" alive
    "$CAISSON" exec "$s" -- sh -c 'echo up; sleep 784' >"$T/up" 2>/dev/null &
    caller=$!
    wait_until 10 grep -q up "$T/up"
    kill -STOP "$caller"
    t0=$(now_ms)
    finish
    is $? 143 "$e: the session ends though the caisson of an exec is stopped"
    between "$(($(now_ms) - t0))" 0 "$(scaled 3000)" "$e: … in time"
    kill -CONT "$caller" 2>/dev/null
    wait "$caller" 2>/dev/null
}

# an engine that leaves the process where it pleases, and exits with 0
astray() {
    cat >"$T/astray" <<EOF
#!/bin/sh
for arg; do
    shift
    if [ "\${skip-}" = 1 ]; then skip=0 && continue; fi
    if [ "\$arg" = --cgroup ]; then skip=1 && continue; fi
    set -- "\$@" "\$arg"
done
exec $(engine_path "$e") "\$@"
EOF
    chmod +x "$T/astray"
    echo "{\"runtimes\":{\"astray\":{\"path\":\"$T/astray\",\"engine\":\"$e\"}}}" >"$T/astray.json"
    s=x-astray-$e-$$
    spawn "$CAISSON" run --config "$T/astray.json" --runtime astray --id "$s" --timeout 0 -- python3 -c "print('up', flush=True); $init"
    session=$pid
    wait_until 20 grep -q up "$T/spawn.out"
    x -- sh -c 'sleep 785 & echo leaked; sleep 785'
    is "$rc $(field reason) $(field error.kind)|$out" "125 start-failed limit|" "$e: a process outside its group: killed, and not a byte of it"
    like "$err" "caisson: *not in the cgroup*" "$e: … is said"
    check "$e: … none is left" no_process 'sleep 785'
    finish
}

# an engine's own kernel that is frozen would answer nobody who asks for the exec's end
paused() {
    rm -f "$T/record"
    spawn "$CAISSON" exec --result "$T/record" --timeout 2s "$s" -- sh -c 'echo up; sleep 786 & sleep 786'
    caller=$pid
    wait_until 10 grep -q up "$T/spawn.out"
    "$CAISSON" pause "$s" >/dev/null
    t0=$(now_ms)
    wait "$caller"
    is "$? $(field reason)" "124 wall-limit" "$e: paused meanwhile: limits go on"
    between "$(($(now_ms) - t0))" 0 "$(scaled 4000)" "$e: … and end it in time"
    like "$("$CAISSON" ps)" "*$s *paused *" "$e: … the session is paused as before"
    "$CAISSON" resume "$s" >/dev/null
    is "$(inside 'sleep 786')" 0 "$e: … none of the exec is left"
    check "$e: … and the session is healthy" alive
}

at_once() {
    i=0 pids=
    while [ $i -lt 8 ]; do
        "$CAISSON" exec "$s" -- sh -c "exit $i" &
        pids="$pids $!"
        i=$((i + 1))
    done
    i=0 bad=0
    for p in $pids; do
        wait "$p"
        [ $? = $i ] || bad=$((bad + 1))
        i=$((i + 1))
    done
    is "$bad" 0 "$e: eight at once: each with its own status"
}

session_ends() {
    rm -f "$T/record"
    "$CAISSON" exec --result "$T/record" "$s" -- sh -c 'echo up; sleep 782' >"$T/up" 2>/dev/null &
    caller=$!
    wait_until 10 grep -q up "$T/up"
    finish
    is $? 143 "$e: the session ends with an exec in it"
    wait "$caller"
    is "$? $(field reason) $(field signal)" "137 stopped 9" "$e: … which says so"
    run "$CAISSON" exec "$s" -- true
    is "$rc" 125 "$e: a session that is over"
}

# what another version, or another program, may ask for
wrong_requests() {
    check "$e: exec-begin: what cannot be is refused" python3 - "$s" <<'EOF'
import json, socket, sys
for wrong in ({"timeoutNs": -1}, {"timeoutNs": "1"}, {"timeoutNs": 1.5}, {"escape": "perhaps"}, {"escape": 1}, {"escape": None}):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("/run/caisson/runs/%s/ctl" % sys.argv[1])
    s.send(json.dumps(dict(op="exec-begin", **wrong)).encode())
    reply = json.loads(s.recv(65536))
    assert reply["ok"] is False and list(wrong)[0] in reply["message"], (wrong, reply)
EOF
    check "$e: … and the session is healthy" alive
}

# it ends while the engine is at its exec: what that says is not the reason
too_late() {
    cat >"$T/late" <<EOF
#!/bin/sh
for arg; do
    if [ "\$arg" != exec ]; then continue; fi
    kill \$(cat "$T/late.pid")
    while readlink "/proc/\$(cat "$T/late.init")/exe" >/dev/null; do sleep 0.01; done
done
exec $(engine_path "$e") "\$@"
EOF
    chmod +x "$T/late"
    echo "{\"runtimes\":{\"late\":{\"path\":\"$T/late\",\"engine\":\"$e\"}}}" >"$T/late.json"
    s=x-late-$e-$$
    spawn "$CAISSON" run --config "$T/late.json" --runtime late --id "$s" --timeout 0 -- python3 -c "print('up', flush=True); $init"
    session=$pid
    wait_until 20 grep -q up "$T/spawn.out"
    echo "$session" >"$T/late.pid"
    init_of "$s" >"$T/late.init"
    x -- true
    is "$rc $(field reason) $(field signal) $(field startedAt)|$err" \
        "137 stopped null null|caisson: the session '$s' ended before the command could begin" "$e: a session that ends before the command begins"
    wait "$session"
    session=
}

# a machine that is emulated gets what hangs on its control groups: runsc's execs have none
slow=0 these=
if [ "$CAISSON_SLOW" -ge 5 ]; then slow=1 these='runc crun'; fi
# shellcheck disable=SC2086 # words
for e in $(engines $these); do
    begin
    finish
    snapshot before
    begin
    own_limits
    F008_ends_its_tree
    caller_gone
    if [ $slow = 0 ]; then
        first_steps
        wrong
        wrong_requests
        F007_as_in_a_run
        endless_output
        F028_many
        F043_stdin
        F056_working_directory
        F059_orphans
        F068_held_streams
        at_once
        paused
    fi
    session_ends
    begin
    caller_stopped
    if [ "$e" != runsc ]; then astray; fi
    too_late
    compare before "$e: nothing is left behind"
done
done_testing
