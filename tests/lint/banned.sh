#!/bin/sh
# What no C file here may use: functions without a bound or an error, a shell, grab-bag headers, global option variables.
# banned.h poisons most of them in the compiler; this catches files that do not include it.
#   banned.sh ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"
# shellcheck source=tests/lint/files.sh
. "$here/files.sh"

status=0
list '*.c' '*.h' | xargs awk '
    function wrong(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
    BEGIN {
        word = "(^|[^A-Za-z0-9_>.])"
        calls = word "(strcpy|strcat|strncpy|strncat|sprintf|vsprintf|gets|strtok|system|popen|atoi|atol|atoll|alloca|mktemp|tmpnam)[ \t]*\\("
    }
    FNR == 1 { comment = 0 }
    {
        # without strings and comments
        line = $0
        gsub(/\\\\/, "", line)
        gsub(/\\"/, "", line)
        gsub(/"[^"]*"/, "\"\"", line)
        if (comment) {
            if (!sub(/^.*\*\//, "", line)) next
            comment = 0
        }
        gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
        sub(/\/\/.*/, "", line)
        if (sub(/\/\*.*/, "", line)) comment = 1
    }
    match(line, calls) { wrong("banned: " substr(line, RSTART, RLENGTH) ")") }
    line ~ /^(static |extern )*(const )?[a-z][a-z0-9_ ]*[ *]opt_[a-z0-9_]*[ \t]*(=|;|\[)/ { wrong("a global option variable") }
    $0 ~ /#[ \t]*include.*[\/"]utils?\.h"/ { wrong("a grab-bag header") }
    END { exit bad }' || status=1

for f in $(list '*.c' '*.h'); do
    case ${f##*/} in
    util.[ch] | utils.[ch] | misc.[ch] | common.[ch] | helpers.[ch])
        echo "$f: a grab bag: name the file after what it does"
        status=1
        ;;
    esac
done
exit $status
