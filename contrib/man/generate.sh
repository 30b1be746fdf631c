#!/bin/sh
# usage: generate.sh CAISSON PAGE.in: the page with its marks replaced by what the tables in the program say.
#   .\" @OPTIONS run@   flags of a subcommand, settings included
#   .\" @OWN bundle@    its own flags alone
#   .\" @KEYS@          configuration keys
set -eu
caisson=$1 page=$2
while IFS= read -r line; do
    case $line in
    '.\" @OPTIONS '*@)
        name=${line#*@OPTIONS }
        "$caisson" help --man "${name%@}"
        ;;
    '.\" @OWN '*@)
        name=${line#*@OWN }
        "$caisson" help --man --own "${name%@}"
        ;;
    '.\" @KEYS@' | '@KEYS@')
        "$caisson" help --keys
        ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$page"
