# shellcheck shell=sh disable=SC2034
# Helpers for the end-to-end tests: TAP, engines, time, and the before-and-after comparison.
#
# A test is an executable sh script that starts like this and prints TAP:
#
#     #!/bin/sh
#     # needs: root runc            (commands, or the words root, v1, v2; whatever is missing skips the file)
#     # tags: vm peers              (vm: runs in the machine of tests/vm too; peers: is part of the short suite)
#     # timeout: 120                (seconds for the whole file on a quick machine; 300 if not given)
#     # isolation: none             (see run-all.sh; only for what must meet the host's daemons)
#     . "${0%/*}/lib.sh"
#     for e in $(engines); do
#         run "$CAISSON" run --runtime "$(engine_path "$e")" -- sh -c 'exit 7'
#         is "$rc" 7 "$e: exit status"
#     done
#     done_testing
#
# What the runner exports, and what stands in when a script is started by hand:
#   CAISSON_BUILD       the built tree                   (build, in the sources)
#   CAISSON             the binary under test            (caisson in CAISSON_BUILD, else the one in PATH)
#   CAISSON_FAKERUN     the scripted engine              (tests/fake/fakerun in CAISSON_BUILD)
#   CAISSON_ENGINES     names of the engines to test     (runc crun runsc)
#   CAISSON_RUNTIME_X   path of engine x, X in capitals  (x in PATH)
#   CAISSON_REPEAT_DIV  divisor of repeat counts         (20; 1 is the full count)
#   CAISSON_SEED        seed of every generator          (1)
#   CAISSON_SLOW        how slow this machine is, an integer factor for time bounds (1)
#   CAISSON_ISOLATED    1 where the file has a pid namespace and a /run/caisson of its own
#
# Only `wait_until` polls, for conditions that nobody can be told of; there is no sleep to guess by.

set -u
LC_ALL=C.UTF-8
export LC_ALL

_here=$(cd "${0%/*}" && pwd)
: "${CAISSON_BUILD:=$_here/../../build}"
if [ -z "${CAISSON-}" ]; then
    if [ -x "$CAISSON_BUILD/caisson" ]; then CAISSON=$CAISSON_BUILD/caisson; else CAISSON=caisson; fi
fi
: "${CAISSON_ENGINES:=runc crun runsc}" "${CAISSON_REPEAT_DIV:=20}" "${CAISSON_SEED:=1}" "${CAISSON_SLOW:=1}" "${CAISSON_ISOLATED:=0}"
: "${CAISSON_FAKERUN:=$CAISSON_BUILD/tests/fake/fakerun}"
export CAISSON CAISSON_SEED CAISSON_SLOW

# --- a directory for the test's files, and what runs at its end ---------------------------------------------------

T=$(mktemp -d "${TMPDIR:-/tmp}/caisson-e2e.XXXXXX") || exit 99
chmod 755 "$T"
_at_exit=

# at_exit COMMAND: evaluated when the script ends, last one first
at_exit() {
    _at_exit="$1
$_at_exit"
}

_leave() {
    _status=$?
    trap '' HUP INT TERM
    eval "$_at_exit"
    rm -rf "$T"
    exit "$_status"
}
trap _leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# --- TAP ------------------------------------------------------------------------------------------------------------

_count=0
_failed=0
_planned=0

# plan N: say beforehand how many tests there will be; else end with done_testing
plan() {
    _planned=$1
    echo "1..$1"
}

# done_testing: the plan, after the tests; the exit status tells whether one failed
done_testing() {
    if [ "$_planned" -eq 0 ]; then echo "1..$_count"; fi
    if [ "$_failed" -gt 0 ]; then exit 1; fi
    exit 0
}

# diag TEXT...: comment lines, whatever the text holds
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# diag_file FILE [LINES]: the last lines of a file as comments
diag_file() { if [ -s "$1" ]; then tail -n "${2:-20}" "$1" | cut -c 1-400 | sed 's/^/#   /'; fi; }

ok() {
    _count=$((_count + 1))
    echo "ok $_count - $1"
}

# not_ok DESC [DETAIL...]
not_ok() {
    _count=$((_count + 1))
    _failed=$((_failed + 1))
    echo "not ok $_count - $1"
    shift
    if [ $# -gt 0 ]; then diag "$@"; fi
}

# skip DESC REASON
skip() {
    _count=$((_count + 1))
    echo "ok $_count - $1 # SKIP $2"
}

# skip_all REASON: nothing in this file can run here
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

bail() {
    echo "Bail out! $*"
    exit 99
}

# is GOT WANT DESC
is() {
    if [ "$1" = "$2" ]; then
        ok "$3"
    else
        not_ok "$3" "got:    $1
wanted: $2"
        _show_run
    fi
}

# isnt GOT UNWANTED DESC
isnt() {
    if [ "$1" != "$2" ]; then ok "$3"; else not_ok "$3" "got what it must not be: $1"; _show_run; fi
}

# like GOT PATTERN DESC: PATTERN is one of the shell's
like() {
    # shellcheck disable=SC2254 # a pattern is wanted
    case $1 in
    $2) ok "$3" ;;
    *)
        not_ok "$3" "got:     $1
pattern: $2"
        _show_run
        ;;
    esac
}

# unlike GOT PATTERN DESC
unlike() {
    # shellcheck disable=SC2254
    case $1 in
    $2)
        not_ok "$3" "got:     $1
unwanted pattern: $2"
        _show_run
        ;;
    *) ok "$3" ;;
    esac
}

# between GOT LOW HIGH DESC: whole numbers, ends included
between() {
    if [ -n "$1" ] && [ "$1" -ge "$2" ] 2>/dev/null && [ "$1" -le "$3" ] 2>/dev/null; then
        ok "$4"
    else
        not_ok "$4" "got $1, wanted $2 to $3"
        _show_run
    fi
}

# check DESC COMMAND...: the command's status decides; its output is shown if it fails
check() {
    _desc=$1
    shift
    if "$@" >"$T/check.log" 2>&1; then
        ok "$_desc"
    else
        not_ok "$_desc" "status $?: $*"
        diag_file "$T/check.log"
    fi
}

# --- running things ---------------------------------------------------------------------------------------------------

_ran=
rc=0 ms=0 out='' err=''

# run COMMAND...: sets rc, ms, out and err (the first 64 KiB of each, without trailing newlines); the whole is in
# $T/out and $T/err. Standard input is the caller's.
run() {
    _ran=$*
    _t0=$(now_ms)
    if "$@" >"$T/out" 2>"$T/err"; then rc=0; else rc=$?; fi
    ms=$(($(now_ms) - _t0))
    out=$(head -c 65536 "$T/out" | tr -d '\000')
    err=$(head -c 65536 "$T/err" | tr -d '\000')
}

_show_run() {
    if [ -n "$_ran" ]; then
        diag "last run: $_ran" | cut -c 1-400
        diag "status $rc, $ms ms; its stderr:"
        diag_file "$T/err"
    fi
}

# spawn COMMAND...: in the background; sets pid. Output goes to $T/spawn.out and $T/spawn.err. Unlike with a bare `&`,
# SIGINT and SIGQUIT are not ignored by the command.
spawn() {
    : >"$T/spawn.out" # not only by what is spawned, which may come later than a look at them
    : >"$T/spawn.err"
    env --default-signal "$@" >"$T/spawn.out" 2>"$T/spawn.err" </dev/null &
    pid=$!
}

# --- time -----------------------------------------------------------------------------------------------------------

now_ms() { date +%s%3N; }

# scaled N: a bound made for a quick machine, for this one
scaled() { echo $(($1 * CAISSON_SLOW)); }

# repeats N: how often to repeat what is repeated N times in full
repeats() {
    _n=$(($1 / CAISSON_REPEAT_DIV))
    if [ "$_n" -lt 1 ]; then _n=1; fi
    echo "$_n"
}

# wait_until SECONDS COMMAND...: until the command succeeds; the bound is scaled. For what no event tells.
wait_until() {
    _end=$(($(now_ms) + $1 * 1000 * CAISSON_SLOW))
    shift
    until "$@"; do
        if [ "$(now_ms)" -ge "$_end" ]; then return 1; fi
        sleep 0.02
    done
}

# gone PID: not there, or only a zombie that its parent has yet to reap
gone() {
    _stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    case ${_stat##*) } in Z* | X*) return 0 ;; esac
    return 1
}

# --- the result record ------------------------------------------------------------------------------------------------

# job ENGINE FLAGS... [-- COMMAND...]: run, with that engine and the record in $T/record
job() {
    rm -f "$T/record"
    _engine=$(engine_path "$1")
    shift
    run "$CAISSON" run --runtime "$_engine" --result "$T/record" "$@"
}

# field NAME [FILE]: one value of a record (that of job); OBJECT.KEY for a key that several objects have. Strings come
# without quotes, arrays with their brackets; "missing" if there is none. Not for what may hold any text (stdout.data).
field() {
    _json=
    { read -r _json <"${2:-$T/record}"; } 2>/dev/null
    case $1 in
    *.*)
        case $_json in *"\"${1%%.*}\":{"*) _json=${_json#*"\"${1%%.*}\":{"} && _json=${_json%%\}*} ;; *) _json= ;; esac
        ;;
    esac
    case $_json in
    *"\"${1##*.}\":"*) _json=${_json#*"\"${1##*.}\":"} ;;
    *) echo missing && return ;;
    esac
    case $_json in
    \"*) _json=${_json#\"} && echo "${_json%%\"*}" ;;
    \[*) echo "${_json%%]*}]" ;;
    *) echo "${_json%%[,\}]*}" ;;
    esac
}

# ended REASON EXITCODE SIGNAL OUTWARD DESC: the record of the last job, and its status
ended() { is "$(field reason) $(field exitCode) $(field signal) $(field outwardCode) $rc" "$1 $2 $3 $4 $4" "$5"; }

# --- engines ----------------------------------------------------------------------------------------------------------

# engine_path NAME: what to pass to --runtime
engine_path() {
    _var=CAISSON_RUNTIME_$(echo "$1" | tr 'a-z-' 'A-Z_')
    eval "_path=\${$_var-}"
    if [ -n "$_path" ]; then echo "$_path"; else command -v "$1"; fi
}

# engines [NAME...]: the engines to test that are here (of those named, if any)
engines() {
    for _e in $CAISSON_ENGINES; do
        if [ $# -gt 0 ]; then
            case " $* " in *" $_e "*) ;; *) continue ;; esac
        fi
        if [ -x "$(engine_path "$_e")" ]; then echo "$_e"; fi
    done
}

# cgroup_version: 2 for the pure unified hierarchy, 1 for everything else
cgroup_version() { if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo 2; else echo 1; fi; }

# --- nothing left behind ----------------------------------------------------------------------------------------------
# snapshot NAME, then compare NAME DESC. The comparison waits (bounded) until processes, control groups, mounts, the tree
# of /run/caisson and the engines' own state directories are as they were: the last process of a run may still be on its
# way out, and PID 1 may reap late. Take the snapshot after a first run, which may make what is shared by all runs.

_list_processes() {
    # cat is the only process that this listing adds; the shell globs
    cat /proc/[0-9]*/stat 2>/dev/null >"$1.raw"
    awk -v self="$$" -v isolated="$CAISSON_ISOLATED" '{
        pid = $1
        comm = $0; sub(/^[0-9]+ \(/, "", comm); sub(/\) [A-Za-z] .*$/, "", comm)
        rest = $0; sub(/^.*\) /, "", rest); split(rest, f, " ")
        if (comm == "cat" && f[2] == self) next
        if (pid == 2 || f[2] == 2) next                         # kernel threads come and go
        if (f[1] == "Z" && f[2] == 1 && !isolated) next         # left to a PID 1 that is not ours
        print "process", pid, f[20], comm
    }' "$1.raw"
    rm -f "$1.raw"
}

# _foreign GROUP: its members are outside our pid namespace. v2 lists those as 0; v1 leaves them out, but counts them.
_foreign() {
    if [ "$CAISSON_ISOLATED" != 1 ]; then return 1; fi
    if grep -qx 0 "$1/cgroup.procs" 2>/dev/null; then return 0; fi
    _pids=/sys/fs/cgroup/pids/${1#/sys/fs/cgroup/*/}
    _n=0
    { read -r _n <"$_pids/pids.current"; } 2>/dev/null || return 1
    [ "$_n" -gt 0 ] && [ -z "$(find "$_pids" -name cgroup.procs -exec cat {} + 2>/dev/null)" ]
}

_list_cgroups() {
    # /caisson itself and the group of guardians are shared by all runs, and may stay
    find /sys/fs/cgroup -mindepth 2 -type d -path '*caisson*' ! -path '/sys/fs/cgroup/*/caisson' \
        ! -path '*/caisson/_guardians' 2>/dev/null |
        while read -r _dir; do
            if ! _foreign "$_dir"; then echo "cgroup $_dir"; fi
        done
}

_list_all() {
    _list_processes "$1"
    _list_cgroups
    awk '{ $1 = $2 = ""; print "mount", $0 }' /proc/self/mountinfo
    find /run/caisson -mindepth 1 -printf 'run %y /run/caisson/%P\n' 2>/dev/null
    for _d in /run/runc /run/crun /run/runsc /run/containerd/runc; do
        if [ -d "$_d" ]; then find "$_d" -mindepth 1 -maxdepth 1 -printf "engine $_d/%P\n"; fi
    done
}

_take() {
    _list_all "$T/list" >"$1.all"
    sort "$1.all" >"$1"
}

snapshot() { _take "$T/snap.$1"; }

_same() {
    _take "$T/snap.now"
    cmp -s "$T/snap.$1" "$T/snap.now"
}

# same_as NAME: true if all is as in that snapshot, without waiting
same_as() { _same "$1"; }

# One look: true once every difference has been away in some look, this one or an earlier one. What comes and goes is
# another suite's on this host; control groups that are there no more had been its, too.
_settled() {
    _take "$T/snap.now"
    comm -3 "$T/snap.$1" "$T/snap.now" | sed '/^cgroup /d' | sort >"$T/snap.look"
    if [ -e "$T/snap.left" ]; then
        comm -12 "$T/snap.left" "$T/snap.look" >"$T/snap.both"
        mv "$T/snap.both" "$T/snap.left"
    else
        cp "$T/snap.look" "$T/snap.left"
    fi
    [ ! -s "$T/snap.left" ]
}

# compare NAME DESC [SECONDS]
compare() {
    rm -f "$T/snap.left"
    if wait_until "${3:-3}" _settled "$1"; then
        ok "$2"
    else
        not_ok "$2" "left behind (+) or missing (-):"
        sed 's/^\t/#   + /; t; s/^/#   - /' "$T/snap.left" | head -n 40
    fi
}
