#!/bin/sh
# Every option that a built caisson's help names is in caisson(1).
#   man.sh ROOT [CAISSON]         the page is built beside caisson; exit status 77: one of them is not built
set -eu
caisson=${2:-}
page=${caisson%/*}/contrib/man/caisson.1
if [ -z "$caisson" ] || [ ! -x "$caisson" ]; then
    echo "no built caisson"
    exit 77
fi
if [ ! -f "$page" ]; then
    echo "no $page"
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options() { grep -oE '(^|[^a-zA-Z0-9-])--[a-z][a-z0-9-]+' | sed 's/^[^-]*//' | sort -u; }
commands=$("$caisson" help 2>/dev/null | sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p')
for c in $commands; do "$caisson" help "$c" 2>/dev/null || :; done >"$work/help"
# what the help's texts mention counts too, so take only lines that begin with an option
grep -E '^ *(-[A-Za-z0-9], *)?--' "$work/help" | sed 's/^ *\(-[A-Za-z0-9], *\)\{0,1\}\(--[a-z0-9-]*\).*/\2/' | sort -u >"$work/table"
sed 's/\\-/-/g; s/\\f.//g' "$page" | options >"$work/man"
if [ ! -s "$work/table" ]; then
    echo "caisson's help names no option"
    exit 77
fi
missing=$(comm -23 "$work/table" "$work/man")
if [ -n "$missing" ]; then
    echo "$page does not name:" $missing
    exit 1
fi
