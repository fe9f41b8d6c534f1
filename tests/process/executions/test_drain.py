"""SIGTERM of a real worker in the middle of everything: it ends in time and in good order, and nothing is lost."""

import time

import pytest

from tests.process.executions.test_leases import SLOW, begun, lines, open_gate

DRAIN = 8
LOOP = "for (;;) await tools.call('file.list', {})"
SCRIPT = "const told = await tools.call('tests.slow', {text: 's'}); return [told.line.split(' ')[1], Math.random()]"
WRITE = {"capability": "file.write", "input": {"path": "a", "content": "x"}, "workspace": "ws"}


@pytest.fixture
def marker(site, tmp_path):
    path = tmp_path / "marker"
    site.env |= {"FORGE_TEST_MARKER": str(path), "FORGE_CAPABILITIES": "tests.marker,tests.slow"}
    site.env["FORGE_DRAIN_SECONDS"] = str(DRAIN)
    return path


def drained(worker, site):
    """SIGTERM has been sent: the exit code, within the time there is."""
    start = time.monotonic()
    assert worker.wait(DRAIN + 20) == 0, site.log()
    assert time.monotonic() - start <= DRAIN + 1, site.log()  # a busy machine takes its time to end a process


def test_what_runs_is_finished_or_given_back(marker, site, hand, workers, folder):
    parked = hand.do("submit", key="parked", body=WRITE)["ref"]
    worker = workers()
    hand.until(parked, "waiting_approval")
    single = hand.do("submit", key="single", body=SLOW)["ref"]
    script = hand.do("submit", key="script", body={"source": SCRIPT})["ref"]
    begun(hand, site, single, script)
    body = {
        "source": LOOP,
        "workspace": "ws",
        "input": {"stop": False},
        "timeout_ms": 600_000,
        "limits": {"max_calls": 10_000},
    }
    loop = hand.do("submit", key="loop", body=body)["ref"]
    hand.until(loop, "running")
    worker.terminate()
    open_gate(marker)
    drained(worker, site)
    assert hand.do("get", ref=parked)["status"] == "waiting_approval"
    assert hand.do("get", ref=single)["status"] == "succeeded"
    assert {hand.do("get", ref=ref)["status"] for ref in (script, loop)} <= {"queued", "succeeded"}
    left = hand.do("get", ref=loop)
    assert (left["status"], left["error"], left["workers"], hand.do("held")["held"]) == ("queued", "", 0, 0)
    workers()
    assert hand.do("approve", ref=parked)["approved"]
    assert hand.until(parked, "succeeded")["side_effect"] == "applied"
    assert hand.until(script, "succeeded")["result"][0] == "s"
    assert hand.until(loop, "running", "succeeded", "failed")["status"] != "failed"
    assert hand.do("cancel", ref=loop)["status"] in ("running", "cancelled")
    hand.until(loop, "cancelled", "failed")
    assert (sorted(line.split()[1] for line in lines(marker)), (folder / "a").read_text()) == (["s", "x"], "x")
    assert [hand.do("steps", ref=ref)["taken_over"] for ref in (parked, single, script, loop)] == [0] * 4
    assert site.verify()["findings"] == []


def test_an_effect_that_takes_longer_is_settled_by_looking(marker, site, hand, workers):
    ref = hand.do("submit", key="single", body=SLOW)["ref"]
    worker = workers()
    begun(hand, site, ref)
    worker.terminate()
    drained(worker, site)
    assert hand.do("get", ref=ref)["status"] == "running"  # nobody knows better yet
    workers()
    seen = hand.until(ref, "failed", "succeeded", "unknown")
    assert (seen["status"], seen["error"], seen["side_effect"], lines(marker)) == (
        "failed",
        "INTERRUPTED",
        "not_applied",
        [],
    )
    assert site.verify()["findings"] == []
