#!/bin/sh
# What people get wrong: one clear line, the documented code, and nothing is made or left.
# needs: root python3
# timeout: 300
. "${0%/*}/lib.sh"

e=$(engines | head -n 1)
S=$T/state
mkdir -m 700 "$S"
run "$CAISSON" run --state-dir "$S" --runtime "$(engine_path "$e")" -- true
is "$rc" 0 "a right run, with $e"
snapshot before

lines() { printf '%s\n' "$err" | wc -l; }

# wrong CODE PATTERN DESC FLAGS...: run with those flags
wrong() {
    _code=$1 _pattern=$2 _desc=$3
    shift 3
    run "$CAISSON" run --state-dir "$S" --runtime "$(engine_path "$e")" "$@"
    is "$rc $(lines)" "$_code 1" "$_desc: code and one line"
    like "$err" "caisson: $_pattern" "$_desc: says what"
}

# --- flags ------------------------------------------------------------------------------------------------------------
wrong 125 "unknown flag '--memroy': did you mean '--memory'[?]" "a typo" --memroy 1m -- true
wrong 125 "--memory: '12q' is not a size*" "a wrong size" --memory 12q -- true
wrong 125 "--timeout: * at most 36500d" "a time that no clock reaches" --timeout 9223372036s -- true
wrong 125 "--stop-timeout: * at most 36500d" "nor this one" --stop-timeout 9223372036s -- true
wrong 125 "no command to run*" "no command"
wrong 125 "--id: 'a/b' is no container id*" "an id with a slash" --id a/b -- true
wrong 125 "unknown policy 'nope'*" "an unknown policy" --policy nope -- true
wrong 125 "--rootfs: '/nope': No such file*" "a root that is not there" --rootfs /nope -- true
wrong 125 "--rootfs: '/etc/passwd' is no directory*" "a root that is a file" --rootfs /etc/passwd -- true
for dir in / /proc /sys /dev /run /usr/../run; do
    wrong 125 "--rootfs: '${dir#/usr/..}' *(--unbounded-volume lifts this)*" "a root that is the host's $dir" --rootfs "$dir" -- true
done
wrong 125 "--rootfs: '$S' is in '$S', which belongs to*" "a root that is caisson's own" --unbounded-volume --rootfs "$S" -- true
wrong 125 "--rootfs: '$T' holds '$S', which belongs to*(--unbounded-volume lifts this)" "a root that holds what is" --rootfs "$T" -- true
wrong 125 "--volume: volume '/nope:/x'*" "a volume that is not there" -v /nope:/x -- true
wrong 125 "--user: no user 'nosuch'*" "an unknown user" --user nosuch -- true
wrong 125 "--cpuset-cpus: '2-1' is no list of CPUs*" "a list of CPUs the wrong way round" --cpuset-cpus 2-1 -- true
wrong 125 "--env-file*NUL*" "an environment file that is no text" --env-file /proc/self/environ -- true
wrong 127 "'' does not exist inside" "an empty command" -- ""
wrong 127 "'nosuch' is not in PATH*" "a command that is not there" -- nosuch
wrong 126 "'/etc/passwd' is not executable*" "a command that is none" -- /etc/passwd
run "$CAISSON" ''
is "$rc $err" "125 caisson: unknown command '': see 'caisson help'" "an empty subcommand"
run "$CAISSON" run --memory 64m --help -- sh -c 'echo RAN'
like "$rc $out" "0 Usage: caisson run*" "--help after other flags is help, and nothing is run"
run "$CAISSON" bundle -o "$T/b" --memory 64m --help -- true
like "$rc $out" "0 Usage: caisson bundle*" "and so with bundle"
check "which makes nothing" test ! -e "$T/b"
run "$CAISSON" bundle -o "$T/b" -- sh --check "$T/nope"
is "$rc" 0 "--check behind the command is the command's"
run "$CAISSON" bundle --check "$T/b" -- sh
is "$rc $(lines)" "125 1" "--check with a command is refused"
run "$CAISSON" bundle --check "$T/b"
is "$rc" 0 "--check alone checks"
rm -rf "$T/b"

# --- bytes that are no UTF-8 --------------------------------------------------------------------------------------------
bad=$(printf 'a\377b')
wrong 125 "argument 1 of the command is no valid UTF-8*" "an argument of other bytes" -- echo "$bad"
wrong 125 "argument 0 of the command is no valid UTF-8*" "a command of other bytes" -- "$bad"
FOO=$bad && export FOO
wrong 125 "environment variable 'FOO' is no valid UTF-8*" "a passed-on variable of other bytes" -e FOO -- true
unset FOO
run "$CAISSON" run --state-dir "$S" --format json --rootfs "$T/$bad" -- true
is "$rc" 125 "a path of other bytes: its code"
like "$out" '{"version":1,*"reason":"start-failed"*' "a path of other bytes: the record is there all the same"
check "and is JSON" python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$T/out"
run "$CAISSON" run --state-dir "$S" --format json -- "a$(printf '\303\251%.0s' $(seq 600))"
is "$rc" 127 "a message that is cut within a character keeps its code"
check "and its record" python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$T/out"
long=$(printf '\303\251%.0s' $(seq 300))
spawn "$CAISSON" run --state-dir "$S" -i -- sh -c "echo up; exec sleep 60; $long"
wait_until 10 grep -q up "$T/spawn.out"
run "$CAISSON" ps --state-dir "$S" --format json
is "$rc" 0 "ps lists a command that is cut within a character"
check "as JSON" python3 -c 'import json,sys; assert len(json.load(open(sys.argv[1]))) == 1' "$T/out"
printf '{"stateDir":"%s"}\n' "$S" >"$T/config.json"
run env CAISSON_CONFIG="$T/config.json" "$CAISSON" ps
like "$out" "*exec sleep 60*" "ps looks where the configuration says"
kill -TERM "$pid"
wait "$pid"

# --- where the record goes ----------------------------------------------------------------------------------------------
mkfifo "$T/fifo"
ln -s /proc/self/fd/1 "$T/link"
wrong 125 "--result: '*/fifo' is there and no regular file*" "a FIFO for the record" --result "$T/fifo" -- true
check "which stays one" test -p "$T/fifo"
wrong 125 "--result: '*/link' is there and no regular file*" "a link such as /dev/stdout" --result "$T/link" -- true
check "which stays one, too" test -L "$T/link"
wrong 125 "--result: '/dev/null' is there and no regular file*" "/dev/null for the record" --result /dev/null -- true
check "which stays a device" test -c /dev/null
wrong 125 "--result: '$T' is there*" "a directory for the record" --result "$T" -- true
wrong 125 "--result: '$T/' names no file" "a directory with its slash" --result "$T/" -- true
wrong 125 "--result: '' names no file" "no file at all" --result "" -- true
wrong 125 "--result: directory '/nope'*" "a directory that is not there" --result /nope/x -- true
wrong 125 "--result: descriptor 99*" "a descriptor that is not open" --result fd:99 -- true
job "$e" --state-dir "$S" --result "$S/record" -- true
is "$rc $(field reason "$S/record")" "0 exited" "a record in the state directory is there after the run"
rm -f "$S/record"
mkdir "$T/gone"
# shellcheck disable=SC2016 # for the inner shell
run sh -c 'cd "$1/gone" && rmdir ../gone && shift && exec "$@"' sh "$T" "$CAISSON" run --state-dir "$S" --result r -- true
is "$rc $(lines)" "125 1" "a working directory that was removed: the run is refused, not its record"

# --- output ---------------------------------------------------------------------------------------------------------------
wrong 125 "--stdout: a FIFO that nobody reads: *" "a FIFO without a reader for stdout" --stdout "$T/fifo" -- true
wrong 125 "--stderr: *directory*" "a directory for stderr" --stderr "$T" -- true
# a reader that takes nothing: the second signal, and the first after the end, mean: do not wait
# shellcheck disable=SC2016 # for the inner shell
run sh -c 'mkfifo "$2/slow"; exec 3<>"$2/slow"
    env --default-signal "$1" run --state-dir "$3" --timeout 1s -- sh -c "yes | head -c 300000; exec sleep 60" >"$2/slow" &
    sleep 2.5; kill -INT $!; wait $!' sh "$CAISSON" "$T" "$S"
is "$rc" 124 "a signal while output waits for its reader changes no reason"
between "$ms" 2000 "$(scaled 6000)" "and ends the wait"

# --- surroundings -----------------------------------------------------------------------------------------------------------
wrong_dir() {
    run "$CAISSON" run --state-dir "$1" -- true
    is "$rc $(lines)" "125 1" "$2: code and one line"
    like "$err" "$3" "$2: says what"
}
wrong_dir / "/ as the state directory" "*is the root directory*"
wrong_dir "$S/$(printf 'a%.0s' $(seq 240))" "a long state directory" "*at most 200 bytes*"
run "$CAISSON" run --state-dir "$S" --cache-dir "$T/fifo" -- sh -c 'exit 3'
is "$rc $(lines)" "3 1" "a cache directory that is none costs no run"
like "$err" "caisson: warning: --cache-dir '$T/fifo' cannot be used*" "and is a warning"
chmod 777 "$S"
wrong_dir "$S" "a state directory for everybody" "*writable by root only*"
chmod 700 "$S"
for mask in 077 0777; do
    # shellcheck disable=SC2016 # for the inner shells
    run sh -c 'umask "$1"; shift; exec "$@"' sh $mask "$CAISSON" run --state-dir "$S" --stdout "$T/masked" --runtime "$(engine_path "$e")" -- \
        sh -c 'cat /etc/passwd >/dev/null && ls / >/dev/null && cd /tmp && echo in'
    is "$rc" 0 "umask $mask: the run's user can pass through its root"
    is "$(stat -c %a "$T/masked")" "$([ $mask = 077 ] && echo 600 || echo 0)" "umask $mask: and the caller's files have the caller's modes"
    rm -f "$T/masked"
done
run setpriv --reuid 65534 --regid 65534 --clear-groups "$CAISSON" run --state-dir "$S" -- true
is "$rc $(lines)" "125 1" "without root: code and one line"
like "$err" "*needs root*" "without root: says what"
run setpriv --reuid 65534 --regid 65534 --clear-groups "$CAISSON" ps --state-dir /run
like "$rc $err" "125 *needs root*" "without root: ps says so, too"
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
    run sh -c "exec \"\$@\" $closed" sh "$CAISSON" run --state-dir "$S" -- sh -c 'echo x; echo y >&2; exit 3'
    is "$rc" 3 "closed descriptors: $closed"
done
for n in 8 12 16 20; do
    run sh -c "ulimit -n $n; exec \"\$@\"" sh "$CAISSON" run --state-dir "$S" -- sh -c 'exit 3'
    is "$rc $(lines)" "125 1" "$n descriptors: code and one line"
    like "$err" "*Too many open files*" "$n descriptors: says what"
done
run python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$CAISSON" run --state-dir "$S" -- sh -c 'exit 3'
is "$rc" 3 "a caller that ignores SIGCHLD"

compare before "nothing is left of it all"
check "nor in the state directory" sh -c '[ -z "$(ls -A "$1")" ]' sh "$S"
done_testing
