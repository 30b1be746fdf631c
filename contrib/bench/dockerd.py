"""A docker daemon of our own, with one image, for the benches beside this file."""
import contextlib
import json
import os
import shutil
import subprocess
import time


def remove_groups(*paths):
    for hierarchy in ["", *os.listdir("/sys/fs/cgroup")]:
        for path in paths:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join("/sys/fs/cgroup", hierarchy, path))


@contextlib.contextmanager
def daemon(top, parent, runtimes=None):
    """The client's command line; the image is "bench", of busybox. None where docker is not installed or does not start.

    Its directories lie below top; no bridge, no firewall rules. parent is the cgroup that `--cgroup-parent` is to name;
    it is removed at the end. runtimes is what daemon.json has below that key.
    """
    if not all(shutil.which(tool) for tool in ("dockerd", "docker", "containerd", "busybox")):
        yield None
        return
    with open(f"{top}/daemon.json", "w", encoding="utf-8") as f:
        json.dump({"data-root": f"{top}/docker", "exec-root": f"{top}/exec", "pidfile": f"{top}/dockerd.pid",
                   "hosts": [f"unix://{top}/docker.sock"], "bridge": "none", "iptables": False, "ip6tables": False,
                   "runtimes": runtimes or {}}, f)
    with open(f"{top}/dockerd.log", "wb") as log:
        process = subprocess.Popen(["dockerd", "--config-file", f"{top}/daemon.json"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    client = ["docker", "--host", f"unix://{top}/docker.sock"]
    try:
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            if subprocess.run([*client, "version"], capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.1)
        os.makedirs(f"{top}/image/bin")
        shutil.copy(shutil.which("busybox"), f"{top}/image/bin/busybox")
        for applet in ("true", "sh", "yes", "head", "sleep"):
            os.symlink("busybox", f"{top}/image/bin/{applet}")
        image = subprocess.run(["tar", "-C", f"{top}/image", "-c", "."], capture_output=True, check=True).stdout
        if subprocess.run([*client, "import", "-", "bench"], input=image, capture_output=True, check=False).returncode == 0:
            yield client
        else:
            print(f"docker: the daemon did not start: {open(f'{top}/dockerd.log', errors='replace').read()[-400:]}")
            yield None
    finally:
        process.terminate()
        process.wait()
        remove_groups(parent)
