#!/bin/sh
# Output: caps to the byte, memory that does not grow, readers that are slow, stuck or gone, files that cannot be written.
# needs: root python3
# timeout: 200
. "${0%/*}/lib.sh"

mkdir "$T/records"

# counts STREAM WANT DESC: seen, kept and dropped bytes, truncated
counts() { is "$(field "$1.seenBytes") $(field "$1.keptBytes") $(field "$1.droppedBytes") $(field "$1.truncated")" "$2" "$3"; }

caps() {
    job "$e" --output-limit 1m -- sh -c 'yes | head -c 100G'
    ended output-limit null 9 153 "$e: a hundred gigabytes under --output-limit 1m"
    is "$(wc -c <"$T/out")" 1048576 "$e: … of which exactly 1048576 bytes are delivered"
    like "$err" "*output limit of 1m*" "$e: … and it is told"
    job "$e" --stdout-limit 3 --stderr-limit 5 --on-output-limit discard -q -- sh -c 'printf 123456789; printf abcdefghi >&2'
    is "$rc|$out|$(printf '%s' "$err" | grep -o 'abcdef*' )" "0|123|abcde" "$e: a limit for each stream"
    counts stdout "9 3 6 true" "$e: … counted"
    job "$e" --output-limit unlimited -- sh -c 'head -c 3000000 /dev/zero'
    counts stdout "3000000 3000000 0 false" "$e: no limit"
    is "$(wc -c <"$T/out")" 3000000 "$e: … nothing is lost"
}

# F002: one line without end
one_line() {
    job "$e" --output-limit 1m -- sh -c 'head -c 2000000000 /dev/zero | tr "\0" A'
    ended output-limit null 9 153 "$e: F002 one line of two gigabytes"
    is "$(wc -c <"$T/out")" 1048576 "$e: F002 … cut in the line"
    job "$e" --output-limit 1m --on-output-limit discard -- sh -c 'head -c 100000000 /dev/zero | tr "\0" A; exit 9'
    ended exited 9 null 9 "$e: F002 discard: the program keeps its own end"
    counts stdout "100000000 1048576 98951424 true" "$e: F002 discard: what was seen is exact"
    is "$(grep -c '^caisson: stdout limit of 1048576 bytes reached, further output discarded$' "$T/err")" 1 "$e: discard: marked once, on stderr"
}

# F004: a program that ends by itself with the byte past the limit; whoever is first, it is told for what it is
at_the_cap() {
    n=$(repeats 1000) wrong=0 i=0 ended=0
    if [ "$e" = runsc ]; then n=$(((n + 4) / 5)); fi
    while [ $i -lt "$n" ]; do
        i=$((i + 1))
        job "$e" --output-limit 4096 -- head -c 4097 /dev/zero
        case "$rc $(field reason) $(field stdout.truncated) $(field stdoutBytes.asked) $(field stdout.seenBytes) $(wc -c <"$T/out") $(field error)" in
        "153 output-limit true 4096 4097 4096 null") ended=$((ended + 1)) ;;
        "0 exited true 4096 4097 4096 null") ;;
        *) wrong=$((wrong + 1)) && diag "$rc $(cat "$T/record")" ;;
        esac
    done
    is $wrong 0 "$e: F004 an end right at the limit, $n times ($ended by the limit)"
}

# high_water PID: the most memory it ever had, in KiB
high_water() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }

says_done() { grep -q 'done' "$T/spawn.err"; }

# F001: the same for little and for much
memory() {
    spawn "$CAISSON" run --runtime "$rt" --timeout 0 --cpu-time 0 --cpus 2 --on-output-limit discard --result "$T/record" -- \
        sh -c 'head -c 100000000 /dev/zero; echo done >&2; exec cat /dev/zero'
    wait_until 30 says_done
    little=$(high_water "$pid")
    sleep "$long"
    much=$(high_water "$pid")
    kill -TERM "$pid"
    wait "$pid"
    seen=$(field stdout.seenBytes)
    diag "$e: VmHWM $little KiB after 100 MB, $much KiB after $seen bytes, $long s later"
    between "$little" 1 6000 "$e: F001 the supervisor's memory stays below 6 MB"
    between "$much" "$little" $((little + 200)) "$e: F001 … and does not grow in $long s of output"
    between "$seen" 100000001 100000000000000 "$e: F001 … which is more than 100 MB"
}

# F046: the end of it arrives
last_bytes() {
    n=$(repeats 500) lost=0 i=0
    while [ $i -lt "$n" ]; do
        i=$((i + 1))
        "$CAISSON" run --runtime "$rt" --output-limit 64M -- sh -c 'seq 1 200000; printf END' >"$T/seq" || lost=$((lost + 1))
        if [ "$(tail -c 3 "$T/seq")" != END ] || [ "$(wc -c <"$T/seq")" != 1288898 ]; then lost=$((lost + 1)); fi
    done
    is $lost 0 "$e: F046 the last bytes of a megabyte, $n times"
    got=$("$CAISSON" run --runtime "$rt" --output-limit 64M -- sh -c 'seq 1 200000; printf END' | tail -c 3)
    is "$got" END "$e: F046 … through a pipe"
}

# F047: bytes of any kind
bytes() {
    job "$e" --format json --capture head --capture-limit 1m -- sh -c 'head -c 4096 /dev/urandom; printf "\0\303"'
    is "$(field stdout.encoding "$T/out") $(field stdout.seenBytes "$T/out")" "base64 4098" "$e: F047 bytes that are no UTF-8"
    check "$e: F047 … all of them can be had" python3 -c '
import base64, json, sys
data = base64.b64decode(json.load(open(sys.argv[1]))["stdout"]["data"], validate=True)
assert len(data) == 4098 and data.endswith(b"\0\303"), data' "$T/out"
    job "$e" --format json --capture head -- python3 -IS -c 'print("é")'
    is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["stdout"]["data"], end="")' "$T/out")" "é" "$e: F047 the locale is UTF-8"
}

rate() {
    job "$e" --output-rate 1k --output-burst 10k -- sh -c 'head -c 200000 /dev/zero; exit 2'
    kept=$(field stdout.keptBytes)
    between "$kept" 10240 $((10241 + 1024 * (1 + ms / 1000))) "$e: --output-rate lets the burst through, and the rate"
    is "$rc $(field stdout.seenBytes) $(wc -c <"$T/out")" "2 200000 $kept" "$e: … counts what is seen, and keeps the program's end"
    like "$err" "caisson: stdout *1024 bytes a second*" "$e: … and marks it"
}

# somebody outside has opened the program's stdout for himself
held() {
    if [ "$e" = runsc ]; then return; fi # its program's descriptors are the sandbox's own
    id=held-$$-$e
    spawn "$CAISSON" run --runtime "$rt" --id "$id" --result "$T/record" -- sh -c 'echo done >&2; sleep 300'
    wait_until 30 says_done
    init=$(cat /sys/fs/cgroup/caisson/"$id"/cgroup.procs \
        /sys/fs/cgroup/pids/caisson/"$id"/cgroup.procs 2>/dev/null | head -n 1)
    exec 8>"/proc/$init/fd/1"
    t0=$(now_ms)
    kill -TERM "$pid"
    wait "$pid"
    between $(($(now_ms) - t0)) 450 $((1000 + $(scaled 500))) "$e: F068 a held stream is waited for, half a second"
    is "$(field reason) $(field stdioHeld)" "cancelled true" "$e: F068 … and told"
    exec 8>&-
}

slow_readers() {
    # shellcheck disable=SC2046 # words are wanted
    set -- $(python3 "$_here/streams.py" slow 65536 100 "$CAISSON" run --runtime "$rt" --flush-timeout "$((CAISSON_SLOW * 600))ms" -- \
        head -c 1000000 /dev/zero)
    is "$*" "0 1000000" "$e: a slow reader gets everything"
    # shellcheck disable=SC2046
    set -- $(python3 "$_here/streams.py" stuck "$CAISSON" run --runtime "$rt" --flush-timeout 300ms --result "$T/record" -- \
        head -c 100000 /dev/zero)
    is "$1" 0 "$e: a stuck reader changes nothing about the end"
    between "$2" 300 $((2000 + $(scaled 1500))) "$e: … is waited for, but not for ever"
    is "$(field stdout.seenBytes) $(field stdout.keptBytes) $(field stdout.sinkStalled)" "100000 $3 true" "$e: … and what it did not take is counted"
    # the clean-up does not wait for it
    id=stuck-$$-$e
    mkfifo "$T/fifo-$e"
    exec 7<>"$T/fifo-$e"
    env --default-signal "$CAISSON" run --runtime "$rt" --id "$id" --flush-timeout 60s -- head -c 100000 /dev/zero >"$T/fifo-$e" 7>&- &
    pid=$!
    check "$e: a stuck reader does not hold the clean-up" wait_until 20 stuck_alone
    exec 7<&-
    wait "$pid"
}

# bytes in the pipe of descriptor 7
queued() { python3 -c 'import fcntl, struct, termios; print(struct.unpack("i", fcntl.ioctl(7, termios.FIONREAD, bytes(4)))[0])'; }

# the program has written, and all of the run is gone but caisson itself
stuck_alone() {
    [ "$(queued)" -gt 0 ] && ! gone "$pid" && [ ! -e "/run/caisson/runs/$id" ] &&
        ! find /sys/fs/cgroup -maxdepth 3 -name "$id" 2>/dev/null | grep -q .
}

gone_readers() {
    rm -f "$T/record"
    "$CAISSON" run --runtime "$rt" --output-limit 64m --result "$T/record" -- \
        sh -c 'yes | head -c 10000000; echo done >&2; exit 3' 2>"$T/err" | head -c 10 >/dev/null
    is "$(field reason) $(field exitCode) $(head -n 1 "$T/err")" "exited 3 done" "$e: one reader gone: the run goes on"
    like "$(field warnings)" "*stdout*roken pipe*" "$e: … with a warning"
    counts stdout "10000000 $(field stdout.keptBytes) $((10000000 - $(field stdout.keptBytes))) $(field stdout.truncated)" "$e: … and all is counted"
    rm -f "$T/record"
    { "$CAISSON" run --runtime "$rt" --on-sink-gone drop --result "$T/record" -- \
        sh -c 'echo x; sleep 0.3; echo y; exit 3' 2>&1; } | head -c 2 >/dev/null
    is "$(field reason) $(field exitCode)" "exited 3" "$e: --on-sink-gone drop: both gone, and the run goes on"
}

# F065: a sink that fails ends nothing
failing_files() {
    job "$e" --output-limit 64m --stdout /dev/full -- sh -c 'yes | head -c 20000000; echo done >&2; exit 4'
    ended exited 4 null 4 "$e: F065 stdout to a full device"
    counts stdout "20000000 0 20000000 $(field stdout.truncated)" "$e: F065 … counted as dropped"
    like "$err" "done*stdout*o space left*" "$e: F065 … with a warning"
    mount -t tmpfs -o size=1m sink "$T/small"
    job "$e" --output-limit 64m --stdout "$T/small/log" -- sh -c 'yes | head -c 5000000; exit 4'
    is "$rc $(field stdout.seenBytes)" "4 5000000" "$e: F065 stdout to a full file system"
    is "$(wc -c <"$T/small/log")" "$(field stdout.keptBytes)" "$e: F065 … which has what is said to be kept"
    umount "$T/small"
    "$CAISSON" run --runtime "$rt" --result "$T/record" -- sh -c 'echo x; exit 5' >/dev/full 2>"$T/err"
    is "$(field exitCode) $(field stdout.keptBytes)" "5 0" "$e: F065 a caller's stdout that is full"
    echo some old text that is longer >"$T/old"
    job "$e" --stdout "$T/old" -- echo new
    is "$(cat "$T/old")" new "$e: --stdout FILE begins anew"
    echo old >"$T/old"
    "$CAISSON" run --runtime "$rt" -- echo new >>"$T/old"
    is "$(cat "$T/old")" "old
new" "$e: >>FILE is appended to"
}

# F065: a file that takes no more in the middle of it all
immutable() {
    if ! dev=$(losetup -f 2>/dev/null) || [ ! -b "$dev" ] || ! command -v mkfs.ext4 >/dev/null || ! command -v chattr >/dev/null; then
        skip "$e: F065 chattr +i while it is written" "no loop device, mkfs.ext4 or chattr"
        return
    fi
    truncate -s 16M "$T/image"
    mkfs.ext4 -q -F "$T/image"
    mkdir -p "$T/disk"
    mount -o loop "$T/image" "$T/disk" || { skip "$e: F065 chattr +i while it is written" "loop mounts do not work here" && return; }
    at_exit "chattr -i '$T/disk/log' 2>/dev/null; umount '$T/disk' 2>/dev/null"
    rm -f "$T/go" "$T/record"
    mkfifo "$T/go"
    : >"$T/spawn.err"
    env --default-signal "$CAISSON" run --runtime "$rt" -i --output-limit 64m --stdout "$T/disk/log" --result "$T/record" -- \
        sh -c 'yes | head -c 100000; echo up >&2; read -r go; yes | head -c 5000000; echo done >&2; exit 4' \
        <"$T/go" >"$T/out" 2>"$T/spawn.err" &
    pid=$!
    exec 6>"$T/go"
    wait_until 20 written
    check "$e: F065 chattr +i while it is written" chattr +i "$T/disk/log"
    echo go >&6
    exec 6>&-
    wait "$pid"
    is "$? $(field reason) $(field exitCode)" "4 exited 4" "$e: F065 … the program goes on to its end"
    counts stdout "5100000 100000 5000000 $(field stdout.truncated)" "$e: F065 … and what came after is counted"
    like "$(field warnings)|$(grep -c '^done$' "$T/spawn.err")" "*stdout-lost*ot permitted*|1" "$e: F065 … with a warning"
    is "$(wc -c <"$T/disk/log")" 100000 "$e: F065 … the file has what came before"
    chattr -i "$T/disk/log"
    umount "$T/disk"
}
written() { grep -q up "$T/spawn.err" && [ "$(wc -c <"$T/disk/log")" = 100000 ]; }

# descriptors that are closed are no place for anything else
closed() {
    rm -f "$T/record"
    "$CAISSON" run --runtime "$rt" --result "$T/record" -- sh -c 'echo x; exit 6' >&- 2>"$T/err"
    is "$? $(field exitCode) $(cat "$T/err" | grep -vc '^caisson: ')" "6 6 0" "$e: with stdout closed"
    "$CAISSON" run --runtime "$rt" --result "$T/record" -- sh -c 'cat; echo y >&2; exit 6' >"$T/o" 2>&- <&-
    is "$? $(field exitCode) $(cat "$T/o")" "6 6 " "$e: with stdin and stderr closed"
    "$CAISSON" run --runtime "$rt" --result "$T/record" -- sh -c 'echo x; exit 6' >&- 2>&- <&-
    is "$? $(field exitCode)" "6 6" "$e: with all closed"
}

inherited() {
    is "$(python3 "$_here/streams.py" flags "$CAISSON" run --runtime "$rt" -i -- sh -c 'echo ready; read -r line; exit 0')" same \
        "$e: the flags of inherited descriptors are never changed"
}

if [ "$CAISSON_REPEAT_DIV" -eq 1 ]; then long=20; else long=4; fi
mkdir "$T/small"
for e in $(engines); do
    rt=$(engine_path "$e")
    job "$e" -- true
    snapshot before
    caps
    at_the_cap
    one_line
    memory
    last_bytes
    bytes
    rate
    held
    slow_readers
    gone_readers
    failing_files
    immutable
    closed
    inherited
    compare before "$e: nothing left"
done
done_testing
