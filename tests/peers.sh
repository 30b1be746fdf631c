#!/bin/sh
# Installs current engines for the tests, beside those of the distribution, with the Go client: by module name, into a
# cache that is kept. What is there already is not asked for again.
#
#   tests/peers.sh            install what is missing, then print one NAME=PATH line an engine
#   tests/peers.sh --refresh  install all again
#
# The lines are ready for `env`: CAISSON_RUNTIME_RUNC=/…/runc and so on, the names that tests/e2e/lib.sh reads.
# Cache: CAISSON_PEERS, else ~/.cache/caisson-peers. Exit status 77, with one line that says why, when there is nothing
# to print: no Go, or one older than 1.26.
set -u

peers=${CAISSON_PEERS:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/caisson-peers}
need_go=1.26
limit_s=600

# name, module and version, CGO_ENABLED, further flags. gVisor tags no releases that Go understands: its latest version
# is the newest commit of the branch made for `go get`.
engines='
runc   github.com/opencontainers/runc@v1.5.3  1  -tags=seccomp
runsc  gvisor.dev/gvisor/runsc@latest         0  -trimpath
'

say() { echo "peers: $*" >&2; }

case $#:${1-} in
0:) ;;
1:--refresh) rm -f "$peers"/*.from ;;
*)
    sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

missing=
while read -r name module _; do
    if [ -z "$name" ]; then continue; fi
    if [ ! -x "$peers/$name" ] || [ "$(cat "$peers/$name.from" 2>/dev/null)" != "$module" ]; then missing="$missing $name"; fi
done <<EOF
$engines
EOF

go_is_new() {
    have=$(go env GOVERSION 2>/dev/null) || return 1
    printf '%s\n%s\n' "$need_go" "${have#go}" | sort -V -C
}

if [ -n "$missing" ]; then
    if ! go_is_new; then
        say "skipped: current engines are built with Go $need_go or later, which is not installed"
        exit 77
    fi
    mkdir -p "$peers"
    : "${HOME:=/root}"
    export HOME
    while read -r name module cgo flags; do
        case "$missing " in *" ${name:-none} "*) ;; *) continue ;; esac
        tmp=$(mktemp -d "$peers/new.XXXXXX") || exit 1
        if CGO_ENABLED=$cgo GOBIN=$tmp timeout -k 5 $limit_s go install "$flags" "$module" >"$tmp/log" 2>&1 </dev/null; then
            mv "$tmp/$name" "$peers/$name"
            echo "$module" >"$peers/$name.from"
        else
            say "$module could not be installed (status $?):"
            tail -n 5 "$tmp/log" | sed 's/^/peers:   /' >&2
        fi
        rm -rf "$tmp"
    done <<EOF
$engines
EOF
fi

found=0
while read -r name _; do
    if [ -n "$name" ] && [ -x "$peers/$name" ]; then
        echo "CAISSON_RUNTIME_$(echo "$name" | tr '[:lower:]' '[:upper:]')=$peers/$name"
        found=1
    fi
done <<EOF
$engines
EOF
if [ $found = 0 ]; then exit 77; fi
