"""A PostgreSQL cluster and a Redis of a run's own: only what nobody else uses may be stopped in the middle."""

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path


def postgres_there() -> bool:
    return bool(_binaries()) and (getpass.getuser() != "root" or shutil.which("runuser") is not None)


def redis_there() -> bool:
    return shutil.which("redis-server") is not None


class Postgres:
    """One cluster in a temporary directory, on a port of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        self._home = Path(tempfile.mkdtemp(prefix="forge-pg-"))
        if getpass.getuser() == "root":  # initdb and the server refuse to be root
            shutil.chown(self._home, "postgres", "postgres")
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "postgres", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def _data(self) -> Path:
        return self._home / "data"

    def start(self) -> None:
        options = f"-p {self.port} -k {self._home} -c listen_addresses=127.0.0.1 -c max_connections=300"
        self._run("pg_ctl", "-D", str(self._data), "-l", str(self._home / "log"), "-o", options, "-w", "start")

    def restart(self) -> None:
        """As a crash: connections break, the log is recovered."""
        self.stop("immediate")
        self.start()

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", how, "-w", "stop")

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self._home, ignore_errors=True)

    def _run(self, name: str, *args: str) -> None:
        as_owner = ["runuser", "-u", "postgres", "--"] if getpass.getuser() == "root" else []
        command = [*as_owner, str(Path(_binaries()) / name), *args]
        subprocess.run(command, check=True, cwd=self._home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Redis:
    """One server that keeps nothing on disk: stopped, every message is lost."""

    def __init__(self) -> None:
        self.port = free_port()
        self._home = Path(tempfile.mkdtemp(prefix="forge-redis-"))
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, cwd=self._home, **quiet)
        until = time.monotonic() + 10
        while not answers(self.port):
            if time.monotonic() > until:
                raise SystemExit("redis-server does not answer")
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)


@contextmanager
def closing_all(*made):
    try:
        yield
    finally:
        for one in made:
            if one is not None:
                one.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _binaries() -> str:
    found = sorted(glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1] if found else shutil.which("initdb") or "")
