#!/bin/sh
# What the flags of `caisson run` do, seen from inside and from outside of the run.
# needs: root python3
# tags: peers
# timeout: 240
. "${0%/*}/lib.sh"

schema=$_here/../../contrib/result.schema.json
host_links=$(find /sys/class/net -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')

# kept NAME: puts the last job's record aside, for the schema
mkdir "$T/records" "$T/vol"
kept() { cp "$T/record" "$T/records/$e-$1.json" 2>/dev/null || :; }

# refused TEXT DESC: 125, a line that holds TEXT, and the record says why
refused() {
    is "$rc $(field reason) $(field error.kind)" "125 start-failed usage" "$2"
    like "$err" "*$1*" "$2: said why"
}

first_example() {
    job "$e" -- sh -c 'id -u; exit 7'
    is "$rc|$out|$err" "7|65534|" "$e: a program's output and exit status, and not a word more"
    kept first
    job "$e" --format json -- sh -c 'echo hi; exit 3'
    cp "$T/out" "$T/records/$e-json.json"
    is "$rc $(field reason "$T/out") $(field exitCode "$T/out")" "3 exited 3" "$e: --format json prints the record instead"
    check "$e: --result and --format json say the same" cmp "$T/out" "$T/record"
}

environment() {
    clean='HOME=/tmp LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    printf '# a comment\n\nFROM_FILE=a b\nBOTH=file\nGIVEN\n' >"$T/env"
    FOREIGN=no GIVEN=passed run "$CAISSON" run --runtime "$rt" -e B=2 -e GIVEN -e ABSENT -- env
    is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "B=2 GIVEN=passed $clean " "$e: -e, and nothing of the caller's"
    GIVEN=passed run "$CAISSON" run --runtime "$rt" --env-file "$T/env" -e BOTH=flag -- env
    is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "BOTH=flag FROM_FILE=a b GIVEN=passed $clean " "$e: --env-file, and -e above it"
    job "$e" --env-file "$T/none" -- true
    refused "$T/none" "$e: --env-file that is not there"
}

identity() {
    job "$e" -w /usr/bin -- pwd
    is "$out" /usr/bin "$e: --workdir"
    job "$e" -- sh -c 'id -u; id -g; id -G'
    is "$out" "65534
65534
65534" "$e: the user by default, without other groups"
    job "$e" -u 1000:1001 -- sh -c 'echo "$(id -u) $(id -g) $(id -G)"'
    is "$out" "1000 1001 1001" "$e: --user UID:GID"
    job "$e" -u 1000 -- sh -c 'echo "$(id -u) $(id -g)"'
    is "$out" "1000 1000" "$e: --user UID: the group is the same number"
    job "$e" -u no-such-user -- true
    refused "no-such-user" "$e: --user that nobody is"
    job "$e" --id "reasons-$$-abcdefgh" -- hostname
    is "$out" "$(printf %s "reasons-$$-abcdefgh" | cut -c 1-12)" "$e: the host name is the id's beginning"
    is "$(field id)" "reasons-$$-abcdefgh" "$e: --id"
    job "$e" --hostname box.example -- hostname
    is "$out" "box.example" "$e: --hostname"
    job "$e" --userns -u 0 -- sh -c 'id -u; cat /proc/self/uid_map'
    is "$(echo $out | cut -d ' ' -f 1-2)" "0 0" "$e: --userns: root inside"
    if [ "$e" != runsc ]; then isnt "$(echo $out | cut -d ' ' -f 3)" 0 "$e: --userns: somebody else outside"; fi
}

# F043: the end of stdin reaches the program
input() {
    n=$(repeats 200) bad=0 i=0
    while [ $i -lt "$n" ]; do
        i=$((i + 1))
        got=$(echo hi | timeout $((20 * CAISSON_SLOW)) "$CAISSON" run --runtime "$rt" -i -- cat) || bad=$((bad + 1))
        if [ "$got" != hi ]; then bad=$((bad + 1)); fi
    done
    is $bad 0 "$e: F043 echo hi | caisson run -i cat, $n times"
    got=$(printf 'rest' | { "$CAISSON" run --runtime "$rt" -- cat && cat; })
    is "$got" rest "$e: without -i stdin is empty inside, and left alone outside"
    head -c 3000000 /dev/urandom >"$T/in"
    "$CAISSON" run --runtime "$rt" --output-limit 4m -i -- cat <"$T/in" >"$T/copy"
    check "$e: -i with three megabytes of a file" cmp "$T/in" "$T/copy"
    # a program that reads nothing ends; the caller's writer sees a broken pipe, not a hang
    run timeout $((20 * CAISSON_SLOW)) sh -c 'yes | "$@"' sh "$CAISSON" run --runtime "$rt" -i -- sh -c 'exit 4'
    is "$rc" 4 "$e: -i with input that nobody reads"
}

where_output_goes() {
    job "$e" --stdout "$T/to1" --stderr "$T/to2" -- sh -c 'echo one; echo two >&2; exit 5'
    is "$rc|$out|$err|$(cat "$T/to1")|$(cat "$T/to2")" "5|||one|two" "$e: --stdout and --stderr FILE"
    job "$e" --stdout "$T/no/such" -- true
    refused "$T/no/such" "$e: --stdout into a directory that is not there"
    "$CAISSON" run --runtime "$rt" --result fd:7 -- sh -c 'echo out; exit 6' 7>"$T/fd7" >"$T/to1"
    is "$(field exitCode "$T/fd7") $(cat "$T/to1")" "6 out" "$e: --result fd:N beside the output"
    run "$CAISSON" run --runtime "$rt" --result fd:77 -- true
    is "$rc" 125 "$e: --result to a descriptor that is not open"
    run "$CAISSON" run --runtime "$rt" --result "$T/no/such" -- true
    is "$rc" 125 "$e: --result into a directory that is not there"
    printf old >"$T/record"
    run "$CAISSON" run --runtime "$rt" --result "$T/record" -- sh -c 'exit 1'
    is "$(field exitCode) $(find "$T" -maxdepth 1 -type f -name '*record*' | wc -l)" "1 1" "$e: --result replaces a file at once"
}

capture() {
    job "$e" --format json --capture head --capture-limit 4 -- sh -c 'printf 0123456789; printf abc >&2'
    cp "$T/out" "$T/records/$e-head.json"
    is "$(python3 "$_here/records.py" captured "$T/out")" "0123 abc" "$e: --capture head"
    job "$e" --format json --capture tail --capture-limit 4 -- sh -c 'printf 0123456789; printf abc >&2'
    cp "$T/out" "$T/records/$e-tail.json"
    is "$(python3 "$_here/records.py" captured "$T/out")" "6789 abc" "$e: --capture tail"
    job "$e" --format json --capture both --capture-limit 4 -- sh -c 'printf 0123456789; printf "a\303" >&2'
    cp "$T/out" "$T/records/$e-both.json"
    is "$(python3 "$_here/records.py" captured "$T/out")" "0189 a\\xc3" "$e: --capture both, and bytes that are no UTF-8"
    is "$(field stdout.gapBytes "$T/out") $(field stdout.gapAt "$T/out") $(field stderr.encoding "$T/out")" "6 2 base64" "$e: --capture both tells the gap"
    job "$e" --capture head -- true
    refused "--format json" "$e: --capture without --format json"
    job "$e" --format json --capture head --stdout "$T/to1" -- true
    refused "--capture" "$e: --capture with --stdout"
}

words() {
    job "$e" --timeout 100ms -- sleep 60
    like "$err" "caisson: *wall time*100ms*" "$e: a limit that ended the run is told in a line"
    is "$(wc -l <"$T/err")" 1 "$e: in one line"
    kept wall
    job "$e" -q --timeout 100ms -- sleep 60
    is "$rc|$err" "124|" "$e: -q says nothing of it"
    job "$e" -q -- /no/such/cmd
    like "$err" "caisson: */no/such/cmd*" "$e: -q: errors are told all the same"
    kept not-found
}

# F049: one order of precedence, nothing from the environment, and the result can be seen
precedence() {
    echo '{"timeout":"5s","memory":"100m","env":["FROM=config"]}' >"$T/config.json"
    CAISSON_TIMEOUT=9s CAISSON_CONFIG=$T/config.json run "$CAISSON" run --runtime "$rt" --timeout 3s --print-effective -- true
    is "$(printf '%s\n' "$out" | awk '$1 == "timeout" || $1 == "memory" || $1 == "pidsLimit" { print $1, $2 }' | tr '\n' ' ')" \
        "memory 100m pidsLimit 64 timeout 3s " "$e: F049 --print-effective: flag above file above policy"
    CAISSON_CONFIG=$T/config.json job "$e" --timeout 3s -e OWN=flag -- env
    is "$(field memoryBytes.inForce) $(field wallNs.asked) $(printf '%s\n' "$out" | grep -cE '^(FROM=config|OWN=flag)$')" \
        "104857600 3000000000 2" "$e: F049 and that is what is in force; lists append"
}

files() {
    echo content >"$T/vol/file"
    ln -sf /etc/shadow "$T/vol/link"
    job "$e" -v "$T/vol:/data" -- sh -c 'cat /data/file; echo x >/data/file || echo refused; echo x >/data/new || echo refused'
    is "$out" "content
refused
refused" "$e: a volume is read-only"
    is "$(cat "$T/vol/file")" content "$e: … and the host's file as it was"
    for v in "$T/vol:/data:rw" "/:/data" "/proc:/data" "/sys:/data" "/dev:/data" "/run:/data"; do
        job "$e" -v "$v" -- true
        refused "--unbounded-volume" "$e: -v ${v##"$T"} is refused"
    done
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/vol/socket"
    job "$e" -v "$T/vol:/data" -- true
    refused "socket" "$e: -v of a directory with a socket is refused"
    rm "$T/vol/socket"
    job "$e" -v "$T/none:/data" -- true
    refused "$T/none" "$e: -v of what is not there"
    mkdir "$T/rw" && chmod 777 "$T/rw"
    job "$e" --unbounded-volume -v "$T/rw:/data:rw" -- sh -c 'echo new >/data/new'
    is "$rc $(cat "$T/rw/new")" "0 new" "$e: --unbounded-volume: it is written"
    rm -rf "$T/rw"
    job "$e" --tmpfs /data:size=1m -- sh -c 'head -c 900000 /dev/zero >/data/a && head -c 900000 /dev/zero >/data/b; wc -c </data/a'
    is "$out" 900000 "$e: --tmpfs holds what it may"
    like "$err" "*o space left*" "$e: --tmpfs: no more than its size"
    job "$e" -- sh -c 'touch /x /usr/x /etc/x 2>/dev/null && echo written; touch /tmp/x && echo tmp'
    is "$out" tmp "$e: the root is read-only, /tmp is not"
    job "$e" --writable-root 1m -u 0 -- sh -c 'echo mine >/etc/hosts; cat /etc/hosts; head -c 2000000 /dev/zero >/big'
    is "$out" mine "$e: --writable-root: written, and read again"
    like "$err" "*o space left*" "$e: --writable-root: no more than its size"
    job "$e" --rootfs "$T/none" -- true
    refused "$T/none" "$e: --rootfs that is not there"
    mkdir -p "$T/host" && mount --bind / "$T/host"
    for root in / /proc /sys /dev /run "$T/host"; do
        job "$e" --rootfs "$root" -- true
        refused "--unbounded-volume" "$e: --rootfs ${root##"$T"} is refused"
    done
    umount "$T/host"
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/vol/socket"
    job "$e" --rootfs "$T/vol" -- true
    refused "socket" "$e: --rootfs with a socket is refused"
    rm "$T/vol/socket"
}

powers() {
    job "$e" --ulimit nofile=100:200 -- sh -c 'ulimit -S -n; ulimit -H -n'
    is "$out" "100
200" "$e: --ulimit"
    job "$e" --ulimit nonsense=1 -- true
    refused "nonsense" "$e: --ulimit of no such limit"
    job "$e" --cap-add net_bind_service -u 0 -- grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status
    is "$(echo "$out" | cut -f 2 | sort -u)" 0000000000000400 "$e: --cap-add NAME, and no other"
    job "$e" --cap-add all_of_them -- true
    refused "all_of_them" "$e: --cap-add of no such capability"
    job "$e" -- cat /proc/net/dev
    is "$(echo "$out" | sed -n 's/^ *\([^ ]*\):.*/\1/p' | tr '\n' ' ')" "lo " "$e: --network none: only lo"
    if [ "$e" != runsc ]; then
        job "$e" --network host -- cat /proc/net/dev
        is "$(echo "$out" | sed -n 's/^ *\([^ ]*\):.*/\1/p' | sort | tr '\n' ' ')" "$host_links" "$e: --network host: the host's"
    fi
    job "$e" --network nonsense -- true
    refused "nonsense" "$e: --network of no such kind"
    if [ "$e" != runsc ]; then
        job "$e" --cpuset-cpus 0 -- sh -c 'nproc; grep Cpus_allowed_list /proc/self/status'
        is "$(echo $out)" "1 Cpus_allowed_list: 0" "$e: --cpuset-cpus"
    fi
    job "$e" --cpuset-cpus 4000 -- true
    is "$rc $(field reason)" "125 start-failed" "$e: --cpuset-cpus that the host has not"
}

filter() {
    keyctl='import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall(250, 9999); print(ctypes.get_errno())'
    nice='import os
try: print(os.getpriority(0, 0))
except OSError as e: print("errno", e.errno)'
    echo '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["getpriority"],"action":"SCMP_ACT_ERRNO","errnoRet":99}]}' >"$T/profile.json"
    if [ "$e" = runsc ]; then
        job "$e" --seccomp "$T/profile.json" -- true
        refused "runc or crun" "$e: --seccomp FILE"
        return
    fi
    job "$e" -- python3 -ISc "$keyctl"
    is "$out" 1 "$e: the filter refuses with EPERM"
    job "$e" --seccomp-allow keyctl -- python3 -ISc "$keyctl"
    like "$out" "[2-9]*" "$e: --seccomp-allow adds one call"
    job "$e" --seccomp-allow keyctl -- grep -E '^Seccomp:' /proc/self/status
    is "$(echo "$out" | tr -d '\t')" "Seccomp:2" "$e: … and takes none away"
    job "$e" --seccomp-allow no_such_call -- true
    refused "no_such_call" "$e: --seccomp-allow of no such call"
    job "$e" --seccomp "$T/profile.json" -- python3 -ISc "$nice"
    is "$out" "errno 99" "$e: --seccomp FILE"
    job "$e" --seccomp none -- grep -E '^Seccomp:' /proc/self/status
    is "$(echo "$out" | tr -d '\t')" "Seccomp:0" "$e: --seccomp none"
    echo '{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["read"],"action":"SCMP_ACT_ALLOW"}]}' >"$T/tight.json"
    job "$e" --seccomp "$T/tight.json" -- true
    isnt "$rc" 0 "$e: a profile under which nothing can run"
}

number=0
mistakes() {
    run "$CAISSON" run --no-such-flag -- true
    is "$rc" 125 "an unknown flag"
    like "$err" "caisson: *--no-such-flag*" "… is named"
    run "$CAISSON" run --timeot 1s -- true
    like "$err" "*--timeout*" "the nearest flag is told"
    run "$CAISSON" run --runtime /no/such/engine -- true
    is "$rc" 125 "an unknown engine"
    like "$err" "*/no/such/engine*" "… is named"
    run "$CAISSON" run
    is "$rc" 125 "no command"
    run "$CAISSON" run --memory lots -- true
    is "$rc" 125 "no size"
    echo '{"timeot":"1s"}' >"$T/config.json"
    run "$CAISSON" run --config "$T/config.json" -- true
    is "$rc" 125 "an unknown key"
    like "$err" "*timeot*timeout*" "… and the nearest known one"
    # whoever waits for a record gets one, whatever is wrong beside --result
    for flags in "--memory lots" "--config $T/config.json" "--policy none-such" "--capture head" ""; do
        rm -f "$T/record"
        # shellcheck disable=SC2086 # words are wanted
        run "$CAISSON" run $flags --result "$T/record" --id told ${flags:+-- true}
        is "$rc $(field reason) $(field error.kind) $(field outwardCode) $(field id)" "125 start-failed usage 125 told" "a record of: ${flags:-no command}"
        is "caisson: $(field error.message)" "$err" "... with the same line in it"
        cp "$T/record" "$T/records/wrong-$((number += 1)).json"
    done
    run "$CAISSON" run --format json --memory lots -- true
    cp "$T/out" "$T/records/wrong-out.json"
    is "$rc $(field error.kind "$T/out")" "125 usage" "--format json: a record of wrong flags on stdout"
    run "$CAISSON" run --result "$T/fd7" --format json --result fd:77 -- true
    is "$rc $(field error.kind "$T/out")" "125 usage" "--format json: a record of a --result that cannot be"
    rm -f "$T/record"
    run "$CAISSON" run --result "$T/record" --no-such-flag -- true
    is "$rc $(field error.kind)" "125 usage" "a record of an unknown flag behind --result"
    echo precious >"$T/record"
    run "$CAISSON" run --no-such-flag program --result "$T/record"
    is "$rc $(cat "$T/record")" "125 precious" "what stands behind an unknown flag may be the program's: it is left alone"
    run "$CAISSON" run --memory lots program --result "$T/record"
    is "$rc $(cat "$T/record")" "125 precious" "and so what stands behind the program"
    run setpriv --reuid 65534 --clear-groups "$CAISSON" run -- true
    is "$rc" 125 "not root"
    is "$(wc -l <"$T/err")" 1 "… in one line"
}

for e in $(engines); do
    rt=$(engine_path "$e")
    job "$e" -- true # what the first run of all makes
    snapshot before
    first_example
    environment
    identity
    input
    where_output_goes
    capture
    words
    precedence
    files
    powers
    filter
    compare before "$e: nothing left"
done
mistakes
if python3 -c 'import jsonschema' 2>/dev/null; then
    check "every record keeps to contrib/result.schema.json" python3 "$_here/records.py" validate "$schema" "$T"/records/*.json
else
    skip "every record keeps to contrib/result.schema.json" "python3-jsonschema is not installed"
fi
done_testing
