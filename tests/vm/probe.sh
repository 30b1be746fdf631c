# shellcheck shell=sh disable=SC2034
# Sourced by run.sh on the host and by guest.sh in the machine: the same work by the same shell, timed at both ends.
#
# probe DIVISOR: sets loop_us and fork_us, microseconds for a thousand turns of a shell loop and for one fork and exec
probe() {
    # shellcheck disable=SC2016,SC2046 # for the inner shell; words are wanted
    set -- "$1" $(/usr/bin/busybox sh -c '
        n=$((40000 / $1)) m=$((120 / $1))
        now() { read -r t _ </proc/uptime; }
        now; a=$t
        i=0; while [ $i -lt $n ]; do i=$((i + 1)); done
        now; b=$t
        i=0; while [ $i -lt $m ]; do /usr/bin/busybox true; i=$((i + 1)); done
        now; c=$t
        echo $a $b $c $n $m' sh "$1" | /usr/bin/busybox awk '{
            printf "%d %d", ($2 - $1 + 0.005) * 1e9 / $4 + 1, ($3 - $2 + 0.005) * 1e6 / $5 + 1 }')
    loop_us=$2
    fork_us=$3
}
