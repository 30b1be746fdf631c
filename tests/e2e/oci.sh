#!/bin/sh
# needs: root python3
# timeout: 120
# caisson-runtime called by hand: what becomes of calls that fail half-way, and what a created container could reach.
. "${0%/*}/lib.sh"

: "${CAISSON_RUNTIME:=$CAISSON_BUILD/caisson-runtime}"
[ -x "$CAISSON_RUNTIME" ] || skip_all "no caisson-runtime in $CAISSON_BUILD"

# wrapper VERB: an engine that does what it is told, but does not come back from that verb
wrapper() {
    printf '#!/bin/sh\n"%s" "$@" || exit\ncase " $* " in *" %s "*) exec sleep 60 ;; esac\n' "$path" "$1" >"$T/engine"
    chmod 755 "$T/engine"
}

oci() { "$CAISSON_RUNTIME" --runtime "$T/engine" --state-dir "$T/state" --root "$T/root" --config "$T/config.json" "$@"; }
looks_like() { pgrep -f "^sleep $1\$" >/dev/null; }
gone() { ! looks_like "$1"; }

for e in $(engines runc crun); do
    path=$(engine_path "$e")
    snapshot before
    printf '{"runtimes":{"%s":{"path":"%s","engine":"%s"}},"engineTimeout":"%ss","policies":{"brief":{"base":"default","execTimeout":"50s"}}}' \
        "$T/engine" "$T/engine" "$e" "$(scaled 2)" >"$T/config.json"
    # until its program is executed, a container's init is its engine: what it may open of that must not be the host's (CVE-2019-5736)
    rm -rf "$T/bundle"
    "$CAISSON" bundle -o "$T/bundle" --runtime "$path" -- true || bail "no bundle"
    run "$CAISSON_RUNTIME" --runtime "$path" --state-dir "$T/state" --root "$T/root" create --bundle "$T/bundle" --pid-file "$T/pid" "oci-$$-$e" </dev/null
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
    run "$CAISSON_RUNTIME" --runtime "$path" --state-dir "$T/state" --root "$T/root" delete --force "oci-$$-$e"
    is "$rc" 0 "$e: delete"
    wrapper exec
    for policy in default brief; do
        id=oci-$$-$e-$policy
        rm -rf "$T/bundle"
        "$CAISSON" bundle -o "$T/bundle" --runtime "$path" -- sleep 500 || bail "no bundle"
        python3 - "$T/bundle/config.json" "/caisson-test-$id" <<'EOF'
import json, sys
config = json.load(open(sys.argv[1]))
config["linux"]["cgroupsPath"] = sys.argv[2]
json.dump(config, open(sys.argv[1], "w"))
EOF
        run oci --policy $policy create --bundle "$T/bundle" "$id" </dev/null
        is "$rc" 0 "$e $policy: create"
        run oci --policy $policy start "$id"
        is "$rc" 0 "$e $policy: start"
        run oci --policy $policy exec --detach "$id" sh -c 'sleep 777 & exec sleep 778'
        isnt "$rc" 0 "$e $policy: an exec whose engine does not come back fails"
        like "$err" "*did not answer in time*" "$e $policy: … and says why"
        check "$e $policy: … and nothing of it goes on unbounded" wait_until 3 gone 778
        check "$e $policy: … nor its children" wait_until 3 gone 777
        run oci state "$id"
        like "$out" '*"running"*' "$e $policy: … while the container does"
        run oci delete --force "$id"
        is "$rc" 0 "$e $policy: delete"
        rmdir /sys/fs/cgroup/*/caisson-test-"$id" /sys/fs/cgroup/caisson-test-"$id" 2>/dev/null || :
    done
    # an engine that sets a limit otherwise: what it made is not handed over
    for limit in "pids.max:max:pids" memory.limit_in_bytes:67108864:memory; do
        id=oci-$$-$e-lax
        printf '#!/bin/sh\n"%s" "$@" || exit\ncase " $* " in *" create "*) for f in /sys/fs/cgroup/*/caisson-test-%s/%s /sys/fs/cgroup/caisson-test-%s/%s; do [ ! -f "$f" ] || echo %s >"$f"; done ;; esac\n' \
            "$path" "$id" "${limit%%:*}" "$id" "$(case $limit in memory*) echo memory.max ;; *) echo pids.max ;; esac)" "$(echo "$limit" | cut -d: -f2)" >"$T/engine"
        rm -rf "$T/bundle"
        "$CAISSON" bundle -o "$T/bundle" --runtime "$path" -- sleep 500 || bail "no bundle"
        python3 - "$T/bundle/config.json" "/caisson-test-$id" <<'EOF'
import json, sys
config = json.load(open(sys.argv[1]))
config["linux"]["cgroupsPath"] = sys.argv[2]
json.dump(config, open(sys.argv[1], "w"))
EOF
        run oci create --bundle "$T/bundle" "$id" </dev/null
        isnt "$rc" 0 "$e: a container with another ${limit##*:} limit is not handed over"
        like "$err" "*${limit##*:}*asked for*in force is*" "$e: … which is said"
        run oci state "$id"
        isnt "$rc" 0 "$e: … and it is gone"
        rmdir /sys/fs/cgroup/*/caisson-test-"$id" /sys/fs/cgroup/caisson-test-"$id" 2>/dev/null || :
    done
    rm -rf "$T/root" "$T/state"
    compare before "$e: nothing is left"
done
done_testing
