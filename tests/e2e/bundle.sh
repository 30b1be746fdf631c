#!/bin/sh
# Bundles of many flag combinations against runtime-spec's schema and runtime-tools' validate package; each is
# checked by caisson itself too, and each engine runs one by itself.
# needs: root
# timeout: 240
. "${0%/*}/lib.sh"

validate=$(cd "${0%/*}/../conformance" && pwd)/bundle-validate.sh
mkdir "$T/vol" "$T/root"
for d in proc dev sys tmp etc bin; do mkdir "$T/root/$d"; done
printf 'A=1\n# remark\nB=two words\n' >"$T/env"
cat >"$T/profile.json" <<'P'
{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":1,"architectures":["SCMP_ARCH_X86_64"],
 "syscalls":[{"action":"SCMP_ACT_ALLOW","names":["close","execve","fstat","fstatfs","futex","getdents64","openat",
 "rt_sigreturn","statx","write","read","mmap","brk","exit_group","newfstatat","not_a_call"]}]}
P

# one combination a line
cat >"$T/combinations" <<C

--memory 64m
--memory 0
--memory 64m --memory-swap 128m --oom-group
--memory-swap -1
--pids-limit -1
--pids-limit 50 --cpus 0.25
--cpus 0 --cpuset-cpus 0
--timeout 0
--timeout 1500ms --cpu-time 300ms
--ulimit nofile=64:128 --ulimit core=0
--ulimit as=1g --ulimit nproc=100
--cap-add NET_BIND_SERVICE --cap-add chown
--cap-add CAP_SYS_ADMIN --user 0
--seccomp none
--seccomp $T/profile.json
--seccomp-allow bpf --seccomp-allow io_uring_setup
--network host
--network /proc/self/ns/net
--userns
--userns --user 1000:100
--user 0:0
--user nobody
--hostname box.example --workdir /tmp
-e A=1 -e PATH=/bin -e LANG=C --env-file $T/env
-v $T/vol:/data
-v $T/vol:/data/deep:ro -v $T/env:/data/file
-v $T/vol:/data:rw --unbounded-volume
--tmpfs /scratch --tmpfs /work:size=1m,mode=700
--tmp-size 1m --tmp-inodes 100 --shm-size 1m
--policy none
--policy default
--id given.id_1
C

n=0
while IFS= read -r flags; do
    n=$((n + 1))
    # shellcheck disable=SC2086 # flags are words
    run "$CAISSON" bundle -o "$T/b$n" $flags -- sh -c 'exit 3'
    if [ "$rc" != 0 ]; then
        not_ok "bundle with: $flags"
        continue
    fi
    run "$CAISSON" bundle --check "$T/b$n"
    is "$rc $out" "0 " "caisson finds nothing wrong with: $flags"
done <"$T/combinations"

# a root outside of the bundle is what engines take and runtime-tools does not
for flags in "" "--network host --userns"; do
    # shellcheck disable=SC2086 # flags are words
    run "$CAISSON" bundle -o "$T/outside" --rootfs "$T/root" $flags -- sh
    run "$CAISSON" bundle --check "$T/outside"
    is "$rc $out" "0 " "caisson finds nothing wrong with: --rootfs DIR $flags"
    rm -r "$T/outside"
done

run "$validate" "$T"/b[0-9]*
if [ "$rc" = 77 ]; then
    skip "runtime-spec's schema and runtime-tools" "$err"
else
    is "$rc" 0 "runtime-spec's schema and runtime-tools take all $n"
    if [ "$rc" != 0 ]; then diag_file "$T/out" 40; fi
fi

for e in $(engines); do
    id=$(basename "$T" | tr . -)-$e
    run "$CAISSON" bundle -o "$T/raw-$e" --runtime "$(engine_path "$e")" --id "$id" -- sh -c 'exit 3'
    is "$rc" 0 "$e: a bundle for it"
    # runsc of 2022 takes a network namespace of config.json for the host's without its own flag
    case $e in runsc) flag=--network=none ;; *) flag= ;; esac
    # shellcheck disable=SC2016,SC2086 # expanded inside; one word or none
    run unshare -m sh -c 'mount --make-rprivate / && { umount /sys/fs/cgroup/unified 2>/dev/null || :; } && exec "$@"' sh \
        "$(engine_path "$e")" $flag --root "$T/engine-$e" run --bundle "$T/raw-$e" "$id"
    is "$rc" 3 "$e: runs it by itself"
    find /sys/fs/cgroup -depth -type d -name "$id" -exec rmdir {} \; 2>/dev/null
done
done_testing
