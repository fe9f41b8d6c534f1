"""Checkpoints by themselves, in real processes: after so many events, beside a sink that fails, after a SIGKILL."""

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from forge_project.ledger import sink
from tests.process.commands import Serve, children, eventually, living


@pytest.fixture
def keeper(site):
    started = []

    def start(*args, **env):
        with (site.var / "keeper.log").open("a") as log:
            started.append(site.start(*site.command("ledger_checkpoint", *args), stdout=log, stderr=log, env=env))
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def file(site):
    path = site.var / "elsewhere" / "sink"
    site.env["FORGE_CHECKPOINT_SINK"] = str(path)
    return path


def write(site, events, chain="chain"):
    writer = site.python("tests.process.ledger.writer", chain, str(events), "0", stdin=subprocess.PIPE)
    writer.communicate("go\n", timeout=60)
    assert writer.returncode == 0


def numbers(path):
    return [line.body()["checkpoint"] for line in sink.read(path)] if path.exists() else []


def told(serve):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{serve.url}/readyz", timeout=5) as answer:
        return json.loads(answer.read())


def test_so_many_events_are_enough(site, keeper, file):
    write(site, 1)
    running = keeper("--every", "3600", "--events", "20")
    eventually(lambda: numbers(file) == [1])
    write(site, 10)
    write(site, 15)
    eventually(lambda: numbers(file) == [1, 2])
    running.send_signal(signal.SIGTERM)
    assert running.wait(10) == 0
    assert site.manage("ledger_verify", "--against", str(file), "--json").returncode == 0
    heads = [line.body()["heads"][0][1] for line in sink.read(file)]
    assert heads[0] == 1
    assert heads[1] >= 20  # one looked at the second writer's middle is as good as one after it


def test_so_many_seconds_are_enough(site, keeper, file):
    keeper("--every", "1")
    for number in (1, 2):
        write(site, 1)
        eventually(lambda due=number: numbers(file)[-1:] == [due])


@pytest.mark.parametrize("point", ["ledger.checkpoint", "ledger.sink"])
def test_killed_inside_it_goes_on_with_one_chain(site, keeper, file, point):
    write(site, 3)
    running = keeper("--every", "3600", FORGE_FAILPOINTS=f"{point}:1=kill")
    assert running.wait(30) == -signal.SIGKILL
    assert numbers(file) == ([1] if point == "ledger.sink" else [])
    write(site, 3, "other")
    keeper("--every", "3600")
    last = 2 if point == "ledger.sink" else 1  # killed before its commit, the first was never made
    eventually(lambda: numbers(file) == list(range(1, last + 1)))
    found = site.manage("ledger_verify", "--against", str(file), "--json")
    assert json.loads(found.stdout)["findings"] == []
    said = json.loads(site.manage("doctor", "--json", check=False).stdout)
    assert [one["said"] for one in said if one["part"] == "checkpoints"] == [f"{last} signed, sent to a file"]


def test_two_keepers_write_one_chain(site, keeper, file):
    two = [keeper("--every", "0.2") for _ in range(2)]
    for _ in range(5):
        write(site, 3)
    eventually(lambda: numbers(file) and json.loads(verified(site, file).stdout)["findings"] == [])
    assert numbers(file) == list(range(1, len(numbers(file)) + 1))
    assert [one.poll() for one in two] == [None, None]


def verified(site, file):
    return site.manage("ledger_verify", "--against", str(file), "--json")


@pytest.fixture
def serve(site):
    started = []

    def start(**env):
        started.append(Serve(site, **env))
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_a_sink_that_fails_stops_nothing_and_is_told(site, serve, file):
    write(site, 3)
    file.parent.touch()  # where its directory should be
    running = serve(FORGE_CHECKPOINT_KEY="A" * 43 + "=")
    below = running.up()
    why = "checkpoint 1 is not in the sink: the file can't be written: File exists"
    eventually(lambda: told(running)["warnings"] == {"checkpoints": why})
    assert told(running)["status"] == "ready"
    names = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(running.process.pid)}
    (signing,) = [pid for pid, name in names.items() if b"ledger_checkpoint" in name]
    holding = [pid for pid in [*below, *names] if b"FORGE_CHECKPOINT_KEY=" in environ(pid)]
    assert set(holding) == {signing}  # the key is that process's alone
    file.parent.unlink()
    os.kill(signing, signal.SIGKILL)  # started again, it tries at once
    eventually(lambda: numbers(file) == [1])
    eventually(lambda: told(running)["warnings"] == {})
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(30) == 0
    assert living(below) == []
    assert "was killed" not in running.log.read_text()


def environ(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
