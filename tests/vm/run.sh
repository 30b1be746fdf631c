#!/bin/sh
# Runs the tests tagged `vm` on a pure cgroup v2 machine: Debian's cloud kernel under qemu, emulated in software, so it
# needs no /dev/kvm and works inside other virtual machines. Prints TAP.
#
#   tests/vm/run.sh [--build DIR] [--only PATTERN] [--keep] [TEST...]   the tests (names in tests/e2e), or all tagged vm
#   tests/vm/run.sh --shell [--build DIR]                               a shell in that machine, on this terminal
#   tests/vm/run.sh --kernel                                            fetch the kernel, print where it lies, stop
#
# DIR is a built tree (build); caisson comes from its `make install`. Exit status: 0 good, 1 a test failed or the machine
# did not get through, 77 when something it needs is missing (said in a skip line).
#
# The kernel package is downloaded and unpacked into the cache (CAISSON_VM_CACHE, else ~/.cache/caisson-vm), never
# installed. The base of the initramfs is cached there too, and made anew when a tool or an engine on the host changed.
#
# How this machine differs, seen with kernel 6.1 and the engines of Debian 12:
# - A shell after 4 to 6 s; about 12 times slower in a loop, 15 to 20 times in fork and exec than the host. The factor is
#   measured at boot and given to the tests as CAISSON_SLOW.
# - One look, raw engines: crun create 0.5 s, start 0.3 s, delete 0.3 s; runc 1.0, 0.3, 0.2 s; runsc 1.4, 0.4, 0.4 s, and 0.1 to
#   0.2 s from writing cgroup.kill to an empty group with each of them.
# - runsc works on its default platform (ptrace in 20221219); --platform=ptrace by name is the same. An idle sandbox has
#   26 threads here and 48 on the larger host.
# - memory.max, memory.swap.max, pids.max and cpu.max are in force with all three; oom_kill in memory.events counts; there
#   are memory.peak, memory.oom.group, pids.peak and cgroup.kill, but no memory.swap.peak, and pidfds tell no exit status
#   (PIDFD_GET_INFO is of Linux 6.15).
# - crun switches fewer controllers on below /caisson (no misc, no rdma) than runc and runsc do.
# - No swap, no network but lo, no systemd.
# shellcheck disable=SC2154 # probe.sh assigns loop_us and fork_us
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$top/build
cache=${CAISSON_VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/caisson-vm}
mode=tests only='' keep=0 tests=''
: "${CAISSON_VM_DEADLINE:=1500}"

say() { echo "# vm: $*"; }
skip_all() {
    echo "1..0 # SKIP $*"
    exit 77
}
usage() {
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$(cd "${2?}" && pwd) && shift 2 ;;
    --only) only=${2?} && shift 2 ;;
    --keep) keep=1 && shift ;;
    --shell) mode=shell && shift ;;
    --kernel) mode=kernel && shift ;;
    -*) usage ;;
    *) tests="$tests $(basename "$1" .sh).sh" && shift ;;
    esac
done

# The newest cloud kernel that apt knows, unpacked; without a network, the one that is there already.
fetch_kernel() {
    pkg=$(apt-cache depends --important linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    if [ -n "$pkg" ]; then
        ver=$(apt-cache policy "$pkg" | sed -n 's/^ *Candidate: //p')
        if [ "$(cat "$cache/kernel/version" 2>/dev/null)" = "$pkg $ver" ]; then return 0; fi
        rm -rf "$cache/kernel.new"
        mkdir -p "$cache/kernel.new"
        if (cd "$cache/kernel.new" && apt-get download -qq -o APT::Sandbox::User=root "$pkg" && dpkg-deb -x ./*.deb . && rm ./*.deb) >&2; then
            echo "$pkg $ver" >"$cache/kernel.new/version"
            rm -rf "$cache/kernel"
            mv "$cache/kernel.new" "$cache/kernel"
            return 0
        fi
        rm -rf "$cache/kernel.new"
    fi
    [ -f "$cache/kernel/version" ]
}

for need in qemu-system-x86_64 busybox cpio apt-get dpkg-deb; do
    command -v $need >/dev/null || skip_all "$need is not installed"
done
if [ "$(uname -m)" != x86_64 ]; then skip_all "the machine is an x86_64 one"; fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
fetch_kernel || skip_all "the package linux-image-cloud-amd64 cannot be had (apt-get update?)"
vmlinuz=$(echo "$cache"/kernel/boot/vmlinuz-*)
if [ $mode = kernel ]; then
    echo "$vmlinuz"
    exit 0
fi
stamp=$("$here/image.sh" stamp "$cache")
if [ "$(cat "$cache/base.stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -f "$cache/base.stamp"
    "$here/image.sh" base "$cache" "$cache/base.cpio"
    echo "$stamp" >"$cache/base.stamp"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/caisson-vm.XXXXXX")
qemu_pid=
# shellcheck disable=SC2317 # the trap calls it
leave() {
    # to timeout, which hands it on: killed, it would leave qemu behind
    if [ -n "$qemu_pid" ]; then kill -TERM "$qemu_pid" 2>/dev/null && wait "$qemu_pid" || :; fi
    if [ "$keep" = 1 ]; then say "kept $work"; else rm -rf "$work"; fi
}
trap leave EXIT
trap 'exit 130' HUP INT TERM

# --- what goes in ---------------------------------------------------------------------------------------------------

dest=$work/dest
mkdir -p "$dest/vm" "$dest/caisson/build" "$dest/usr/bin"
if [ -f "$build/Makefile" ]; then
    make -s -C "$build" install DESTDIR="$dest" prefix=/usr/local >"$work/install.log" 2>&1 || {
        echo "not ok 1 - vm: make install"
        sed 's/^/# /' "$work/install.log"
        echo 1..1
        exit 1
    }
    for d in tests/fake tests/e2e/sys; do
        if [ -d "$build/$d" ]; then
            mkdir -p "$dest/caisson/build/$d"
            find "$build/$d" -maxdepth 1 -type f -perm -100 -exec cp {} "$dest/caisson/build/$d/" \;
        fi
    done
elif [ $mode != shell ]; then
    skip_all "$build is not a built tree"
fi
rm -rf "$dest/usr/local/share/man" "$dest/usr/local/share/doc"
mkdir -p "$dest/caisson/contrib" "$dest/caisson/tests"
(cd "$top/tests" && find e2e tap.awk -type f | cpio -o -H newc --quiet) | (cd "$dest/caisson/tests" && cpio -idm --quiet)
if [ -f "$top/contrib/result.schema.json" ]; then cp "$top/contrib/result.schema.json" "$dest/caisson/contrib/"; fi
find "$dest" -type f -perm -100 | while read -r f; do
    "$here/image.sh" libs "$dest" "$f"
done

# A busy host is measured as busy: the machine in it will be as slow.
# shellcheck disable=SC1091 # beside this file
. "$here/probe.sh"
cp "$here/probe.sh" "$dest/vm/"
probe 1
{
    echo "mode=$mode host_loop_us=$loop_us host_fork_us=$fork_us"
    echo "tests='${only:+--only $only }$tests'"
    echo "repeat_div=${CAISSON_REPEAT_DIV:-20} seed=${CAISSON_SEED:-1}"
} >"$dest/vm/plan"
"$here/image.sh" payload "$dest" "$work/payload.cpio"
cat "$cache/base.cpio" "$work/payload.cpio" >"$work/initrd"
rm -rf "$dest" "$work/payload.cpio"
exec 9>&-

# Left to itself the kernel takes the HPET for its clock, every reading of which leaves the emulation, zeroes each page
# twice, and walks five levels of page tables. And it tries whether the timer ticks, which on a busy host it does not in
# time: the kernel then looks for another one, and never gets further.
cheaper="tsc=reliable no_timer_check init_on_alloc=0 mitigations=off audit=0 apparmor=0"

# --- the machine ------------------------------------------------------------------------------------------------------

set -- -M pc -accel tcg,thread=multi -cpu max,la57=off -smp 2 -m 2G -nodefaults -no-user-config -display none -no-reboot \
    -kernel "$vmlinuz" -initrd "$work/initrd"
append="console=ttyS0 quiet panic=-1 cgroup_no_v1=all random.trust_cpu=on $cheaper"

if [ $mode = shell ]; then
    qemu-system-x86_64 "$@" -append "$append" -serial mon:stdio -serial null
    exit 0
fi

mkfifo "$work/tap"
# shellcheck disable=SC2094
timeout -k 5 "$CAISSON_VM_DEADLINE" qemu-system-x86_64 "$@" -append "$append" \
    -serial "file:$work/console" -serial stdio </dev/null >"$work/tap" 2>"$work/qemu.err" 9>&- &
qemu_pid=$!

# Through to stdout as it comes; the plan is held back until it is known whether the machine got to its end.
set +e
awk -v only="$only$tests" '
    { sub(/\r$/, "") }
    /^1\.\./ { planned = substr($1, 4) + 0; next }
    /^# vm: done [01]$/ { done = 1; next }
    /^(not )?ok / { n++; if ($1 == "not") bad = 1 }
    { print; fflush() }
    END {
        if (done && n == 0 && planned == 0 && only != "") { print "1..0 # SKIP no test tagged vm matches " only; exit 0 }
        if (!done) { print "not ok " ++n " - vm: the machine did not get through its tests"; bad = 1 }
        else if (planned != n || n == 0) { print "not ok " ++n " - vm: planned " planned " tests"; bad = 1 }
        print "1.." n + 0
        exit done ? bad : 3
    }' "$work/tap"
rc=$?
wait "$qemu_pid"
qemu_rc=$?
qemu_pid=
if [ $rc -eq 3 ]; then
    case $qemu_rc in
    124 | 137) say "killed after $CAISSON_VM_DEADLINE s" ;;
    *) say "qemu ended with $qemu_rc" ;;
    esac
    sed 's/^/# qemu: /' "$work/qemu.err"
    tail -n 30 "$work/console" | tr -d '\r' | sed 's/^/# console: /'
fi
exit $((rc != 0))
