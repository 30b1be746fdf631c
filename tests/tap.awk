# Reads one test program's TAP and checks it against its own plan and exit status. What is wrong with the program as a
# whole (no plan, a plan not met, a bad exit status, a time-out, Bail out!) becomes one more failed test, so that whoever
# only counts "ok" and "not ok" counts right.
#
#   awk -v name=e2e/run.sh -v rc=0 -v ms=1234 -v form=tap|line|count [-v first=1] -v limit=SECONDS -f tap.awk LOG
#
# form=tap   the same tests renumbered from `first`, named after the file, then a comment "# file NAME P F S MS"
# form=line  one line for a person; after it, if anything failed, the program's output
# form=count three numbers: passed, failed, skipped

function result(good, text, skipped) {
    n++
    if (skipped) s++
    else if (good) p++
    else f++
    if (form == "tap") printf "%s %d - %s: %s\n", good ? "ok" : "not ok", first + n - 1, name, text
    else if (!good) bad[++nbad] = text
}

BEGIN {
    if (first == "") first = 1
    plan = -1
    n = p = f = s = nbad = lines = tests = 0
}

{ sub(/\r$/, ""); log_line[++lines] = $0 }

/^(not )?ok([ \t]|$)/ {
    tests++
    good = $1 == "ok"
    text = $0
    sub(/^(not )?ok[ \t]*[0-9]*[ \t]*(- )?/, "", text)
    result(good, text, good && toupper(text) ~ /#[ \t]*SKIP/)
    next
}

/^1\.\.[0-9]+/ {
    plan = substr($1, 4) + 0
    if (plan == 0) {
        why = $0
        sub(/^1\.\.0[ \t]*(#[ \t]*[Ss][Kk][Ii][Pp][A-Za-z]*[ \t:]*)?/, "", why)
        result(1, "all # SKIP " why, 1)
    }
    next
}

/^Bail out!/ { bailed = 1; result(0, $0, 0); next }

form == "tap" { if ($0 !~ /^#/) $0 = "# " $0; print }

END {
    if (rc == 77 && tests == 0 && plan < 0) {
        result(1, "all # SKIP exit status 77" (lines ? ": " log_line[lines] : ""), 1)
    } else if (!bailed) {
        if (rc == 124 || rc == 137) result(0, "not finished within " limit " s", 0)
        else if (plan < 0) result(0, "no plan" (rc ? ", exit status " rc : ""), 0)
        else if (plan > 0 && plan != tests) result(0, "planned " plan " tests and ran " tests (rc ? ", exit status " rc : ""), 0)
        else if (rc != 0 && f == 0) result(0, "exit status " rc " though no test failed", 0)
    }
    if (form == "tap") printf "# file %s %d %d %d %d\n", name, p, f, s, ms
    if (form == "count") print p + 0, f + 0, s + 0
    if (form == "line") {
        printf "%-4s %4d passed, %2d failed, %2d skipped %7.1f s  %s\n", f ? "FAIL" : "ok", p, f, s, ms / 1000, name
        if (f) {
            for (i = 1; i <= nbad; i++) printf "     failed: %s\n", bad[i]
            from = lines > 300 ? lines - 299 : 1
            if (from > 1) printf "     | (%d lines left out)\n", from - 1
            for (i = from; i <= lines; i++) printf "     | %s\n", log_line[i]
        }
    }
}
