"""SIGKILL at random points: for `caisson-runtime create`, or for the attendant while a container is made, started and run;
then `delete --force`; then a look for what is left.

usage: killcreate.py create|attendant RUNTIME ENGINE BUNDLE STATE ROOT N SEED

Prints a line for everything that should not be there, and "N killed" on stderr: how many there were to kill.
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

victim, runtime, engine, bundle, state, root, n, seed = sys.argv[1:]
n, rng = int(n), random.Random(int(seed))
base = [runtime, "--runtime", engine, "--policy", "default", "--state-dir", state, "--root", root]
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def config(cgroup):
    subprocess.run([engine, "spec", "-b", bundle], check=False, capture_output=True)
    path = os.path.join(bundle, "config.json")
    with open(path, encoding="utf-8") as f:
        spec = json.load(f)
    spec["process"]["terminal"] = False
    spec["process"]["args"] = ["sh", "-c", "while :; do :; done"]
    spec["linux"]["cgroupsPath"] = cgroup
    with open(path, "w", encoding="utf-8") as f:
        json.dump(spec, f)


def groups(name):
    return glob.glob("/sys/fs/cgroup/" + name) + glob.glob("/sys/fs/cgroup/*/" + name)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def processes(word):
    """In a group of that name, or called by it (the attendant's files are below the state directory)."""
    return [p.split("/")[2] for p in glob.glob("/proc/[0-9]*/cgroup") if word in read(p)]


def parent_of(pid):
    return int((read("/proc/%s/stat" % pid).rpartition(")")[2].split() or ["0", "0"])[1])


def attendants():
    """Of this state directory alone: others may have theirs. A young one has opened nothing of it yet, but has a parent."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        if read(path + "/comm").strip() not in ("caisson-attend", "caisson-second"):
            continue
        pid = int(path.split("/")[2])
        if parent_of(parent_of(pid)) == os.getpid():
            found.append(pid)
            continue
        for fd in glob.glob(path + "/fd/*"):
            try:
                if os.readlink(fd).startswith(state + "/"):
                    found.append(pid)
                    break
            except OSError:
                pass
    return found


def create(ident):
    """How long one takes, in seconds."""
    t0 = time.monotonic()
    subprocess.run(base + ["create", "--bundle", bundle, ident], check=True, stdin=subprocess.DEVNULL)
    took = time.monotonic() - t0
    subprocess.run(base + ["delete", "--force", ident], check=True)
    return took


def left_of(ident):
    end = time.monotonic() + 5
    while time.monotonic() < end:
        left = (groups(ident) + processes("/" + ident) + attendants() + glob.glob(state + "/containers/*") +
                glob.glob(root + "/*"))
        if not left:
            return []
        time.sleep(0.02)
    return left


def kill_create(ident, delay):
    child = subprocess.Popen(base + ["create", "--bundle", bundle, ident], **quiet)
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    child.wait()
    return True


def kill_attendant(ident, delay):
    """At that time from the beginning of create; create and start go on, and may fail by it."""
    killed = []

    def strike():
        for pid in attendants():
            if read("/proc/%d/comm" % pid).strip() == "caisson-attend":
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(pid)

    timer = threading.Timer(delay, strike)
    timer.start()
    for verb in (["create", "--bundle", bundle, ident], ["start", ident]):
        if subprocess.run(base + verb, check=False, **quiet).returncode != 0:
            break
    timer.join()
    return bool(killed)


cg = "attend-%d" % os.getpid()
config("/" + cg)
took = max(create(cg) for _ in range(2))
strike_at, longest = {"create": (kill_create, 1.1), "attendant": (kill_attendant, 2.5)}[victim]
hits = 0
for i in range(n):
    delay = rng.uniform(0, took * longest)
    hits += strike_at(cg, delay)
    done = subprocess.run(base + ["delete", "--force", cg], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    left = left_of(cg)
    if done.returncode != 0 or left:
        print("after %.1f ms: delete %d %s; left: %s" % (delay * 1e3, done.returncode, done.stderr.decode()[:200], left))
print("%d killed" % hits, file=sys.stderr)
sys.exit(0)
