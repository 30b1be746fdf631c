"""Plays a person at a terminal, who types at a caisson that runs there.

    terminal.py SCENE COMMAND...    COMMAND is `caisson run` or `caisson exec` with its flags, -i and -t among them, up to what
                               is run; the scene says what that is, types, looks, and prints what went wrong

The scenes are the functions below that take a Terminal. Exit status 0 when all was as it should be.
"""
import fcntl
import glob
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 20 * int(os.environ.get("CAISSON_SLOW", "1"))

# A full-screen program: raw mode, alternate screen, draws its size and the last key, again whenever one of them changes.
EDITOR = r"""
import os, select, signal, sys, termios, tty
saved = termios.tcgetattr(0)
tty.setraw(0)
r, w = os.pipe()
os.set_blocking(w, False)
signal.signal(signal.SIGWINCH, lambda *_: None)
signal.set_wakeup_fd(w)
def draw(text):
    size = os.get_terminal_size()
    os.write(1, b"\x1b[H\x1b[2J%dx%d %s\x1b[%d;1Hlast\nline" % (size.columns, size.lines, text, size.lines))
os.write(1, b"\x1b[?1049h")
draw(b"editor")
while True:
    ready = select.select([0, r], [], [])[0]
    if r in ready:
        os.read(r, 100)
        draw(b"resized")
    if 0 in ready:
        key = os.read(0, 100)
        if key == b"q":
            break
        draw(b"key %r" % (list(key),))
os.write(1, b"\x1b[?1049l")
termios.tcsetattr(0, termios.TCSADRAIN, saved)
"""


class Wrong(Exception):
    pass


def expect(value, wanted, what):
    if value != wanted:
        raise Wrong("%s: got %r, wanted %r" % (what, value, wanted))


class Terminal:
    """A terminal of our own, whose other end stays open here, and what runs in its foreground."""

    def __init__(self, rows=24, columns=80):
        self.master, self.slave = os.openpty()
        self.resize(rows, columns)
        self.seen = b""
        self.at = 0
        self.process = None
        self.before = self.mode()

    def start(self, argv):
        def in_child():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(argv, stdin=self.slave, stdout=self.slave, stderr=self.slave, preexec_fn=in_child)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def mode(self):
        return termios.tcgetattr(self.slave)[:4]

    def is_raw(self):
        return not self.mode()[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def type(self, text):
        os.write(self.master, text)

    def look(self, seconds):
        """Reads what is there; False when nothing came for that long."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def until(self, text):
        end = time.monotonic() + PATIENCE
        while self.seen.find(text, self.at) < 0:
            left = end - time.monotonic()
            if left <= 0 or not self.look(left):
                raise Wrong("%r did not come; from where it should: %r" % (text, self.seen[self.at:]))
        self.at = self.seen.find(text, self.at) + len(text)

    def wait(self):
        """The exit status, a signal as a negative number; reads on meanwhile."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            self.look(0.02)
            if time.monotonic() > end:
                raise Wrong("does not end; last seen %r" % self.seen[-200:])
        while self.look(0):
            pass
        return self.process.returncode

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise Wrong(what)
            time.sleep(0.005)

    def is_as_before(self):
        return self.mode() == self.before


def kill_container(run_id):
    """SIGKILL to all that is in the run's control groups, from outside."""
    for name in glob.glob("/sys/fs/cgroup/**/caisson/%s/**/cgroup.procs" % run_id, recursive=True):
        try:
            with open(name, encoding="ascii") as f:
                pids = f.read().split()
        except OSError:
            continue  # the group went with those killed before
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass  # with one of those before it


def states_of_children(pid):
    """proc(5), /proc/PID/stat: the state letters."""
    states = ""
    for name in glob.glob("/proc/[0-9]*/stat"):
        try:
            state, parent = open(name).read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if int(parent) == pid:
            states += state
    return states


# --- the scenes -------------------------------------------------------------------------------------------------------------


def shell(t, command):
    """Keys that mean something: ^C ends a program and not the shell, ^Z and fg, ^D ends its input."""
    t.start(command + ["sh", "-i"])
    t.until(b"$ ")
    t.wait_for(t.is_raw, "the caller's terminal is not in raw mode")
    t.type(b"tty >/dev/null; echo TERM is $TERM\r")
    t.until(b"TERM is xterm\r\n")
    t.until(b"$ ")
    # not one that is just about to execute another: gVisor of 2022 may lose a signal then
    t.type(b"sh -c 'trap \"exit 130\" INT; echo go; while :; do sleep 0.1; done'\r")
    t.until(b"'\r\ngo\r\n")
    t.type(b"\x03")
    t.until(b"$ ")
    t.type(b"echo status $?\r")
    t.until(b"status 130\r\n")
    t.until(b"$ ")
    t.type(b"cat\r")
    t.until(b"cat\r\n")
    t.type(b"one\r")
    t.until(b"one\r\none\r\n")
    t.type(b"\x1a")
    t.until(b"topped")
    t.until(b"$ ")
    t.type(b"fg\r")
    t.until(b"fg\r\n")
    t.until(b"cat")
    t.type(b"two\r")
    t.until(b"two\r\ntwo\r\n")
    t.type(b"\x04")
    t.until(b"$ ")
    t.type(b"exit 9\r")
    expect(t.wait(), 9, "status")
    expect(t.mode(), t.before, "mode")


def editor(t, command):
    """A full-screen program: its size, every key as it is, resizes, no byte of it changed on the way."""
    t.resize(40, 120)
    t.start(command + ["python3", "-c", EDITOR])
    t.until(b"\x1b[?1049h")
    t.until(b"120x40 editor")
    t.until(b"\x1b[40;1Hlast\nline")  # not a byte is added to the newline of a program in raw mode
    for keys in (b"a", b"\x03", b"\x1a", b"\x04", b"\x1b[A", b"\r", b"\x11", b"\x13", b"\xc3\xa9"):
        t.type(keys)
        t.until(b"key " + repr(list(keys)).encode() + b"\x1b[40;1H")
    t.resize(11, 22)
    t.until(b"22x11 resized")
    t.type(b"x")
    t.until(b"22x11 key [120]")
    t.type(b"q")
    t.until(b"\x1b[?1049l")
    expect(t.wait(), 0, "status")
    expect(t.mode(), t.before, "mode")


def program_killed(t, command):
    """The terminal is as before after a program that dies of SIGKILL, whatever mode it had set; 125: its sandbox did."""
    run_id = command[command.index("--id") + 1]
    t.start(command + ["sh", "-c", "stty raw -echo; echo ready; sleep 500"])
    t.until(b"ready")
    expect(t.is_raw(), True, "raw mode")
    kill_container(run_id)
    expect(t.wait(), 125 if "runsc" in " ".join(command) else 137, "status")
    expect(t.mode(), t.before, "mode")


def caisson_killed(t, command):
    """… and after a caisson that does."""
    t.start(command + ["sh", "-c", "echo ready; sleep 500"])
    t.until(b"ready")
    expect(t.is_raw(), True, "raw mode")
    t.process.kill()
    t.process.wait()
    t.wait_for(t.is_as_before, "the terminal stays in raw mode")


def start_fails(t, command):
    """… and where nothing starts."""
    t.start(command + ["/no/such/program"])
    expect(t.wait(), 127, "status")
    t.until(b"/no/such/program")
    expect(t.mode(), t.before, "mode")


def stopped(t, command):
    """SIGSTOP, a shell that sets its own mode, SIGCONT: raw mode again, and before's at the end."""
    t.start(command + ["sh", "-c", "echo ready; read x; echo got $x"])
    t.until(b"ready")
    t.process.send_signal(signal.SIGSTOP)
    os.waitpid(t.process.pid, os.WUNTRACED)
    termios.tcsetattr(t.slave, termios.TCSANOW, t.before + termios.tcgetattr(t.slave)[4:])
    t.resize(33, 44)
    t.process.send_signal(signal.SIGCONT)
    t.wait_for(t.is_raw, "raw mode does not come back")
    t.type(b"word\r")
    t.until(b"got word\r\n")
    expect(t.wait(), 0, "status")
    expect(t.mode(), t.before, "mode")


def background(t, command):
    """`caisson run -i -t … &`: stopped like any program that reads there, and goes on in the foreground."""
    t.start(["sh", "-i"])
    t.until(b"# ")
    t.type(b" ".join(a.encode() for a in command) + b" sh -c 'read x; echo got $x' &\r")
    t.until(b"&\r\n")
    t.wait_for(lambda: "T" in states_of_children(t.process.pid), "it is not stopped")
    expect(t.is_raw(), False, "raw mode, set from the background")
    t.type(b"fg\r")
    t.wait_for(t.is_raw, "no raw mode in the foreground")
    t.type(b"word\r")
    t.until(b"got word\r\n")
    t.until(b"# ")
    t.type(b"exit\r")
    expect(t.wait(), 0, "status")


def messages(t, command):
    """What caisson says while the terminal is raw, and after."""
    t.start(command + ["sh", "-c", "printf 0123456789; echo ready; read x"])
    t.until(b"\r\ncaisson: stdout limit of 5 bytes reached, further output discarded\r\n")
    t.type(b"\r")
    expect(t.wait(), 0, "status")
    if not t.seen.startswith(b"01234\r\n"):
        raise Wrong("%r" % t.seen)


def capped(t, command):
    """A cap cuts where it will; what caisson says of it has a line of its own."""
    t.start(command + ["sh", "-c", "printf 0123456789; read x"])
    expect(t.wait(), 153, "status")
    t.until(b"ended by the output limit")
    if not t.seen.startswith((b"01234\r\ncaisson:", b"01234\r\n\x1b[31mcaisson:")):
        raise Wrong("%r" % t.seen)
    expect(t.mode(), t.before, "mode")


def ctrl_c_without_input(t, command):
    """-t without -i: the terminal is left alone, and ^C is for caisson."""
    t.start([a for a in command if a != "-i"] + ["sh", "-c", "stty size; echo ready; sleep 500"])
    t.until(b"24 80\r\r\n")  # one return of each terminal
    t.until(b"ready")
    expect(t.mode(), t.before, "mode")
    t.type(b"\x03")
    expect(t.wait(), 130, "status")


def detached_lets_go(t, command):
    """run -d -t: has the size of the terminal it was started at, and does not hold that terminal open."""
    t.resize(21, 43)
    run_id = command[command.index("--id") + 1]
    t.start([a for a in command if a not in ("-i", "--")] + ["-d", "--", "sh", "-c", "stty size; sleep 500"])
    expect(t.wait(), 0, "status")
    own = os.fstat(t.slave)  # by device and inode: the container's has the same name
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            held = os.path.samestat(os.stat(link), own) and int(link.split("/")[2]) != os.getpid()
        except OSError:
            continue
        if held:
            raise Wrong("it is open in %s" % open("/proc/%s/comm" % link.split("/")[2]).read())
    t.wait_for(lambda: b"21 43" in subprocess.run([command[0], "logs", run_id], capture_output=True).stdout, "the size")


def main():
    terminal = Terminal()
    try:
        globals()[sys.argv[1]](terminal, sys.argv[2:])
    except Wrong as wrong:
        print("%s: %s" % (sys.argv[1], wrong))
        sys.exit(1)
    finally:
        if terminal.process and terminal.process.poll() is None:
            terminal.process.kill()


main()
