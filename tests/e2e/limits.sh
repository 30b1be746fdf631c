#!/bin/sh
# Limits: each is in force, ends what it has to end within its time, and is told for what it is.
# needs: root python3
# tags: peers
# timeout: 240
. "${0%/*}/lib.sh"

version=$(cgroup_version)

# In the emulated machine, where a run takes seconds, only what depends on the version of control groups.
emulated() { [ "$CAISSON_SLOW" -gt 3 ]; }

# run_time LOW HIGH DESC: milliseconds from start to end, the upper bound scaled
run_time() { between $(($(field wallNs) / 1000000)) "$1" "$(scaled "$2")" "$3"; }

# cpu_time LOW HIGH DESC: milliseconds of CPU, from start
cpu_time() { between $((($(field cpuUserNs) + $(field cpuSystemNs)) / 1000000)) "$1" "$2" "$3"; }

# no_process WORD DESC: it is in nobody's command line (and neither in that of what looks for it)
no_process() {
    printf '%s' "$1" >"$T/word"
    check "$2" wait_until 1 absent
}
absent() { ! grep -qsaFf "$T/word" /proc/[0-9]*/cmdline; }

wall() {
    mark=99.$$$(echo "$e" | wc -c)
    job "$e" --timeout 1s -- sh -c "trap '' TERM; (setsid sleep $mark &); sh -c 'kill -STOP \$\$'; sleep $mark"
    ended wall-limit null 9 124 "$e: F016 --timeout with TERM ignored, a session of its own, a stopped process"
    run_time 1000 1300 "$e: … in time"
    no_process "$mark" "$e: … and no process of it is left"
    if emulated; then return; fi
    job "$e" --timeout 1s -- sh -c "sh -c 'kill -STOP 0; sleep $mark'; sleep $mark"
    is "$rc $(field reason)" "124 wall-limit" "$e: F011 a stopped process group"
    run_time 1000 1300 "$e: F011 … in time"
    job "$e" --timeout 1s -- sh -c "sh -c 'kill -STOP -1'; sleep $mark"
    is "$rc $(field reason)" "124 wall-limit" "$e: F011 everything stopped"
    run_time 1000 1300 "$e: F011 … in time"
    no_process "$mark" "$e: F011 … and no process of it is left"
    job "$e" --timeout 500ms --stop-timeout 500ms --memory 64M -- sh -c 'trap "" TERM; while :; do :; done'
    is "$rc $(field reason) $(field oomKills)" "124 wall-limit 0" "$e: F016 a limit with a grace is no OOM"
    run_time 1000 1400 "$e: F016 … in time"
    job "$e" --timeout 500ms --stop-signal USR1 --stop-timeout 20s -- sh -c 'trap "echo asked; exit 3" USR1; sleep 300 & wait'
    is "$rc $out $(field exitCode)" "124 asked 3" "$e: --stop-signal comes first"
}

cpu() {
    job "$e" --cpu-time 500ms --cpus 2 -- sh -c 'for i in 1 2 3 4; do (while :; do :; done) & done; wait'
    ended cpu-limit null 9 152 "$e: F013 --cpu-time counts all processes together"
    cpu_time 300 $((600 + $(scaled 100))) "$e: F013 … from start"
    if emulated; then return; fi
    job "$e" --cpu-time 0.3 -- sh -c 'while :; do :; done'
    is "$rc $(field reason)" "152 cpu-limit" "$e: F013 less than a second"
    cpu_time 200 $((300 + $(scaled 100))) "$e: F013 … to a tenth"
    job "$e" --cpu-time 1 --timeout 1500ms -- sleep 300
    is "$rc $(field reason)" "124 wall-limit" "$e: F013 who sleeps uses none"
    cpu_time 0 "$(scaled 200)" "$e: F013 … to tell"
    job "$e" --cpus 0.5 --timeout 2s -- sh -c 'while :; do :; done'
    cpu_time 500 1300 "$e: --cpus 0.5 for two seconds"
}

eat='a = bytearray(1 << 30); print("survived")'

memory() {
    job "$e" --memory 64M -- python3 -ISc "$eat"
    ended oom null 9 137 "$e: F014 F017 a gigabyte under --memory 64m"
    between "$(field oomKills)" 1 1000 "$e: F014 … and the kernel says so"
    is "$out $(field oomScope)" " own" "$e: F014 … of this run's limit"
    is "$(field memoryBytes.inForce) $(field memorySwapBytes.inForce)" "67108864 67108864" "$e: F034 memory and swap, read back"
    job "$e" --memory 64M --oom-group -- sh -c 'tail /dev/zero; sleep 300'
    ended oom null 9 137 "$e: --oom-group ends all of it"
    if [ "$e" != runsc ]; then
        job "$e" --memory 32M -- sh -c 'tail /dev/zero; exit 0'
        ended exited 0 null 0 "$e: a child's OOM is its parent's business"
        between "$(field oomKills)" 1 1000 "$e: … and counted"
    fi
    if emulated; then return; fi
    job "$e" --memory 100M -- python3 -ISc 'a = bytearray(250 << 20); print("survived")'
    is "$out $(field reason)" " oom" "$e: F034 it never survives"
    job "$e" --memory 128M -- sh -c 'head -c 16000000 /dev/zero >/dev/shm/f; sleep 0.2'
    between "$(field shmemPeakBytes)" 0 33554432 "$e: what lies in memory files is told"
}

# The limit of a group above is hit. v1: in a cgroup namespace with mounts of its own, so that nobody else feels it.
ancestor() {
    if [ "$version" = 2 ]; then
        # caisson takes its group away with the last run, and takes over one that is there
        mkdir -p /sys/fs/cgroup/caisson
        echo 67108864 >/sys/fs/cgroup/caisson/memory.max
        job "$e" --memory 512M -- python3 -ISc "$eat"
        if [ -d /sys/fs/cgroup/caisson ]; then echo max >/sys/fs/cgroup/caisson/memory.max; fi
    else
        rm -f "$T/record"
        run sh "$T/below" "$CAISSON" run --runtime "$(engine_path "$e")" --memory 512M \
            --result "$T/record" -- python3 -ISc "$eat"
    fi
    is "$rc $(field reason) $(field oomScope)" "137 oom ancestor" "$e: F014 the limit of a group above"
}

cat >"$T/below" <<'EOF'
# into groups of our own, which become the roots of a cgroup namespace
for d in /sys/fs/cgroup/*/; do
    if [ -f "$d/cgroup.procs" ] && [ "$d" != /sys/fs/cgroup/unified/ ]; then
        mkdir -p "$d/caisson-above-$$"
        if [ -f "$d/cpuset.cpus" ]; then
            cat "$d/cpuset.cpus" >"$d/caisson-above-$$/cpuset.cpus"
            cat "$d/cpuset.mems" >"$d/caisson-above-$$/cpuset.mems"
        fi
        echo $$ >"$d/caisson-above-$$/cgroup.procs"
    fi
done
echo 67108864 >"/sys/fs/cgroup/memory/caisson-above-$$/memory.limit_in_bytes"
unshare --cgroup --mount sh -c 'for d in /sys/fs/cgroup/*/; do
        o=$(awk -v d="${d%/}" "\$5 == d { o = \$NF } END { gsub(/rw,?/, \"\", o); sub(/,$/, \"\", o); print o }" /proc/self/mountinfo)
        case $d in */unified/) continue ;; esac
        if [ -n "$o" ]; then umount "$d" && mount -t cgroup -o "$o" cgroup "$d"; fi
    done
    exec "$@"' sh "$@"
rc=$?
for d in /sys/fs/cgroup/*/; do
    if [ -d "$d/caisson-above-$$" ]; then
        echo $$ >"$d/cgroup.procs"
        find "$d/caisson-above-$$" -depth -type d -exec rmdir {} +
    fi
done
exit $rc
EOF

# F031: tiny limits work or are refused, always
tiny() {
    set -- "--pids-limit 1" "--pids-limit 3" "--memory 2M" "--memory 8M" "--memory 16M"
    if emulated; then set -- "--memory 8M" "--memory 16M"; fi
    for flags; do
        n=$(repeats 50) i=0 seen=
        while [ $i -lt "$n" ]; do
            i=$((i + 1))
            # shellcheck disable=SC2086 # two words
            job "$e" $flags -- true
            case "$rc $(field reason) $(field error.kind) $err" in
            "0 exited missing "*) seen="$seen works" ;;
            "125 start-failed limit "*"below the minimum for $e"*) seen="$seen refused" ;;
            *) seen="$seen $rc:$(field reason):$err" ;;
            esac
        done
        seen=$(printf '%s\n' $seen | sort -u)
        case $seen in works | refused) ok "$e: F031 $flags: $seen" ;; *) not_ok "$e: F031 $flags" "$seen" ;; esac
    done
}

# F035
honest() {
    if emulated; then return; fi
    job "$e" -- sh -c 'ulimit -S -n; ulimit -v'
    is "$(echo $out)" "1024 unlimited" "$e: F035 limits of a process"
    job "$e" --ulimit as=2000000000 -- true
    like "$(field warnings)" "*rlimit-as*" "$e: F035 an address space limit is warned of"
}

# F038: an engine that takes a limit back is found out, and one that cannot be had stops the run
closed() {
    cat >"$T/lax" <<EOF
#!/bin/sh
"$(engine_path "$e")" "\$@" || exit
case " \$* " in *" create "*) ;; *) exit 0 ;; esac
for id; do :; done
for f in /sys/fs/cgroup/memory/caisson/\$id/memory.memsw.limit_in_bytes /sys/fs/cgroup/memory/caisson/\$id/memory.limit_in_bytes; do
    if [ -f "\$f" ]; then echo 1073741824 >"\$f"; fi
done
if [ -f /sys/fs/cgroup/caisson/\$id/memory.max ]; then echo 1073741824 >/sys/fs/cgroup/caisson/\$id/memory.max; fi
exit 0
EOF
    chmod 755 "$T/lax"
    printf '{"runtimes":{"lax":{"path":"%s","engine":"%s"}}}\n' "$T/lax" "$e" >"$T/config.json"
    rm -f "$T/record"
    run "$CAISSON" run --config "$T/config.json" --runtime lax --memory 64M --result "$T/record" -- echo ran
    is "$rc|$out|$(field reason) $(field error.kind)" "125||start-failed limit" "$e: F034 F038 a limit that is not in force"
    like "$err" "*--memory*67108864*1073741824*" "$e: F038 … is named, with what was found"
    rm -f "$T/record"
    run "$CAISSON" run --config "$T/config.json" --runtime lax --memory 64M --best-effort=memory,swap --result "$T/record" -- echo ran
    is "$rc|$out" "0|ran" "$e: F038 --best-effort goes on"
    like "$(field warnings)" "*limit-not-applied*--memory*" "$e: F038 … and says so"
    if emulated; then return; fi
    if [ "$e" = runsc ]; then
        job "$e" --runtime-arg --ignore-cgroups -- true
        is "$rc $(field reason)" "125 start-failed" "$e: F034 --ignore-cgroups is refused"
    fi
    if [ "$version" = 1 ]; then
        rm -f "$T/record"
        run unshare --mount sh -c 'umount /sys/fs/cgroup/memory && exec "$@"' sh "$CAISSON" run --runtime "$(engine_path "$e")" \
            --memory 64M --result "$T/record" -- echo ran
        is "$rc|$out|$(field error.kind)" "125||limit" "$e: F038 no memory controller"
        like "$err" "*--memory*memory controller*" "$e: F038 … is told"
        run unshare --mount sh -c 'mount --bind /sys/fs/cgroup/pids /sys/fs/cgroup/pids && mount -o remount,bind,ro /sys/fs/cgroup/pids && exec "$@"' \
            sh "$CAISSON" run --runtime "$(engine_path "$e")" --result "$T/record" -- echo ran
        is "$rc|$out" "125|" "$e: F038 a controller that cannot be written"
    fi
}

# F074: every number is there, or named as not to be had
numbers='
import json, sys
r = json.load(open(sys.argv[1]))
absent = sorted(k for k, v in r["usage"].items() if v is None)
names = "wallNs queueNs setupNs cpuUserNs cpuSystemNs memoryPeakBytes shmemPeakBytes pidsPeak oomKills pidsLimitHits ioReadBytes ioWriteBytes"
print("good" if absent == sorted(r["unavailable"]) and set(names.split()) <= set(r["usage"]) else r, *absent)'

usage() {
    job "$e" -- python3 -ISc 'a = bytearray(50 << 20); sum(range(10**6))'
    between "$(field memoryPeakBytes)" 52428800 268435456 "$e: F074 the peak of memory"
    between $(($(field cpuUserNs) + $(field cpuSystemNs))) 1000000 60000000000 "$e: F074 CPU time"
    between "$(field pidsPeak)" 1 1088 "$e: F074 processes"
    like "$(python3 -ISc "$numbers" "$T/record")" "good*" "$e: F074 all numbers are there, or named"
    unlike "$(field unavailable)" "*cpu*" "$e: F074 … CPU time is"
    if emulated; then return; fi
    job "$e" -- true
    like "$(python3 -ISc "$numbers" "$T/record")" "good*" "$e: F074 after a few milliseconds"
    job "$e" --timeout 200ms -- sleep 300
    like "$(python3 -ISc "$numbers" "$T/record")" "good*" "$e: F074 of a run that was killed"
    job "$e" -- /no/such/cmd
    like "$(python3 -ISc "$numbers" "$T/record")" "good*wallNs*" "$e: F074 of one that did not start"
}

bomb() {
    snapshot before-bomb
    job "$e" --timeout 2s -- sh -c '(bomb() { bomb | bomb & }; while :; do bomb; done) 2>/dev/null & exec sleep 300'
    if [ "$e" = runsc ]; then
        like "$(field reason)" "[ws]*[l-][if]*" "$e: a fork bomb: wall-limit or sandbox-failed ($(field reason))"
        isnt "$(field reason)" exited "$e: … never its own end"
    else
        is "$rc $(field reason)" "124 wall-limit" "$e: a fork bomb ends with the wall limit"
        between "$(field pidsPeak)" 10 64 "$e: … of 64 processes at most"
        # two seconds there are too few for a bomb to fill them
        if ! emulated; then between "$(field pidsLimitHits)" 1 100000000 "$e: … which it ran against"; fi
    fi
    compare before-bomb "$e: … and no process of it is left" 1
}

# F026: a process that cannot be killed does not hold the answer
frozen() {
    if ! dev=$(losetup -f 2>/dev/null) || [ ! -b "$dev" ] || ! command -v mkfs.ext4 >/dev/null || ! command -v fsfreeze >/dev/null; then
        skip "$e: F026 a process in state D" "no loop device, mkfs.ext4 or fsfreeze"
        return
    fi
    truncate -s 16M "$T/image"
    mkfs.ext4 -q -F "$T/image"
    mkdir -p "$T/disk"
    mount -o loop "$T/image" "$T/disk" || { skip "$e: F026 a process in state D" "loop mounts do not work here" && return; }
    chmod 777 "$T/disk"
    fsfreeze -f "$T/disk"
    at_exit "fsfreeze -u '$T/disk' 2>/dev/null; umount '$T/disk' 2>/dev/null"
    id=frozen-$$-$e
    job "$e" --id "$id" --unbounded-volume -v "$T/disk:/data:rw" --timeout "$(scaled 500)ms" -- sh -c 'echo x >/data/f'
    is "$rc $(field reason)" "124 wall-limit" "$e: F026 the limit of a process in state D"
    between "$ms" 500 $((6000 + $(scaled 3500))) "$e: F026 … is told in time"
    isnt "$(field leftovers)" "[]" "$e: F026 … with what is left"
    fsfreeze -u "$T/disk"
    check "$e: F026 gc removes it later" wait_until 10 cleaned
    umount "$T/disk"
}
cleaned() {
    "$CAISSON" gc >/dev/null 2>&1 && [ ! -e "/run/caisson/$id" ] &&
        ! find /sys/fs/cgroup -maxdepth 3 -name "*$id" 2>/dev/null | grep -q .
}

for e in $(engines); do
    job "$e" -- true
    snapshot before
    wall
    cpu
    memory
    ancestor
    tiny
    honest
    closed
    usage
    bomb
    frozen
    compare before "$e: nothing left"
done
done_testing
