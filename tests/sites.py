"""A Forge of its own for tests with real processes: its own var, its own migrated database, its own environment."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests import environment

ROOT = Path(__file__).resolve().parent.parent


class Site:
    """Runs this checkout's commands against a database nobody else uses."""

    def __init__(self, var: Path, database_url: str, **extra: str) -> None:
        self.var, self.database_url = var, database_url
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("FORGE_")} | {
            "DJANGO_SETTINGS_MODULE": "forge_project.settings",
            "FORGE_VAR": str(var),
            "FORGE_DATABASE_URL": database_url,
            "FORGE_HOST_ID": "test-host",
            "FORGE_CAPABILITIES": "tests.marker",
            "FORGE_API_DECISIONS": "1",
            "FORGE_METRICS_BIND": "",
            "FORGE_SWEEP_SECONDS": "1",
            "FORGE_QUEUE": f"forge-{uuid.uuid4().hex[:8]}",
            **({"FORGE_BROKER_URL": environment.BROKER_URL} if environment.BROKER_URL else {}),
            "PYTHONWARNINGS": "default",
            **extra,
        }

    def command(self, *args: str) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), *args]

    def manage(self, *args: str, check: bool = True, **kwargs) -> subprocess.CompletedProcess:
        kwargs.setdefault("timeout", 120)
        done = subprocess.run(self.command(*args), env=self.env, cwd=ROOT, capture_output=True, text=True, **kwargs)
        if check and done.returncode != 0:
            raise AssertionError(f"{args} exited {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *command: str, **kwargs) -> subprocess.Popen:
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.STDOUT)
        return subprocess.Popen(command, env=self.env | kwargs.pop("env", {}), cwd=ROOT, text=True, **kwargs)

    def python(self, module: str, *args: str, **kwargs) -> subprocess.Popen:
        """Starts `python -m module args` in this site."""
        return self.start(sys.executable, "-m", module, *args, **kwargs)

    def worker(self, **env: str) -> subprocess.Popen:
        """Starts a real worker; its log goes to `var/worker.log`."""
        command = ["-m", "celery", "-A", "forge_project", "worker", "--pool", "threads", "--concurrency", "2"]
        with (self.var / "worker.log").open("a") as log:
            streams = {"stdout": log, "stderr": log, "start_new_session": True}
            return self.start(sys.executable, *command, "--loglevel", "WARNING", env=env, **streams)

    def log(self) -> str:
        """What the workers of this site said."""
        path = self.var / "worker.log"
        return path.read_text() if path.exists() else ""

    def verify(self) -> dict:
        """What `ledger_verify --json` says; fails on a finding, and where rows are not what the events tell."""
        self.manage("ledger_rebuild", "--check")
        return json.loads(self.manage("ledger_verify", "--json").stdout)


class Hand:
    """A process inside a site that does what it is told (tests/process/driver)."""

    module = "tests.process.driver"

    def __init__(self, site: Site, stderr=None) -> None:
        self._process = site.python(self.module, stdin=subprocess.PIPE, stderr=stderr)
        self._read()

    def do(self, name: str, **asked) -> dict:
        self._process.stdin.write(json.dumps({"do": name} | asked) + "\n")
        self._process.stdin.flush()
        return self._read()

    def until(self, ref: str, *statuses: str, seconds: float = 30) -> dict:
        """The execution once it has one of `statuses`; fails after `seconds`."""
        end = time.monotonic() + seconds
        while (seen := self.do("get", ref=ref))["status"] not in statuses:
            if time.monotonic() > end:
                raise AssertionError(f"{ref} is {seen} after {seconds} s")
            time.sleep(0.05)
        return seen

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def _read(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError("the hand is gone")
        return json.loads(line)


_template: list[str] = []


@contextmanager
def fresh(base: Path, **extra: str):
    """A migrated site under `base`, on the database kind this test run was given; dropped afterwards."""
    var = base / "var"
    var.mkdir(mode=0o700, parents=True)
    if not environment.DATABASE_URL:
        yield _sqlite(var, **extra)
        return
    name = f"forge_site_{uuid.uuid4().hex[:12]}"
    with _server() as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {_postgres_template(var)}")
    try:
        yield Site(var, _url(name), **extra)
    finally:
        with _server() as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _sqlite(var: Path, **extra: str) -> Site:
    site = Site(var, f"sqlite:///{var / 'forge.sqlite3'}", **extra)
    if not _template:
        template = Path(tempfile.mkdtemp(prefix="forge-template-")) / "forge.sqlite3"
        Site(var, f"sqlite:///{template}").manage("migrate", "--verbosity=0")
        _template.append(str(template))
    shutil.copy(_template[0], var / "forge.sqlite3")
    return site


def _postgres_template(var: Path) -> str:
    if not _template:
        name = f"forge_template_{uuid.uuid4().hex[:12]}"
        with _server() as server:
            server.execute(f"CREATE DATABASE {name}")
        Site(var, _url(name)).manage("migrate", "--verbosity=0")
        _template.append(name)
    return _template[0]


@atexit.register
def drop_template() -> None:
    """Drops this process's template database, if it made one."""
    while _template:
        name = _template.pop()
        if not environment.DATABASE_URL:
            shutil.rmtree(Path(name).parent, ignore_errors=True)
            continue
        with _server() as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _url(name: str) -> str:
    return environment.DATABASE_URL.rpartition("/")[0] + f"/{name}"


def _server() -> psycopg.Connection:
    return psycopg.connect(_url("postgres").replace("postgres://", "postgresql://"), autocommit=True)
