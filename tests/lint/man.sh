#!/bin/sh
# Walks the tables of a built caisson: each subcommand has a page, each flag of it a paragraph there, each setting a
# key in caisson.json(5), and each flag stands in the completion of each shell.
#   man.sh ROOT [CAISSON]         what is built lies beside caisson; exit status 77: something is not built
set -eu
caisson=${2:-}
if [ -z "$caisson" ] || [ ! -x "$caisson" ]; then
    echo "no built caisson"
    exit 77
fi
contrib=$(dirname "$caisson")/contrib
for f in man/caisson.1 man/caisson.json.5 completion/caisson.bash completion/caisson.zsh completion/caisson.fish; do
    if [ ! -f "$contrib/$f" ]; then
        echo "no $contrib/$f"
        exit 77
    fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tab=$(printf '\t')
"$caisson" help --table >"$work/table"
: >"$work/missing"

# lacks FILE WHAT: unless a line of FILE is it, as an extended regular expression
lacks() { grep -qE -e "$2" "$1" || echo "${1##*/} lacks $3" >>"$work/missing"; }

while IFS=$tab read -r kind command flag letter rest; do
    case $kind in
    cmd)
        page=$contrib/man/caisson-$command.1
        if [ ! -f "$page" ]; then echo "no page ${page##*/}" >>"$work/missing" && continue; fi
        lacks "$contrib/man/caisson.1" "^\\.BR caisson.-$command \\(1\\)\$" "the command $command"
        for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'SEE ALSO'; do lacks "$page" "^\\.SH $section\$" "$section"; done
        ;;
    flag)
        roff=$(printf '%s' "$flag" | sed 's/-/\\\\-/g')
        lacks "$contrib/man/caisson-$command.1" "^\\.B (\\\\-., )?\\\\-\\\\-$roff([ []|\$)" "--$flag"
        lacks "$contrib/completion/caisson.bash" "^    $command\\) echo '(.* )?--${flag}[ ']" "--$flag of $command"
        lacks "$contrib/completion/caisson.fish" "from $command' -l $flag " "--$flag of $command"
        lacks "$contrib/completion/caisson.zsh" "[*{,']--$flag(=-?)?[}']" "--$flag of $command"
        if [ "$letter" != - ]; then
            lacks "$contrib/completion/caisson.bash" "^    $command\\) echo '(.* )?-${letter}[ ']" "-$letter of $command"
        fi
        ;;
    esac
done <"$work/table"
"$caisson" help --keys | sed -n 's/^\.BR \([^ ]*\) .*/\1/p' >"$work/keys"
while read -r key; do lacks "$contrib/man/caisson.json.5" "^\\.BR $key " "$key"; done <"$work/keys"

if [ ! -s "$work/keys" ] || ! grep -q "^flag${tab}run${tab}memory" "$work/table"; then
    echo "caisson tells no tables"
    exit 1
fi
if [ -s "$work/missing" ]; then
    cat "$work/missing"
    exit 1
fi
echo "$(grep -c '^cmd' "$work/table") commands, $(grep -c '^flag' "$work/table") flags, $(wc -l <"$work/keys") keys"
