"""SIGKILL for `caisson-runtime create` at random points; then `delete --force`; then a look for what is left.

usage: killcreate.py RUNTIME ENGINE BUNDLE STATE ROOT N SEED

Prints a line for everything that should not be there.
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

runtime, engine, bundle, state, root, n, seed = sys.argv[1:]
n, rng = int(n), random.Random(int(seed))
base = [runtime, "--runtime", engine, "--policy", "default", "--state-dir", state, "--root", root]


def config(cgroup):
    spec = json.loads(subprocess.run([engine, "spec", "-b", bundle], check=False, capture_output=True).stdout or "null")
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


def processes(word):
    found = []
    for path in glob.glob("/proc/[0-9]*/cgroup"):
        try:
            with open(path, encoding="utf-8") as f:
                if word in f.read():
                    found.append(path.split("/")[2])
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


def settled(ident):
    end = time.monotonic() + 5
    while time.monotonic() < end:
        left = groups(ident) + processes("/" + ident) + glob.glob(state + "/containers/*") + glob.glob(root + "/*")
        if not left:
            return []
        time.sleep(0.02)
    return left


cg = "attend-%d" % os.getpid()
config("/" + cg)
took = max(create(cg) for _ in range(2))
for i in range(n):
    delay = rng.uniform(0, took * 1.1)
    child = subprocess.Popen(base + ["create", "--bundle", bundle, cg], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    child.wait()
    done = subprocess.run(base + ["delete", "--force", cg], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    left = settled(cg)
    if done.returncode != 0 or left:
        print("after %.1f ms: delete %d %s; left: %s" % (delay * 1e3, done.returncode, done.stderr.decode()[:200], left))
sys.exit(0)
