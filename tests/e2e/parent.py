"""A long-lived caller that runs caisson many times: parent.py COUNT CAISSON ARGUMENTS...

It is a subreaper, as services in containers often are, so that what a run leaves would become its child; and it
counts its own descriptors and children. Every run is passed a pipe for each stream. Status 0: all is as before.
"""
import ctypes
import os
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def descriptors():
    return sorted((name, os.readlink(f"/proc/self/fd/{name}")) for name in os.listdir("/proc/self/fd")
                  if os.path.lexists(f"/proc/self/fd/{name}"))


def main():
    count, argv = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("prctl: no subreaper")
    before, wrong = descriptors(), 0
    for i in range(count):
        run = subprocess.run(argv + [f"echo out; echo err >&2; (sleep 0.01 &); exit {i % 200}"], input=b"", check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if (run.returncode, run.stdout, run.stderr) != (i % 200, b"out\n", b"err\n"):
            print(f"# run {i}: {run}")
            wrong += 1
    after = descriptors()
    if len(before) != len(after):
        print(f"# descriptors before {before}, after {after}")
        wrong += 1
    try:
        print(f"# a child was left to us: {os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)}")
        wrong += 1
    except ChildProcessError:
        pass
    return 1 if wrong else 0


sys.exit(main())
