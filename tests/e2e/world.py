"""What of runs can be seen on a machine: processes, control groups, mounts, records, engines' state.

Beside lib.sh's snapshot and compare, which take some 100 ms, this is for loops that look often and know the ids.
Import it from a helper in this directory; nothing here prints.
"""
import os
import time

SLOW = int(os.environ.get("CAISSON_SLOW", "1"))
ISOLATED = os.environ.get("CAISSON_ISOLATED") == "1"
ENGINE_ROOTS = ("/run/runc", "/run/crun", "/run/runsc", "/var/run/runsc", "/run/containerd/runc")


def busy():
    """How much longer things may take than on an idle, quick machine."""
    return SLOW * (1 + os.getloadavg()[0] / os.cpu_count())


def stat_of(pid):
    """(comm, state, parent, starttime), None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            text = f.read()
    except OSError:
        return None
    comm, rest = text[text.index("(") + 1:].rsplit(")", 1)
    rest = rest.split()
    return comm, rest[0], int(rest[1]), int(rest[19])


def processes():
    """{(pid, starttime): comm} without ourselves, kernel threads, and zombies that a PID 1 of others has yet to reap."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        stat = stat_of(name)
        if stat is None or int(name) == 2 or stat[2] == 2:
            continue
        if stat[1] in "ZX" and stat[2] == 1 and not ISOLATED:
            continue
        found[(int(name), stat[3])] = stat[0]
    return found


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def hierarchies():
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        lines = [line.split() for line in f]
    return [line[4] for line in lines if line[line.index("-") + 1] in ("cgroup", "cgroup2")]


HIERARCHIES = hierarchies()


def groups(prefix):
    """Control groups of runs whose ids begin with prefix, and of their engines."""
    found = []
    for point in HIERARCHIES:
        try:
            names = os.listdir(point + "/caisson")
        except OSError:
            continue
        for name in names:
            if name.startswith(prefix) or name.startswith("_engine-" + prefix):
                found.append(f"{point}/caisson/{name}")
    return found


def tree(top):
    return [os.path.join(root, name) for root, dirs, files in os.walk(top) for name in dirs + files]


def mounts():
    """Mounts of our namespace without their numbers."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return sorted(line.split(" ", 2)[2] for line in f)


class World:
    """The world at the time of making; left() tells what there is more now of runs with that prefix and state."""

    def __init__(self, prefix, state_dir):
        self.prefix, self.state_dir = prefix, state_dir
        self.processes = processes()
        self.mounts = mounts()
        self.engines = self._engines()

    @staticmethod
    def _engines():
        return sorted(f"{top}/{name}" for top in ENGINE_ROOTS if os.path.isdir(top) for name in os.listdir(top))

    def left(self):
        # another test's processes are none of ours: outside of a pid namespace of our own, only those that our ids name
        found = [f"process {pid} {comm}" for (pid, start), comm in processes().items()
                 if (pid, start) not in self.processes and (ISOLATED or self._ours(pid))]
        found += [f"cgroup {path}" for path in groups(self.prefix)]
        found += [f"state {path}" for path in tree(self.state_dir) if path != self.state_dir + "/runs"]
        found += [f"mount {line.strip()}" for line in mounts() if line not in self.mounts]
        found += [f"engine state {path}" for path in self._engines() if path not in self.engines]
        return found

    def _ours(self, pid):
        for name in ("cgroup", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as f:
                    if self.prefix.encode() in f.read():
                        return True
            except OSError:
                pass
        return False

    def wait(self, seconds):
        """Looks until nothing is left or so long has passed: (what is left, how long it took)."""
        began = time.monotonic()
        while True:
            left = self.left()
            took = time.monotonic() - began
            if not left or took > seconds:
                return left, took
            time.sleep(0.005)
