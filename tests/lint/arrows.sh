#!/bin/sh
# Proves the arrows: a file includes its own folder and folders of a lower number only, by paths from the root. A folder
# of unit tests counts as the folder it tests.
#   arrows.sh ROOT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"
# shellcheck source=tests/lint/files.sh
. "$here/files.sh"

list '*.c' '*.h' | xargs awk '
    BEGIN {
        n = split("shim/base 0 oci-spec 1 shim/sys 1 shim/proto 1 shim/stdio 2 shim/ttrpc 2 hooks 3 shim/engine 3 shim/files 3 " \
                  "shim/task 4 shim/cli 5 shim/oci 5 shim/containerd 5", w, " ")
        for (i = 1; i < n; i += 2) layer[w[i]] = w[i + 1]
        split("base sys proto stdio ttrpc engine files task cli oci containerd", s, " ")
        for (i in s) shim[s[i]] = 1
    }
    function wrong(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
    function folder(path) { sub(/\/[^\/]*$/, "", path); return path }

    FNR == 1 {
        mine = folder(FILENAME)
        tested = mine
        if (sub(/^tests\/unit\//, "", tested)) {
            mine = tested in shim ? "shim/" tested : tested
        } else if (mine ~ /^tests/) {
            mine = ""                      # programs of their own: fakes, fuzz targets
        } else if (mine ~ /^contrib/) {
            mine = ""
        } else if (!(mine in layer)) {
            wrong("folder " mine " has no place among the layers")
            mine = ""
        }
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        path = $0
        sub(/^[^"]*"/, "", path)
        sub(/".*/, "", path)
        if (path == "config.h" || path ~ /\.pb-c\.h$/) next
        if ((getline line < path) < 0) {
            wrong("\"" path "\" is not a path from the root")
            next
        }
        close(path)
        theirs = folder(path)
        if (theirs ~ /^tests/) {
            if (FILENAME !~ /^tests/) wrong("includes " path ", a part of the tests")
            next
        }
        if (mine == "" || theirs == mine) next
        if (!(theirs in layer)) wrong("includes " path ", which is in no layer")
        else if (layer[theirs] >= layer[mine])
            wrong(mine " (" layer[mine] ") includes " path " (" layer[theirs] "): arrows go down only")
    }
    END { exit bad }'
