#!/bin/sh
# caisson check: what it says of this host and its engines, and of engines that are made to be bad.
# needs: root python3
# timeout: 180
. "${0%/*}/lib.sh"

S=$T/state
mkdir -m 700 "$S"
mkdir "$T/bin" "$T/cache"
snapshot before

# look FLAGS...: with a state and cache of our own
look() { run "$CAISSON" check --state-dir "$S" --cache-dir "$T/cache" "$@"; }

# of NAME KEY [ENGINE]: from the JSON of the last look
of() {
    python3 - "$T/out" "$@" <<'EOF'
import json, sys
findings = json.load(open(sys.argv[1]))["findings"]
engine = sys.argv[4] if len(sys.argv) > 4 else None
for f in findings:
    if f["name"] == sys.argv[2] and f["engine"] == engine:
        print(f[sys.argv[3]])
EOF
}

# --- this host -----------------------------------------------------------------------------------------------------------
look --json
check "--json is one JSON object" python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
assert o["version"] == 1 and isinstance(o["ok"], bool), o
for f in o["findings"]:
    assert set(f) == {"name", "engine", "inUse", "verdict", "seen", "remedy"}, f
    assert f["verdict"] in ("good", "weak", "bad"), f
    assert (f["remedy"] is None) or f["verdict"] != "good", f' "$T/out"
is "$(of root verdict) $(of cgroups verdict) $(of controllers verdict) $(of seccomp verdict)" "good good good good" "the host has what runs need"
for e in $(engines); do
    look --runtime "$(engine_path "$e")" --json
    is "$(of "trial run" verdict "$(engine_path "$e")")" good "$e: a trial run works"
    is "$(of "cwd escape" verdict "$(engine_path "$e")")" good "$e: no descriptor leads out as cwd"
    n=$(of "masking by link" verdict "$(engine_path "$e")")
    case $n in good | bad) ok "$e: masking was tried ($n)" ;; *) not_ok "$e: masking was tried" "$out" ;; esac
done

# --- engines that are made to be bad --------------------------------------------------------------------------------------
# fake LINE...: a scripted runc that comes first in PATH
fake() {
    ln -sf "$CAISSON_FAKERUN" "$T/bin/runc"
    printf "%s\n" "$@" >"$T/bin/runc.script"
    rm -rf "$T/cache" # the same file, so the same engine by what is kept of it
}

# look_first FLAGS...: with that one first in PATH
look_first() { run env PATH="$T/bin:$PATH" "$CAISSON" check --state-dir "$S" --cache-dir "$T/cache" --runtime runc "$@"; }

if [ -x "$CAISSON_FAKERUN" ]; then
    fake 'create walls whole' '* version 1.1.12'
    look_first --json
    is "$(of "cwd escape" verdict runc) $(of "masking by link" verdict runc)" "good good" "an engine that refuses both is good"
    fake 'create walls holes' '* version 1.1.4'
    look_first --json
    is "$rc $(of "cwd escape" verdict runc) $(of "masking by link" verdict runc)" "1 bad bad" "F058 an old runc first in PATH is reported: exit 1"
    like "$(of "cwd escape" seen runc)" "with cwd /proc/self/fd/* a container stands in */sys/fs/cgroup of the host" "F058 with what it let out"
    like "$(of "masking by link" remedy runc)" "replace this version*" "F058 and with a remedy"
    like "$(of engine seen runc)" "$T/bin/runc 1.1.4" "F058 by path and version"
    look_first
    is "$rc" 1 "F058 and so for people"
    like "$out" "*✗ cwd escape*✗ masking by link*" "F058 marked"
    fake 'create log no such thing' 'create exit 1'
    look_first --json
    is "$rc $(of "trial run" verdict runc) $(of "cwd escape" verdict runc)" "1 bad weak" "an engine that creates nothing: bad, and its holes are not known"
    like "$(of "trial run" seen runc)" "*no such thing*" "with its own words"
    fake 'create hang'
    printf '{"engineTimeout":"200ms"}\n' >"$T/config.json"
    look_first --json --config "$T/config.json"
    like "$(of "trial run" seen runc)" "*no answer*" "an engine that hangs is bad, after its deadline"
    # killed while an engine hangs in a trial run, and in a probe
    nothing_left() { [ -z "$(ls -A "$S")" ]; }
    # spawn_check: with an engine that says in $T/hangs where it begins to hang
    spawn_check() {
        mkfifo "$T/hangs"
        spawn env PATH="$T/bin:$PATH" "$CAISSON" check --state-dir "$S" --cache-dir "$T/cache" --runtime runc
        timeout "$(scaled 20)" cat "$T/hangs" >"$T/hung"
        rm "$T/hangs"
    }
    fake 'create walls whole'
    rm -rf "$T/real"
    mkdir "$T/real"
    mv "$T/bin/runc" "$T/bin/runc.script" "$T/real/"
    # an engine that hangs in every create whose arguments are like $hang
    cat >"$T/bin/runc" <<EOF
#!/bin/sh
case " \$* " in *" create "*) case " \$* " in \$(cat "$T/where")) echo "\$*" >"$T/hangs" && exec sleep 600 ;; esac ;; esac
exec "$T/real/runc" "\$@"
EOF
    chmod +x "$T/bin/runc"
    echo '*' >"$T/where"
    spawn_check
    like "$(cat "$T/hung")" "*create*" "an engine that hangs in the trial run"
    kill -KILL "$pid"
    check "… caisson check is killed: all is gone soon" wait_until 10 nothing_left
    echo '*probe-*' >"$T/where"
    spawn_check
    like "$(cat "$T/hung")" "*probe-*" "an engine that hangs in a probe"
    kill -KILL "$pid"
    check "… caisson check is killed: all is gone soon" wait_until 10 nothing_left
    spawn_check
    like "$(cat "$T/hung")" "*probe-*" "an engine that hangs in a probe"
    prober=$(sed -n 's/^=pid //p' "$S"/runs/check-*/record)
    isnt "$prober" "$pid" "… which is a process of its own"
    echo nowhere >"$T/where"
    kill -KILL "$prober"
    wait "$pid"
    like "$(cat "$T/spawn.out")" "*! cwd escape*could not be tried*✓ masking by link*" "… the probe is killed: that is said, and the others are made"
    check "… all is gone soon" wait_until 10 nothing_left
else
    skip "scripted engines" "not built: $CAISSON_FAKERUN"
fi

# --- configuration, names, places --------------------------------------------------------------------------------------------
e=$(engines | head -n 1)
printf '{"runtimes":{"mine":{"path":"%s","engine":"%s"}},"runtime":"mine"}\n' "$(engine_path "$e")" "$e" >"$T/config.json"
look --json --config "$T/config.json" --runtime mine
is "$(of "trial run" verdict mine)" good "an engine of the configuration, by its name"
look --json --config "$T/config.json"
is "$(of "trial run" inUse mine)" True "what the configuration says is what runs use"
look --runtime nosuch
is "$rc" 1 "an engine that is not there"
like "$out" "*✗ engine*'nosuch'*" "is said"
printf '{"memroy":1}\n' >"$T/config.json"
look --config "$T/config.json"
is "$rc $(printf '%s\n' "$err" | wc -l)" "125 1" "a configuration that is wrong: one line"
mkdir "$T/small"
mount -t tmpfs -o size=4m,nr_inodes=30,mode=700 small "$T/small"
run "$CAISSON" check --state-dir "$T/small" --cache-dir "$T/cache" --runtime "$(engine_path "$e")" --json
is "$(of "state directory" verdict)" weak "a state directory with few inodes left is said"
i=1
while touch "$T/small/$i" 2>/dev/null; do i=$((i + 1)); done
run "$CAISSON" check --state-dir "$T/small" --cache-dir "$T/cache" --runtime "$(engine_path "$e")" --json
is "$rc $(of "state directory" verdict)" "1 bad" "one without any is bad"
umount "$T/small"

# --- as it looks -----------------------------------------------------------------------------------------------------------------
look --runtime "$(engine_path "$e")"
like "$out" "*✓ root *" "marks in UTF-8"
unlike "$out" "*$(printf '\033')*" "no colour in a pipe"
is "$err" "" "and no progress"
run env LC_ALL=C "$CAISSON" check --state-dir "$S" --cache-dir "$T/cache" --runtime "$(engine_path "$e")"
like "$out" "*ok root *" "marks in ASCII where the locale is not UTF-8"
check "and nothing else" sh -c '! LC_ALL=C grep -q "[^ -~]" "$1"' sh "$T/out"
run setpriv --reuid 65534 --regid 65534 --clear-groups "$CAISSON" check
is "$rc" 1 "without root it looks at what it can"
like "$out" "*✗ root *-> run caisson as root*" "and says what to do"

compare before "nothing is left of it all"
done_testing
