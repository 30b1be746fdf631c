#!/bin/sh
# caisson run --init: process 1 reaps and passes signals on.
# needs: root python3 catatonit
# tags: vm peers
# timeout: 240
. "${0%/*}/lib.sh"

mkdir -p "$T/root/bin"
cp "$(command -v busybox)" "$T/root/bin/busybox" 2>/dev/null && ln -s busybox "$T/root/bin/sh"

exit_codes() {
    for code in 0 1 7 126 255; do
        job "$e" --init -- sh -c "exit $code"
        ended exited $code null $code "$e: --init passes exit status $code on"
    done
    # shellcheck disable=SC2016 # for the shell inside
    job "$e" --init -- sh -c 'kill -KILL $$'
    ended exited 137 null 137 "$e: --init: a signal is 128 and its number"
    job "$e" --init -- no-such-program
    is "$rc $(field error.kind)" "127 not-found" "$e: --init: a command that is not there"
    job "$e" --init -- /etc
    is "$rc $(field error.kind)" "126 not-executable" "$e: --init: one that cannot be executed"
    job "$e" --init -- sh -c 'tr "\0" " " </proc/1/cmdline; echo; cat /proc/1/comm; echo x >/dev/init'
    like "$out" "/dev/init -- sh -c *" "$e: --init: process 1 is the init"
    isnt "$rc" 0 "$e: --init: which is read-only"
    job "$e" --init -- --help
    is "$rc" 127 "$e: --init: a command that begins with a dash is a command"
}

# F059: orphans of process 1
orphans() {
    n=$(repeats 1000)
    if [ "$n" -lt 200 ]; then n=$((slow ? 60 : 200)); fi
    run "$CAISSON" run --runtime "$rt" --init -i --timeout 200s -- python3 - "$n" <"$_here/orphans.py"
    is "$rc $out" "0 0" "$e: F059 of $n orphans none stays a zombie"
    run "$CAISSON" run --runtime "$rt" -i --timeout 200s -- python3 - 60 <"$_here/orphans.py"
    isnt "$out" 0 "$e: … which without --init they do"
}

# The same signal to process 1, from inside its session.
signals() {
    spawn "$CAISSON" run --runtime "$rt" --id "init-$$-$e" --init --result "$T/record" -- sleep 999
    if ! wait_until 10 "$CAISSON" exec "init-$$-$e" -- true 2>/dev/null; then not_ok "$e: a session" "$(cat "$T/spawn.err")" && return; fi
    t0=$(now_ms)
    "$CAISSON" exec "init-$$-$e" -- sh -c 'kill -TERM 1'
    wait "$pid"
    is "$? $(field reason)" "143 exited" "$e: TERM ends sleep 999"
    between $(($(now_ms) - t0)) 0 "$(scaled 1500)" "$e: … at once"
    run "$CAISSON" run -d --runtime "$rt" --id "init-$$-d-$e" --init -- sleep 999
    run "$CAISSON" stop "init-$$-d-$e"
    between "$ms" 0 "$(scaled 1500)" "$e: caisson stop ends it at once"
    run "$CAISSON" wait "init-$$-d-$e"
    is "$rc" 143 "$e: … by SIGTERM"
    run "$CAISSON" rm "init-$$-d-$e"
    job "$e" --init --timeout 300ms --stop-timeout 100s -- sleep 999
    is "$rc $(field reason) $(field exitCode)" "124 wall-limit 143" "$e: … and so does the stop signal of a limit"
    between "$ms" 300 "$(scaled 5000)" "$e: … at once"
    job "$e" --init --timeout 300ms -- sh -c 'trap "" TERM; sleep 999 & sleep 999'
    ended wall-limit null 9 124 "$e: a limit without patience ends the whole tree"
}

# the moment between the start and an init that listens
at_once() {
    n=$(repeats 200) bad=0
    if [ "$n" -lt 10 ]; then n=10; fi
    while [ "$n" -gt 0 ]; do
        n=$((n - 1))
        "$CAISSON" run -d --runtime "$rt" --id "once-$$-$e" --init -- sleep 999 >/dev/null
        "$CAISSON" stop -t 3s "once-$$-$e" >/dev/null
        "$CAISSON" wait "once-$$-$e"
        if [ $? != 143 ]; then bad=$((bad + 1)); fi
        "$CAISSON" rm "once-$$-$e" >/dev/null
    done
    is "$bad" 0 "$e: stopped as soon as it has started: the signal is not lost"
}

other_roots() {
    if [ ! -x "$T/root/bin/busybox" ]; then skip "$e: --rootfs DIR" "no busybox" && return; fi
    (cd "$T/root" && find . | sort) >"$T/before"
    run "$CAISSON" run --runtime "$rt" --rootfs "$T/root" --init -- sh -c 'echo in "$$"; exit 5'
    like "$rc $out" "5 in [!1]*" "$e: --init with --rootfs DIR"
    (cd "$T/root" && find . | sort) >"$T/after"
    check "$e: … nothing is made in it" cmp "$T/before" "$T/after"
}

at_a_terminal() {
    check "$e: --init -t: a shell with job control" python3 "$_here/terminal.py" shell "$CAISSON" run --runtime "$rt" -i -t --init --
}

# hiding FILES... -- COMMAND...: where these files are no programs
hiding() {
    # shellcheck disable=SC2016 # for the shell inside
    unshare --mount --propagation private sh -c 'while [ "$1" != -- ]; do
        if [ -e "$1" ]; then mount --bind /dev/null "$1"; fi; shift; done; shift; exec "$@"' sh "$@"
}

which_one() {
    static="/usr/bin/catatonit /usr/libexec/podman/catatonit /usr/bin/tini-static /usr/bin/docker-init /usr/libexec/docker/docker-init"
    # shellcheck disable=SC2086 # the files are several words
    run hiding $static /usr/bin/tini /usr/local/bin/tini /sbin/tini -- "$CAISSON" run --init -- true
    is "$rc" 125 "--init where none is installed"
    like "$err" "caisson: --init: none is installed: apt-get install catatonit*" "… and it says what to do"
    if [ -x /usr/bin/tini ]; then
        # shellcheck disable=SC2086
        run hiding $static -- "$CAISSON" run --init -- sh -c 'exit 9'
        is "$rc" 9 "a dynamically linked tini for this host's root"
        # shellcheck disable=SC2086
        run hiding $static -- "$CAISSON" run --rootfs "$T/root" --init -- sh -c 'exit 9'
        is "$rc" 125 "… is refused for another"
        like "$err" "caisson: --init: '/usr/bin/tini' is dynamically linked*" "… and it says why"
    fi
    if [ -x /usr/bin/tini-static ]; then
        run hiding /usr/bin/catatonit -- "$CAISSON" run --rootfs "$T/root" --init -- sh -c 'exit 9'
        is "$rc" 9 "a static tini will do"
    fi
}

# a machine that crawls sees once what reaping and signals are to the kernel that it has
slow=0 these=
if [ "$CAISSON_SLOW" -gt 3 ]; then slow=1 these=crun; fi
# shellcheck disable=SC2086 # words
for e in $(engines $these); do
    rt=$(engine_path "$e")
    run "$CAISSON" run --runtime "$rt" --init -- true
    snapshot "$e"
    orphans
    signals
    if [ $slow = 0 ]; then
        exit_codes
        at_once
        other_roots
        at_a_terminal
    fi
    compare "$e" "$e: nothing is left behind"
done
if [ $slow = 0 ]; then which_one; fi
done_testing
