#!/bin/sh
# caisson run -t and exec -t: a terminal inside, driven from a terminal outside, and without one.
# needs: root python3
# tags: vm peers
# timeout: 240
. "${0%/*}/lib.sh"

# scene NAME DESC FLAGS...: terminal.py plays it
scene() {
    _scene=$1 _desc=$2
    shift 2
    check "$e: $_desc" python3 "$_here/terminal.py" "$_scene" "$CAISSON" run --runtime "$rt" -i -t "$@" --
}

at_a_terminal() {
    scene shell "a shell: Ctrl-C, Ctrl-Z and fg, Ctrl-D, and the exit status"
    scene editor "a full-screen program: keys, sizes, and no byte changed"
    scene program_killed "the terminal is restored after kill -9 of the program" --id "tty-$$-$e"
    scene caisson_killed "the terminal is restored after kill -9 of caisson"
    scene start_fails "the terminal is restored when nothing starts"
    scene stopped "stopped and continued: raw mode again"
    scene background "in the background: stopped until it comes to the foreground"
    scene messages "caisson's own lines end with a return" --output-limit 5 --on-output-limit discard
    scene capped "… also the last one, after output that was cut" --output-limit 5
    scene ctrl_c_without_input "-t without -i: the terminal is left alone"
}

without_a_terminal() {
    job "$e" -t -- sh -c 'test -t 0 && test -t 1 && test -t 2 && echo all three; echo err >&2; exit 5' </dev/null
    is "$rc|$out|$err" "5|$(printf 'all three\r\nerr\r')|" "$e: -t without a terminal here: all of it is stdout"
    is "$(field stdout.seenBytes) $(field stderr.seenBytes) $(field stderr.keptBytes)" "16 0 0" "$e: … and counted there"
    got=$(printf 'a\nb' | timeout $((20 * CAISSON_SLOW)) "$CAISSON" run --runtime "$rt" -it -- sh -c 'stty -echo -onlcr; echo ready; cat; echo " end $?"')
    like "$got" "*ready*a
b end 0" "$e: F043 the end of a pipe is typed"
    run timeout $((20 * CAISSON_SLOW)) "$CAISSON" run --runtime "$rt" -it -- cat </dev/null
    is "$rc|$out" "0|" "$e: … also of an empty one"
}

# F046: the last bytes, also without a newline
last_bytes() {
    n=$(repeats 500) lost=0 i=0
    while [ $i -lt "$n" ]; do
        i=$((i + 1))
        got=$("$CAISSON" run --runtime "$rt" -t --output-limit 64m -- sh -c 'seq 1 20000; printf END' </dev/null | tail -c 3)
        if [ "$got" != END ]; then lost=$((lost + 1)); fi
    done
    is $lost 0 "$e: F046 with -t, the last bytes of large output, $n times"
    job "$e" -t --output-limit 64m -- seq 1 20000 </dev/null
    is "$(tr -d '\r' <"$T/out" | cksum)" "$(seq 1 20000 | cksum)" "$e: not a byte is lost on the way"
}

caps() {
    job "$e" -t -- yes </dev/null
    ended output-limit null 9 153 "$e: the cap of a terminal's output ends the run"
    is "$(wc -c <"$T/out") $(field stdout.keptBytes)" "1048576 1048576" "$e: exactly 1 MiB was delivered"
    job "$e" -t --output-limit 10 --on-output-limit discard -- sh -c 'echo 0123456789abc; exit 6' </dev/null
    is "$rc|$out" "6|$(printf '0123456789\r\ncaisson: stdout limit of 10 bytes reached, further output discarded\r')" \
        "$e: discarded above the cap, with a marker"
    is "$(field stdout.seenBytes) $(field stdout.keptBytes) $(field stdout.droppedBytes)" "15 10 5" "$e: … and counted"
    job "$e" -t --timeout 1s -- sh -c 'echo before; sleep 500' </dev/null
    ended wall-limit null 9 124 "$e: a wall limit with a terminal"
    is "$out" "$(printf 'before\r')" "$e: … and what came before it"
    # a program that lets go of its terminal for a while is not hung up on (of gVisor it gets none back)
    if [ "$e" = runsc ]; then return; fi
    job "$e" -t -- sh -c 'exec >/dev/null 2>&1 </dev/null; sleep 0.1; echo later >/dev/tty; exit 3' </dev/null
    is "$rc|$out" "3|$(printf 'later\r')" "$e: closed, and opened again by way of /dev/tty"
}

# The same for one more command in a session, whose terminal is its own.
in_a_session() {
    spawn "$CAISSON" run --runtime "$rt" --id "tty-$$-s-$e" -- sh -c 'echo up; sleep 500'
    if ! wait_until 10 grep -q up "$T/spawn.out"; then not_ok "$e: a session" "$(cat "$T/spawn.err")" && return; fi
    for scene in shell editor caisson_killed start_fails stopped background; do
        check "$e: exec -t: $scene" python3 "$_here/terminal.py" $scene "$CAISSON" exec -i -t "tty-$$-s-$e" --
    done
    # shellcheck disable=SC2016 # for the shell inside
    run "$CAISSON" exec -t "tty-$$-s-$e" -- sh -c 'test -t 0 && test -t 2 && echo "$TERM"; exit 5' </dev/null
    is "$rc|$out" "5|$(printf 'xterm\r')" "$e: exec -t without a terminal here"
    run "$CAISSON" exec -t --result "$T/record" "tty-$$-s-$e" -- yes </dev/null
    ended output-limit null 9 153 "$e: exec -t: the cap of its output ends it"
    is "$(wc -c <"$T/out")" 1048576 "$e: exec -t: exactly 1 MiB was delivered"
    lost=0 i=0
    while [ $i -lt "$(repeats 200)" ]; do
        i=$((i + 1))
        got=$("$CAISSON" exec -t --output-limit 64m "tty-$$-s-$e" -- sh -c 'seq 1 20000; printf END' </dev/null | tail -c 3)
        if [ "$got" != END ]; then lost=$((lost + 1)); fi
    done
    is $lost 0 "$e: F046 with exec -t, the last bytes of large output"
    run "$CAISSON" exec -t --result "$T/record" "tty-$$-s-$e" -- sh -c 'trap "" HUP; sleep 500 & echo ok' </dev/null
    is "$rc|$out|$(field stdioHeld)" "0|$(printf 'ok\r')|true" "$e: F068 with exec -t, a child that holds the terminal"
    run "$CAISSON" exec -t "tty-$$-s-$e" -- sh -c 'echo one' </dev/null
    is "$rc|$out" "0|$(printf 'one\r')" "$e: … and the session is well"
    kill "$pid"
    wait "$pid"
}

# In a terminal that somebody else has written, with an editor that somebody else has written.
tm() { tmux -L "caisson-$$" -f /dev/null "$@"; }
screen() { tm capture-pane -p; }
screen_has() { screen | grep -qF -- "$1"; }
pane() { tm display-message -p "#{$1}"; }
mode_is() { [ "$(stty -g -F "$(pane pane_tty)")" = "$1" ]; }
rows_of_editor() { [ "$(screen | grep -c '^~')" = "$1" ]; }

# type_line TEXT: at the pane's shell, on an empty screen
type_line() {
    tm send-keys -R
    tm clear-history
    tm send-keys -l "clear; $1"
    tm send-keys Enter
}

# in_tmux VERB FLAGS...: what VERB and its flags say is what runs the program
in_tmux() {
    _title="$e: tmux: $1" _file=/tmp/edited-by-$1
    shift
    _run="$CAISSON $*"
    tm new-session -d -x 80 -y 24 env PS1='$ ' sh || return
    wait_until 10 screen_has '$' || not_ok "$_title: a shell" "$(screen)"
    _server=$(pane pid)
    _mode=$(stty -g -F "$(pane pane_tty)")
    type_line "$_run sh -c 'busybox vi $_file; cat $_file; stty size; exit 4'; echo status=\$?"
    check "$_title: an editor draws" wait_until 20 rows_of_editor 22
    tm resize-window -x 100 -y 30
    check "$_title: … and again when the window grows" wait_until 10 rows_of_editor 28
    tm send-keys -l 'ityped by hand'
    wait_until 10 screen_has 'typed by hand'
    tm send-keys Escape
    wait_until 10 screen_has "- $_file" # what comes at once would be one key with it
    tm send-keys -l ':wq'
    tm send-keys Enter
    check "$_title: … what is typed is in the file, and the exit status comes out" wait_until 20 screen_has status=4
    like "$(screen)" "*typed by hand*30 100*status=4*" "$_title: … at the size of the window"
    check "$_title: … the terminal is as before" wait_until 5 mode_is "$_mode"
    type_line "$_run sh -c 'trap \"echo caught; exit 3\" INT; echo rea''dy; while :; do sleep 0.1; done'; echo status=\$?"
    wait_until 20 screen_has ready
    tm send-keys C-c
    check "$_title: Ctrl-C is the program's" wait_until 20 screen_has status=3
    like "$(screen)" "*ready*caught*status=3*" "$_title: … which catches it"
    type_line "$_run sh -c 'busybox vi $_file; exit 9'; echo status=\$?"
    wait_until 20 rows_of_editor 28
    # shellcheck disable=SC2016 # for the shell inside
    "$CAISSON" exec "$_id" -- sh -c 'for p in /proc/[0-9]*; do
        if [ "$(tr "\000" " " <$p/cmdline)" = "busybox vi $0 " ]; then kill -9 ${p#/proc/}; fi
    done' "$_file" >/dev/null 2>&1 # of run, the session ends with it
    check "$_title: kill -9 of the editor" wait_until 20 screen_has status=9
    check "$_title: … the terminal is as before" wait_until 5 mode_is "$_mode"
    type_line "$_run busybox vi $_file; echo status=\$?"
    wait_until 20 rows_of_editor 28
    kill -9 "$(pgrep -x -P "$(pane pane_pid)" caisson)"
    check "$_title: kill -9 of caisson" wait_until 20 screen_has status=137
    check "$_title: … the terminal is as before" wait_until 5 mode_is "$_mode"
    type_line 'echo it is w''ell'
    check "$_title: … and takes a line" wait_until 5 screen_has 'it is well'
    tm kill-server
    wait_until 5 gone "$_server"
}

tmux_scenes() {
    for _tool in tmux busybox; do
        if ! command -v $_tool >/dev/null; then skip "$e: tmux" "no $_tool" && return; fi
    done
    _id=tty-$$-m-$e
    in_tmux run run --runtime "$rt" --id "$_id" -it --
    wait_until 5 [ ! -e "/run/caisson/runs/$_id" ]
    spawn "$CAISSON" run --runtime "$rt" --id "$_id" -- sh -c 'echo up; sleep 500'
    wait_until 10 grep -q up "$T/spawn.out"
    in_tmux exec exec -it "$_id" --
    kill "$pid"
    wait "$pid"
}
at_exit 'tm kill-server 2>/dev/null'

# Detached, the terminal's output is kept like any other.
detached() {
    run "$CAISSON" run -d -t --runtime "$rt" --id "tty-$$-d-$e" -- sh -c 'test -t 0 && echo term; echo err >&2; exit 4' </dev/null
    is "$rc|$out" "0|tty-$$-d-$e" "$e: run -d -t"
    run "$CAISSON" wait "tty-$$-d-$e"
    is "$rc" 4 "$e: … its exit status"
    run "$CAISSON" logs "tty-$$-d-$e"
    is "$out|$err" "$(printf 'term\r\nerr\r')|" "$e: … and all of its output is stdout"
    run "$CAISSON" rm "tty-$$-d-$e"
    scene detached_lets_go "run -d -t keeps nothing of the caller's terminal" --id "tty-$$-d-$e"
    run "$CAISSON" rm -f "tty-$$-d-$e"
}

refused() {
    for flags in "--stdout $T/x" "--stderr $T/x" "--format json --capture head"; do
        # shellcheck disable=SC2086 # flags are several words
        run "$CAISSON" run --runtime "$rt" -t $flags -- true
        is "$rc" 125 "-t and $flags: refused"
        like "$err" "caisson: --tty and --* exclude each other*" "-t and $flags: said why"
    done
}

mkdir "$T/long"
_long=$T/long
while [ ${#_long} -lt 130 ]; do _long=$_long/deeper; done
mkdir -p "$_long"

# a machine that crawls sees once that a terminal is one with the kernel that it has
slow=0 these=
if [ "$CAISSON_SLOW" -gt 3 ]; then slow=1 these=crun; fi
# shellcheck disable=SC2086 # words
for e in $(engines $these); do
    rt=$(engine_path "$e")
    run "$CAISSON" run --runtime "$rt" -t -- true
    snapshot "$e"
    without_a_terminal
    if [ $slow = 1 ]; then
        scene shell "a shell: Ctrl-C, Ctrl-Z and fg, Ctrl-D, and the exit status"
        compare "$e" "$e: nothing is left behind"
        continue
    fi
    at_a_terminal
    last_bytes
    caps
    in_a_session
    tmux_scenes
    detached
    job "$e" -t --state-dir "$_long" -- echo here </dev/null
    is "$rc|$out" "0|$(printf 'here\r')" "$e: F064 a state directory of ${#_long} bytes"
    compare "$e" "$e: nothing is left behind"
done
if [ $slow = 0 ]; then refused; fi
done_testing
