#!/bin/sh
# usage: generate.sh CAISSON OUT: every manual page, into the directory OUT, from the tables in the program and the
# texts beside this script. A subcommand has a page also without a text of its own.
#
# Texts: caisson.1.in and caisson.json.5.in, whole pages; caisson-COMMAND.in, from the description on. Lines replaced:
#   @COMMANDS@   the subcommands
#   @OPTIONS@    the flags of the page's subcommand
#   @KEYS@       configuration keys
set -eu
caisson=$1 out=$2
table=$(mktemp)
trap 'rm -f "$table"' EXIT
"$caisson" help --table >"$table" # by itself: in a pipe its failure would go unseen
here=$(cd "$(dirname "$0")" && pwd)
date=2026-11-30
version=$("$caisson" version | head -n 1)
tab=$(printf '\t')

roff() { sed 's/\\/\\e/g; s/-/\\-/g; s/^[.'\'']/\\\&&/'; }

# commands: a .TP for each subcommand, read from the table on stdin
commands() {
    while IFS=$tab read -r kind name summary _; do
        if [ "$kind" = cmd ]; then
            printf '.TP\n.BR caisson\\-%s (1)\n' "$name"
            printf '%s\n' "$summary" | roff
        fi
    done
}

# fill COMMAND: stdin with its marks replaced
fill() {
    while IFS= read -r line; do
        case $line in
        @COMMANDS@) commands <"$table" ;;
        @OPTIONS@) "$caisson" help --man "$1" ;;
        @KEYS@) "$caisson" help --keys ;;
        @VERSION@) printf '.TH CAISSON 1 %s "%s" "User Commands"\n' "$date" "$version" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done
}

# page COMMAND SUMMARY USAGE
page() {
    printf '.\\" Made by contrib/man/generate.sh.\n.TH CAISSON\\-%s 1 %s "%s" "User Commands"\n.SH NAME\n' \
        "$(printf '%s' "$1" | tr a-z A-Z)" "$date" "$version"
    printf '%s\n' "caisson-$1 - $2" | roff
    printf '.SH SYNOPSIS\n.B caisson %s\n' "$1"
    # what is in capitals is a placeholder
    if [ "$3" != - ]; then printf '%s\n' "$3" | roff | sed 's/[A-Z][A-Z]*/\\fI&\\fP/g'; fi
    if [ -f "$here/caisson-$1.in" ]; then
        fill "$1" <"$here/caisson-$1.in"
    else
        printf '.SH DESCRIPTION\n%s.\n.SH OPTIONS\n' "$(printf '%s' "$2" | cut -c 1 | tr a-z A-Z)$(printf '%s' "$2" | cut -c 2- | roff)"
        "$caisson" help --man "$1"
    fi
    printf '.SH SEE ALSO\n.BR caisson (1),\n.BR caisson.json (5),\n.BR caisson\\-result (5)\n'
}

mkdir -p "$out"
for name in caisson.1 caisson.json.5; do fill '' <"$here/$name.in" >"$out/$name"; done
while IFS=$tab read -r kind name summary usage _; do
    if [ "$kind" = cmd ]; then page "$name" "$summary" "$usage" >"$out/caisson-$name.1"; fi
done <"$table"
