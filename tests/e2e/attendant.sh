#!/bin/sh
# The attendant under dockerd: bounded logs, limits, exec, restarts, and what becomes of it all when it is killed.
# needs: root docker dockerd busybox python3
# timeout: 600
. "${0%/*}/lib.sh"
. "${0%/*}/dockerd.inc"

STATE=$T/state
CONFIG=$T/config.json
BURST=150000
RATE=20000

# config EXEC_TIMEOUT: the policies; `loose` is what a container was made under, its execs look again
config() {
    cat >"$CONFIG" <<EOF
{"policies": {
  "small": {"base": "default", "outputRate": "$RATE", "outputBurst": "$BURST"},
  "brief": {"base": "strict", "timeout": "2s", "outputLimit": "64k", "user": "0"},
  "loose": {"base": "default", "timeout": "$1", "outputLimit": "$2", "onOutputLimit": "kill"},
  "kept": {"base": "default", "onAttendantDeath": "keep"}}}
EOF
}
config 0 unlimited

runtime() {
    printf '"%s": {"path": "%s", "runtimeArgs": ["--policy", "%s", "--config", "%s", "--state-dir", "%s", "--runtime", "%s"]}' \
        "$1" "$CAISSON_RUNTIME" "$1" "$CONFIG" "$STATE" "$engine"
}

run_detached() { docker run -d --name "$@" >/dev/null; }
state() { docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' "$1"; }
ended_as() { case $(state "$1") in exited*) return 0 ;; *) return 1 ;; esac; }
log_path() { docker inspect -f '{{.LogPath}}' "$1"; }

# bounded NAME FROM_MS SECONDS DESC: at every look, the log of NAME is no larger than burst + rate × time, and in the end
# not for want of output
bounded() {
    log=$(log_path "$1")
    over='' looks=0 size=0 looked_ms=$(now_ms)
    while now=$(now_ms) && { [ "$now" -lt $((looked_ms + $3 * 1000)) ] ||
        { [ "$size" -le $((BURST / 2)) ] && [ "$now" -lt $((looked_ms + $(scaled 15000))) ]; }; }; do
        # the size first: what is allowed grows meanwhile
        size=$(stat -c %s "$log")
        allowed=$((BURST + RATE * ($(now_ms) - $2) / 1000))
        if [ "$size" -gt "$allowed" ]; then over="$over $size>$allowed"; fi
        looks=$((looks + 1))
        sleep 0.1
    done
    is "$over" "" "$4 ($looks looks, the last $size of $allowed bytes)"
    between "$size" $((BURST / 2)) "$allowed" "$engine: … and there was something to bound"
}

logs() {
    for t in "" -t; do
        t0=$(now_ms)
        # shellcheck disable=SC2086 # a flag or none
        run_detached "yes$t" $t --runtime small img yes
        bounded "yes$t" "$t0" 4 "$engine: F005 the log of yes $t is bounded at every look"
        is "$(state "yes$t")" "running 0" "$engine: … and the container goes on"
        check "$engine: … the log says that some is missing" sh -c "docker logs yes$t 2>&1 | grep -q 'caisson: stdout passes'"
        docker kill "yes$t" >/dev/null
        wait_until 5 ended_as "yes$t"
        check "$engine: … there is a record" wait_until 5 docker_record "$(docker inspect -f '{{.Id}}' "yes$t")"
        is "$(field reason) $(field signal) $([ "$(field stdout.droppedBytes)" -gt 0 ] && echo dropped)" "signaled 9 dropped" "$engine: … of its end"
        docker rm -f "yes$t" >/dev/null
    done
    # bytes that grow sixfold in the log, and lines that are cut
    t0=$(now_ms)
    run_detached binary --runtime small img sh -c 'while :; do tr "\000-\377" "\377\001<\"" </dev/urandom | head -c 1000000; done'
    bounded binary "$t0" 2 "$engine: F005 … of what json-file blows up"
    docker rm -f binary >/dev/null
}

quiet() {
    for t in "" -t; do
        # shellcheck disable=SC2086
        run docker run --rm $t --runtime small img sh -c 'for i in $(seq 1 200); do echo "line $i"; done; echo last >&2'
        is "$(tr -d '\r' <"$T/out" | grep -c '^line') $rc" "200 0" "$engine: a quiet service's output is complete $t"
    done
    run_detached quiet --runtime small img sh -c 'for i in $(seq 1 100); do echo "line $i"; usleep 2000; done'
    docker wait quiet >/dev/null
    is "$(docker logs quiet | wc -l)" 100 "$engine: … and so is its log"
    docker rm quiet >/dev/null
}

restarts() {
    t0=$(now_ms)
    run_detached loop --restart always --runtime small img sh -c 'yes | head -c 20000'
    again() { [ "$(docker inspect -f '{{.RestartCount}}' loop)" -ge 4 ]; }
    check "$engine: a container restarts again and again" wait_until 30 again
    size=$(cat "$(log_path loop)"* | wc -c)
    allowed=$((BURST + RATE * ($(now_ms) - t0) / 1000))
    between "$size" 1 "$allowed" "$engine: F005 a restart loop does not refill the bucket"
    docker rm -f loop >/dev/null
}

strict() {
    run_detached cap --runtime brief img yes
    check "$engine: strict: yes ends" wait_until 5 ended_as cap
    is "$(state cap)" "exited 137" "$engine: strict: … as killed"
    check "$engine: strict: … with a record" wait_until 5 docker_record "$(docker inspect -f '{{.Id}}' cap)"
    is "$(field reason) $(field stdout.keptBytes)" "output-limit 65536" "$engine: strict: … of the output limit"
    docker rm cap >/dev/null
    # shellcheck disable=SC2016
    silent='exec >/dev/null 2>&1; trap "" TERM; sleep 999'
    for t in "" -t; do
        # shellcheck disable=SC2086
        run docker run --rm $t --runtime brief img sh -c "$silent"
        is "$rc" 137 "$engine: strict: a silent one $t ends at the wall limit"
        between "$ms" 2000 "$(scaled 4500)" "$engine: strict: … in time"
        # shellcheck disable=SC2086
        run_detached "silent$t" $t --runtime brief img sh -c "$silent"
        check "$engine: strict: … detached too" wait_until 6 ended_as "silent$t"
        is "$(state "silent$t")" "exited 137" "$engine: strict: … with 137 in inspect"
        wait_until 5 docker_record "$(docker inspect -f '{{.Id}}' "silent$t")"
        is "$(field reason) $(field outwardCode)" "wall-limit 124" "$engine: strict: … and wall-limit on record"
        docker rm "silent$t" >/dev/null
    done
}

absent() { ! grep -qsaF "$1" /proc/[0-9]*/cmdline; }

execs() {
    run_detached home --runtime loose img sleep 9999
    config 0 64k
    run sh -c 'docker exec home dd if=/dev/zero bs=4096 | wc -c'
    is "$out" 65536 "$engine: F007 an endless exec: no byte past the cap reaches the client"
    is "$(state home)" "running 0" "$engine: … and the container lives"
    config 1s unlimited
    for t in "" -t -d; do
        mark=77.$$$(printf %s "$t" | wc -c)
        # shellcheck disable=SC2086
        run docker exec $t home sh -c "trap '' TERM; (setsid sleep $mark &); sleep $mark; sleep $mark"
        if [ "$t" != -d ]; then
            is "$rc" 137 "$engine: F008 an exec $t past its time"
            between "$ms" 1000 "$(scaled 3500)" "$engine: F008 … ends in time"
        fi
        check "$engine: F008 … and nothing of it is left $t" wait_until 4 absent "$mark"
        is "$(state home)" "running 0" "$engine: F008 … in a container that lives"
    done
    config 0 unlimited
    run docker exec -t home sh -c 'echo one; echo two; exit 4'
    is "$(tr -d '\r' <"$T/out" | tr '\n' ' ')$rc" "one two 4" "$engine: an exec with a terminal: output and code"
    run docker exec home sh -c 'echo out; echo err >&2; exit 5'
    is "$out $err $rc" "out err 5" "$engine: … and with pipes"
    run docker exec home /no/such/program
    is "$([ "$rc" -ne 0 ] && grep -c 'no/such/program' "$T/out" "$T/err" | grep -cv ':0')" 1 "$engine: … one that cannot start says why"
    docker rm -f home >/dev/null
}

# attendant_of ID: pid of the attendant of a container, which is neither its child nor its parent
attendant_of() {
    for p in $(pgrep -x caisson-attend); do
        if [ -n "$(find "/proc/$p/fd" -lname "*cgroup/*$1*" 2>/dev/null)" ]; then echo "$p"; fi
    done
}

killed() {
    run_detached k1 --runtime small img sleep 9999
    id=$(docker inspect -f '{{.Id}}' k1)
    a=$(attendant_of "$id")
    isnt "$a" "" "$engine: there is an attendant"
    init=$(docker inspect -f '{{.State.Pid}}' k1)
    parent=$(cut -d ' ' -f 4 "/proc/$init/stat")
    is "$(cat "/proc/$parent/comm")" containerd-shim "$engine: init is the shim's child, not the attendant's"
    is "$(grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' "/proc/$a/status" | tr -s '\t\n' '  ')" \
        "CapEff: 0000000000000020 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 " "$engine: the attendant has no right to spare"
    dirty=$(awk '/^Private_Dirty/ {print $2}' "/proc/$a/smaps_rollup")
    between "$dirty" 1 200 "$engine: … and $dirty KB of its own"
    kill -9 "$a"
    check "$engine: killed, it takes its silent container along" wait_until 5 ended_as k1
    wait_until 5 docker_record "$id"
    is "$(state k1) $(field reason)" "exited 137 cancelled" "$engine: … and that is on record"
    docker rm k1 >/dev/null
    run_detached k2 --runtime kept img sleep 9999
    id=$(docker inspect -f '{{.Id}}' k2)
    a=$(attendant_of "$id")
    is "$(echo "$a" | grep -c .)" 1 "$engine: one attendant, under a policy that keeps the container"
    second=$(pgrep -P "$a" -x caisson-second)
    is "$(echo "$second" | grep -c .)" 1 "$engine: … and one that watches it"
    kill -9 "$a"
    check "$engine: … killed, it is gone" wait_until 5 gone "$a"
    # whoever takes over is watched in its turn
    check "$engine: … the other takes over" wait_until 5 pgrep -P "$second" -x caisson-second
    is "$(state k2)" "running 0" "$engine: … and leaves the container alone, where the policy says so"
    docker kill k2 >/dev/null
    check "$engine: … and its end is still on record" wait_until 5 docker_record "$id"
    docker rm -f k2 >/dev/null
}

# A create that is killed at any point of it leaves nothing once delete --force has been there; nor does an attendant.
killed_on_the_way() {
    n=$(repeats 50)
    if [ "$n" -lt 5 ]; then n=5; fi
    bundle=$T/bundle-$engine
    mkdir -p "$bundle/rootfs/bin"
    cp "$(command -v busybox)" "$bundle/rootfs/bin/sh"
    for victim in create attendant; do
        run python3 "${0%/*}/killcreate.py" $victim "$CAISSON_RUNTIME" "$engine" "$bundle" "$STATE" "$T/root-$engine" "$n" "$CAISSON_SEED"
        is "$rc $out" "0 " "$engine: SIGKILL for $victim at $n points of the way (seed $CAISSON_SEED): nothing is left ($err)"
    done
}

containers_left() { ls "$STATE/containers" 2>/dev/null | wc -l; }

# A sandbox that the kernel ends for its memory, and with it the program inside.
gvisor() {
    engine=$(engine_path runsc)
    dockerd_start "$(runtime small | sed 's/"--runtime"/"--network=none", &/')"
    dockerd_image
    engine=runsc
    run_detached oom --network none -m 128m --runtime small img tail /dev/zero
    check "runsc: F017 out of memory: it ends" wait_until 60 ended_as oom
    wait_until 5 docker_record "$(docker inspect -f '{{.Id}}' oom)"
    is "$(field reason) $(field outwardCode) $(docker inspect -f '{{.State.ExitCode}} {{.State.OOMKilled}}' oom)" "oom 137 137 true" \
        "runsc: F017 … oom on record, 137 and OOMKilled in inspect"
    t0=$(now_ms)
    run_detached yes --network none --runtime small img yes
    bounded yes "$t0" 3 "runsc: F005 the log of yes is bounded at every look"
    is "$(state yes)" "running 0" "runsc: … and the container goes on"
    dockerd_stop
}

# nobody holds the state directory any more
unattended() { [ -z "$(find /proc/[0-9]*/fd -lname "*$STATE/*" 2>/dev/null)" ]; }

for engine in $(engines runc crun); do
    name=$engine
    engine=$(engine_path "$name")
    dockerd_start "$(runtime small), $(runtime brief), $(runtime loose), $(runtime kept)"
    dockerd_image
    engine=$name
    logs
    quiet
    restarts
    strict
    execs
    killed
    killed_on_the_way
    is "$(containers_left)" 0 "$engine: nothing is kept of containers that are gone"
    check "$engine: no attendant is left" wait_until 5 unattended
    dockerd_stop
    rm -rf "$T/docker"
done
if [ -n "$(engines runsc)" ]; then gvisor; fi
done_testing
