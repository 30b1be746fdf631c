#!/bin/sh
# --rootfs DIR: a directory of the caller's is read, never written, by nobody.
# needs: root busybox
# tags: peers
# timeout: 120
. "${0%/*}/lib.sh"

mkdir -p "$T/bare/bin" "$T/full"
cp "$(command -v busybox)" "$T/bare/bin/busybox"
ln -s busybox "$T/bare/bin/sh"
cp -a "$T/bare/." "$T/full"
mkdir "$T/full/proc" "$T/full/dev" "$T/full/sys" "$T/full/tmp"
tree() { (cd "$1" && find . -printf '%p %y %m %U:%G %s %T@\n' | sort); }

for e in $(engines); do
    for root in bare full; do
        tree "$T/$root" >"$T/before"
        run "$CAISSON" run --runtime "$(engine_path "$e")" --user 0 --rootfs "$T/$root" -- sh -c 'busybox ls /proc/self/fd; busybox touch /x'
        is "$rc" 1 "$e: $root: the program runs, and cannot write into its root"
        like "$err" "*Read-only file system*" "$e: $root: because it is read-only"
        tree "$T/$root" >"$T/after"
        check "$e: $root: the directory is as it was" cmp "$T/before" "$T/after"
    done
    run "$CAISSON" run --runtime "$(engine_path "$e")" --rootfs "$T/bare" --writable-root 1m -- \
        sh -c 'echo new >/file && busybox cat /file; busybox dd if=/dev/zero of=/big bs=64k count=64 2>/dev/null || echo full'
    is "$rc $out" "0 new
full" "$e: --writable-root is written up to its size"
    check "$e: and not into the directory" test ! -e "$T/bare/file"
    tree "$T/full" >"$T/before"
    run "$CAISSON" run --runtime "$(engine_path "$e")" --rootfs "$T/full" -w /not/there -- sh -c pwd
    is "$rc $out" "0 /not/there" "$e: a working directory that the root lacks is made"
    tree "$T/full" >"$T/after"
    check "$e: but not in the caller's directory" cmp "$T/before" "$T/after"
done
# a working directory that is missing below a bind: crun and gVisor would make it on the host, read-only or not
mkdir "$T/vol"
missing=/usr/caisson-e2e-$$
for e in $(engines); do
    run "$CAISSON" run --runtime "$(engine_path "$e")" -w "$missing" -- true
    is "$rc" 125 "$e: a working directory that /usr lacks is refused"
    check "$e: and not made on the host" test ! -e "$missing"
    for root in host "$T/bare" "$T/full"; do
        run "$CAISSON" run --runtime "$(engine_path "$e")" --rootfs "$root" -v "$T/vol:/data" -w /data/missing -- true
        is "$rc" 125 "$e: … or a volume, in ${root##*/}"
        check "$e: … and not made in it" test ! -e "$T/vol/missing"
    done
done
run "$CAISSON" bundle -o "$T/b" --rootfs "$T/bare" -- sh
is "$rc" 125 "a bundle whose root lacks mount points is refused"
check "and nothing is made" test ! -e "$T/b"
done_testing
