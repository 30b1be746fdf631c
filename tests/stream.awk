# Follows the TAP of run-all.sh --tap (and of tests/vm/run.sh) and prints it for a person: a line for each file as soon as
# it is through, and the output of those with a failure. At the end a line "passed failed skipped" goes to `counts`.
#
#   ... | awk -v counts=FILE -f stream.awk

function show(from) {
    for (i = from; i <= lines; i++) print "     | " line[i]
}

{ line[++lines] = $0 }
/^not ok/ { f++; open_failures++ }
/^ok/ { if (toupper($0) ~ /#[ \t]*SKIP/) s++; else p++ }
/^1\.\.0/ {
    s++
    sub(/^1\.\.0[ \t]*#?[ \t]*(SKIP)?[ \t]*/, "")
    print "skip  " $0
}
/^# vm: / { print "      " substr($0, 3); fflush() }
/^# file / {
    printf "%-4s %4d passed, %2d failed, %2d skipped %7.1f s  %s\n", $5 ? "FAIL" : "ok", $4, $5, $6, $7 / 1000, $3
    if ($5) show(lines > 300 ? lines - 299 : 1)
    fflush()
    lines = open_failures = 0
}
END {
    if (open_failures) show(1)
    print p + 0, f + 0, s + 0 >>counts
}
