#!/bin/sh
# Completion as the three shells do it, and that pages and completions have all that the tables have.
# timeout: 120
. "${0%/*}/lib.sh"

C=$CAISSON_BUILD/contrib/completion
if [ ! -f "$C/caisson.bash" ]; then skip_all "the completions are not built: $C"; fi
mkdir "$T/bin"
# ids are asked for while completing: answered by a stand-in, so that there are runs without root
cat >"$T/bin/caisson" <<'EOF'
#!/bin/sh
case $1 in
ps) printf 'ID       STATE  PID\nfirst-1  live   17\nsecond-2 live   18\n' ;;
esac
EOF
chmod +x "$T/bin/caisson"
PATH=$T/bin:$PATH
export PATH

run sh "$_here/../lint/man.sh" "$_here/../.." "$CAISSON"
is "$rc" 0 "every flag has its paragraph, its key and its completion"
diag "$out"

# --- how each shell is asked: what could stand where the cursor is, one a line ---------------------------------------------
ask_bash() {
    cat >"$T/ask.bash" <<'EOF'
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_caisson
printf '%s\n' "${COMPREPLY[@]}"
EOF
    run bash "$T/ask.bash" "$C/caisson.bash" "$@"
}

ask_fish() {
    line=
    for word in "$@"; do line="$line${line:+ }$word"; done
    run env HOME="$T" XDG_CONFIG_HOME="$T/fish" fish -N -c "source $C/caisson.fish; complete -C '$line'"
    out=$(printf '%s\n' "$out" | cut -f 1)
}

# A shell at a terminal of its own, in which completing prints what it would offer instead (zshcompwid(1), compadd -O).
# The words that are waited for are written in pieces, so that the echo of what is typed is not taken for them.
ask_zsh() {
    cat >"$T/ask.zsh" <<'EOF'
zmodload zsh/zpty
file=$1 line=$2
zpty z zsh -f -i
zpty -w z "PS1= PROMPT2= RPS1=; autoload -Uz compinit; compinit -u -D; source $file"
zpty -w z 'compadd() { if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
    typeset -a __hits; builtin compadd -A __hits "$@"; print -rl -- "HI""T "$^__hits; }'
zpty -w z 'nothing() { :; }; done_now() { print -r -- "EN""D"; }; comppostfuncs=(done_now)'
zpty -w z 'zle -C ask complete-word _generic; zstyle ":completion:ask:*" completer _complete; bindkey "^X" ask; stty -echo; print "REA""DY"'
while zpty -r z got; do [[ $got == *READY* ]] && break; done
zpty -w -n z "$line"$'\x18'
while zpty -r z got; do
    got=${got//$'\r'/}
    [[ $got == *HIT\ * ]] && print -r -- "${${got##*HIT }%%$'\n'*}"
    [[ $got == *END* ]] && break
done
zpty -d z
EOF
    line=
    for word in "$@"; do line="$line${line:+ }$word"; done
    run timeout 20 zsh -f "$T/ask.zsh" "$C/caisson.zsh" "$line"
}

# offers WORDS DESC: each of them is among what was offered
offers() {
    for word in $1; do
        if ! printf '%s\n' "$out" | grep -qxF -e "$word"; then
            not_ok "$2" "no '$word' among:" "$out"
            return
        fi
    done
    ok "$2"
}

# offers_no WORD DESC
offers_no() {
    if printf '%s\n' "$out" | grep -qxF -e "$1"; then not_ok "$2" "$out"; else ok "$2"; fi
}

for shell in bash zsh fish; do
    if ! command -v "$shell" >/dev/null 2>&1; then
        skip "completion in $shell" "$shell is not installed"
        continue
    fi
    ask_$shell caisson ''
    offers "run exec ps gc check bundle help version" "$shell: subcommands"
    ask_$shell caisson r
    offers run "$shell: the beginning of one"
    offers_no ps "$shell: and no other"
    ask_$shell caisson run --mem
    offers "--memory --memory-swap" "$shell: flags"
    offers_no --timeout "$shell: and no others"
    ask_$shell caisson gc --
    offers "--quiet --state-dir --help" "$shell: flags of another command"
    offers_no --memory "$shell: and not run's"
    ask_$shell caisson run --network ''
    offers "none host" "$shell: words of a value"
    ask_$shell caisson run --on-output-limit ''
    offers "kill discard" "$shell: choices"
    ask_$shell caisson run --runtime ''
    offers "crun runc runsc" "$shell: engines"
    ask_$shell caisson run -m 64m --policy s
    offers strict "$shell: policies, behind a flag with a value"
    ask_$shell caisson exec ''
    offers "first-1 second-2" "$shell: ids of runs"
    ask_$shell caisson exec --timeout 3s s
    offers second-2 "$shell: behind flags"
    ask_$shell caisson help r
    offers run "$shell: help takes subcommands"
done
if command -v bash >/dev/null 2>&1; then
    ask_bash caisson run --network = h
    is "$out" host "bash: a value behind ="
    ask_bash caisson run --timeout 3s -- sh -c 'x' /etc/pass
    like "$out" "*/etc/passwd*" "bash: files for the command's arguments"
    ask_bash caisson run --timeout 3s tru
    offers true "bash: commands"
fi
done_testing
