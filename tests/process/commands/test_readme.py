"""README.md is true: its tour runs as printed, its example is a capability, its settings are all there are."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.process.commands import Serve
from tests.sites import ROOT

README = (ROOT / "README.md").read_text()


def block(heading, kind):
    """The first fenced block of `kind` under a heading."""
    return re.search(rf"^## {heading}$.*?^```{kind}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]


def test_every_setting_is_listed():
    told = (ROOT / "forge_project/settings.py").read_text() + (ROOT / "forge_project/env.py").read_text()
    read = set(re.findall(r'"(FORGE_[A-Z_]+)"', told))
    assert read == set(re.findall(r"^\| `(FORGE_[A-Z_]+)` \|", README, re.MULTILINE))


def test_every_command_is_listed():
    commands = [*(ROOT / "executions/management/commands").glob("[a-z]*.py")]
    commands += (ROOT / "forge_project/ledger/management/commands").glob("[a-z]*.py")
    operators = re.search(r"^\| Operators \| (.*) \|$", README, re.MULTILINE)[1]
    assert {path.stem for path in commands} == set(re.findall(r"`(\w+)`", operators))


def test_every_capability_is_listed(site):
    site.env["FORGE_CAPABILITIES"] = ""
    known = {one["name"] for one in json.loads(site.manage("capabilities", "--json").stdout)}
    told = re.search(r"^\| Capabilities \| (.*) \|$", README, re.MULTILINE)[1]
    assert known == set(re.findall(r"`([\w.-]+)`", told))


def test_the_example_is_a_capability(site, tmp_path):
    (tmp_path / "example.py").write_text(block("Adding a capability", "python"))
    site.env |= {"FORGE_CAPABILITIES": "example", "PYTHONPATH": str(tmp_path)}
    told = json.loads(site.manage("capabilities", "text.countWords", "--json").stdout)
    assert (told["effect"], told["recovery_mode"]) == ("read", "replay_safe")


@pytest.fixture
def serve(site):
    running = Serve(site)
    running.up()
    yield running
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(120) == 0


def test_the_tour_runs_as_printed(site, serve, tmp_path):
    tour = block("A tour", "sh")
    tour = tour.replace("http://127.0.0.1:8000", serve.url).replace(".venv/bin/python", sys.executable)
    env = site.env | {"HOME": str(tmp_path), "no_proxy": "127.0.0.1", "PATH": os.environ["PATH"]}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", tour], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for line in ("waiting_approval", "-hello", "+HELLO", "approved", "succeeded", "HELLO"):
        assert line in lines, done.stdout
    assert lines.index("waiting_approval") < lines.index("approved") < lines.index("succeeded") < lines.index("HELLO")
    assert lines[-1].startswith("chain verified: ")
    assert (tmp_path / "forge-tour/greeting.txt").read_text() == "HELLO\n"
