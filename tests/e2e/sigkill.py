"""Kills supervisors at random moments and looks what of their runs is left.

sigkill.py MODE COUNT RUNTIME STATE_DIR PREFIX: MODE is
  alone       SIGKILL for the supervisor; its guardian has to remove everything
  both        SIGKILL for supervisor and guardian; `caisson gc` has to
  both-full   the same, with STATE_DIR's file system filled up to the last inode before gc
  gc          as both, and gc itself is killed at random moments before it may end
Prints what went wrong, a line each, and a line "# …" of numbers. Status 0: nothing was left.
"""
import os
import random
import signal
import subprocess
import sys
import time

import world

PARALLEL = 8
COMMANDS = (["sleep", "99"], ["sleep", "99"], ["true"], ["sh", "-c", "while :; do echo y; done"],
            ["sh", "-c", "setsid sleep 99 & sleep 99 & wait"])


class Victim:
    def __init__(self, caisson, runtime, state_dir, name, command):
        self.name = name
        self.process = subprocess.Popen(
            [caisson, "run", "--runtime", runtime, "--state-dir", state_dir, "--id", name,
             "--on-output-limit", "discard", "--timeout", "60s", "--"] + command,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def guardian(self):
        """Found while the supervisor is stopped: it cannot make or dismiss one in between."""
        for pid in world.children(self.process.pid):
            stat = world.stat_of(pid)
            if stat and stat[0] == "caisson-guard":
                return pid
        return None

    def kill(self, with_guardian):
        if with_guardian:
            os.kill(self.process.pid, signal.SIGSTOP)  # unlike send_signal it reaps nothing
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            guardian = self.guardian()
            if guardian:
                os.kill(guardian, signal.SIGKILL)
        self.process.kill()
        self.process.wait()


def fill(state_dir):
    """Takes every inode that is left; the directory that holds them."""
    directory = state_dir + "/full"
    os.mkdir(directory)
    n = 0
    try:
        while True:
            os.close(os.open(f"{directory}/{n}", os.O_WRONLY | os.O_CREAT, 0o600))
            n += 1
    except OSError:
        return directory


def empty(directory):
    for name in os.listdir(directory):
        os.unlink(f"{directory}/{name}")
    os.rmdir(directory)


def collect(caisson, state_dir, rng, killed):
    """gc, killed at random moments first if so wanted; the text of a failed one."""
    argv = [caisson, "gc", "--state-dir", state_dir]
    for _ in range(6 if killed else 0):
        gc = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 0.02) * world.SLOW)
        gc.kill()
        gc.wait()
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return [f"gc ended with {done.returncode}: {done.stdout.strip()}"] if done.returncode else []


def a_round(mode, runtime, state_dir, prefix, number, rng):
    caisson = os.environ["CAISSON"]
    before = world.World(prefix, state_dir)
    began = time.monotonic()
    span = 0.2 * world.SLOW * (3 if "runsc" in runtime else 1)
    victims = [Victim(caisson, runtime, state_dir, f"{prefix}-{number}-{i}", rng.choice(COMMANDS))
               for i in range(PARALLEL)]
    for at, victim in sorted(((rng.uniform(0, span), victim) for victim in victims), key=lambda pair: pair[0]):
        time.sleep(max(0, began + at - time.monotonic()))
        victim.kill(mode != "alone")
    wrong = []
    directory = fill(state_dir) if mode == "both-full" else None
    if mode != "alone":
        wrong += collect(caisson, state_dir, rng, mode == "gc")
    if directory:
        empty(directory)
    left, took = before.wait(1.0 * world.busy())
    if left:
        more, longer = before.wait(9)
        late = f"gone after {took + longer:.1f} s more" if not more else "there for good"
        wrong += [f"round {number}: {line} ({late})" for line in left[:20]]
        collect(caisson, state_dir, rng, False)
    return wrong, took


def main():
    mode, count, runtime, state_dir, prefix = sys.argv[1:]
    rng = random.Random(f"{os.environ.get('CAISSON_SEED', '1')} {mode} {runtime}")
    wrong, waits = [], []
    for number in range((int(count) + PARALLEL - 1) // PARALLEL):
        lines, took = a_round(mode, runtime, state_dir, prefix, number, rng)
        wrong += lines
        waits.append(took)
    for line in wrong:
        print("# " + line)
    waits.sort()
    print(f"# {len(waits) * PARALLEL} killed, seed {os.environ.get('CAISSON_SEED', '1')}; "
          f"ms until all of {PARALLEL} was gone: median {1000 * waits[len(waits) // 2]:.0f}, most {1000 * waits[-1]:.0f}")
    return 1 if wrong else 0


sys.exit(main())
