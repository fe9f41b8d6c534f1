"""`demo`: the main job on real input, every claim checked."""

import os
import re
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress

import pytest

from tests.process.commands import answers, descendants, eventually, living


@pytest.fixture
def demo(site, tmp_path):
    """Starts a demo; its output goes to a file."""
    started = []

    def start(*args):
        log = tmp_path / f"demo-{len(started)}.log"
        with log.open("w") as output:
            process = site.start(*site.command("demo", *args), stdout=output, stderr=subprocess.STDOUT)
        started.append(process)
        return process, log

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_it_holds_what_it_claims_beside_a_taken_port(demo, site):
    began = time.monotonic()
    with ExitStack() as stack:
        with suppress(OSError):  # somebody else has taken it: all the better
            stack.enter_context(socket.create_server(("127.0.0.1", 8000)))
        process, log = demo("--keep")
        code = process.wait(90)
    said = log.read_text()
    assert code == 0, said
    assert time.monotonic() - began < 90
    assert "http://127.0.0.1:8000 " not in said.splitlines()[2]
    assert "+++ b/README.md" in said
    assert re.search(r"^effects applied: 1$", said, re.MULTILINE)
    verified = re.search(r"^ledger verified: (\d+) events$", said, re.MULTILINE)
    assert int(verified[1]) > 10
    for kind in ("execution.submitted", "approval.requested", "execution.parked", "approval.consumed", "completed"):
        assert re.search(rf"^\d\d:\d\d:\d\d\.\d{{3}} +\d+  {re.escape(kind)}", said, re.MULTILINE)
    assert re.search(r"user demo-approver   password \S+", said)
    (place,) = (site.var / "demo").glob("run-*")
    assert (place / "project" / ".git").is_dir()
    process, log = demo()  # again: the kept one stays
    assert process.wait(90) == 0, log.read_text()
    assert place.exists()


def test_it_leaves_the_decision_to_a_person(demo):
    process, log = demo("--leave-pending")

    def waiting():
        assert process.poll() is None, log.read_text()
        return re.search(r"decide it: (http://[0-9.:]+)(/admin/approvals/approval/appr_\w+/change/)", log.read_text())

    found = eventually(waiting, 60)
    assert re.search(r"user demo-approver   password \S+", log.read_text())
    assert answers(f"{found[1]}/admin/login/?next={found[2]}")
    below = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0, log.read_text()
    assert living(below) == []


def test_nothing_survives_its_kill_9(demo):
    process, log = demo()
    below = eventually(lambda: "the agent sent" in log.read_text() and descendants(process.pid), 60)
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: living(below) == [], 90)
