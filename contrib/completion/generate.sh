#!/bin/sh
# usage: generate.sh CAISSON SHELL: the completion for bash, zsh or fish, made from the tables in the program
# (caisson help --table). Ids are asked for when they are completed.
set -eu
caisson=$1 shell=$2
here=$(cd "$(dirname "$0")" && pwd)
table=$(mktemp)
trap 'rm -f "$table"' EXIT
"$caisson" help --table >"$table" # by itself: in a pipe its failure would go unseen
awk -F '\t' -v shell="$shell" -f "$here/table.awk" -f "$here/$shell.awk" "$table"
if [ -f "$here/$shell.tail" ]; then cat "$here/$shell.tail"; fi
