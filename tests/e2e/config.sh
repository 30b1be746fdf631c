#!/bin/sh
# Configuration, policies and flags: which value holds, where it comes from, and that it really is in force.
# needs: root python3
# timeout: 120
. "${0%/*}/lib.sh"

e=$(engines | head -n 1)
S=$T/state
mkdir -m 700 "$S"
cat >"$T/config.json" <<EOF
{
  "timeout": "20s",
  "memory": "128m",
  "seccompAllow": ["io_uring_setup"],
  "env": ["FROM=file", "FILE=1"],
  "runtime": "mine",
  "runtimes": { "mine": { "path": "$(engine_path "$e")", "engine": "$e", "args": [] } },
  "policies": {
    "judge": { "base": "short", "pidsLimit": 17, "env": ["FROM=policy", "POLICY=1"] },
    "short": { "timeout": "5s", "outputLimit": "64k" }
  }
}
EOF
snapshot before

effective() { run "$CAISSON" run --config "$T/config.json" --print-effective "$@"; }

# row KEY: value and origin, as printed
row() { sed -n "s/^$1  *//p" "$T/out" | tr -s ' '; }

# --- precedence ---------------------------------------------------------------------------------------------------------
effective
is "$rc" 0 "F049 --print-effective"
is "$(row timeout)" "20s file $T/config.json" "F049 the file wins over the policy, and is named"
is "$(row outputLimit)" "1m policy strict" "F049 what no file names is the policy's"
is "$(row cpuTime)" "20s timeout × cpus" "F049 what follows says from what"
effective --timeout 3s
is "$(row timeout)" "3s flag" "F049 a flag wins over the file"
effective --policy judge
is "$(row pidsLimit)" "17 policy judge ($T/config.json)" "F049 a policy of the file, named with it"
is "$(row outputLimit)" "64k policy short ($T/config.json)" "F049 and its base"
is "$(row timeout)" "20s file $T/config.json" "F049 over which the file stands"
is "$(row cpus)" "1 policy strict" "F049 and below which strict does"
effective --seccomp-allow bpf
is "$(row seccompAllow)" "io_uring_setup, bpf file $T/config.json, flag" "F049 lists append, and name both"
effective --seccomp-allow =bpf
is "$(row seccompAllow)" "bpf flag" "F049 unless = empties them"
run env CAISSON_CONFIG="$T/config.json" "$CAISSON" run --print-effective
is "$(row --config)" "$T/config.json CAISSON_CONFIG" "F049 the only variable that counts is named where it did"
effective --format json --timeout 3s
check "F049 as JSON" python3 -c '
import json, sys
o = json.load(open(sys.argv[1]))
assert o["timeout"] == {"value": "3s", "origin": "flag", "from": ["flag"]}, o["timeout"]
assert o["env"]["value"] == ["FROM=file", "FILE=1"], o["env"]
assert o["memory"]["from"] == ["file " + sys.argv[2]], o["memory"]' "$T/out" "$T/config.json"

# --- and in force ----------------------------------------------------------------------------------------------------------
job() { run "$CAISSON" run --config "$T/config.json" --state-dir "$S" --result "$T/record" "$@"; }

# in_record PATH: a value of the record
in_record() { python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    o = o[key]
print(o)' "$T/record" "$1"; }

job --policy judge -- env
is "$rc $(in_record limits.pids.asked)" "0 17" "F049 the limit of the policy is asked for"
like "$out" "*FROM=file*" "F049 later sources win in the environment"
like "$out" "*POLICY=1*" "F049 and earlier ones stay where nobody else speaks"
is "$(in_record limits.memoryBytes.asked)" 134217728 "F049 the file's limit over the policy's"
job --timeout 300ms -- sleep 60
is "$rc $(in_record limits.wallNs.asked)" "124 300000000" "F049 a flag's timeout is the one that ends the run"
job -- sleep 0
is "$(in_record limits.wallNs.asked)" 20000000000 "F049 and without a flag the file's"
if command -v python3 >/dev/null && [ "$e" != runsc ]; then
    job --seccomp-allow ptrace -- python3 -c 'import ssl; print("fine")'
    is "$rc $out" "0 fine" "F049 one more system call takes none away"
fi
like "$(in_record engine.name)" "$e" "an engine under a name of the file's own"

# --- lifting by name ----------------------------------------------------------------------------------------------------------
effective --best-effort
is "$(row bestEffort)" "all flag" "--best-effort alone is all"
effective --best-effort=pids,cpu --best-effort=memory
is "$(row bestEffort)" "pids,cpu, memory flag" "--best-effort=LIST, again and again"

compare before "nothing is left of it all"
done_testing
