"""`serve`: one supervised group; nothing of it outlives it."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.process.commands import Serve, answers, children, eventually, living


@pytest.fixture
def serve(site):
    started = []

    def start(*args, **env):
        started.append(Serve(site, *args, **env))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_all_of_it_in_good_order(serve, number):
    running = serve()
    below = running.up()
    began = time.monotonic()
    running.process.send_signal(number)
    assert running.process.wait(30) == 0
    assert time.monotonic() - began < 15
    assert living(below) == []
    assert "was killed" not in running.log.read_text()


def test_nothing_survives_its_kill_9(serve):
    running = serve()
    below = running.up()
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    eventually(lambda: living(below) == [], 5)


def test_a_child_that_dies_is_started_again(serve):
    running = serve()
    running.up()
    for name in ("gunicorn", "celery"):
        (victim,) = [pid for pid in children(running.process.pid) if _is(pid, name)]
        os.kill(victim, signal.SIGKILL)
        eventually(lambda gone=victim: living([gone]) == [])
    log = eventually(lambda: (text := running.log.read_text()).count("started") >= 4 and text)
    assert "web ended (signal 9); it starts again in" in log
    assert "worker ended (signal 9); it starts again in" in log
    running.up()


def _is(pid, name):
    return name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_it_migrates_an_empty_database(site, serve):
    empty = site.var / "empty.sqlite3"
    running = serve(FORGE_DATABASE_URL=f"sqlite:///{empty}")
    running.up()
    assert "migrations applied" in running.log.read_text()
    assert empty.stat().st_mode & 0o777 == 0o600


def test_a_taken_port_is_one_line(site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = site.manage("serve", "--bind", f"127.0.0.1:{taken.getsockname()[1]}", check=False)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("bind", "env", "told"),
    [
        ("nonsense", {}, "expected HOST:PORT"),
        ("127.0.0.1:99999", {}, "expected HOST:PORT"),
        ("127.0.0.1:0", {"FORGE_MODE": "both"}, "FORGE_MODE='both': expected one of embedded, scaled"),
        ("127.0.0.1:0", {"FORGE_MODE": "scaled"}, "FORGE_SECRET_KEY: missing"),
        ("127.0.0.1:0", {"FORGE_VAR": "/proc/none"}, "FORGE_VAR='/proc/none' can't be used: No such file or directory"),
        ("127.0.0.1:0", {"FORGE_DRAIN_SECONDS": "soon"}, "FORGE_DRAIN_SECONDS='soon': expected a whole number"),
    ],
)
def test_it_refuses_to_start_on_a_bad_setting(site, bind, env, told):
    site.env |= env
    done = site.manage("serve", "--bind", bind, check=False)
    assert (done.returncode, told in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr


def test_a_newer_database_is_left_alone(site):
    record = (
        "from django.db import connection; from django.db.migrations.recorder import MigrationRecorder as R;"
        "R(connection).record_applied('executions', '9999_later')"
    )
    site.manage("shell", "-c", record)
    done = site.manage("serve", "--bind", "127.0.0.1:0", check=False)
    assert (done.returncode, "made by a newer Forge" in done.stderr) == (1, True)


def test_it_answers_while_the_web_starts(serve):
    """The supervisor listens before anything runs: the first request waits instead of being refused."""
    assert answers(f"{serve().url}/healthz", 90)


def test_a_database_that_is_down_is_one_line(site):
    site.env["FORGE_DATABASE_URL"] = "postgres://nobody@127.0.0.1:1/none"
    done = site.manage("serve", "--bind", "127.0.0.1:0", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "the database can't be used: " in done.stderr
