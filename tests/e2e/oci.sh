#!/bin/sh
# caisson-runtime called by hand: limits and attendant from create to delete, calls that fail half-way, and what a created
# container could reach.
# needs: root python3
# tags: vm
# timeout: 120
. "${0%/*}/lib.sh"

# the one that was built, else the one installed
: "${CAISSON_RUNTIME:=$CAISSON_BUILD/caisson-runtime}"
[ -x "$CAISSON_RUNTIME" ] || CAISSON_RUNTIME=$(command -v caisson-runtime) || skip_all "no caisson-runtime in $CAISSON_BUILD"

# wrapper VERB: an engine that does what it is told, but does not come back from that verb
wrapper() {
    rm -f "$T/engine"
    printf '#!/bin/sh\n"%s" "$@" || exit\ncase " $* " in *" %s "*) exec sleep 60 ;; esac\n' "$path" "$1" >"$T/engine"
    chmod 755 "$T/engine"
}

oci() { "$CAISSON_RUNTIME" --runtime "$T/engine" --state-dir "$T/state" --root "$T/root" --config "$T/config.json" "$@"; }
none_like() { ! pgrep -f "^sleep $1\$" >/dev/null; }

# bundle PROGRAM...: $T/bundle, with limits, in the group /caisson-test-$id
bundle() {
    rm -rf "$T/bundle"
    "$CAISSON" bundle -o "$T/bundle" --runtime "$path" -- "$@" || bail "no bundle"
    python3 - "$T/bundle/config.json" "/caisson-test-$id" <<'EOF'
import json, sys
config = json.load(open(sys.argv[1]))
config["linux"]["cgroupsPath"] = sys.argv[2]
config["linux"]["resources"] = {"pids": {"limit": 50}, "memory": {"limit": 64 << 20}, "cpu": {"quota": 50000, "period": 100000}}
json.dump(config, open(sys.argv[1], "w"))
EOF
}

groups() { find /sys/fs/cgroup -depth -type d -path "*/caisson-test-$id*"; }

# limits: processes, bytes of memory, CPU time of each period, as the kernel has them
limits() {
    if [ "$(cgroup_version)" = 2 ]; then
        (cd "/sys/fs/cgroup/caisson-test-$id" && cat pids.max memory.max cpu.max)
    else
        (cd /sys/fs/cgroup && cat "pids/caisson-test-$id/pids.max" "memory/caisson-test-$id/memory.limit_in_bytes" \
            "cpu/caisson-test-$id/cpu.cfs_quota_us" "cpu/caisson-test-$id/cpu.cfs_period_us")
    fi | tr '\n' ' '
}

# attendants: the processes that attend to this container or to an exec in it
attendants() {
    for p in $(pgrep caisson-att); do
        if [ -n "$(find "/proc/$p/fd" -lname "*cgroup/*caisson-test-$id*" 2>/dev/null)" ]; then echo "$p"; fi
    done
}

from_create_to_delete() {
    id=oci-$$-$e-whole
    bundle sleep 500
    run oci create --bundle "$T/bundle" --pid-file "$T/pid" "$id" </dev/null
    is "$rc" 0 "$e: create"
    init=$(cat "$T/pid")
    like "$(cat "/proc/$init/cgroup")" "*:/caisson-test-$id*" "$e: … in the group that config.json names"
    is "$(limits)" "50 67108864 50000 100000 " "$e: … its limits are in force"
    attended=$(attendants)
    isnt "$attended" "" "$e: … and somebody attends to it"
    run oci start "$id"
    is "$rc" 0 "$e: start"
    run oci state "$id"
    like "$out" '*"running"*' "$e: state"
    run oci exec "$id" sh -c 'echo out; echo err >&2; exit 5'
    is "$rc|$out|$err" "5|out|err" "$e: exec"
    run oci update --pids-limit 40 --memory 50331648 --cpu-quota 30000 --cpu-period 100000 "$id"
    is "$rc" 0 "$e: update"
    is "$(limits)" "40 50331648 30000 100000 " "$e: … is in force"
    run oci kill "$id" KILL
    is "$rc" 0 "$e: kill"
    check "$e: … ends it" wait_until 3 gone "$init"
    run oci delete "$id"
    is "$rc" 0 "$e: delete"
    for p in $attended; do check "$e: … attended no longer" wait_until 3 gone "$p"; done
    is "$(groups)" "" "$e: … and its group is gone"
}

# until its program is executed, a container's init is its engine: what it may open of that must not be the host's (CVE-2019-5736)
engine_out_of_reach() {
    id=oci-$$-$e-reach
    bundle true
    run oci create --bundle "$T/bundle" --pid-file "$T/pid" "$id" </dev/null
    is "$rc" 0 "$e: create"
    is "$(python3 - "/proc/$(cat "$T/pid")/exe" <<'EOF'
import os, sys
try:
    os.close(os.open(sys.argv[1], os.O_WRONLY))
    print("writable")
except OSError as e:
    # a mount that is read-only, or a sealed copy; ETXTBSY would pass with the engine's last process
    print("out of reach" if os.statvfs(sys.argv[1]).f_flag & os.ST_RDONLY or "memfd:" in os.readlink(sys.argv[1]) else e)
EOF
)" "out of reach" "$e: the engine's binary cannot be written from within"
    # an exec that fails takes nothing of the container's own along: `start` finds its attendant
    run oci exec "$id" /no/such/program </dev/null
    isnt "$rc" 0 "$e: an exec before start fails"
    run oci start "$id"
    is "$rc" 0 "$e: … and start does not"
    run oci delete --force "$id"
    is "$rc" 0 "$e: delete"
}

exec_that_hangs() {
    wrapper exec
    for policy in default brief; do
        id=oci-$$-$e-$policy
        bundle sleep 500
        run oci --policy $policy create --bundle "$T/bundle" "$id" </dev/null
        is "$rc" 0 "$e $policy: create"
        run oci --policy $policy start "$id"
        is "$rc" 0 "$e $policy: start"
        run oci --policy $policy exec --detach "$id" sh -c 'sleep 777 & exec sleep 778'
        isnt "$rc" 0 "$e $policy: an exec whose engine does not come back fails"
        like "$err" "*did not answer in time*" "$e $policy: … and says why"
        check "$e $policy: … and nothing of it goes on unbounded" wait_until 3 none_like 778
        check "$e $policy: … nor its children" wait_until 3 none_like 777
        run oci state "$id"
        like "$out" '*"running"*' "$e $policy: … while the container does"
        run oci delete --force "$id"
        is "$rc" 0 "$e $policy: delete"
        groups | xargs -r rmdir 2>/dev/null
    done
}

# an engine that sets a limit otherwise: what it made is not handed over
other_limits() {
    for limit in pids.max:pids.max:max:pids memory.limit_in_bytes:memory.max:50331648:memory; do
        id=oci-$$-$e-lax
        bundle sleep 500
        { IFS=: read -r v1 v2 value name; } <<EOF
$limit
EOF
        cat >"$T/engine.new" <<EOF
#!/bin/sh
"$path" "\$@" || exit
case " \$* " in *" create "*)
    for f in /sys/fs/cgroup/*/caisson-test-$id/$v1 /sys/fs/cgroup/caisson-test-$id/$v2; do [ ! -f "\$f" ] || echo $value >"\$f"; done ;;
esac
EOF
        chmod 755 "$T/engine.new"
        mv "$T/engine.new" "$T/engine"
        run oci create --bundle "$T/bundle" "$id" </dev/null
        isnt "$rc" 0 "$e: a container with another $name limit is not handed over"
        like "$err" "*$name*asked for*in force is*" "$e: … which is said"
        run oci state "$id"
        isnt "$rc" 0 "$e: … and it is gone"
        groups | xargs -r rmdir 2>/dev/null
    done
}

# bundle_in CGROUP PROGRAM...: without limits, in that group ("": where the engine likes), in the host's pid namespace
bundle_in() {
    group=$1
    shift
    bundle "$@"
    python3 - "$T/bundle/config.json" "$group" <<'EOF'
import json, sys
config = json.load(open(sys.argv[1]))
del config["linux"]["resources"], config["linux"]["cgroupsPath"]
if sys.argv[2]:
    config["linux"]["cgroupsPath"] = sys.argv[2]
config["linux"]["namespaces"] = [n for n in config["linux"]["namespaces"] if n["type"] != "pid"]
json.dump(config, open(sys.argv[1], "w"))
EOF
}

# as oci, by an engine that is not wrapped
bare() { "$CAISSON_RUNTIME" --runtime "$path" --state-dir "$T/state" --root "$T/root" --config "$T/config.json" "$@"; }

# the engine without us; crun refuses the v2 mount of a hybrid host, which caisson takes out of its sight
raw() { unshare -m sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"' raw "$path" --root "$T/root" "$@"; }

# an id that somebody has taken without us is his
taken_id() {
    id=oci-$$-$e-taken
    bundle sleep 500
    raw create --bundle "$T/bundle" "$id" </dev/null >/dev/null 2>&1
    run raw start "$id"
    is "$rc" 0 "$e: a container of the engine's alone"
    run bare create --bundle "$T/bundle" "$id" </dev/null
    isnt "$rc" 0 "$e: a create under its id fails"
    like "$err" "*already exists*" "$e: … and says why"
    "$CAISSON" gc --state-dir "$T/state" >/dev/null 2>&1
    run raw state "$id"
    like "$out" '*"running"*' "$e: … and the first one runs on"
    run raw delete --force "$id"
    groups | xargs -r rmdir 2>/dev/null
}

late_state() {
    id=oci-$$-$e-late
    bundle sleep 500
    wrapper state
    oci create --bundle "$T/bundle" "$id" </dev/null >/dev/null 2>&1
    run oci state "$id"
    isnt "$rc" 0 "$e: a state that does not come back is given up"
    like "$err" "*did not answer in time*" "$e: … and says why"
    run oci update --pids-limit 40 --pids-limit 30 "$id"
    like "$rc $(limits)" "0 30 *" "$e: of a flag of update that is repeated the last counts"
    run oci restore --bundle "$T/bundle" --image-path "$T" "$id-2" </dev/null
    like "$rc $err" "[!0]*restore: under a policy*" "$e: a restore that nothing would bound is refused"
    run oci delete --force "$id"
    groups | xargs -r rmdir 2>/dev/null
}

# where config.json names no group, what a limit ends is still all that is in it
somewhere() {
    id=oci-$$-$e-somewhere
    child=$((60000 + $$))
    bundle_in "" sh -c "setsid sleep $child & exec sleep 500"
    run bare --policy second create --bundle "$T/bundle" "$id" </dev/null
    is "$rc" 0 "$e: create where the engine likes"
    run bare start "$id"
    is "$rc" 0 "$e: … start"
    check "$e: … the time limit ends init's child too" wait_until "$(scaled 6)" none_like "$child"
    run bare delete --force "$id"
}

others_in_it() {
    id=oci-$$-$e-beside
    sleep 300 &
    neighbour=$!
    for dir in /sys/fs/cgroup /sys/fs/cgroup/*; do
        if [ -f "$dir/cgroup.procs" ] && [ "${dir##*/}" != cpuset ]; then
            mkdir -p "$dir/caisson-test-$id"
            echo $neighbour >"$dir/caisson-test-$id/cgroup.procs" || :
            [ "$dir" != /sys/fs/cgroup ] || break # v2: below it are no others
        fi
    done
    bundle sleep 500
    run bare create --bundle "$T/bundle" "$id" </dev/null
    isnt "$rc" 0 "$e: a group with others in it is not for a container"
    like "$err" "*others are in it*" "$e: … which is said"
    check "$e: … and they live" kill -0 $neighbour
    kill $neighbour
    wait $neighbour 2>/dev/null || :
    groups | xargs -r rmdir 2>/dev/null
}

for e in $(engines runc crun); do
    path=$(engine_path "$e")
    snapshot before
    printf '{"runtimes":{"%s":{"path":"%s","engine":"%s"}},"engineTimeout":"%ss","policies":{"brief":{"base":"default","execTimeout":"50s"},"second":{"base":"default","timeout":"2s"}}}' \
        "$T/engine" "$T/engine" "$e" "$(scaled 2)" >"$T/config.json"
    ln -sf "$path" "$T/engine"
    from_create_to_delete
    engine_out_of_reach
    # a machine that crawls waits long for an engine to be slow enough, and sees nothing new of its cgroups
    if [ "$CAISSON_SLOW" -le 3 ]; then exec_that_hangs; late_state; fi
    other_limits
    taken_id
    somewhere
    others_in_it
    rm -rf "$T/root" "$T/state"
    compare before "$e: nothing is left"
done
done_testing
