"""Plays the caller at the other ends of caisson's three descriptors.

    streams.py flags COMMAND...          with a pipe, a FIFO, a socket, a terminal and a file as stdin and stdout, blocking or
                                         not: says which of them came back with other flags than they went in with; COMMAND
                                         says "ready" and reads a line
    streams.py slow BYTES MS COMMAND...  a reader that takes BYTES every MS: prints how many came in all
    streams.py stuck COMMAND...          a reader that takes nothing until COMMAND has ended: prints its status, its time in
                                         milliseconds, and what came then
"""
import fcntl
import os
import pty
import socket
import subprocess
import sys
import tempfile
import time
import tty


def make_pipe():
    r, w = os.pipe()
    return r, w


def make_fifo():
    name = tempfile.mktemp()
    os.mkfifo(name)
    r = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    w = os.open(name, os.O_WRONLY)
    os.set_blocking(r, True)
    os.unlink(name)
    return r, w


def make_socket():
    a, b = socket.socketpair()
    return a.detach(), b.detach()


def make_terminal():
    master, slave = pty.openpty()
    tty.setraw(slave)
    return master, slave


def make_file():
    fd, name = tempfile.mkstemp()
    other = os.open(name, os.O_RDONLY)
    os.unlink(name)
    return other, fd


KINDS = {"pipe": make_pipe, "fifo": make_fifo, "socket": make_socket, "terminal": make_terminal, "file": make_file}


def stdin_and_its_writer(kind):
    r, w = KINDS[kind]()
    return (w, r) if kind in ("terminal", "file") else (r, w)


def flags(command):
    bad = []
    for kind, make in KINDS.items():
        for blocking in True, False:
            r_out, out = make()
            fd_in, w_in = stdin_and_its_writer(kind)
            for fd in out, fd_in:
                os.set_blocking(fd, blocking)
            before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (fd_in, out)]
            process = subprocess.Popen(command, stdin=fd_in, stdout=out, stderr=subprocess.DEVNULL)
            got = os.read(r_out, 100) if kind != "file" else b"ready\n"
            during = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (fd_in, out)]
            if kind != "file":
                os.write(w_in, b"hi\n")
            process.wait()
            after = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (fd_in, out)]
            if not got.startswith(b"ready") or process.returncode != 0:
                bad.append(f"{kind}: status {process.returncode}, {got!r}")
            if before != during or before != after:
                bad.append(f"{kind}, {'' if blocking else 'non-'}blocking: {before} {during} {after}")
            for fd in r_out, out, fd_in, w_in:
                os.close(fd)
    print("\n".join(bad) or "same")


def slow(size, ms, command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    total = 0
    while data := os.read(process.stdout.fileno(), size):
        total += len(data)
        time.sleep(ms / 1000)
    print(process.wait(), total)


def stuck(command):
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    status = process.wait()
    ms = int((time.monotonic() - begin) * 1000)
    print(status, ms, len(process.stdout.read()))


if sys.argv[1] == "flags":
    flags(sys.argv[2:])
elif sys.argv[1] == "slow":
    slow(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
elif sys.argv[1] == "stuck":
    stuck(sys.argv[2:])
else:
    sys.exit(__doc__)
