#!/bin/sh
# The configurations that the unit tests compare with are bundles to others too; and the judge can say no.
# timeout: 600
. "${0%/*}/lib.sh"

validate=$_here/../conformance/bundle-validate.sh
run "$validate" /nonexistent
case $rc in
1) ;;
77) skip_all "$err" ;;
*) bail "cannot validate: $err" ;;
esac

bundle() {
    mkdir -p "$T/$1/rootfs"
    cat >"$T/$1/config.json"
}

for golden in "$_here"/../golden/spec/*.json; do
    name=${golden##*/}
    bundle "$name" <"$golden"
    run "$validate" "$T/$name"
    is "$rc" 0 "$name: accepted"
    if [ "$rc" -ne 0 ]; then diag "$out"; fi
done

sed 's/"ociVersion": "1.0.2",//' "$_here/../golden/spec/strict.json" | bundle no-version
run "$validate" "$T/no-version"
is "$rc" 1 "no ociVersion: refused"
sed 's/"cwd": "\/"/"cwd": "tmp"/' "$_here/../golden/spec/strict.json" | bundle relative
run "$validate" "$T/relative"
is "$rc" 1 "relative cwd: refused"
sed 's/"noNewPrivileges": true/"noNewPrivileges": "yes"/' "$_here/../golden/spec/strict.json" | bundle string
run "$validate" "$T/string"
is "$rc" 1 "noNewPrivileges as a string: refused"
done_testing
