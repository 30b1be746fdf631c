#!/bin/sh
# caisson configure: somebody else's daemon.json gets our runtimes and nothing else, and is given back byte for byte.
# needs: python3
# timeout: 60
. "${0%/*}/lib.sh"

R=$T/caisson-runtime
printf '#!/bin/sh\n' >"$R"
chmod 755 "$R"
cd "$T" || exit 99

# configure FLAGS...: with our own stand-in for caisson-runtime
configure() { run "$CAISSON" configure "$@"; }
same() { if cmp -s "$1" "$2"; then ok "$3"; else not_ok "$3"; fi; }
names() { python3 -c 'import json,sys; print(*json.load(open(sys.argv[1]))["runtimes"])' "$1"; }

# --- F041: only our keys come, and they go again ------------------------------------------------------------------
i=0
while IFS= read -r form; do
    i=$((i + 1))
    # shellcheck disable=SC2059
    printf "$form" >"f$i.json"
    cp "f$i.json" "f$i.orig"
    chmod 640 "f$i.json"
    configure docker --path "$R" --file "f$i.json"
    is "$rc" 0 "F041 $i: configured"
    like "$out" "*+*caisson-strict*" "F041 $i: the difference is shown"
    like "$(names "f$i.json")" "*caisson caisson-gvisor caisson-strict" "F041 $i: our runtimes are in"
    same "f$i.json.caisson-backup" "f$i.orig" "F041 $i: a backup is kept"
    is "$(stat -c %a "f$i.json")" 640 "F041 $i: the mode stays"
    python3 - "f$i.orig" "f$i.json" <<'PY'
import json, sys
a, b = (json.load(open(p), parse_float=str, parse_int=str) for p in sys.argv[1:])
mine = b["runtimes"]
for k in ("caisson", "caisson-gvisor", "caisson-strict"):
    del mine[k]
if "runtimes" not in a:
    assert not mine
    del b["runtimes"]
sys.exit(a != b)
PY
    is "$?" 0 "F041 $i: all else is as it was"
    cp "f$i.json" "f$i.once"
    configure docker --path "$R" --file "f$i.json"
    same "f$i.json" "f$i.once" "F041 $i: once more changes nothing"
    like "$out" "*nothing to change*" "F041 $i: and says so"
    configure docker --remove --file "f$i.json"
    is "$rc" 0 "F041 $i: removed"
    same "f$i.json" "f$i.orig" "F041 $i: byte for byte as it was"
done <<'FORMS'
{"hosts":["unix:///var/run/docker.sock"],"log-opts":{"max-size":"1m"}}\n
{\n  "hosts": ["unix:///x"],\n  "n": 18446744073709551616, "e": "\\u00e9",\n  "runtimes": {\n    "nvidia": {"path": "nv", "runtimeArgs": []}\n  }\n}\n
{\r\n\t"a" : 1.50\r\n}
{ "runtimes": {  } }
{}
{\n\n}\n
FORMS

# --- what else may be there -----------------------------------------------------------------------------------------
printf '{"a":1}' >edited.json
configure docker --path "$R" --file edited.json
python3 -c 'import sys; p=sys.argv[1]; s=open(p).read(); open(p,"w").write(s.replace("{\"a\":1", "{\"a\":2,  \"b\":[]"))' edited.json
configure docker --remove --file edited.json
is "$(cat edited.json)" '{"a":2,  "b":[]}' "what was changed meanwhile stays"

configure docker --path "$R" --file new/dir/daemon.json
is "$rc $(names new/dir/daemon.json)" "0 caisson caisson-gvisor caisson-strict" "a file that was not there is made"
configure docker --remove --file new/dir/daemon.json
is "$rc $(ls new/dir)" "0 " "and goes again"

: >empty.json
configure docker --path "$R" --file empty.json
is "$rc $(names empty.json)" "0 caisson caisson-gvisor caisson-strict" "an empty file, as dockerd takes it"
configure docker --remove --file empty.json
is "$rc $(stat -c %s empty.json)" "0 0" "is empty again"

printf '{"a":1}\n' >target.json
ln -s target.json link.json
configure docker --path "$R" --file link.json
is "$rc $(readlink link.json) $(names target.json)" "0 target.json caisson caisson-gvisor caisson-strict" "a link stays one, what it leads to is changed"

printf '{"a":1}\n' >dry.json
cp dry.json dry.orig
configure docker --dry-run --path "$R" --file dry.json
like "$out" "*+*caisson-strict*nothing was written*" "--dry-run shows"
same dry.json dry.orig "--dry-run writes nothing"
if [ -e dry.json.caisson-backup ]; then not_ok "not even a backup"; else ok "not even a backup"; fi

# --- what cannot be ---------------------------------------------------------------------------------------------------
printf '{\n  "a": 1,\n}\n' >wrong.json
cp wrong.json wrong.orig
configure docker --path "$R" --file wrong.json
is "$rc" 125 "wrong JSON: refused"
like "$err" "*wrong.json: line 3, column 1*" "wrong JSON: where"
same wrong.json wrong.orig "wrong JSON: nothing is written"
printf '{"runtimes":[]}' >kind.json
configure docker --path "$R" --file kind.json
like "$rc $err" "125 *'runtimes' is an array*" "runtimes that are none"
configure docker --path /nonexistent --file dry.json
like "$rc $err" "125 *is no program*" "a caisson-runtime that is none"
configure dockre --file dry.json
like "$rc $err" "125 *give one of docker, podman*" "a tool that nobody knows"

for flags in '--help' '-h' 'docker --help' 'docker -h' 'docker --help --no-such-flag'; do
    # shellcheck disable=SC2086 # several words
    configure $flags
    like "$rc $out" "0 Usage: caisson configure *" "configure $flags"
done
configure docker podman
like "$rc $err" "125 *'podman' is one argument too many*" "two tools"
configure docker --dry-run podman --file dry.json
like "$rc $err" "125 *'podman' is one argument too many*" "… also behind a flag"
configure docker --drry-run
like "$rc $err" "125 *did you mean '--dry-run'*" "a flag that nobody knows behind the tool"
configure docker -- --dry-run
like "$rc $err" "125 *'--dry-run' is one argument too many*" "what is no flag any more"

# --- Podman: a file of its own ------------------------------------------------------------------------------------------
configure podman --path "$R" --file conf.d/50-caisson.conf
is "$rc $(sed -n '/^\[/,$p' conf.d/50-caisson.conf | tr '\n' ' ')" "0 [engine.runtimes] caisson = [\"$R\"] " "podman: a drop-in"
configure podman --path "$R" --file conf.d/50-caisson.conf
like "$out" "*nothing to change*" "podman: once more changes nothing"
configure podman --remove --file conf.d/50-caisson.conf
is "$rc $(ls conf.d)" "0 " "podman: and it goes"
printf '[engine]\n' >foreign.conf
configure podman --path "$R" --file foreign.conf
is "$rc $(cat foreign.conf)" "125 [engine]" "podman: a stranger's file stays"
configure podman --remove --file foreign.conf
is "$rc $(cat foreign.conf)" "125 [engine]" "podman: also from --remove"

done_testing
