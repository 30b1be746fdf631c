#!/bin/sh
# Every test there is, on a bare Debian or Ubuntu: installs what the tests need, builds, and runs the unit tests (plain,
# then with sanitizers), the static checks, the end-to-end tests on the installed engines, a short suite on current
# engines where Go can build them, and the cgroup v2 machine of tests/vm.
#
#   sudo tests/run.sh [--all] [--seed N] [--only PATTERN] [--no-vm] [--no-peers] [--no-install] [--build DIR]
#
#   --all           full repeat counts; without it they are divided by 20
#   --seed N        for the generators; without it one is drawn. It is printed in either case
#   --only PATTERN  only the end-to-end files (here, peers, vm) whose name holds PATTERN, and neither unit tests nor checks
#   --no-vm         without the machine;  --no-peers  without the current engines
#   --no-install    leave the system's packages alone
#   --build DIR     build there (build, beside the sources)
#
# Quiet where all is well: one line a file. A failed test shows its output. The last line is "N passed, N failed,
# N skipped"; exit status 0 only if nothing failed and every file kept its plan.
set -u

packages="gcc make autoconf automake pkg-config xz-utils libc6-dev libyajl-dev libseccomp-dev libcap-dev check
runc crun docker.io python3 python3-jsonschema busybox-static catatonit tini procps util-linux e2fsprogs iproute2 git
clang cppcheck shellcheck
qemu-system-x86 cpio
zsh fish"
# not in every release: taken where apt knows them
optional_packages="runsc libclang-rt-14-dev strace zsh fish tmux docker.io containerd podman conmon"

top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build
all=0 seed='' only='' vm=1 peers=1 install=1

usage() {
    sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --all) all=1 && shift ;;
    --seed) seed=${2?} && shift 2 ;;
    --only) only=${2?} && shift 2 ;;
    --build) build=${2?} && shift 2 ;;
    --no-vm) vm=0 && shift ;;
    --no-peers) peers=0 && shift ;;
    --no-install) install=0 && shift ;;
    *) usage ;;
    esac
done
if [ "$(id -u)" -ne 0 ]; then
    echo "tests/run.sh: must be root (containers, control groups): sudo tests/run.sh" >&2
    exit 2
fi

: "${HOME:=/root}" "${seed:=$(date +%s)}"
CAISSON_SEED=$seed
CAISSON_REPEAT_DIV=$((all ? 1 : 20))
export HOME CAISSON_SEED CAISSON_REPEAT_DIV LC_ALL=C.UTF-8
unset CAISSON_CONFIG MAKEFLAGS MAKELEVEL 2>/dev/null || :

work=$(mktemp -d "${TMPDIR:-/tmp}/caisson-tests.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
: >"$work/counts" # one line "passed failed skipped" for each file
started=$(date +%s)

title() { printf '\n== %s\n' "$*"; }
passed() { echo "1 0 0" >>"$work/counts"; }
failed() { echo "0 1 0" >>"$work/counts"; }
skipped() {
    echo "0 0 1" >>"$work/counts"
    echo "skip  $*"
}
show() { tail -n "${2:-60}" "$1" | sed 's/^/     | /'; }

# step NAME COMMAND...: one test, quiet if good; its output otherwise
step() {
    step_name=$1
    shift
    t=$(date +%s)
    if ("$@") >"$work/step.log" 2>&1 </dev/null; then rc=0; else rc=$?; fi
    t=$(($(date +%s) - t))
    if [ $rc -eq 0 ]; then
        printf 'ok   %47s s  %s\n' "$t" "$step_name"
        passed
        return 0
    fi
    printf 'FAIL %47s s  %s (status %s)\n' "$t" "$step_name" "$rc"
    show "$work/step.log"
    failed
    return 1
}

finish() {
    awk -v s=$(($(date +%s) - started)) '{ p += $1; f += $2; k += $3 }
        END {
            printf "\n%d min %d s\n%d passed, %d failed, %d skipped\n", s / 60, s % 60, p, f, k
            exit f > 0 || p == 0
        }' "$work/counts"
    exit $?
}

# --- packages -----------------------------------------------------------------------------------------------------------

installed() { dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'; }

absent() {
    for pkg in "$@"; do
        if ! installed "$pkg"; then echo "$pkg"; fi
    done
}

install_packages() {
    # shellcheck disable=SC2086 # words are wanted
    want=$(absent $packages)
    # shellcheck disable=SC2086
    maybe=$(absent $optional_packages)
    if [ -z "$want$maybe" ] && [ -n "$(apt-cache policy linux-image-cloud-amd64 2>/dev/null)" ]; then return 0; fi
    apt-get update -q || [ -z "$want" ] || return 1
    for pkg in $maybe; do
        if apt-cache policy "$pkg" | grep -q 'Candidate: [0-9]'; then want="$want $pkg"; fi
    done
    if [ -z "$want" ]; then return 0; fi
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $want
}

# --- the parts ----------------------------------------------------------------------------------------------------------

# build_tree DIR CONFIGURE-ARGUMENTS...
build_tree() {
    mkdir -p "$1" && cd "$1" || return 1
    shift
    timeout 120 "$top/configure" -q "$@" && timeout 600 make -s -j2
}

# unit_counts DIR: a line for each program of `make check`, from libcheck's last line or, failing that, automake's word
unit_counts() {
    find "$1/tests" -name '*.trs' | sort | while read -r trs; do
        log=${trs%.trs}.log
        name=${trs#"$1/tests/"}
        read -r p f <<EOF
$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" | awk '{ n += $1; f += $2 + $3 } END { if (NR) print n - f, f }')
EOF
        result=$(sed -n 's/^:global-test-result: //p' "$trs")
        s=0
        case ${p:-none}:$result in
        none:PASS) p=1 f=0 ;;
        none:SKIP) p=0 f=0 s=1 ;;
        none:*) p=0 f=1 ;;
        *:PASS) ;;
        *) if [ "$f" -eq 0 ]; then f=1; fi ;;
        esac
        echo "$p $f $s" >>"$work/counts"
        printf '%-4s %4d passed, %2d failed, %2d skipped            %s\n' "$([ "$f" -gt 0 ] && echo FAIL || echo ok)" "$p" "$f" "$s" "$2/${name%.trs}"
        if [ "$f" -gt 0 ]; then show "$log" 100; fi
    done
}

# unit_tests DIR NAME
unit_tests() {
    find "$1/tests" \( -name '*.trs' -o -name '*.log' \) -exec rm -f {} + 2>/dev/null
    timeout -k 5 600 make -s -j2 -C "$1" check >"$work/check.log" 2>&1 </dev/null
    rc=$?
    before=$(wc -l <"$work/counts")
    unit_counts "$1" "$2"
    if [ "$(wc -l <"$work/counts")" = "$before" ]; then
        echo "FAIL  $2: make check ran no test (status $rc)"
        show "$work/check.log"
        failed
    elif [ $rc -ne 0 ] && ! tail -n "+$((before + 1))" "$work/counts" | awk '$2 { f = 1 } END { exit !f }'; then
        echo "FAIL  $2: make check ended with $rc"
        show "$work/check.log"
        failed
    fi
}

# A second build with the sanitizers, by the other compiler if it is there and can.
sanitized() {
    cc=gcc
    if command -v clang >/dev/null &&
        echo 'int main(void) { return 0; }' | clang -x c -fsanitize=address,undefined -o "$work/try" - 2>/dev/null; then
        cc=clang
    fi
    step "build with address and undefined sanitizers ($cc)" build_tree "$build-san" CC=$cc \
        CFLAGS='-O1 -g -Werror' --enable-sanitizers=address,undefined || return
    ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 unit_tests "$build-san" unit-san
}

lint() {
    t0=$(date +%s%3N)
    (cd "$build" && timeout -k 5 600 "$top/tests/lint/run.sh" "$top") >"$work/lint.log" 2>&1 </dev/null
    rc=$?
    ms=$(($(date +%s%3N) - t0))
    awk -v name=lint -v rc=$rc -v ms=$ms -v limit=600 -v form=line -f "$top/tests/tap.awk" "$work/lint.log"
    awk -v rc=$rc -v form=count -f "$top/tests/tap.awk" "$work/lint.log" >>"$work/counts"
}

# e2e PREFIX ARGUMENTS...
e2e() {
    prefix=$1
    shift
    CAISSON=$build/caisson CAISSON_BUILD=$build "$top/tests/e2e/run-all.sh" --prefix "$prefix" --counts "$work/counts" \
        ${only:+--only "$only"} "$@"
}

current_engines() {
    if ! "$top/tests/peers.sh" >"$work/peers" 2>"$work/peers.log"; then
        skipped "$(sed 's/^peers: skipped: //' "$work/peers.log" | tail -n 1)"
        return
    fi
    cat "$work/peers.log"
    names=$(sed 's/^CAISSON_RUNTIME_\([A-Z]*\)=.*/\1/' "$work/peers" | tr '[:upper:]\n' '[:lower:] ')
    while read -r assignment; do
        path=${assignment#*=}
        printf '      %s: %s\n' "$path" "$("$path" --version 2>/dev/null | head -n 1)"
        export "${assignment?}"
    done <"$work/peers"
    (CAISSON_ENGINES=$names && export CAISSON_ENGINES && e2e peers --tag peers)
    while read -r assignment; do unset "${assignment%%=*}"; done <"$work/peers"
}

machine() {
    CAISSON_BUILD='' "$top/tests/vm/run.sh" --build "$build" ${only:+--only "$only"} 2>"$work/vm.err" </dev/null |
        awk -v counts="$work/counts" -f "$top/tests/stream.awk"
    if [ -s "$work/vm.err" ]; then show "$work/vm.err" 20; fi
}

# --- all of it ----------------------------------------------------------------------------------------------------------

echo "caisson's tests: seed $seed, repeat counts $([ $all = 1 ] && echo in full || echo "divided by $CAISSON_REPEAT_DIV"), $(nproc) processors, Linux $(uname -r)"

title "build"
if [ $install = 1 ]; then
    if ! install_packages >"$work/apt.log" 2>&1; then
        echo "FAIL  packages could not be installed"
        show "$work/apt.log" 20
        failed
    fi
fi
step "autogen.sh" timeout 300 "$top/autogen.sh" || finish
step "configure and make" build_tree "$build" CFLAGS='-O2 -g -Werror' || finish

if [ -z "$only" ]; then
    title "unit tests"
    unit_tests "$build" unit
    sanitized
    title "static checks"
    lint
    step "make distcheck" timeout -k 5 900 make -s -j2 -C "$build" distcheck
fi

title "end to end: the engines of this system"
for name in runc crun runsc; do
    if path=$(command -v $name); then
        printf '      %s: %s\n' "$path" "$($name --version 2>/dev/null | head -n 1)"
    else
        skipped "$name is not installed"
    fi
done
e2e e2e

if [ $peers = 1 ]; then
    title "end to end: current engines, the short suite"
    current_engines
fi
if [ $vm = 1 ]; then
    title "end to end: cgroup v2 (tests/vm)"
    machine
fi
finish
