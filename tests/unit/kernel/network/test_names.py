"""A host's addresses, asked of a process that can be ended."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from forge_project.kernel.errors import Failed
from forge_project.kernel.network import names


def children():
    mine = Path(f"/proc/{os.getpid()}/task")
    return {pid for task in mine.iterdir() for pid in (task / "children").read_text().split()}


def test_the_systems_own_way_is_asked():
    """Its hosts file too."""
    assert {"127.0.0.1", "::1"} & set(names.addresses_of("localhost", 10))


@pytest.mark.parametrize(("host", "address"), [("127.0.0.1", "127.0.0.1"), ("2001:db8::1", "2001:db8::1")])
def test_an_address_is_itself_and_nobody_is_asked(monkeypatch, host, address):
    monkeypatch.setattr(subprocess, "run", None)
    assert names.addresses_of(host, 0) == [address]


@pytest.mark.parametrize("host", ["nobody.invalid", "x" * 64 + ".invalid", "--help", "a\0b"])
def test_what_stands_for_nothing(host):
    with pytest.raises(Failed, match=r"not known|looked up") as failed:
        names.addresses_of(host, 30)
    assert failed.value.code == "EXECUTION_FAILED"


@pytest.mark.parametrize("seconds", [0.3, 0, -1])
def test_one_that_hangs_is_left_at_the_deadline_and_leaves_nothing_behind(monkeypatch, seconds):
    monkeypatch.setattr(names, "_PROGRAM", "import time; time.sleep(60)")
    before, began = children(), time.monotonic()
    with pytest.raises(Failed) as late:
        names.addresses_of("silent.example", seconds)
    assert time.monotonic() - began < 2
    assert (late.value.code, late.value.facts) == ("TIMEOUT", {"rule": "net.name_deadline"})
    assert children() <= before


def test_it_ends_by_itself_where_nobody_is_left_to_end_it(monkeypatch):
    """As the program is when its worker was killed: past its time it is gone."""
    monkeypatch.setattr(names, "_PROGRAM", names._PROGRAM.replace("try:", "import time; time.sleep(60)\ntry:"))
    command = [os.sys.executable, "-I", "-S", "-c", names._PROGRAM, "silent.example", "0.2"]
    assert subprocess.run(command, timeout=10).returncode == -14  # SIGALRM


def test_no_key_of_ours_goes_along(monkeypatch):
    monkeypatch.setenv("FORGE_SECRET_KEY", "secret")
    monkeypatch.setattr(names, "_PROGRAM", "import json, os; print(json.dumps(sorted(os.environ)))")
    assert "FORGE_SECRET_KEY" not in names.addresses_of("any.example", 10)
