"""Makes orphans inside of a run, and looks for zombies among them.

    orphans.py N     N processes whose parents end at once, a hundred a second where the machine is quick enough; prints how
                     many were still zombies a while after they had been seen as such
"""
import glob
import os
import sys
import time


def zombies():
    """proc(5), /proc/PID/stat: pid and start time, so that a number that is used again is another one."""
    found = set()
    for name in glob.glob("/proc/[0-9]*/stat"):
        try:
            pid, rest = open(name).read().split(" ", 1)
        except OSError:
            continue
        fields = rest.rsplit(")", 1)[1].split()
        if fields[0] == "Z":
            found.add((pid, fields[19]))
    return found


def make_orphan():
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            time.sleep(0.02)
        os._exit(0)
    os.waitpid(child, 0)


stayed = set()
before = set()
began = time.monotonic()
for i in range(int(sys.argv[1])):
    make_orphan()
    time.sleep(max(0, began + i * 0.01 - time.monotonic()))
    if i % 20 == 19:
        now = zombies()
        stayed |= before & now
        before = now
    if len(stayed) > 20:
        break
time.sleep(0.3)
before = zombies()
time.sleep(0.3)
stayed |= before & zombies()
print(len(stayed))
