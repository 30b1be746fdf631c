#!/bin/sh
# First process on the real root of the test machine: mounts, modules, cgroup v2, the slowness factor, then the tests.
# /vm/plan, written by run.sh, says what to do. The TAP goes to the second serial port; the first is the kernel's.
# shellcheck disable=SC2154 # the plan and probe.sh assign them
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8

mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
mkdir -p /dev/pts /dev/shm /dev/mqueue
mount -t devpts -o mode=620,gid=5,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t mqueue mqueue /dev/mqueue
mount -t tmpfs -o mode=755,nosuid,nodev run /run
mount -t tmpfs -o mode=1777 tmp /tmp
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr

while read -r m; do
    if [ -f "/lib/modules/$m.ko" ]; then busybox insmod "/lib/modules/$m.ko"; fi
done </lib/modules/order

busybox hostname vm
busybox ifconfig lo 127.0.0.1 up

# One hierarchy with every controller in force, as systemd leaves it. The tests stand in a group of their own, as in a
# login session: what is in the root group would be under no controller.
mount -t cgroup2 -o nosuid,nodev,noexec,nsdelegate cgroup2 /sys/fs/cgroup
mkdir /sys/fs/cgroup/init.scope
echo $$ >/sys/fs/cgroup/init.scope/cgroup.procs
read -r controllers </sys/fs/cgroup/cgroup.controllers
for c in $controllers; do echo "+$c" >/sys/fs/cgroup/cgroup.subtree_control; done

# mode, host_loop_us and host_fork_us, tests, repeat_div, seed
# shellcheck disable=SC1091
. /vm/plan
# shellcheck disable=SC1091
. /vm/probe.sh

probe 4 # fewer rounds than on the host: each takes longer
by_loop=$((loop_us / host_loop_us + 1)) by_fork=$((fork_us / host_fork_us + 1))
slow=$((by_loop > by_fork ? by_loop : by_fork))
if [ $slow -lt 4 ]; then slow=4; elif [ $slow -gt 60 ]; then slow=60; fi
export CAISSON=/usr/local/bin/caisson CAISSON_SLOW="$slow" CAISSON_SEED="$seed" CAISSON_REPEAT_DIV="$repeat_div"

if [ "$mode" = shell ]; then
    echo "caisson's test machine: tests in /caisson/tests, CAISSON_SLOW=$slow; poweroff with: exit" >/dev/ttyS0
    cd /caisson/tests 2>/dev/null || cd /
    setsid -c sh -i </dev/ttyS0 >/dev/ttyS0 2>&1
else
    stty -F /dev/ttyS1 raw -echo
    exec </dev/null >/dev/ttyS1 2>&1
    read -r up _ </proc/uptime
    echo "# vm: Linux $(uname -r), cgroup v2 ($controllers), ready after $up s, CAISSON_SLOW=$slow"
    # shellcheck disable=SC2086 # words are wanted
    /caisson/tests/e2e/run-all.sh --tap --prefix vm --tag vm $tests
    echo "# vm: done $?"
fi
sync
busybox poweroff -f
