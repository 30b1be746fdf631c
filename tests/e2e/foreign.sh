#!/bin/sh
# needs: root python3
# timeout: 120
# What somebody else wrote, through caisson-runtime: it reaches the engine and hooks whole, its directory stays as it is,
# and what goes wrong is told the way callers read it, in whatever order flags come.
. "${0%/*}/lib.sh"

: "${CAISSON_RUNTIME:=$CAISSON_BUILD/caisson-runtime}"
[ -x "$CAISSON_RUNTIME" ] || skip_all "no caisson-runtime in $CAISSON_BUILD"
[ -x "$CAISSON_FAKERUN" ] || skip_all "the scripted engine is not built: $CAISSON_FAKERUN"

foreign=${0%/*}/foreign.py
mkdir -p "$T/bin" "$T/fake" "$T/seen"

# An engine that keeps what it was given, and does what an engine does.
ln -s "$CAISSON_FAKERUN" "$T/fake/runc"
cat >"$T/bin/runc" <<ENGINE
#!/bin/sh
keep() {
    case \$1 in
    --bundle) cp "\$2/config.json" "$T/seen/config.json" ;;
    --process) cp "\$2" "$T/seen/process.json" ;;
    esac
}
before=
for word; do
    keep "\$before" "\$word"
    case \$word in --*=*) keep "\${word%%=*}" "\${word#*=}" ;; esac
    before=\$word
done
exec "$T/fake/runc" "\$@"
ENGINE
chmod 755 "$T/bin/runc"

# all that a look at a directory can tell
tree() { (cd "$1" && find . -printf '%p %y %m %s %T@ %l\n' | sort && find . -type f -exec cksum {} + | sort); }

# bundle_of ID HOOK-COPY: a bundle with odd keys, $T/link, a symbolic link; without them in $T/plain
bundle_of() {
    rm -rf "${T:?}/real" "${T:?}/link" "${T:?}/plain"
    "$CAISSON" bundle -o "$T/plain" --runtime "$rt" -- sleep 60 || bail "no bundle"
    cp -a "$T/plain" "$T/real"
    ln -s real "$T/link"
    python3 "$foreign" plant "$T/plain/config.json" "$T/real/config.json" "$2" "/caisson-test-$1" || bail "no config"
}

runtime() { "$CAISSON_RUNTIME" --runtime "$rt" --state-dir "$T/state" --root "$T/root" --policy "$policy" "$@"; }
no_group() { rmdir /sys/fs/cgroup/*/"caisson-test-$1" /sys/fs/cgroup/"caisson-test-$1" 2>/dev/null || :; }

whole() {
    rt=$T/bin/runc
    for policy in default none; do
        id=foreign-$$-$policy
        bundle_of "$id" ""
        tree "$T/real" >"$T/before"
        run runtime create --bundle "$T/link" "$id" </dev/null
        is "$rc" 0 "F040 $policy: create"
        is "$(python3 "$foreign" planted "$T/seen/config.json" 2>&1)" "" "F040 $policy: config.json reaches the engine with every key, digit and character"
        runtime start "$id"
        printf '{"args": ["true"], "cwd": "/", "user": {"uid": 0, "gid": 0}}' >"$T/process"
        python3 "$foreign" plant "$T/process" "$T/process.json"
        cp "$T/process.json" "$T/process.orig"
        run runtime exec --detach --pid-file "$T/exec.pid" --process "$T/process.json" "$id" </dev/null
        is "$rc" 0 "F040 $policy: exec"
        is "$(python3 "$foreign" planted "$T/seen/process.json" 2>&1)" "" "F040 $policy: … and so does process.json"
        check "F040 $policy: … which stays as it is" cmp "$T/process.json" "$T/process.orig"
        run runtime delete --force "$id"
        is "$rc" 0 "F040 $policy: delete"
        tree "$T/real" >"$T/after"
        check "F040 $policy: the caller's directory is as it was" cmp "$T/before" "$T/after"
        no_group "$id"
    done
}

# What a hook reads under the bundle of its state is what runs.
hooks() {
    policy=default
    id=foreign-$$-$e
    bundle_of "$id" "$T/seen/hook.json"
    tree "$T/real" >"$T/before"
    run runtime create --bundle "$T/link" "$id" </dev/null
    is "$rc" 0 "F040 $e: create with a hook and odd keys"
    is "$(python3 "$foreign" planted "$T/seen/hook.json" 2>&1)" "" "F040 $e: the hook finds every key below the bundle of its state"
    is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["linux"]["resources"]["pids"]["limit"])' "$T/seen/hook.json" 2>&1)" \
        4096 "F040 $e: … and the policy's limit"
    run runtime delete --force "$id"
    tree "$T/real" >"$T/after"
    check "F040 $e: the caller's directory is as it was" cmp "$T/before" "$T/after"
    no_group "$id"
}

orders() {
    while read -r words; do
        for policy in none default; do
            id=order-$$
            # shellcheck disable=SC2046 # words
            run runtime $(echo " $words " | sed "s# ID # $id #; s#\\([ =]\\)B #\\1$T/plain #; s#\\([ =]\\)P #\\1$T/p #; s#\\([ =]\\)L #\\1$T/log #") </dev/null
            is "$rc" 0 "F062 $policy: $words"
            run runtime delete --force "$id"
        done
    done <<'ORDERS'
create ID --bundle B
create ID -b B --pid-file P
create --pid-file=P -bundle B ID
--log=L -log-format=json create --no-pivot --bundle=B ID
--debug --log L --log-format json create -b B ID --no-new-keyring
ORDERS
}

# the last entry with level "error", as go-runc reads it
told() {
    python3 - "$T/log" 2>&1 <<'TOLD'
import json, sys
entries = [json.loads(line) for line in open(sys.argv[1])]
print([e["msg"] for e in entries if e["level"] == "error" and e["time"]][-1])
TOLD
}

# failing TEXT DESC ARGUMENTS...: a call that must fail, and leave a message with that text
failing() {
    text=$1 desc=$2
    shift 2
    rm -f "$T/log"
    run "$CAISSON_RUNTIME" --log "$T/log" --log-format json --state-dir "$T/state" --root "$T/root" "$@" </dev/null
    like "$([ "$rc" -ne 0 ] && told)" "*$text*" "F062 $e: $desc: refused, and the log says why"
    like "$err" "*$text*" "F062 $e: … and so does stderr"
}

causes() {
    failing nope "an engine that is not there" --runtime nope create --bundle "$T/plain" x
    failing nonsense "a policy that is none" --runtime "$rt" --policy nonsense create --bundle "$T/plain" x
    failing '?' "a call without an id" --runtime "$rt" create
    failing nowhere "a bundle that is not there" --runtime "$rt" create --bundle "$T/nowhere" x
    failing no-such-flag "a global flag that nobody knows" --runtime "$rt" --no-such-flag create --bundle "$T/plain" x
    failing no-such-flag "a flag that no create has" --runtime "$rt" create --no-such-flag --bundle "$T/plain" x
    run "$CAISSON_RUNTIME" --runtime "$rt" --state-dir "$T/state" --root "$T/root" frobnicate x </dev/null
    like "$([ "$rc" -ne 0 ] && cat "$T/out" "$T/err")" '*frobnicate*' "F062 $e: a verb that is none is named"
}

# Bundle, state, console socket and id, each longer than a socket's address.
deep() {
    long=$T
    while [ ${#long} -lt 170 ]; do long=$long/a-directory-that-is-deep; done
    mkdir -p "$long/console"
    id=$(printf 'i%0127d' 0)
    cp -a "$T/plain" "$long/bundle"
    run python3 - "$long" "/caisson-test-deep-$$" "$id" "$CAISSON_RUNTIME" --runtime "$rt" --state-dir "$long/state" --root "$T/root" <<'DEEP'
import array, json, os, socket, subprocess, sys
top, group, ident = sys.argv[1:4]
runtime = sys.argv[4:]
with open(top + "/bundle/config.json") as f:
    config = json.load(f)
config["process"]["terminal"] = True
config["process"]["args"] = ["sh", "-c", "test -t 1 && echo a terminal; sleep 60"]
config["linux"]["cgroupsPath"] = group
with open(top + "/bundle/config.json", "w") as f:
    json.dump(config, f)
os.chdir(top + "/console")
listener = socket.socket(socket.AF_UNIX)
listener.settimeout(20)
listener.bind("s")
listener.listen()
done = subprocess.run(runtime + ["create", "--bundle", top + "/bundle", "--console-socket", top + "/console/s", ident],
                      stdin=subprocess.DEVNULL, check=False)
if done.returncode:
    sys.exit(done.returncode)
peer, _ = listener.accept()
master = array.array("i", peer.recvmsg(4096, 64)[1][0][2])[0]
subprocess.run(runtime + ["start", ident], check=True)
print(os.read(master, 4096).decode().strip())
DEEP
    is "$rc $out" "0 a terminal" "F064 $e: paths of ${#long} bytes, an id of ${#id}: a terminal"
    run "$CAISSON_RUNTIME" --runtime "$rt" --state-dir "$long/state" --root "$T/root" delete --force "$id"
    is "$rc" 0 "F064 $e: … and its removal"
    rm -rf "${T:?}/a-directory-that-is-deep"
    no_group "deep-$$"
}

whole
rt=$T/fake/runc
bundle_of x ""
orders
for e in $(engines runc crun); do
    rt=$(engine_path "$e")
    hooks
    causes
    deep
done
done_testing
