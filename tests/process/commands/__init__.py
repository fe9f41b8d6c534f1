"""`serve` and `demo` as an operator starts them: real processes, real signals."""

import os
import re
import signal
import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path


def _parents():
    """(pid, its parent's) of every process."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            yield int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])


def children(pid):
    """The processes that `pid` started."""
    return [child for child, parent in _parents() if parent == pid]


def descendants(pid):
    """Every process below `pid`."""
    below = children(pid)
    return below + [deeper for child in below for deeper in descendants(child)]


def living(pids):
    """Those of `pids` that still run (a zombie does not)."""
    alive = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        alive += [pid] if state not in "ZX" else []
    return alive


def guests(worker):
    """The guests of a worker process; the first process of a zygote's namespace is none."""
    return [pid for zygote in living(children(worker)) for pid in living(children(zygote)) if not _is_init(pid)]


def _is_init(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    inside = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid"))
    return len(inside) > 1 and inside[-1] == "1"


def eventually(look, seconds=30):
    """What `look` gives once it is true; fails after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")


def answers(url, timeout=5):
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=timeout) as answer:
            return answer.status == 200
    except OSError:
        return False


class Serve:
    """A running `manage.py serve`; its output goes to `var/serve.log`."""

    def __init__(self, site, *args, **env):
        self.log = site.var / "serve.log"
        with self.log.open("w") as log:
            command = site.command("serve", "--bind", "127.0.0.1:0", *args)
            self.process = site.start(*command, stdout=log, stderr=subprocess.STDOUT, env=env, start_new_session=True)
        self.url = eventually(self._url)

    def _url(self):
        assert self.process.poll() is None, self.log.read_text()
        found = re.search(r"(http://[0-9.:]+)/admin/", self.log.read_text())
        return found and found[1]

    def up(self):
        """Waits until web and worker are there; every process below serve."""
        eventually(lambda: answers(f"{self.url}/healthz"))
        # web's master and worker, Celery, its zygote, checkpoints
        return eventually(lambda: len(found := descendants(self.process.pid)) >= 5 and found)

    def end(self):
        """For a test that failed."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
