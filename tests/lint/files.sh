# shellcheck shell=sh
# Sourced by the checks, which stand in the tree's root: the files to look at.

# list PATTERN...: the committed files that match (git's patterns); without git's data, those found in the house's folders
list() {
    if git -c safe.directory='*' rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git -c safe.directory='*' ls-files -- "$@" | while read -r l_file; do
            if [ -f "$l_file" ]; then echo "$l_file"; fi
        done
    else
        find shim oci-spec hooks tests contrib ./*.* .ci -type f 2>/dev/null | sed 's|^\./||' | sort | while read -r l_file; do
            for l_pattern in "$@"; do
                # shellcheck disable=SC2254 # a pattern is wanted
                case $l_file in $l_pattern) echo "$l_file" ;; esac
            done
        done
    fi
}
