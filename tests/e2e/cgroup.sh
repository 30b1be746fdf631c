#!/bin/sh
# What depends on the cgroup version: limits in force, every reason that a cgroup has a part in, kills, OOM in its three
# forms, counters, clean-up. Few runs an engine, since the cgroup v2 machine is slow.
# needs: root python3
# tags: vm peers
# timeout: 900
. "${0%/*}/lib.sh"

hog='a = bytearray(1 << 30)'
# number NAME: a field of the record that must be a number; 0 when it is not
number() {
    _value=$(field "$1")
    case $_value in '' | *[!0-9]*) echo 0 ;; *) echo "$_value" ;; esac
}
pid_of() { "$CAISSON" ps | awk -v id="$1" '$1 == id { print $3 }'; }
guardian_of() { cat "/proc/$1/task/$1/children" 2>/dev/null | tr ' ' '\n' | while read -r p; do
    if [ "$(cat "/proc/$p/comm" 2>/dev/null)" = caisson-guard ]; then echo "$p"; fi
done; }
on_record() { "$CAISSON" ps | awk -v id="$1" '$1 == id' | grep -q .; }
group_there() { [ -n "$(find /sys/fs/cgroup -type d \( -path "*/caisson/$1" -o -path "*/caisson/_engine-$1" \) 2>/dev/null | head -n 1)" ]; }
left_nothing() { ! group_there "$1" && [ ! -e "/run/caisson/runs/$1" ]; }
started() { grep -q started "$T/spawn.out"; }

for e in $(engines); do
    case $e in runsc) pids=704 own_kernel=1 ;; *) pids=40 own_kernel=0 ;; esac
    job "$e" -- true
    ended exited 0 null 0 "$e: a run"
    snapshot "$e"

    # --- limits in force, counters ----------------------------------------------------------------------------------
    job "$e" --memory 100m --pids-limit 40 --cpus 0.5 -- python3 -c 'a = bytearray(30 << 20); sum(range(10 ** 6))'
    ended exited 0 null 0 "$e: a run under limits"
    is "$(field memoryBytes.inForce) $(field memorySwapBytes.inForce) $(field pids.inForce) $(field millicpus.inForce)" \
        "104857600 104857600 $pids 500" "$e: memory, swap, pids and cpu are in force as asked"
    between "$(number memoryPeakBytes)" 30000000 104857600 "$e: F074 the peak of memory"
    between "$(($(number cpuUserNs) + $(number cpuSystemNs)))" 1000000 $((60000000000 * CAISSON_SLOW)) "$e: F074 CPU time"
    between "$(number pidsPeak)" 1 "$pids" "$e: F074 the peak of processes"

    # --- out of memory ------------------------------------------------------------------------------------------------
    job "$e" --memory 64m -- python3 -c "$hog"
    is "$(field reason) $(field outwardCode) $rc $(field oomScope)" "oom 137 137 own" "$e: F014 F034 out of memory"
    between "$(number oomKills)" 1 1000 "$e: F014 and the kernel's kill is counted"
    if [ "$own_kernel" = 0 ]; then
        job "$e" --memory 64m -- sh -c "python3 -c '$hog'; exit 0"
        is "$(field reason) $(field exitCode) $rc" "exited 0 0" "$e: a child out of memory is the program's own business"
        between "$(number oomKills)" 1 1000 "$e: but told"
        job "$e" --memory 64m --oom-group -- sh -c "python3 -c '$hog'; exit 0"
        is "$(field reason) $rc" "oom 137" "$e: --oom-group ends all"
    fi

    # --- limits of caisson itself ---------------------------------------------------------------------------------------
    job "$e" --timeout "$(scaled 1)s" -- sh -c 'trap "" TERM; (setsid sleep 399 &); sh -c "kill -STOP \$\$"; sleep 399'
    is "$(field reason) $rc" "wall-limit 124" "$e: F011 wall limit over a stopped child and one in a session of its own"
    job "$e" --cpu-time 500ms --timeout "$(scaled 20)s" -- sh -c 'for i in 1 2 3 4; do (while :; do :; done) & done; wait'
    is "$(field reason) $rc" "cpu-limit 152" "$e: F013 CPU time of a whole tree"
    between "$(($(number cpuUserNs) + $(number cpuSystemNs)))" 500000000 $((500000000 + 200000000 * CAISSON_SLOW)) \
        "$e: F013 counted from the start"
    job "$e" --output-limit 100k -- sh -c 'yes | head -c 100000000'
    is "$(field reason) $rc $(field stdout.keptBytes) $(wc -c <"$T/out")" "output-limit 153 102400 102400" "$e: output limit"
    job "$e" --timeout "$(scaled 2)s" -- sh -c 'bomb() { bomb | bomb & }; bomb; sleep 399'
    case $own_kernel-$(field reason) in
    0-wall-limit | 1-wall-limit | 1-sandbox-failed) ok "$e: a fork bomb" ;;
    *) not_ok "$e: a fork bomb" "reason $(field reason)" ;;
    esac
    if [ "$own_kernel" = 0 ] && [ "$(field pidsPeak)" != null ]; then
        between "$(number pidsPeak)" 2 64 "$e: and never more processes than allowed"
    fi

    # --- cancelled, and killed ------------------------------------------------------------------------------------------
    id=$(basename "$T" | tr . -)-$e
    spawn "$CAISSON" run --runtime "$(engine_path "$e")" --id "$id-term" --result "$T/record" -- sh -c 'echo started; exec sleep 399'
    wait_until 10 started
    kill -TERM "$pid"
    wait "$pid"
    rc=$?
    is "$(field reason) $rc" "cancelled 143" "$e: SIGTERM cancels"
    check "$e: and nothing of it is left" left_nothing "$id-term"

    spawn "$CAISSON" run --runtime "$(engine_path "$e")" --id "$id-kill" -- sh -c 'echo started; exec sleep 399'
    wait_until 10 started
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    check "$e: F010 SIGKILL of caisson: the guardian removes all" wait_until 1 left_nothing "$id-kill"

    spawn "$CAISSON" run --runtime "$(engine_path "$e")" --id "$id-both" -- sh -c 'echo started; exec sleep 399'
    wait_until 10 started
    guardian=$(guardian_of "$(pid_of "$id-both")")
    kill -STOP "$guardian"
    kill -KILL "$pid"
    kill -KILL "$guardian"
    wait "$pid" 2>/dev/null
    check "$e: SIGKILL of both: the record stays" on_record "$id-both"
    run "$CAISSON" gc
    check "$e: SIGKILL of both: gc removes all" left_nothing "$id-both"

    # --- start failures --------------------------------------------------------------------------------------------------
    job "$e" -- /no/such/program
    is "$(field reason) $(field kind) $rc" "start-failed not-found 127" "$e: F019 not found"
    compare "$e" "$e: nothing is left of all that"
done
done_testing
