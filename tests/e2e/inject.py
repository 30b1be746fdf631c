"""Makes single system calls of the supervisor fail, one in each run, and looks what becomes of the run.

inject.py MOST RUNTIME STATE_DIR PREFIX: of each kind of call at most MOST are chosen, by the seed. Whatever fails, the
outcome is one of two: the run went as it should, or it ended with 125 and a line that says why; in both cases nothing
is left, at the latest after `caisson gc`. Prints what went wrong, and a line of numbers. Status 0: nothing did.
"""
import collections
import os
import random
import re
import subprocess
import sys

import world

# What each call may well fail with.
ERRORS = {
    "openat": ("EMFILE", "EACCES"), "openat2": ("EMFILE",), "mkdir": ("ENOSPC",), "mkdirat": ("ENOSPC",),
    "mount": ("EPERM",), "fsopen": ("EPERM",), "fsconfig": ("ENOMEM",), "fsmount": ("EMFILE",), "move_mount": ("EPERM",),
    "open_tree": ("EMFILE",), "mount_setattr": ("EINVAL",), "umount2": ("EBUSY",), "unshare": ("EPERM", "ENOSPC"),
    "pidfd_open": ("EMFILE",), "clone": ("EAGAIN",), "clone3": ("EAGAIN",), "vfork": ("EAGAIN",), "fork": ("EAGAIN",),
    "write": ("ENOSPC", "EIO"), "pwrite64": ("ENOSPC",), "read": ("EIO",), "pread64": ("EIO",), "socketpair": ("EMFILE",),
    "socket": ("EMFILE",), "bind": ("EADDRINUSE",), "listen": ("ENOBUFS",), "pipe2": ("EMFILE",), "fcntl": ("EMFILE",),
    "epoll_create1": ("EMFILE",), "epoll_ctl": ("ENOSPC",), "epoll_wait": ("EINTR",), "epoll_pwait": ("EINTR",),
    "epoll_pwait2": ("EINTR",), "timerfd_create": ("EMFILE",), "timerfd_settime": ("EINVAL",), "signalfd4": ("EMFILE",),
    "eventfd2": ("EMFILE",), "memfd_create": ("EMFILE",), "flock": ("ENOLCK",), "rename": ("EIO",), "renameat": ("EIO",),
    "renameat2": ("EIO",), "prctl": ("EINVAL",), "sendto": ("EPIPE",), "recvfrom": ("EINTR",), "fchown": ("EPERM",),
    "symlinkat": ("ENOSPC",), "symlink": ("ENOSPC",), "rmdir": ("EBUSY", "EIO"), "unlinkat": ("EIO",), "unlink": ("EIO",),
    "newfstatat": ("EIO",), "fstat": ("EIO",), "statx": ("EACCES",), "getdents64": ("EIO",), "waitid": ("ECHILD",),
    "poll": ("EINTR",), "ppoll": ("EINTR",), "getrandom": ("EINTR",), "statfs": ("EIO",), "fstatfs": ("EIO",),
    "prlimit64": ("EPERM",), "pidfd_send_signal": ("EPERM",), "splice": ("EINVAL",), "ioctl": ("EINVAL",),
}


def command(caisson, runtime, state_dir, name):
    return [caisson, "run", "--runtime", runtime, "--state-dir", state_dir, "--id", name, "--timeout", "10s", "--",
            "sh", "-c", "echo out; exit 7"]


def calls_of(argv, path):
    """How often the supervisor makes each call, once main runs."""
    subprocess.run(["strace", "-qq", "-o", path] + argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    counts = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as trace:
        for line in trace:
            match = re.match(r"(\w+)\(", line)
            if match:
                counts[match.group(1)] += 1
    return counts


def verdict(done, what):
    text = done.stderr.strip()
    if done.returncode == 7 and done.stdout == "out\n":
        return None
    if done.returncode == 7 and "stdout-lost: " in text:
        return None
    if done.returncode == 125 and text.startswith("caisson: ") and "\n" not in text.split("\ncaisson: ")[0]:
        return None
    return f"{what}: status {done.returncode}, stdout {done.stdout!r}, stderr {text!r}"


def main():
    most, runtime, state_dir, prefix = int(sys.argv[1]), *sys.argv[2:]
    caisson = os.environ["CAISSON"]
    rng = random.Random(f"{os.environ.get('CAISSON_SEED', '1')} {runtime}")
    trace = state_dir + ".trace"
    subprocess.run(command(caisson, runtime, state_dir, prefix), check=False, stdout=subprocess.DEVNULL)
    counts = calls_of(command(caisson, runtime, state_dir, prefix), trace)
    loader = calls_of([caisson, "version"], trace)
    os.unlink(trace)
    wrong, runs, failed, needed_gc = [], 0, 0, 0
    for call, errors in ERRORS.items():
        numbers = range(loader[call] + 1, counts[call] + 1)
        for number in sorted(rng.sample(numbers, min(most, len(numbers)))):
            error = rng.choice(errors)
            name = f"{prefix}-{call}-{number}".replace("_", "-")
            what = f"{call} number {number} fails with {error}"
            before = world.World(name, state_dir)
            done = subprocess.run(
                ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}"]
                + command(caisson, runtime, state_dir, name),
                check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                errors="replace", timeout=60)
            runs += 1
            failed += done.returncode == 125
            line = verdict(done, what)
            if line:
                wrong.append(line)
            left, _ = before.wait(0.5 * world.busy())
            if left:
                needed_gc += 1
                subprocess.run([caisson, "gc", "--quiet", "--state-dir", state_dir], check=False, stderr=subprocess.DEVNULL)
                left, _ = before.wait(1.0 * world.busy())
            wrong += [f"{what}: left after gc: {item}" for item in left]
    for line in wrong:
        print("# " + line)
    print(f"# {runs} runs, {failed} of them ended with 125, {needed_gc} left something to gc; "
          f"seed {os.environ.get('CAISSON_SEED', '1')}")
    return 1 if wrong else 0


sys.exit(main())
