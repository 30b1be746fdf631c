#!/bin/sh
# From a bare Debian or Ubuntu to a first bounded run: installs what caisson needs, builds it, installs it into
# /usr/local, and shows two runs. May be run again at any time.
#
#   sudo contrib/quickstart.sh
set -eu

packages="gcc make autoconf automake pkg-config libc6-dev libyajl-dev libseccomp-dev libcap-dev crun runc"
optional_packages="runsc" # not in every release

top=$(cd "$(dirname "$0")/.." && pwd)
build=$top/build

if [ $# -gt 0 ]; then
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
    exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "quickstart: this installs packages and starts containers, so it must be root: sudo contrib/quickstart.sh" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "quickstart: no apt-get here. Install by your own means: $packages; then ./autogen.sh && ./configure && make install" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# quiet COMMAND...: its output only if it fails
quiet() {
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        echo "quickstart: failed: $*" >&2
        exit 1
    fi
}

installed() { dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'; }

step "1/4 Packages"
missing=''
for p in $packages; do
    if ! installed "$p"; then missing="$missing $p"; fi
done
if [ -n "$missing" ]; then
    quiet apt-get update -q
    for p in $optional_packages; do
        if ! installed "$p" && apt-cache policy "$p" | grep -q 'Candidate: [0-9]'; then missing="$missing $p"; fi
    done
    echo "installing:$missing"
    # shellcheck disable=SC2086 # words are wanted
    quiet env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
else
    echo "all there"
fi

step "2/4 Build, and install into /usr/local"
if [ ! -x "$top/configure" ]; then quiet "$top/autogen.sh"; fi
mkdir -p "$build"
cd "$build"
if [ ! -f Makefile ]; then quiet "$top/configure" -q; fi
quiet make -s -j"$(nproc)"
quiet make -s install
caisson=/usr/local/bin/caisson
echo "$("$caisson" --version 2>/dev/null | head -n 1): $caisson"

# show EXPECTED-STATUS COMMAND...
show() {
    want=$1
    shift
    printf '\n$ caisson'
    for arg in "$@"; do
        case $arg in
        *[!a-zA-Z0-9_./:=,-]*) printf " '%s'" "$arg" ;;
        *) printf ' %s' "$arg" ;;
        esac
    done
    echo
    status=0
    "$caisson" "$@" >"$log" </dev/null || status=$?
    # a record is one line: broken before its larger parts for the reader
    case $* in *json*) sed 's/,"\(engine\|startedAt\|usage\|stdout\|stderr\|limits\|stdioHeld\)":/,\n "\1":/g' "$log" ;; *) cat "$log" ;; esac
    echo "(exit status $status)"
    if [ "$status" -ne "$want" ]; then
        echo "quickstart: expected exit status $want" >&2
        exit 1
    fi
}

step "3/4 A bounded run"
echo "A shell in a sandbox made from this system's own /usr, read-only: another user, no network, no capabilities, with
limits on memory, processes, CPU, time and output. It is user 65534 (nobody) in there; its exit status is caisson's."
show 7 run -- sh -c 'id -u; exit 7'
echo
echo "The same, told as a record: output, how it ended, what it used, which limits were in force."
show 7 run --format json --capture head -- sh -c 'id -u; exit 7'

step "4/4 A run that hits a limit"
echo "A program that prints for ever gets exactly the bytes it was given; then it is killed: status 153, output-limit."
show 153 run --output-limit 32 -- yes
echo
echo "A program that sleeps too long, and ignores SIGTERM: status 124, wall-limit."
show 124 run --timeout 1s -- sh -c 'trap "" TERM; sleep 60'

step "Done. Next: caisson help, caisson check, man caisson"
