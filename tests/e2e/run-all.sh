#!/bin/sh
# Runs end-to-end test files and counts what they say.
#
#   run-all.sh [--tag TAG] [--only PATTERN] [--prefix NAME] [--tap] [--logs DIR] [--counts FILE] [FILE...]
#
#   --tag TAG      only files with TAG in their "# tags:" line
#   --only PATTERN only files whose name holds PATTERN
#   --prefix NAME  stands before the file's name in what is printed (e2e)
#   --tap          print one TAP stream of all files instead of a line each
#   --logs DIR     keep each file's output there
#   --counts FILE  add "passed failed skipped" to it, a line for each file
#
# Without FILE: every *.sh beside this script that is a test. lib.sh tells what a test file's head may say and what it
# finds in its environment. Exit status: 0 all good, 1 something failed, 2 usage.
#
# Isolation: a file runs in a pid namespace, a mount namespace and with a /run/caisson of its own, so that its
# before-and-after comparison sees its own processes only, and so that whatever it leaves dies with it. As PID 1 there
# stands a shell that waits, and so reaps orphans at once. "# isolation: none" lifts it.
set -u

here=$(cd "$(dirname "$0")" && pwd)
tap_awk=$here/../tap.awk
tag='' only='' prefix=e2e form=line logs='' counts=''

usage() {
    sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --tag) tag=${2?} && shift 2 ;;
    --only) only=${2?} && shift 2 ;;
    --prefix) prefix=${2?} && shift 2 ;;
    --logs) logs=${2?} && shift 2 ;;
    --counts) counts=${2?} && shift 2 ;;
    --tap) form=tap && shift ;;
    -*) usage ;;
    *) break ;;
    esac
done

slow=${CAISSON_SLOW:-1}
work=$(mktemp -d "${TMPDIR:-/tmp}/caisson-run-all.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
: "${logs:=$work}"
mkdir -p "$logs"

# head_of FILE KEY: the value of "# KEY: value" among the first lines
head_of() { sed -n "1,15s/^# $2:[ ]*//p" "$1" | sed 's/ *(.*//' | head -n 1; }

# unmet NEEDS...: the first need that this machine does not meet
unmet() {
    for need in "$@"; do
        case $need in
        root) if [ "$(id -u)" -ne 0 ]; then echo root && return; fi ;;
        v2) if [ ! -f /sys/fs/cgroup/cgroup.controllers ]; then echo "cgroup v2" && return; fi ;;
        v1) if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo "cgroup v1" && return; fi ;;
        *)
            var=CAISSON_RUNTIME_$(echo "$need" | tr 'a-z-' 'A-Z_' | tr -cd 'A-Z0-9_')
            eval "path=\${$var-}"
            if ! command -v "${path:-$need}" >/dev/null 2>&1; then echo "$need" && return; fi
            ;;
        esac
    done
}

# One file, isolated or not, its output in $log; the status is the file's, or 124/137 past the limit.
run_file() {
    if [ "$(head_of "$1" isolation)" = none ] || [ "$(id -u)" -ne 0 ]; then
        CAISSON_ISOLATED=0 timeout -k 5 "$limit" env --default-signal "$1" </dev/null
        return
    fi
    # shellcheck disable=SC2016 # for the inner shell
    CAISSON_ISOLATED=1 timeout -k 5 "$limit" unshare --pid --fork --kill-child --mount --mount-proc sh -c '
        mkdir -p /run/caisson && mount -t tmpfs -o mode=700 caisson-e2e /run/caisson || exit 99
        env --default-signal "$1" &
        wait $!' sh "$1" </dev/null
}

if [ $# -eq 0 ]; then
    for f in "$here"/*.sh; do
        case $f in */lib.sh | */run-all.sh) continue ;; esac
        if [ -x "$f" ]; then set -- "$@" "$f"; fi
    done
fi

next=1
failed=0
for f in "$@"; do
    case $f in */*) ;; *) f=$here/$f ;; esac
    base=$(basename "$f" .sh)
    case $base in *"$only"*) ;; *) continue ;; esac
    if [ ! -f "$f" ]; then
        echo "run-all.sh: no such test: $f" >&2
        exit 2
    fi
    if [ -n "$tag" ]; then
        case " $(head_of "$f" tags) " in *" $tag "*) ;; *) continue ;; esac
    fi
    log=$logs/$base.log
    limit=$(head_of "$f" timeout)
    limit=$((${limit:-300} * slow))
    # heads tell the time for counts divided by 20: with full ones it takes longer
    div=${CAISSON_REPEAT_DIV:-20}
    if [ "$div" -ge 1 ] && [ "$div" -lt 20 ]; then limit=$((limit * 20 / div)); fi
    t0=$(date +%s%3N)
    # shellcheck disable=SC2046 # words are wanted
    missing=$(unmet $(head_of "$f" needs))
    if [ -n "$missing" ]; then
        echo "1..0 # SKIP needs $missing" >"$log"
        rc=0
    else
        run_file "$f" >"$log" 2>&1
        rc=$?
    fi
    t=$(($(date +%s%3N) - t0))
    read -r p n s <<EOF
$(awk -v rc=$rc -v form=count -f "$tap_awk" "$log")
EOF
    if [ "$n" -gt 0 ]; then failed=1; fi
    if [ -n "$counts" ]; then echo "$p $n $s" >>"$counts"; fi
    awk -v name="$prefix/$base" -v rc=$rc -v ms=$t -v limit=$limit -v form=$form -v first=$next -f "$tap_awk" "$log"
    next=$((next + p + n + s))
done
if [ $form = tap ]; then echo "1..$((next - 1))"; fi
exit $failed
