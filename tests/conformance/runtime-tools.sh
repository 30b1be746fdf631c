#!/bin/sh
# The validation suite of runtime-tools, test by test: on an engine itself, and on caisson-runtime over it.
#
#   tests/conformance/runtime-tools.sh [--policy NAME]... ENGINE...
#
# Policies: none and default unless others are given. Prints TAP: what passes on the engine itself must pass through
# caisson-runtime; and as comments a table of all. Must be root. CAISSON_BUILD is the built tree.
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

policies=''
while [ $# -gt 0 ]; do
    case $1 in
    --policy) policies="$policies ${2?}" && shift 2 ;;
    -*) sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
done
: "${policies:=none default}"
[ $# -gt 0 ] || set -- runc crun
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

[ "$(cat "$suite/stamp" 2>/dev/null)" = "$stamp" ] || (build) || exit $?

# --- running ------------------------------------------------------------------------------------------------------------

T=$(mktemp -d) || exit 2
trap 'rm -rf "$T"' EXIT
trap 'exit 130' HUP INT TERM
mkdir "$T/bin"

# one COLUMN BASE COMMAND...: the suite on a runtime; $T/COLUMN/TEST says pass or fail
one() {
    column=$1 base=$2
    shift 2
    mkdir -p "$T/$column" "$T/w/$column"
    { echo '#!/bin/sh' && echo "exec $* \"\$@\""; } >"$T/bin/$column"
    chmod 755 "$T/bin/$column"
    cp "$suite/runtimetest" "$suite/rootfs-amd64.tar.gz" "$T/w/$column/" # it copies links as links
    for program in "$suite"/*; do
        name=${program##*/}
        case $name in runtimetest | stamp | *.gz) continue ;; esac
        verdict=fail
        # some of them race against their own container, with any runtime
        for _try in 1 2 3; do
            if [ $verdict = pass ]; then break; fi
            if [ $_try -gt 1 ] && [ "$(cat "$T/$base/$name" 2>/dev/null)" != pass ]; then break; fi
            if (cd "$T/w/$column" && RUNTIME=$T/bin/$column timeout -k 5 $each_s "$program" </dev/null) >"$T/$column/$name.log" 2>&1 &&
                ! grep -q '^not ok' "$T/$column/$name.log"; then
                verdict=pass
            fi
        done
        echo $verdict >"$T/$column/$name"
    done
}

columns=''
for engine; do
    path=$(command -v "$engine") || skip "$engine is not installed"
    one "$engine" "$engine" "$path"
    columns="$columns $engine"
    for policy in $policies; do
        one "$engine-$policy" "$engine" "$runtime" --runtime "$path" --policy "$policy" --state-dir "$T/state"
        columns="$columns $engine-$policy"
    done
done

# --- the table ------------------------------------------------------------------------------------------------------------

# shellcheck disable=SC2086 # a list
printf '# %-34s%s\n' test "$(printf ' %-14s' $columns)"
count=0 failed=0
for program in "$suite"/*; do
    name=${program##*/}
    case $name in runtimetest | stamp | *.gz) continue ;; esac
    printf '# %-34s%s\n' "$name" "$(for c in $columns; do printf ' %-14s' "$(cat "$T/$c/$name")"; done)"
done
printf '# %-34s%s\n' "passed" "$(for c in $columns; do printf ' %-14s' "$(cat "$T/$c"/* | grep -c '^pass$')"; done)"
for engine; do
    for policy in $policies; do
        for program in "$suite"/*; do
            name=${program##*/}
            case $name in runtimetest | stamp | *.gz) continue ;; esac
            [ "$(cat "$T/$engine/$name")" = pass ] || continue
            count=$((count + 1))
            if [ "$(cat "$T/$engine-$policy/$name")" = pass ]; then
                echo "ok $count - $engine under $policy: $name"
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
