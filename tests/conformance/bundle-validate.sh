#!/bin/sh
# Asks others whether bundles are bundles: runtime-spec's JSON Schema, of the version that caisson writes and of a
# current one, and the validate package of runtime-tools.
#
#   tests/conformance/bundle-validate.sh DIR…
#
# Prints "ok DIR" or "not ok DIR" and the complaints as "# …". Exit status 0: all are ok; 1: one is not; 2: could not
# check; 77, with one line that says why: no Go, or its modules are neither here nor to be had.
# Cache of the built program: CAISSON_PEERS, else ~/.cache/caisson-peers, as tests/peers.sh.
set -u

need_go=1.21
spec=github.com/opencontainers/runtime-spec
newer=v1.3.0 # besides the one that go.mod names
limit_s=300

here=$(cd "${0%/*}/bundle-validate" && pwd) || exit 2
: "${HOME:=/root}"
export HOME
cache=${CAISSON_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/caisson-peers}
program=$cache/bundle-validate

say() { echo "bundle-validate: $*" >&2; }

if [ $# -eq 0 ]; then
    sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
have=$(go env GOVERSION 2>/dev/null)
if [ -z "$have" ] || ! printf '%s\n%s\n' "$need_go" "${have#go}" | sort -V -C; then
    say "skipped: needs Go $need_go or later, which is not installed"
    exit 77
fi

# the directory of a downloaded module
module_dir() { (cd "$here" && timeout -k 5 $limit_s go mod download -json "$1" </dev/null 2>/dev/null) | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p'; }

(cd "$here" && timeout -k 5 $limit_s go mod download </dev/null >/dev/null 2>&1)
old_dir=$(module_dir $spec)
new_dir=$(module_dir $spec@$newer)
if [ ! -d "$old_dir/schema" ] || [ ! -d "$new_dir/schema" ]; then
    say "skipped: $spec and what runtime-tools needs are neither in the module cache nor to be had"
    exit 77
fi

from=$(cat "$here"/main.go "$here"/go.mod "$here"/go.sum | sha256sum)
if [ ! -x "$program" ] || [ "$(cat "$program.from" 2>/dev/null)" != "$from" ]; then
    mkdir -p "$cache" && tmp=$(mktemp "$program.XXXXXX") || exit 2
    if ! log=$(cd "$here" && timeout -k 5 $limit_s go build -o "$tmp" . </dev/null 2>&1); then
        rm -f "$tmp"
        say "go build: $log"
        exit 2
    fi
    mv "$tmp" "$program" && echo "$from" >"$program.from"
fi
exec "$program" -schema "$old_dir/schema" -schema "$new_dir/schema" "$@"
