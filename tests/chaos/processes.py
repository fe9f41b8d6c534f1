"""The processes of a storm: workers and the web, killed by SIGKILL and started again."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

from tests.chaos.services import answers, free_port
from tests.process.commands import children, guests, living

VICTIMS = (("guest", 8), ("zygote", 3), ("worker", 5), ("web", 4))  # how often each is chosen


class Processes:
    """Two workers and a web of one site; `kill_one` kills something of them and starts again what has to be."""

    def __init__(self, site, workers: int = 2) -> None:
        self._site, self.port = site, free_port()
        self._seen: set[int] = set()
        self.killed = dict.fromkeys((name for name, _ in VICTIMS), 0)
        self.workers = [site.worker() for _ in range(workers)]
        self.web = self._serve()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_ready(self, seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not (answers(self.port) and all(self._zygotes(worker) for worker in self.workers)):
            if time.monotonic() > until:
                raise SystemExit(f"not up after {seconds} s: {self._site.log()[-2000:]}")
            time.sleep(0.1)

    def kill_one(self, chance: random.Random) -> bool:
        """One SIGKILL to something of a kind that is there now; False if nothing is."""
        there = [(kind, weight, pids) for kind, weight in VICTIMS if (pids := self._of(kind))]
        if not there:
            return False
        kind, _, pids = chance.choices(there, [weight for _, weight, _ in there])[0]
        pid = chance.choice(pids)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.killed[kind] += 1
        self.revive()
        return True

    def revive(self) -> None:
        """Whatever has died is started again."""
        for at, worker in enumerate(self.workers):
            if not living([worker.pid]) and worker.poll() is not None:
                self.workers[at] = self._site.worker()
        if not living([self.web.pid]) and self.web.poll() is not None:
            self.web = self._serve()

    def stop(self) -> None:
        for process in (*self.workers, self.web):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in (*self.workers, self.web):
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _of(self, kind: str) -> list[int]:
        if kind == "worker":
            return [worker.pid for worker in self.workers if self._up(worker)]
        if kind == "web":
            return [self.web.pid, *children(self.web.pid)] if answers(self.port) else []
        if kind == "zygote":
            return [pid for worker in self.workers for pid in self._zygotes(worker)]
        return [pid for worker in self.workers for pid in guests(worker.pid)]

    def _up(self, worker: subprocess.Popen) -> bool:
        """Whether it has got as far as a zygote; one that lost it since is up too."""
        if self._zygotes(worker):
            self._seen.add(worker.pid)
        return worker.pid in self._seen and worker.poll() is None

    def _zygotes(self, worker: subprocess.Popen) -> list[int]:
        return living(children(worker.pid))

    def _serve(self) -> subprocess.Popen:
        config = "python:executions.services.serving.web"
        where = f"127.0.0.1:{self.port}"
        with (self._site.var / "web.log").open("a") as log:
            streams = {"stdout": log, "stderr": log, "start_new_session": True}
            command = ["-m", "gunicorn", "-c", config, "-b", where, "forge_project.wsgi"]
            return self._site.start(sys.executable, *command, **streams)
