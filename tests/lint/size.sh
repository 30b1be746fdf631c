#!/bin/sh
# A file past 600 lines has two subjects: that is an error, tables (*_table.c) excepted. A function past 80 lines, or a file past 400, is told, no more.
#   size.sh ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"
# shellcheck source=tests/lint/files.sh
. "$here/files.sh"

list '*.c' '*.h' '*.sh' | xargs awk '
    function ended() {
        if (lines > 600 && file !~ /_tables?\.c$/) { printf "%s: %d lines: split it\n", file, lines; bad = 1 }
        else if (lines > 400 && file !~ /^tests\//) printf "%s: note: %d lines\n", file, lines
    }
    FNR == 1 { ended(); file = FILENAME; is_c = file ~ /\.c$/; start = 0; head = "" }
    { lines = FNR }
    is_c && /^[A-Za-z_].*\(/ && !/;[ \t]*$/ { head = $0 }
    is_c && /^\{/ { start = FNR }
    is_c && /^\}/ && start {
        if (FNR - start > 80 && head != "") {
            name = head
            sub(/\(.*/, "", name)
            sub(/^.*[ *]/, "", name)
            printf "%s:%d: note: %s() has %d lines\n", file, start, name, FNR - start - 1
        }
        start = 0
        head = ""
    }
    END { ended(); exit bad }'
