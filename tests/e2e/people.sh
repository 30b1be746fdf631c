#!/bin/sh
# What a newcomer gets wrong, and what an expert does: each is one line that says what, the right code, and nothing made.
# needs: root python3
# timeout: 180
. "${0%/*}/lib.sh"

e=$(engines | head -n 1)
S=$T/state
mkdir -m 700 "$S"
CAISSON_CONFIG=
export CAISSON_CONFIG
cd "$T" || bail "no $T"
run "$CAISSON" run --state-dir "$S" --runtime "$(engine_path "$e")" -- true
is "$rc" 0 "a right run, with $e"
mkdir "$T/root" "$T/taken"
snapshot before

number=0
# says CODE PATTERN COMMAND...: caisson COMMAND... ends with that code and one line on stderr that matches
says() {
    number=$((number + 1))
    _code=$1 _pattern=$2
    shift 2
    run "$CAISSON" "$@"
    if [ "$rc" != "$_code" ] || [ "$(printf '%s\n' "$err" | wc -l)" != 1 ] || [ -n "$out" ]; then
        not_ok "$who $number: caisson $*" "code $rc, wanted $_code; stdout '$out'; stderr '$err'"
        return
    fi
    # shellcheck disable=SC2254 # a pattern is wanted
    case $err in
    "caisson: "$_pattern) ok "$who $number: caisson $* -> ${err#caisson: }" ;;
    *) not_ok "$who $number: caisson $*" "stderr: $err" "wanted: $_pattern" ;;
    esac
}

# run_says CODE PATTERN FLAGS...: the same of caisson run in the test's state directory
run_says() {
    _c=$1 _p=$2
    shift 2
    says "$_c" "$_p" run --state-dir "$S" --runtime "$(engine_path "$e")" "$@"
}

# file TEXT: the configuration file c.json
file() { printf '%b' "$1" >"$T/c.json"; }

# --- a newcomer --------------------------------------------------------------------------------------------------------------
who=newcomer
says 125 "unknown command 'rnu': did you mean 'run'[?]" rnu -- true
says 125 "unknown command 'delete': see 'caisson help'" delete x
says 125 "no command before '--memory': flags stand behind it*" --memory 64m run -- true
says 125 "no command to run: caisson run *" run
says 125 "unknown command 'halp': did you mean 'help'[?]" help halp
run_says 125 "unknown flag '--memroy': did you mean '--memory'[?]" --memroy 64m -- true
run_says 125 "unknown flag '-memory': did you mean '--memory'[?]" -memory 64m -- true
run_says 125 "unknown flag '-env': did you mean '--env'[?]" -env A=1 -- true
run_says 125 "unknown flag '--rm': --help lists them" --rm -- true
run_says 125 "unknown flag '-p': --help lists them" -p 80:80 -- true
run_says 125 "--memory needs a value: a size such as *" --memory
run_says 125 "--memory: '64mbb' is not a size such as *" --memory 64mbb -- true
run_says 125 "--memory: '-1m' is not a size such as *" --memory=-1m -- true
run_says 125 "--memory: '' is not a size*" --memory '' -- true
run_says 125 "--memory: '1k' is out of range*at least 4k" --memory 1k -- true
run_says 125 "--timeout: '5x' is not a duration such as *" --timeout 5x -- true
run_says 125 "--timeout: '--' is not a duration*" --timeout -- true
run_says 125 "--pids-limit: 'many' is not a whole number*" --pids-limit many -- true
run_says 125 "--pids-limit: '-5' is not a whole number, without a sign" --pids-limit -5 -- true
run_says 125 "--cpus: '0.0001' is out of range*at least 0.01" --cpus 0.0001 -- true
run_says 125 "--rootfs*'/nope'*No such file*" --rootfs /nope -- true
run_says 125 "--rootfs*'/etc/passwd' is no directory*" --rootfs /etc/passwd -- true
run_says 125 "--volume*must be SRC:DST*" -v /data -- true
run_says 125 "--volume*there are no named volumes" -v data:/data -- true
run_says 125 "--volume*nothing bounds what is written there (--unbounded-volume lifts this)" -v "$T/root:/data:rw" -- true
run_says 125 "--network: 'bridge': give none, host, or *" --network bridge -- true
run_says 125 "--user: no user 'bob'*" --user bob -- true
run_says 127 "'ubuntu' is not in PATH*" ubuntu
run_says 127 "'./nosuch' does not exist inside" -- ./nosuch
run_says 126 "'/tmp' is a directory" -- /tmp
run_says 127 "'30s' is not in PATH*" --timeout 1m 30s -- true
says 125 "caisson ps takes no arguments, and 'all' is one" ps all
says 125 "engine 'runcc' is not known: give one of *" run --state-dir "$S" --runtime runcc -- true
says 125 "no run or session 'nosuch': *ps -a*" exec --state-dir "$S" nosuch -- true
says 125 "no id: caisson stop *" stop
for verb in stop kill pause resume wait logs rm; do
    says 125 "no run or session 'nosuch': 'caisson ps -a' lists them" $verb --state-dir "$S" nosuch
done
says 125 "'../x' is no id of a run" stop --state-dir "$S" ../x
says 125 "'b' is one argument too many: caisson logs *" logs a b
says 125 "-t: '5x' is no time*" stop -t 5x a
says 125 "-s: 'KILLL' is not a signal such as *" kill -s KILLL a
run_says 125 "--detach and --interactive exclude each other*" -d -i -- cat
run_says 125 "--detach keeps the output in files of the host: give --output-limit a size" -d --output-limit unlimited -- true
run setpriv --reuid 65534 --regid 65534 --clear-groups "$CAISSON" run -- true
is "$rc $err" "125 caisson: caisson needs root (rootless runs are not supported yet): use sudo" "newcomer: without root"

# --- an expert ------------------------------------------------------------------------------------------------------------------
who=expert
number=0
file '{"memory": "64m",\n  "timeout": }\n'
run_says 125 "*c.json: line 2, column 14: *" --config "$T/c.json" -- true
file '{"memory": "64m", // no comments\n}'
run_says 125 "*c.json: line 1, column 19: *" --config "$T/c.json" -- true
file '{"memory":"64m","memory":"65m"}'
run_says 125 "*c.json: line 1, column 17: key \"memory\" stands twice in one object" --config "$T/c.json" -- true
file '{"memory":"64m"} trailing'
run_says 125 "*c.json: line 1, column *" --config "$T/c.json" -- true
file ''
run_says 125 "*c.json: *" --config "$T/c.json" -- true
file '[]'
run_says 125 "*c.json: an object is wanted" --config "$T/c.json" -- true
file '{"timeouts":"5s"}'
run_says 125 "*c.json: line 1, column *: unknown key 'timeouts': did you mean 'timeout'[?]" --config "$T/c.json" -- true
printf '{\n  "memory": "64m",\n  "policies": {\n    "judge": { "\303\251": 1 }\n  }\n}\n' >"$T/c.json"
run_says 125 "*c.json: line 4, column 16: policy 'judge': unknown key*" --config "$T/c.json" -- true
file '{"output_limit":"5k"}'
run_says 125 "*c.json: line 1, column *: unknown key 'output_limit': did you mean 'outputLimit'[?]" --config "$T/c.json" -- true
file '{"id":"x"}'
run_says 125 "*c.json: line 1, column *: unknown key 'id'*" --config "$T/c.json" -- true
file '{"memory":["64m"]}'
run_says 125 "*c.json: line 1, column *: key 'memory': an array is not what it takes" --config "$T/c.json" -- true
file '{"volumes":[1,{}]}'
run_says 125 "*c.json: line 1, column *: key 'volumes': *list of strings*" --config "$T/c.json" -- true
file '{"policies":{"judge":{"timeout":"5 s"}}}'
run_says 125 "*c.json: line 1, column *: policy 'judge': key 'timeout': '5 s' is not a duration*" --config "$T/c.json" -- true
file '{"policies":{"a":{"base":"b"},"b":{"base":"a"}}}'
run_says 125 "*c.json: line 1, column *: policy 'a': its bases go in a circle" --config "$T/c.json" -- true
file '{"policies":{"judge":{"base":"strickt"}}}'
run_says 125 "*policy 'judge': unknown policy 'strickt': did you mean 'strict'[?]" --config "$T/c.json" -- true
file '{"policies":{"strict":{"timeout":"5s"}}}'
run_says 125 "*policy 'strict' is built in*" --config "$T/c.json" -- true
file '{"runtimes":{"x":{"pth":"/a"}}}'
run_says 125 "*c.json: line 1, column *: runtime 'x': unknown key 'pth': known are path, engine, args" --config "$T/c.json" -- true
file '{"runtimes":{"x":{"path":"/a","engine":"krun"}}}'
run_says 125 "*c.json: line 1, column *: runtime 'x': key 'engine': 'krun' is no kind of engine" --config "$T/c.json" -- true
run_says 125 "configuration file '/nope.json': No such file*" --config /nope.json -- true
run_says 125 "configuration file '$T': Is a directory" --config "$T" -- true
CAISSON_CONFIG=/nope.json && export CAISSON_CONFIG
run_says 125 "configuration file '/nope.json': No such file*" -- true
CAISSON_CONFIG=
run_says 125 "unknown policy 'jugde': built in are strict, default, none" --policy jugde -- true
run_says 125 "--best-effort: 'memory,disk' is not one of all|memory|*" --best-effort=memory,disk -- true
run_says 125 "--seccomp*'/nope'*" --seccomp /nope -- true
run_says 125 "--seccomp-allow: unknown system call 'io_urnig'" --seccomp-allow io_urnig -- true
run_says 125 "--cap-add: no capability 'NET_ADMIM'" --cap-add NET_ADMIM -- true
run_says 125 "--ulimit: 'nofiles=10': give NAME=*" --ulimit nofiles=10 -- true
run_says 125 "--stop-signal: 'KILLL' is not a signal such as *" --stop-signal KILLL -- true
run_says 125 "--capture needs --format json*" --capture head -- true
run_says 125 "--memory-swap counts memory and swap together*" --memory 64m --memory-swap 32m -- true
run_says 125 "--on-output-limit: 'stop' is not one of kill|discard" --on-output-limit stop -- true
run_says 125 "--id: '../x' is no container id*" --id ../x -- true
run_says 125 "--workdir: 'tmp' must be an absolute path" --workdir tmp -- true
says 125 "--state-dir: '' must be an absolute path" ps --state-dir ''
says 125 "--memory does not apply to this command" ps --memory 64m
says 125 "--format: 'yaml' is not one of *" ps --format yaml
says 125 "*'$T/taken'*" bundle -o "$T/taken" -- true
says 125 "nothing to do: give --output DIR or --check DIR" bundle -- true
says 125 "no command to run in 'x': caisson exec *" exec --state-dir "$S" x
# what refuses a run after its record was asked for says so in the record, too
run "$CAISSON" run --state-dir "$S" --tty --capture head --format json -- true
is "$rc $err" "125 caisson: --tty and --capture exclude each other: a terminal is for somebody to look at" "expert: --tty with --capture"
like "$out" '{"version":1,*"reason":"start-failed"*exclude each other*' "and its record"

# --- as it looks -------------------------------------------------------------------------------------------------------------------
esc=$(printf '\033')
run env TERM=xterm script -qec "'$CAISSON' run --nope" /dev/null
like "$out" "*${esc}[[]31mcaisson:${esc}[[]0m unknown flag*" "errors have a colour on a terminal"
run env TERM=xterm NO_COLOR=1 script -qec "'$CAISSON' run --nope" /dev/null
unlike "$out" "*$esc*" "and none with NO_COLOR"
run env TERM=dumb script -qec "'$CAISSON' run --nope" /dev/null
unlike "$out" "*$esc*" "nor on a dumb one"
run env TERM=xterm "$CAISSON" run --nope
unlike "$err" "*$esc*" "nor in a file"

compare before "nothing is left of it all"
check "nor in the state directory" sh -c '[ -z "$(ls -A "$1")" ]' sh "$S"
done_testing
