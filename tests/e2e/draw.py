"""Draws runs whose end is known beforehand, and compares what caisson says of them.

    draw.py CAISSON ENGINE PATH DIR COUNT SEED SLOW

Every kind once, in random order, then COUNT in all by weight, two at a time; with COUNT 0 only those once in which control
groups have a part. Prints a line for each kind: its name, how
many were right, how many there were, and what was wrong with the first one that was not, separated by tabs.
"""
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

caisson, engine, path, scratch, count, seed, slow = sys.argv[1:]
count, slow = int(count), int(slow)
own_kernel = engine == "runsc"
here = os.path.dirname(os.path.abspath(__file__))
KILLED = (None, 9)  # exitCode and signal of what caisson or the kernel killed


class Case:
    """flags and command; what is done while it runs; what the record has to say."""

    def __init__(self, flags, command, reason, outward, end=None, act=None, check=None, runtime=path, record=True):
        self.flags, self.command, self.reason, self.outward, self.end = flags, command, reason, outward, end
        self.act, self.check, self.runtime, self.record = act, check, runtime, record
        self.kind = self.id = ""


def sh(text):
    return ["sh", "-c", text]


def python(*args):
    return ["python3", "-ISE", "/die.py", *map(str, args)]


DIE = ["-v", f"{here}/die.py:/die.py"]
READY = sh("echo ready; exec sleep 300")
CODES = [1, 2, 100, 124, 125, 126, 127, 128, 129, 130, 137, 139, 141, 143, 152, 153, 159, 255]
MEMORY = "64m" if own_kernel else "24m"

# --- what is done while it runs: act(process, case) -----------------------------------------------------------------


def until_ready(process):
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError("it never began")


def is_init(pid):
    """Of what is in the group of runsc the sandbox, not the process that serves files."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return not own_kernel or b"boot" in f.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False  # gone with the one that was killed before it


def kill_init(process, case):
    until_ready(process)
    for group in f"/sys/fs/cgroup/caisson/{case.id}", f"/sys/fs/cgroup/pids/caisson/{case.id}":
        if os.path.isdir(group):
            with open(f"{group}/cgroup.procs", encoding="ascii") as f:
                for pid in filter(is_init, f.read().split()):
                    os.kill(int(pid), signal.SIGKILL)
            return
    raise RuntimeError("no cgroup")


def send(number):
    def act(process, _case):
        until_ready(process)
        process.send_signal(number)

    return act


def send_early(number, seconds):
    def act(process, _case):
        time.sleep(seconds)
        process.send_signal(number)

    return act


def close_both(process, _case):
    until_ready(process)
    process.stdout.close()
    process.stderr.close()


# --- what the record has to say besides: check(record, outward) → None or what is wrong -------------------------------


def killed_early(number):
    """Before main had blocked it, a signal is a signal."""

    def check(record, outward):
        if outward == -number and record is None:
            return None
        if record and record["reason"] == "cancelled" and outward == 128 + number:
            return None
        return f"neither cancelled nor killed: {outward} {record}"

    return check


def ooms(record, _outward):
    return None if record["usage"]["oomKills"] >= 1 else "oomKills 0"


def own_oom(record, outward):
    return ooms(record, outward) or (None if record["oomScope"] == "own" else f"oomScope {record['oomScope']}")


def no_oom(record, _outward):
    return None if record["usage"]["oomKills"] == 0 else "oomKills"


def stream(name, kept, seen=None, truncated=True):
    def check(record, _outward):
        s = record[name]
        good = s["keptBytes"] == kept and s["truncated"] is truncated and s["seenBytes"] - s["droppedBytes"] == kept
        return None if good and seen in (None, s["seenBytes"]) else f"{name}: {s}"

    return check


def says(kind, text=""):
    def check(record, _outward):
        e = record["error"]
        return None if e and e["kind"] == kind and text in e["message"] else f"error: {e}"

    return check


def one_of(*ends):
    """Where two things happen at one moment, either may be told, but as a whole."""

    def check(record, outward):
        got = (record["reason"], record["exitCode"], outward)
        return None if got in ends else f"none of {ends}: {got}"

    return check


# --- kinds: weight, and a function of the generator that makes a case ---------------------------------------------------


def exit_code(r):
    n = r.randrange(256)
    return Case([], sh(f"exit {n}"), "exited", n, (n, None), check=no_oom)


def exit_code_with_a_meaning(r):
    n = r.choice(CODES)
    return Case([], sh(f"exit {n}"), "exited", n, (n, None))


def fault(r):
    name = r.choice(["SEGV", "BUS", "FPE", "ILL", "TRAP", "SYS", "ABRT"])
    # abort(3) goes on to a privileged instruction where a signal to PID 1 is not delivered
    number = getattr(signal, "SIGSEGV" if name == "ABRT" and not own_kernel else "SIG" + name)
    return Case(DIE, python(name), "seccomp" if name == "SYS" else "signaled", 128 + number, (None, number))


def signal_to_itself(r):
    # SIGINT is none of them: the shell handles it
    if own_kernel:  # its PID 1 dies of what it does not handle
        number = r.choice([n for n in range(1, 65) if n not in (2, 17, 18, 19, 20, 21, 22, 23, 28, 32, 33)])
        return Case([], sh(f"kill -{number} $$; sleep 300"), "seccomp" if number == 31 else "signaled", 128 + number,
                    (None, number))
    number = r.choice([1, 3, 6, 9, 10, 13, 14, 15, 24, 25, 31, 34, 64])
    return Case([], sh(f"kill -{number} $$; exit 7"), "exited", 7, (7, None))


def signal_to_a_child(r):
    number = r.choice([9, 15, 6, 11])
    return Case([], sh(f"sh -c 'kill -{number} $$'; exit $?"), "exited", 128 + number, (128 + number, None))


def killed_from_outside(_r):
    if own_kernel:
        return Case([], READY, "sandbox-failed", 125, (None, None), act=kill_init)
    return Case([], READY, "signaled", 137, KILLED, act=kill_init, check=no_oom)


def wall_limit(r):
    limit = r.choice(["1ms", "50ms", "150ms", "300ms"])
    return Case(["--timeout", limit], sh(r.choice(["sleep 300", "trap '' TERM INT; sleep 300 & wait", "sleep 300 & exec sleep 300"])),
                "wall-limit", 124, check=no_oom)


def wall_limit_with_a_chance(_r):
    return Case(["--timeout", f"{300 * slow}ms", "--stop-timeout", f"{20 * slow}s"],
                sh("trap 'exit 3' TERM; sleep 300 & wait"), "wall-limit", 124, (3, None))


def wall_limit_at_the_end(r):
    ms = r.choice([40, 80, 120])
    return Case(["--timeout", f"{ms}ms"], ["sleep", str(ms / 1000)], None, None,
                check=one_of(("wall-limit", None, 124), ("exited", 0, 0)))


def cpu_limit(r):
    return Case(["--cpu-time", r.choice(["40ms", "100ms", "200ms"])],
                sh(r.choice(["while :; do :; done", "(while :; do :; done) & while :; do :; done"])), "cpu-limit", 152, KILLED)


def idle_limit(r):
    return Case(["--idle-timeout", r.choice(["60ms", "150ms"])], sh(r.choice(["", "echo x; ", "echo x >&2; "]) + "sleep 300"),
                "idle-limit", 124)


def output_limit_kills(r):
    limit, name = r.choice([0, 1, 4096, 65536, r.randrange(1, 300000)]), r.choice(["stdout", "stderr"])
    return Case(["--output-limit", str(limit)], sh("exec yes" + (" >&2" if name == "stderr" else "")), "output-limit", 153,
                KILLED, check=stream(name, limit))


def output_limit_discards(r):
    limit, more, n = r.randrange(100000), r.randrange(1, 200000), r.randrange(256)
    name = r.choice(["stdout", "stderr"])
    return Case([f"--{name}-limit", str(limit), "--on-output-limit", "discard"],
                sh(f"head -c {limit + more} /dev/zero {'>&2' if name == 'stderr' else ''}; exit {n}"), "exited", n, (n, None),
                check=stream(name, limit, limit + more))


def output_limit_reached(r):
    limit = r.choice([1, 4096, 65536, r.randrange(1, 300000)])
    return Case(["--output-limit", str(limit)], ["head", "-c", str(limit), "/dev/zero"], "exited", 0, (0, None),
                check=stream("stdout", limit, limit, False))


def output_limit_at_the_end(_r):
    """F004: it ends by itself with the byte past the limit."""

    def check(record, outward):
        return stream("stdout", 4096)(record, outward) or one_of(("output-limit", None, 153), ("exited", 0, 0))(record, outward)

    return Case(["--output-limit", "4096"], ["head", "-c", "4097", "/dev/zero"], None, None, check=check)


def oom_of_init(_r):
    return Case(["--memory", MEMORY], ["tail", "/dev/zero"], "oom", 137, KILLED, check=own_oom)


def oom_of_a_child(r):
    n = r.randrange(256)
    if own_kernel:
        return Case(["--memory", MEMORY], sh(f"tail /dev/zero; exit {n}"), "oom", 137, KILLED, check=own_oom)
    return Case(["--memory", MEMORY], sh(f"tail /dev/zero; exit {n}"), "exited", n, (n, None), check=ooms)


def oom_group(_r):
    return Case(["--memory", MEMORY, "--oom-group"], sh("tail /dev/zero; sleep 300"), "oom", 137, KILLED, check=own_oom)


def cancelled(r):
    number = r.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
    return Case([], READY, "cancelled", 128 + number, KILLED, act=send(number))


def cancelled_early(r):
    number = r.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
    return Case([], READY, None, None, act=send_early(number, r.uniform(0, 0.3) * slow), check=killed_early(number), record=None)


def readers_gone(_r):
    return Case([], READY, "cancelled", 141, KILLED, act=close_both)


def not_found(r):
    name = r.choice(["/no/such/cmd", "no-such-cmd", "/usr/bin/no-such-cmd"])
    return Case([], [name], "start-failed", 127, check=says("not-found", name))


def not_executable(r):
    name = r.choice(["/etc", "/usr/bin", "/data/plain", "/data/garbage"])
    return Case(["-v", f"{scratch}:/data"], [name], "start-failed", 126, check=says("not-executable", name))


def missing_interpreter(_r):
    return Case(["-v", f"{scratch}:/data"], ["/data/script"], "start-failed", 127, check=says("not-found", "/no/interpreter"))


def no_engine(r):
    name = r.choice(["no-such-engine", "/no/such/engine", "/etc/passwd"])
    return Case([], ["true"], "start-failed", 125, runtime=name, check=says("usage", name))


def bad_flag(r):
    flags = r.choice([["--no-such-flag"], ["--timeout", "soon"], ["--format", "xml"], ["--pids-limit"]])
    return Case(flags, ["true"] if len(flags) > 1 else [], "start-failed", 125, check=says("usage", flags[0]))


def bad_value(r):
    flags = r.choice([["-w", "/proc/self/fd/7"], ["-v", "/:/data:rw"], ["--cap-add", "none_such"], ["-u", "no-such-user"]])
    return Case(flags, ["true"], "start-failed", 125, check=says("usage"))


def limit_too_small(r):
    flags = ["--memory", r.choice(["4096", "64k"])]
    return Case(flags, ["true"], "start-failed", 125, check=says("limit", "minimum"))


def leaves_children(r):
    n = r.randrange(256)
    return Case([], sh(r.choice([f"sleep 300 & exit {n}", f"(sleep 0.01 &); exit {n}", f"(setsid sleep 300 &); exit {n}"])),
                "exited", n, (n, None))


KINDS = [
    (8, exit_code), (6, exit_code_with_a_meaning), (6, fault), (6, signal_to_itself), (2, signal_to_a_child),
    (4, killed_from_outside), (4, wall_limit), (1, wall_limit_with_a_chance), (2, wall_limit_at_the_end), (3, cpu_limit),
    (2, idle_limit), (3, output_limit_kills), (3, output_limit_discards), (2, output_limit_reached),
    (3, output_limit_at_the_end), (3, oom_of_init), (3, oom_of_a_child), (3, oom_group), (4, cancelled), (4, cancelled_early),
    (3, readers_gone), (2, not_found), (2, not_executable), (1, missing_interpreter), (1, no_engine), (1, bad_flag),
    (1, bad_value), (1, limit_too_small), (3, leaves_children),
]

IN_GROUPS = [
    exit_code, fault, killed_from_outside, wall_limit, wall_limit_with_a_chance, cpu_limit, idle_limit, output_limit_kills,
    oom_of_init, oom_of_a_child, oom_group, cancelled, cancelled_early, readers_gone, not_found, limit_too_small,
    leaves_children,
]

# --- running ------------------------------------------------------------------------------------------------------------


def wrong(case, outward, record, delivered):
    """What is not as it should be, or None."""
    if record is None:
        if case.record:
            return f"ended with {outward}, without a record"
        if case.outward is not None and outward != case.outward:
            return f"outward {outward}"
        return case.check(record, outward) if case.check else None
    if record["outwardCode"] != outward:
        return f"outwardCode {record['outwardCode']}, but ended with {outward}"
    if case.reason and (record["reason"], outward) != (case.reason, case.outward):
        return f"{record['reason']} {outward}, not {case.reason} {case.outward}"
    if case.end and (record["exitCode"], record["signal"]) != case.end:
        return f"exitCode and signal {record['exitCode']} {record['signal']}, not {case.end}"
    if record["exitCode"] is not None and record["signal"] is not None:
        return "both exitCode and signal"
    if delivered is not None and record["stdout"]["keptBytes"] != delivered:
        return f"{delivered} bytes delivered: {record['stdout']}"
    if record["leftovers"]:
        return f"leftovers {record['leftovers']}"
    if record["error"] is not None and record["reason"] != "start-failed":
        return f"error {record['error']}"
    return case.check(record, outward) if case.check else None


def run(case):
    result = f"{scratch}/{case.id}.json"
    args = [caisson, "run", "--runtime", case.runtime, "--id", case.id, "--result", result, *case.flags, "--", *case.command]
    process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               restore_signals=True)
    delivered = None
    watchdog = threading.Timer(60 * slow, process.kill)
    watchdog.start()
    try:
        if case.act:
            case.act(process, case)
            process.wait()
        else:
            # stderr is small, so one after the other is good enough, but not for `yes >&2`
            out, _ = process.communicate()
            delivered = len(out)
    except (RuntimeError, OSError) as e:
        process.kill()
        return f"{e}: {process.stderr.read()[-300:]!r}"
    finally:
        watchdog.cancel()
        for f in process.stdout, process.stderr:
            f.close()
        process.wait()
    if process.returncode == -signal.SIGKILL:
        return "hung"
    try:
        with open(result, encoding="utf-8") as f:
            record = json.load(f)
        os.unlink(result)
    except FileNotFoundError:
        record = None
    return wrong(case, process.returncode, record, delivered)


def judged(case):
    try:
        fault_found = run(case)
    except Exception as e:  # pylint: disable=broad-except # a test that breaks has failed
        fault_found = f"{type(e).__name__}: {e}"
    if fault_found:
        fault_found += f" [{case.id}: {' '.join(case.flags)} -- {' '.join(case.command)}]"
    return case.kind, fault_found


def draw():
    r = random.Random(f"{seed} {engine}")
    makers = [maker for _, maker in KINDS] if count else list(IN_GROUPS)
    r.shuffle(makers)
    makers += r.choices([maker for _, maker in KINDS], [weight for weight, _ in KINDS], k=max(0, count - len(makers)))
    for n, maker in enumerate(makers):
        case = maker(r)
        case.kind = maker.__name__.replace("_", " ")
        case.id = f"draw-{os.getpid()}-{engine}-{n}"
        yield case


def prepare():
    for name, mode, text in ("plain", 0o644, "#!/bin/sh\n"), ("garbage", 0o755, "no program\n"), ("script", 0o755, "#!/no/interpreter\n"):
        with open(f"{scratch}/{name}", "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(f.name, mode)
    os.chmod(scratch, 0o755)


def main():
    prepare()
    good, total, first = {}, {}, {}
    with ThreadPoolExecutor(2) as pool:
        for kind, fault_found in pool.map(judged, draw()):
            total[kind] = total.get(kind, 0) + 1
            good[kind] = good.get(kind, 0) + (fault_found is None)
            if fault_found:
                first.setdefault(kind, fault_found)
    for kind in sorted(total):
        print(kind, good[kind], total[kind], first.get(kind, "").replace("\t", " ").replace("\n", " "), sep="\t")


main()
