#!/bin/sh
# An engine that does wrong: bounded, undone, and said so. First a scripted one, then the real ones.
# needs: root python3 unshare
# timeout: 180
. "${0%/*}/lib.sh"

if [ ! -x "$CAISSON_FAKERUN" ]; then skip_all "the scripted engine is not built: $CAISSON_FAKERUN"; fi

mkdir "$T/bin" "$T/cache"
rec=$T/record
number=0

# fake KIND LINE...: an engine that passes for KIND and does what the lines say (tests/fake/script.h); sets rt
fake() {
    rt=$T/bin/$1
    ln -sf "$CAISSON_FAKERUN" "$rt"
    shift
    printf '%s\n' "$@" >"$rt.script"
}

# attempt FLAGS...: the scripted engine sets no rlimits, and every call has a deadline of 300 ms (create: 900)
attempt() {
    number=$((number + 1))
    id=e$$-$number
    rm -f "$rec"
    run "$CAISSON" run --runtime "$rt" --cache-dir "$T/cache" --engine-timeout "$(scaled 300)ms" --best-effort=rlimits \
        --id "$id" --result "$rec" "$@"
}

no_group() { [ -z "$(find /sys/fs/cgroup -type d -path "*/caisson/*$1*" 2>/dev/null)" ]; }

# clean DESC: nothing of the last attempt is there; its supervisor has ended, so this needs no waiting
clean() {
    if no_group "$id" && [ ! -e "/run/caisson/runs/$id" ]; then
        ok "$1: nothing is left"
    else
        not_ok "$1: nothing is left" "$(find /sys/fs/cgroup /run/caisson -path "*$id*" 2>/dev/null)"
    fi
}

# failed KIND TEXT DESC: start-failed of that kind, 125, a message with that text
failed() {
    is "$rc $(field reason) $(field error.kind)" "125 start-failed $1" "$3: start-failed, $1"
    like "$(field error.message)|$err" "*$2*|*$2*" "$3: ... said in the record and to people"
    clean "$3"
}

works() {
    fake runc '# nothing wrong'
    attempt -- sh -c 'echo hi; exit 3'
    is "$rc|$out" "3|hi" "the scripted engine works"
    clean "the scripted engine works"
}

hangs() {
    fake runc 'create hang'
    attempt -- true
    failed engine-timeout "runc create: no answer within" "F032 create hangs"
    between "$ms" 800 "$(scaled 2500)" "F032 create hangs: as long as the deadline"
    fake runc 'create ignore-term' 'create hang'
    attempt -- true
    failed engine-timeout "runc create: no answer within" "F032 create hangs and ignores SIGTERM"
    fake runc 'start hang'
    attempt -- true
    failed engine-timeout "runc start: no answer within" "F032 start hangs"
    between "$ms" 250 "$(scaled 2000)" "F032 start hangs: as long as the deadline"
    # kill is asked only where the init that we see is the engine's sandbox; the limit ends the run all the same
    fake runc 'kill hang' 'delete hang'
    attempt --timeout 200ms --stop-timeout 100ms -- sleep 97
    is "$rc $(field reason)" "124 wall-limit" "F032 kill and delete hang: the limit ends the run"
    between "$ms" 200 "$(scaled 1500)" "F032 kill and delete hang: in time"
    clean "F032 kill and delete hang"
    # there it is asked, and is left behind when the patience with the program is over
    fake runsc 'kill hang'
    attempt --engine-timeout 20s --memory 64m --timeout 200ms --stop-timeout 300ms -- sleep 97
    is "$rc $(field reason)" "124 wall-limit" "F032 kill hangs where only the engine can send a signal"
    between "$ms" 500 "$(scaled 2500)" "F032 ... in time"
    clean "F032 ... kill hangs"
}

dies() {
    fake runc 'create exit 4'
    attempt -- true
    failed engine "runc create: ended with status 4" "create fails without a word"
    fake runc 'create die KILL'
    attempt -- true
    failed engine "runc create: killed by signal 9" "F023 create is killed"
    fake runc '# nothing wrong'
    attempt --id "$id" -- sh -c 'exit 3'
    is "$rc" 3 "F023 create is killed: the same id again"
    fake runc 'create exit 0'
    attempt -- true
    failed engine "left no pid file" "create ends well before the pid file"
    fake runc 'create no-pid-file'
    attempt -- true
    failed engine "left no pid file" "create leaves a container and no pid file"
    fake runc 'create late-pid-file 200'
    attempt -- true
    failed engine "left no pid file" "the pid file comes after the end of create"
    fake runc 'create half'
    attempt -- true
    failed engine "container half made" "create leaves half a container"
    fake runc 'create linger 60000' 'create exit 1'
    attempt -- true
    failed engine "ended with status 1" "create leaves a process in a session of its own"
    fake runc 'start exit 1'
    attempt -- true
    failed engine "runc start: ended with status 1" "start fails"
    fake runc 'start then-exit 1'
    attempt -- sleep 97
    failed engine "runc start: ended with status 1" "start fails though the program runs"
}

# A pid file may hold any number; nothing may happen to a process that is not ours.
wrong_pid() {
    sleep 96 &
    bystander=$!
    for n in 0 1 -1 99999999 "$bystander"; do
        fake runc "create pid $n"
        attempt -- true
        is "$rc $(field reason) $(field error.kind)" "125 start-failed engine" "create names process $n"
        clean "create names process $n"
    done
    check "create names a process of somebody else: it lives" kill -0 "$bystander"
    kill "$bystander"
    wait "$bystander" 2>/dev/null
}

talks() {
    fake runc 'create stderr 1000000' 'create exit 1'
    attempt -- true
    failed engine "runc create: ended with status 1" "F029 1 MB on stderr"
    like "$(field error.engineMessage)" "EEEEEEEE*" "F029 1 MB on stderr: a part of it is kept"
    is "$((${#err} < 8192))" 1 "F029 1 MB on stderr: but not all of it"
    fake runc 'create stderr 1000000'
    attempt --capture both --format json -- sh -c 'echo hi'
    is "$rc $(field stdout.seenBytes) $(field stderr.seenBytes)" "0 3 0" "F029 1 MB on stderr of a create that works: not the program's"
    fake runc 'start stderr 1000000' 'start exit 1'
    attempt -- true
    failed engine "runc start:" "F029 1 MB on stderr of start"
    fake runc 'create garbage-log 3000000' 'create exit 1'
    attempt -- true
    failed engine "runc create:" "a log of garbage"
    check "a log of garbage: the record is one line" test "$(wc -l <"$rec")" = 1
    fake runc 'create say said' 'create log logged' 'create exit 1'
    attempt -- true
    is "$(field error.engineMessage)" logged "the log is believed before stderr"
    fake runc '* unknown'
    attempt -- true
    failed engine "create" "an engine that knows no verb"
}

# F023: what systemd's driver leaves. Systemd itself cannot be had in a test; the scripted engine puts the container where
# systemd would, and a file system over /run, in a namespace of its own, makes a host on which systemd runs.
systemd() {
    number=$((number + 1))
    id=e$$-$number
    rm -f "$rec"
    # shellcheck disable=SC2016 # for the inner shell
    run unshare --mount sh -c 'mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec "$@"' sh \
        "$CAISSON" run --runtime "$rt" --cache-dir "$T/cache" --best-effort=rlimits --id "$id" --result "$rec" --systemd-cgroup "$@"
}
no_scope() { [ -z "$(find /sys/fs/cgroup -type d -name "*$1*" 2>/dev/null)" ]; }

scopes() {
    at_exit 'find /sys/fs/cgroup -depth -type d -name caisson.slice -exec rmdir {} + 2>/dev/null'
    fake runc '# nothing wrong'
    if [ ! -d /run/systemd/system ]; then
        attempt --systemd-cgroup -- true
        is "$rc $(field reason) $(field error.kind)" "125 start-failed usage" "F023 --systemd-cgroup where systemd does not run"
        like "$err" "caisson: --systemd-cgroup: systemd does not run on this host" "F023 ... is told"
        clean "F023 ... and refused before anything is made"
    fi
    : >"$rt.calls"
    systemd --pids-limit 9 -- sh -c 'cat /proc/self/cgroup; exit 3'
    like "$out" "*/caisson.slice/caisson-$id.scope*" "F023 --systemd-cgroup: the container is in the scope of its id"
    is "$rc $(field pids.inForce)" "3 9" "F023 ... whose limits are read back"
    check "F023 ... which the engine is told to ask systemd for" grep -q -e '--systemd-cgroup' "$rt.calls"
    check "F023 ... and nothing is left of it" no_scope "$id"
    fake runc 'create die KILL'
    systemd -- true
    is "$rc $(field error.kind)" "125 engine" "F023 --systemd-cgroup: create is killed"
    used=$id
    fake runc 'create half'
    systemd --id "$used" -- true
    is "$rc $(field error.kind)" "125 engine" "F023 --systemd-cgroup: the same id again, of which create leaves half a container"
    check "F023 ... its scope is removed" no_scope "$used"
    # a scope that nobody lives in, as one that failed
    above=/sys/fs/cgroup/caisson.slice
    if [ "$(cgroup_version)" = 1 ]; then above=/sys/fs/cgroup/pids/caisson.slice; fi
    mkdir -p "$above/caisson-$used.scope"
    fake runc '# nothing wrong'
    systemd --id "$used" -- sh -c 'exit 4'
    is "$rc|$err" "4|" "F023 --systemd-cgroup: a stale scope of that id is no obstacle"
    check "F023 ... and removed" no_scope "$used"
    rm -f "$rt.calls"
}

# F038: a limit that was asked for and is not in force
unlimited() {
    fake runc 'create limits skip'
    attempt --memory 64m -- sh -c 'echo ran'
    failed limit "--memory: asked for 67108864, in force is no limit" "F038 limits not applied"
    is "$out" "" "F038 limits not applied: nothing was run"
    attempt --memory 0 -- sh -c 'echo ran'
    failed limit "--pids-limit: asked for 64, in force is no limit" "F038 limits not applied: the next knob"
    fake runc 'create limits half'
    attempt --memory 64m -- sh -c 'echo ran'
    failed limit "--memory: asked for 67108864, in force is 33554432" "F038 half the limit is applied"
    attempt --memory 64m --best-effort=memory,swap,pids,cpu,rlimits -- sh -c 'echo ran'
    is "$rc|$out" "0|ran" "F038 --best-effort goes on"
    like "$(field warnings)" "*limit-not-applied: --memory: *" "F038 --best-effort: the record says so"
    clean "F038 --best-effort"
    # its answers are kept by the binary's identity, which is the same for all of these
    fake runc 'features no-seccomp'
    attempt --cache-dir "$T/cache-seccomp" -- sh -c 'echo ran'
    failed limit "--seccomp: runc was built without it; --best-effort=seccomp" "F038 an engine without seccomp"
    attempt --cache-dir "$T/cache-seccomp" --best-effort=rlimits,seccomp -- grep '^Seccomp:' /proc/self/status
    is "$rc|$(echo "$out" | tr -d '\t ')" "0|Seccomp:0" "F038 --best-effort=seccomp goes on"
    like "$(field warnings)" "*limit-not-applied: seccomp: *" "F038 --best-effort=seccomp: the record says so"
    attempt --cache-dir "$T/cache-seccomp" --seccomp none -- true
    is "$rc|$(field warnings)" "0|[]" "F038 who asks for no filter misses none"
}

cancelled() {
    fake runc 'create hang'
    number=$((number + 1))
    id=e$$-$number
    : >"$rt.calls"
    spawn "$CAISSON" run --runtime "$rt" --cache-dir "$T/cache" --id "$id" --result "$rec" -- true
    wait_until 5 grep -q create "$rt.calls"
    began=$(now_ms)
    kill -TERM "$pid"
    if wait "$pid"; then rc=0; else rc=$?; fi
    is "$rc $(field reason)" "143 cancelled" "SIGTERM while create hangs"
    between $(($(now_ms) - began)) 0 "$(scaled 1000)" "SIGTERM while create hangs: at once"
    clean "SIGTERM while create hangs"
    rm -f "$rt.calls"
}

absent() {
    run "$CAISSON" run --runtime no-such-engine -- true
    is "$rc" 125 "unknown engine: 125"
    like "$err" "*no-such-engine*" "unknown engine: named"
    like "$err" "*give one of *runc*path of a binary*" "unknown engine: what to do"
    run env PATH="$T/vol" "$CAISSON" run --runtime youki -- true
    is "$rc" 125 "a known engine that is not installed: 125"
    like "$err" "*youki*is not installed: *" "a known engine that is not installed: named"
    run "$CAISSON" run --runtime /no/such/engine -- true
    is "$rc" 125 "an engine's path that is not there: 125"
    like "$err" "*/no/such/engine*" "an engine's path that is not there: named"
    run "$CAISSON" run --runtime /etc/passwd -- true
    is "$rc" 125 "an engine that cannot be executed: 125"
    like "$err" "*/etc/passwd*" "an engine that cannot be executed: named"
    printf '#!/no/such/interpreter\n' >"$T/bin/odd"
    chmod 755 "$T/bin/odd"
    run "$CAISSON" run --runtime "$T/bin/odd" -- true
    is "$rc" 125 "an engine without its interpreter: 125"
}

# --- the real ones ----------------------------------------------------------------------------------------------------

# F019: one meaning on every engine. $T/vol holds commands that cannot be run.
commands() {
    job "$e" -- /no/such/cmd
    is "$rc $(field reason) $(field error.kind)" "127 start-failed not-found" "F019 $e: a command that is not there"
    like "$err" "*/no/such/cmd*" "F019 $e: ... is named"
    job "$e" -- no-such-cmd
    is "$rc $(field error.kind)" "127 not-found" "F019 $e: a name that is nowhere in PATH"
    job "$e" -- /etc
    is "$rc $(field reason) $(field error.kind)" "126 start-failed not-executable" "F019 $e: a directory"
    job "$e" -v "$T/vol:/vol" -- /vol/plain
    is "$rc $(field error.kind)" "126 not-executable" "F019 $e: a file without the x bit"
    job "$e" -v "$T/vol:/vol" -- /vol/garbage
    is "$rc $(field error.kind)" "126 not-executable" "F019 $e: neither ELF nor script"
    job "$e" -v "$T/vol:/vol" -- /vol/script
    is "$rc $(field error.kind)" "127 not-found" "F019 $e: a script whose interpreter is missing"
    like "$err" "*/no/such/interpreter*" "F019 $e: ... which is named"
    is "$(field startedAt) $(field exitCode)" "null null" "F019 $e: it did not start"
}

# What only the engine can tell is told in its words.
engines_words() {
    job "$e" --runtime-arg --no-such-flag -- true
    is "$rc $(field reason) $(field error.kind)" "125 start-failed engine" "$e: a flag that the engine does not know"
    like "$err" "*$e create*no-such-flag*" "$e: ... in its own words, not those of its help"
}

# F023: an id is free again whatever became of its run: out of memory, or an engine that is killed at any moment of create
same_id() {
    least=16M
    if [ "$e" = runsc ]; then least=64M; fi
    job "$e" --id "same-$$" --memory $least -- python3 -ISc 'a = bytearray(1 << 30)'
    is "$rc $(field reason)" "137 oom" "F023 $e: a run that is out of memory"
    job "$e" --id "same-$$" -- sh -c 'exit 3'
    is "$rc|$err" "3|" "F023 $e: the same id again"
    cat >"$T/killed" <<EOF
#!/bin/sh
case " \$* " in *" create "*) exec timeout -s KILL "\$(cat "$T/moment")" "$(engine_path "$e")" "\$@" ;; esac
exec "$(engine_path "$e")" "\$@"
EOF
    chmod 755 "$T/killed"
    printf '{"runtimes":{"killed":{"path":"%s","engine":"%s"}}}\n' "$T/killed" "$e" >"$T/killed.json"
    wrong=0 i=0 killed=0
    n=$(repeats 200)
    while [ $i -lt "$n" ]; do
        i=$((i + 1))
        awk -v seed="$CAISSON_SEED" -v i=$i -v most=$((span * CAISSON_SLOW)) \
            'BEGIN { srand(seed * 1000 + i); printf "%.3f\n", 0.001 + rand() * most / 1000 }' >"$T/moment"
        rm -f "$T/record"
        run "$CAISSON" run --config "$T/killed.json" --runtime killed --id "same-$$" --result "$T/record" -- sh -c 'exit 3'
        case "$rc $(field reason) $(field error.kind)" in
        "125 start-failed engine") killed=$((killed + 1)) ;;
        "3 exited "*) ;;
        *) wrong=$((wrong + 1)) && diag "killed after $(cat "$T/moment") s: $rc $err" ;;
        esac
        job "$e" --id "same-$$" -- sh -c 'exit 5'
        if [ "$rc|$err" != "5|" ]; then wrong=$((wrong + 1)) && diag "after $(cat "$T/moment") s, again: $rc $err"; fi
    done
    is $wrong 0 "F023 $e: SIGKILL at random moments of create, and the same id again ($killed of $n, seed $CAISSON_SEED)"
    between "$killed" 1 "$n" "F023 $e: ... some of which hit"
}

works
hangs
dies
wrong_pid
talks
scopes
unlimited
cancelled
absent
mkdir "$T/vol"
echo 'echo no' >"$T/vol/plain"
printf 'garbage\001\002' >"$T/vol/garbage"
printf '#!/no/such/interpreter\n' >"$T/vol/script"
chmod 755 "$T/vol" "$T/vol/garbage" "$T/vol/script"
for e in $(engines); do
    snapshot before
    span=$([ "$e" = crun ] && echo 10 || { [ "$e" = runc ] && echo 40 || echo 150; })
    commands
    engines_words
    same_id
    compare before "F019 $e: nothing is left"
done
done_testing
