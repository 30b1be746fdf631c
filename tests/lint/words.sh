#!/bin/sh
# Nothing generated is committed, the top level holds the known entries only, and no text puts work off.
#   words.sh ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"
# shellcheck source=tests/lint/files.sh
. "$here/files.sh"

status=0
say() {
    echo "$*"
    status=1
}

for f in $(list '*'); do
    case $f in
    */*) entry=${f%%/*} ;;
    *) entry=$f ;;
    esac
    case $entry in
    shim | oci-spec | hooks | tests | contrib | configure.ac | Makefile.am | README.md | autogen.sh | COPYING | .*) ;;
    *) say "$f: not among the top level's entries" ;;
    esac
    case $f in
    configure | aclocal.m4 | config.h | config.h.in | config.status) say "$f: generated, not source" ;;
    esac
    case ${f##*/} in
    Makefile | Makefile.in | *.o | *.a | *.so | \
        *.pb-c.[ch] | *.log | *.trs | *.orig | *.rej | *.pyc | *~ | *.cpio | *.tar | *.tar.*)
        case $f in tests/fuzz/corpus/* | tests/golden/*) ;; *) say "$f: generated, not source" ;; esac
        ;;
    esac
done

# The words are put together here so that this file does not find itself.
later='T''ODO|F''IXME|X''XX|H''ACK'
found=$(list '*' | grep -Ev '^tests/fuzz/corpus/|^COPYING$' |
    xargs grep -InE "(^|[^A-Za-z_.])($later)([^A-Za-z.X_]|\$)|\\b[Ff]or n""ow\\b" 2>/dev/null) || :
if [ -n "$found" ]; then say "$found"; fi

# Text files end with a newline and have no blanks at line ends.
found=$(list '*.c' '*.h' '*.sh' '*.mk' '*.am' '*.ac' '*.awk' | xargs grep -InE '[ 	]+$' 2>/dev/null) || :
if [ -n "$found" ]; then say "blanks at the end of a line: $found"; fi
exit $status
