#!/bin/sh
# All static checks, as TAP. What needs a tool that is not installed is skipped.
#   run.sh [ROOT]        from the build directory: config.h and caisson are taken from there if they exist
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "${1:-$here/../..}" && pwd)
build=$PWD
# shellcheck source=tests/lint/files.sh
. "$here/files.sh"

n=0
failed=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' HUP INT TERM

# test NAME COMMAND...: 77 is a skip; what a good check prints is shown as well
one() {
    name=$1
    shift
    n=$((n + 1))
    if "$@" >"$log" 2>&1; then rc=0; else rc=$?; fi
    case $rc in
    0)
        echo "ok $n - $name"
        sed 's/^/# /' "$log"
        ;;
    77) echo "ok $n - $name # SKIP $(tail -n 1 "$log")" ;;
    *)
        failed=1
        echo "not ok $n - $name"
        sed 's/^/# /' "$log"
        ;;
    esac
}

need() { command -v "$1" >/dev/null 2>&1 || { echo "$1 is not installed" && return 77; }; }

run_shellcheck() {
    need shellcheck || return
    # every script: by name, or by its first line
    { list '*.sh' && list '.ci/*' 'tests/*' 'contrib/*' | grep -v '/corpus/' | xargs grep -lE '^#!.*(/sh|busybox sh|/bash)$' 2>/dev/null; } |
        sort -u | xargs -n 8 -P 2 shellcheck -x -P SCRIPTDIR -P "$root" -S warning
}

run_cppcheck() {
    need cppcheck || return
    list 'shim/*.c' 'oci-spec/*.c' 'hooks/*.c' >"$log.files"
    if [ ! -s "$log.files" ]; then rm -f "$log.files"; echo "no sources" && return 77; fi
    cppcheck --quiet -j 2 --std=c11 -I . -D_GNU_SOURCE -D__linux__ -D__x86_64__ --enable=warning,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=arrayIndexThenCheck --suppress=unmatchedSuppression --template='{file}:{line}: {severity}: {message} [{id}]' \
        --error-exitcode=1 --file-list="$log.files"
    set -- $?
    rm -f "$log.files"
    return "$1"
}

run_analyzer() {
    need clang || return
    if [ ! -f "$build/config.h" ]; then echo "no config.h: run it by make lint" && return 77; fi
    # Its status is 0 whatever it finds, so what it prints decides. It does not know the cleanup attribute, so every
    # pointer that frees itself looks like a leak: LeakSanitizer has those.
    found=$(list 'shim/*.c' 'oci-spec/*.c' 'hooks/*.c' | grep -v '^shim/base/err\.c$' | xargs -n 4 -P 2 clang --analyze --analyzer-output text \
        -std=gnu11 -w -D_GNU_SOURCE -I . -I "$build" -include tests/lint/analyzer.h -Xclang -analyzer-config -Xclang max-nodes=30000 \
        -Xclang -analyzer-disable-checker \
        -Xclang deadcode.DeadStores,security.insecureAPI.DeprecatedOrUnsafeBufferHandling 2>&1 |
        grep -E '(warning|error):' | grep -v 'Potential leak of memory')
    if [ -n "$found" ]; then echo "$found" && return 1; fi
}

cd "$root" || exit 1
one "lint: include arrows" "$here/arrows.sh" "$root"
one "lint: banned functions" "$here/banned.sh" "$root"
one "lint: words and files" "$here/words.sh" "$root"
one "lint: sizes" "$here/size.sh" "$root"
one "lint: man page names every option" "$here/man.sh" "$root" "$build/caisson"
one "lint: shellcheck" run_shellcheck
one "lint: cppcheck" run_cppcheck
one "lint: clang analyzer" run_analyzer
echo "1..$n"
exit $failed
