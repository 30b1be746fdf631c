#!/bin/sh
# Cgroups, mounts and trees: what of shim/sys needs root (F014, F023, F025, F026, F070 at the ground).
# needs: root
# tags: vm
# timeout: 120
. "${0%/*}/lib.sh"

root=$CAISSON_BUILD/tests/e2e/sys/root
if [ ! -x "$root" ]; then skip_all "$root is not built (make check)"; fi

for case in $("$root" --list); do
    run "$root" "$case"
    case $rc in
    77) skip "$case" "$err" ;;
    *)
        is "$rc" 0 "$case"
        if [ -n "$err" ]; then diag "$err"; fi
        ;;
    esac
done
is "$(find /sys/fs/cgroup -name 'caisson-cgtest-*' 2>/dev/null)" "" "no group is left"
done_testing
