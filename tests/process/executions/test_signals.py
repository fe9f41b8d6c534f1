"""Kill -9 around the commit of a transition: its signal is there exactly when the transition is."""

import json
import signal
import subprocess

import pytest

WRITE = {"capability": "file.write", "input": {"path": "a", "content": "new"}, "workspace": "ws"}
ASKED = "APPROVAL_REQUESTED pending"


def killed(site, place, **asked):
    """A hand that dies by kill -9 at `place` while it does what is asked."""
    env = {"FORGE_FAILPOINTS": f"{place}=kill"}
    with site.python("tests.process.driver", stdin=subprocess.PIPE, env=env) as doomed:
        doomed.stdin.write(json.dumps(asked) + "\n")
        doomed.stdin.flush()
        assert doomed.wait(30) == -signal.SIGKILL


@pytest.mark.parametrize(("place", "there"), [("ledger.after_head", False), ("publish.before", True)])
def test_a_decision_and_its_signal(site, hand, workers, folder, place, there):
    ref = hand.do("submit", key="k", body=WRITE)["ref"]
    worker = workers()
    hand.until(ref, "waiting_approval")
    worker.kill()
    worker.wait()
    killed(site, place, do="approve", ref=ref)
    assert hand.do("get", ref=ref)["status"] == ("queued" if there else "waiting_approval")
    assert hand.do("signals", ref=ref)["kinds"] == [ASKED, *(["APPROVAL_DECIDED approved"] if there else [])]
    assert site.verify()["findings"] == []


def test_an_end_and_its_signal(site, hand, workers, folder):
    """The second write of the worker closes the execution: killed before its commit, there is no end and no signal."""
    ref = hand.do("submit", key="k", body={"source": "return 1", "interruption": "resume"})["ref"]
    assert workers(FORGE_FAILPOINTS="ledger.after_head:2=kill").wait(30) == -signal.SIGKILL
    assert hand.do("get", ref=ref)["status"] == "running"
    assert hand.do("signals", ref=ref)["kinds"] == []
    workers()
    hand.until(ref, "succeeded")
    assert hand.do("signals", ref=ref)["kinds"] == ["RECOVERY_RESUME queued", "EXECUTION_FINISHED succeeded"]
