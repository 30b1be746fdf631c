#!/bin/sh
# needs: root podman conmon containerd ctr runc busybox
# timeout: 300
# caisson-runtime under podman (rootful) and under ctr: what people do with them, with the engine and with caisson over it.
. "${0%/*}/lib.sh"

: "${CAISSON_RUNTIME:=$CAISSON_BUILD/caisson-runtime}"
[ -x "$CAISSON_RUNTIME" ] || skip_all "no caisson-runtime in $CAISSON_BUILD"

mkdir -p "$T/root/bin" "$T/root/etc" "$T/root/tmp" "$T/root/proc" "$T/root/sys" "$T/root/dev"
cp "$(command -v busybox)" "$T/root/bin/busybox"
for applet in sh cat echo sleep seq id true false test ls; do ln -s busybox "$T/root/bin/$applet"; done
echo 'root:x:0:0::/:/bin/sh' >"$T/root/etc/passwd"

# over NAME POLICY: a runtime of that name that is caisson over runc
over() {
    mkdir -p "$T/$1"
    printf '#!/bin/sh\nexec "%s" --runtime runc --policy %s --state-dir "%s" "$@"\n' "$CAISSON_RUNTIME" "$2" "$T/state" >"$T/$1/runc"
    chmod 755 "$T/$1/runc"
}
over default default
over none none

# compare WHAT BASE: each file of $T/out/WHAT against BASE's
compare() {
    for _f in "$T/out/$2"/*; do
        _n=${_f##*/}
        if cmp -s "$_f" "$T/out/$1/$_n"; then ok "$1 as $2: $_n"; else not_ok "$1 as $2: $_n" "$(diff "$_f" "$T/out/$1/$_n" | head -n 10)"; fi
    done
}

# op NAME COMMAND...: what it prints and its code, apart
op() {
    _op=$1
    shift
    "$@" >"$dir/$_op" 2>"$T/stderr" </dev/null
    _rc=$?
    sed 's/^/stderr: /' "$T/stderr" | grep -v level= >>"$dir/$_op"
    echo "rc $_rc" >>"$dir/$_op"
}

# --- podman -------------------------------------------------------------------------------------------------------------

mkdir -p "$T/empty"
printf '[engine]\n' >"$T/containers.conf"
CONTAINERS_CONF=$T/containers.conf
export CONTAINERS_CONF

podman_ops() {
    runtime=$2
    dir=$T/out/$1
    mkdir -p "$dir"
    p() {
        _verb=$1
        shift
        podman --root "$T/p/$dirname" --runroot "$T/pr/$dirname" --cgroup-manager cgroupfs --events-backend file --storage-driver vfs \
            --runtime "$runtime" --tmpdir "$T/pt/$dirname" "$_verb" "$@"
    }
    dirname=$1
    op run p run --rm --network none --rootfs "$T/root" sh -c 'echo out; echo err >&2; exit 3'
    op run-missing p run --rm --network none --rootfs "$T/root" /no/such
    op run-detached p run -d --name c --network none --rootfs "$T/root" sh -c 'echo started; exec sleep 60'
    op exec p exec c sh -c 'echo in; exit 5'
    op exec-terminal p exec -t c echo tty
    op exec-detached p exec -d c true
    sed -i '/^[0-9a-f]*$/d' "$dir/exec-detached"
    op logs p logs c
    op inspect p inspect -f '{{.State.Status}}' c
    op pause p pause c
    op unpause p unpause c
    op stop p stop -t 1 c
    op code p inspect -f '{{.State.ExitCode}} {{.State.Status}}' c
    op rm p rm -f c
    op none p ps -aq
    # ids and the runtime's path are each one's own
    sed -i "s/^[0-9a-f]\{64\}\$/ID/; s#$runtime#RUNTIME#" "$dir"/*
    is "$(sed -n 1p "$dir/exec")" in "$1: there is something to compare"
}
podman_ops podman "$(command -v runc)"
for policy in none default; do
    podman_ops "podman-$policy" "$T/$policy/runc"
    compare "podman-$policy" podman
done

# --- ctr ------------------------------------------------------------------------------------------------------------------

cat >"$T/containerd.toml" <<CONFIG
version = 2
root = "$T/ctrd/root"
state = "$T/ctrd/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "$T/ctrd.sock"
CONFIG
containerd -c "$T/containerd.toml" >"$T/containerd.log" 2>&1 &
daemon=$!
stop_daemon() {
    kill "$daemon" 2>/dev/null
    wait "$daemon" 2>/dev/null
}
at_exit stop_daemon
c() { ctr -a "$T/ctrd.sock" "$@"; }

ctr_ops() {
    dir=$T/out/$1
    mkdir -p "$dir"
    op run c run --rm --runc-binary "$2" --rootfs "$T/root" "$1-1" /bin/sh -c 'echo out; echo err >&2; exit 3'
    op run-missing c run --rm --runc-binary "$2" --rootfs "$T/root" "$1-2" /no/such
    sed -i 's/^stderr: .*no such file.*/stderr: no such file/' "$dir/run-missing"
    op run-detached c run -d --null-io --runc-binary "$2" --rootfs "$T/root" "$1-3" /bin/sleep 60
    op exec c task exec --exec-id e1 "$1-3" /bin/sh -c 'echo in; exit 5'
    op exec-again c task exec --exec-id e2 "$1-3" /bin/echo again
    op pause c task pause "$1-3"
    op resume c task resume "$1-3"
    op kill c task kill -s KILL "$1-3"
    op list sh -c "ctr -a '$T/ctrd.sock' task ls -q | grep -c '$1-3'"
    wait_until 10 c task rm "$1-3" >/dev/null 2>&1
    op delete c container rm "$1-3"
    op none sh -c "ctr -a '$T/ctrd.sock' container ls -q | grep -c '$1-' "
    sed -i "s/$1-[0-9]/ID/" "$dir"/*
    is "$(sed -n 1p "$dir/exec")" in "$1: there is something to compare"
}
if wait_until 30 c version >/dev/null 2>&1; then
    ctr_ops ctr "$(command -v runc)"
    for policy in none default; do
        ctr_ops "ctr-$policy" "$T/$policy/runc"
        compare "ctr-$policy" ctr
    done
else
    skip "ctr" "containerd does not start here"
fi

is "$(find "$T/state/containers" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" 0 "nothing is kept of any"
done_testing
