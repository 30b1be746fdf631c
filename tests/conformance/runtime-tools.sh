#!/bin/sh
# The validation suite of runtime-tools, test by test: on an engine itself, and on caisson-runtime over it.
#
#   tests/conformance/runtime-tools.sh [--policy NAME]... [--quick ENGINE]... ENGINE...
#
# Policies: none, default and strict unless others are given. Prints TAP: what passes on the engine itself must pass
# through caisson-runtime, unless differences.txt says why it cannot under that policy; and as comments a table of all
# ("-": fails on the engine itself, and was not tried). --quick: of that engine only the tests that quick-ENGINE.txt
# names. Must be root. CAISSON_BUILD is the built tree.
# Exit status 0: all do; 1: something does not; 77, with one line that says why: it cannot be built here (no Go, or its modules
# are neither here nor to be had). Cache of the built programs: CAISSON_PEERS, else ~/.cache/caisson-peers, as tests/peers.sh.
set -u

need_go=1.21
tools=github.com/opencontainers/runtime-tools
limit_s=900
each_s=60

here=$(cd "${0%/*}" && pwd) || exit 2
: "${HOME:=/root}" "${CAISSON_BUILD:=$here/../../build}"
export HOME
runtime=$(cd "$CAISSON_BUILD" && pwd)/caisson-runtime
cache=${CAISSON_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/caisson-peers}
suite=$cache/runtime-tools
stamp=$(cat "$here/runtime-tools/go.sum" "$here/runtime-tools/go.mod" | cksum)

say() { echo "runtime-tools: $*" >&2; }
skip() { say "skipped: $*" && exit 77; }

policies='' quick=''
while [ $# -gt 0 ]; do
    case $1 in
    --policy) policies="$policies ${2?}" && shift 2 ;;
    --quick) quick="$quick ${2?} " && shift 2 ;;
    --one) break ;;
    -*) sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
done
: "${policies:=none default strict}"
[ $# -gt 0 ] || set -- runc crun runsc
[ -x "$runtime" ] || skip "no caisson-runtime in $CAISSON_BUILD"
[ "$(id -u)" -eq 0 ] || skip "must be root"

# --- building ---------------------------------------------------------------------------------------------------------

build() {
    have=$(go env GOVERSION 2>/dev/null)
    if [ -z "$have" ] || ! printf '%s\n%s\n' "$need_go" "${have#go}" | sort -V -C; then
        skip "needs Go $need_go or later, which is not installed"
    fi
    new=$(mktemp -d) || exit 2
    cd "$here/runtime-tools" || exit 2
    dir=$(timeout -k 5 $limit_s go mod download -json $tools </dev/null 2>/dev/null | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p')
    [ -d "$dir/validation" ] || { rm -rf "$new" && skip "its modules are neither here nor to be had"; }
    packages=$(for p in "$dir"/validation/*/; do
        name=$(basename "$p")
        if [ "$name" != util ]; then echo "$tools/validation/$name"; fi
    done)
    # shellcheck disable=SC2086 # a list
    if ! CGO_ENABLED=0 timeout -k 5 $limit_s go build -mod=readonly -o "$new/" $packages $tools/cmd/runtimetest </dev/null >"$new.log" 2>&1; then
        tail -n 5 "$new.log" >&2
        rm -rf "$new" "$new.log"
        skip "it cannot be built"
    fi
    cp "$dir/rootfs-amd64.tar.gz" "$new/" && chmod 644 "$new/rootfs-amd64.tar.gz"
    echo "$stamp" >"$new/stamp"
    mkdir -p "$cache" && rm -rf "$suite" && mv "$new" "$suite" && rm -f "$new.log"
}

# --- running one test ---------------------------------------------------------------------------------------------------

# try COLUMN TEST: 0 if it passes on that runtime; its output is in $T/COLUMN/TEST.log
try() {
    lock=
    # of fixed names: one at a time
    case $2 in linux_cgroups_*) lock="flock $T/cgroups" ;; esac
    # shellcheck disable=SC2086 # words
    (cd "$T/w/$2" && RUNTIME=$T/bin/$1 $lock timeout -k 5 $each_s "$suite/$2" </dev/null) >"$T/$1/$2.log" 2>&1 &&
        ! grep -q '^not ok' "$T/$1/$2.log"
}

# one ENGINE TEST: $T/COLUMN/TEST says pass, fail, or "-" for what fails on the engine itself and was not tried
one() {
    mkdir -p "$T/w/$2"
    ln -f "$T/w/runtimetest" "$T/w/rootfs-amd64.tar.gz" "$T/w/$2/" # it copies links as links: no symbolic ones
    verdict=fail
    if try "$1" "$2"; then verdict=pass; fi
    echo $verdict >"$T/$1/$2"
    for policy in $policies; do
        again=- tries=3 # some of them race against their own container, with any runtime
        if [ $verdict = fail ]; then
            tries=0
        elif [ -n "$(reason "$1" "$2" "$policy")" ]; then
            tries=1
        fi
        while [ "$again" != pass ] && [ $tries -gt 0 ]; do
            again=fail tries=$((tries - 1))
            if try "$1-$policy" "$2"; then again=pass; fi
        done
        echo "$again" >"$T/$1-$policy/$2"
    done
    rm -rf "$T/w/${2:?}"
}

# reason ENGINE TEST POLICY: why it differs by intent, if it does
reason() {
    awk -v e="$1" -v t="$2" -v p="$3" '$1 == p && ($2 == e || $2 == "all") && $3 == t { $1 = $2 = $3 = ""; sub(/^ +/, ""); print }' \
        "$here/differences.txt"
}

# tests_of ENGINE
tests_of() {
    case $quick in
    *" $1 "*) sed '/^#/d; /^$/d' "$here/quick-$1.txt" ;;
    *) find "$suite" -type f -perm -100 ! -name runtimetest -printf '%f\n' | sort ;;
    esac
}

if [ "${1-}" = --one ]; then
    T=$4 policies=$5
    one "$2" "$3"
    exit 0
fi

# --- running ------------------------------------------------------------------------------------------------------------

[ "$(cat "$suite/stamp" 2>/dev/null)" = "$stamp" ] || (build) || exit $?

T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
trap 'exit 130' HUP INT TERM
mkdir "$T/bin" "$T/w"
cp "$suite/runtimetest" "$suite/rootfs-amd64.tar.gz" "$T/w/"

# column NAME COMMAND...: a runtime
column() {
    mkdir "$T/$1"
    columns="$columns $1"
    name=$1
    shift
    { echo '#!/bin/sh' && echo "exec $* \"\$@\""; } >"$T/bin/$name"
    chmod 755 "$T/bin/$name"
}

columns=''
for engine; do
    path=$(command -v "$engine") || skip "$engine is not installed"
    args=''
    # the suite runs in the host's network, which gVisor does not take over
    if [ "$engine" = runsc ]; then args=--network=none; fi
    column "$engine" "$path" $args
    for policy in $policies; do
        column "$engine-$policy" "$runtime" --runtime "$path" --policy "$policy" --state-dir "$T/state" $args
    done
done
# they wait more than they work
for engine; do
    tests_of "$engine" | sed "s/^/$engine /"
done | xargs -n 2 -P $((2 * $(nproc))) sh -c '"$0" --one "$3" "$4" "$1" "$2"' "$here/runtime-tools.sh" "$T" "$policies"

# --- the table ------------------------------------------------------------------------------------------------------------

# shellcheck disable=SC2086 # a list
printf '# %-34s%s\n' test "$(printf ' %-14s' $columns)"
count=0 failed=0
cell() { cat "$T/$1/$2" 2>/dev/null || echo; }
for engine; do tests_of "$engine"; done | sort -u | while read -r name; do
    printf '# %-34s%s\n' "$name" "$(for c in $columns; do printf ' %-14s' "$(cell "$c" "$name")"; done)"
done
printf '# %-34s%s\n' "passed" "$(for c in $columns; do printf ' %-14s' "$(cat "$T/$c"/* | grep -c '^pass$')"; done)"
for engine; do
    for policy in $policies; do
        for name in $(tests_of "$engine"); do
            [ "$(cell "$engine" "$name")" = pass ] || continue
            count=$((count + 1))
            why=$(reason "$engine" "$name" "$policy")
            if [ "$(cell "$engine-$policy" "$name")" = pass ]; then
                echo "ok $count - $engine under $policy: $name"
            elif [ -n "$why" ]; then
                echo "ok $count - $engine under $policy: $name differs: $why"
            else
                failed=$((failed + 1))
                echo "not ok $count - $engine under $policy: $name"
                tail -n 15 "$T/$engine-$policy/$name.log" | cut -c 1-300 | sed 's/^/#   /'
            fi
        done
    done
done
echo "1..$count"
[ $failed -eq 0 ]
