"""Real workers that are stopped, not killed: whoever takes over makes sure of their end, or says that it can't know."""

import os
import signal
import time

import pytest

SLOW = {"capability": "tests.slow", "input": {"text": "x"}}
LEASE = {"FORGE_LEASE_SECONDS": "3"}


@pytest.fixture
def marker(site, tmp_path):
    path = tmp_path / "marker"
    site.env |= {"FORGE_TEST_MARKER": str(path), "FORGE_CAPABILITIES": "tests.marker,tests.slow"} | LEASE
    return path


@pytest.fixture
def slow(marker, hand):
    """Slow effects that have begun; `open_gate` lets them happen."""

    def begin(*keys):
        return [hand.do("submit", key=key, body=SLOW)["ref"] for key in keys]

    return begin


def open_gate(marker):
    marker.with_name(marker.name + ".gate").touch()


def lines(marker):
    return marker.read_text().splitlines() if marker.exists() else []


def begun(hand, site, *refs):
    until = time.monotonic() + 30
    while any(hand.do("get", ref=ref)["calls"] != [["prepared", "started"]] for ref in refs):
        assert time.monotonic() < until, site.log()
        time.sleep(0.05)


def test_a_stopped_worker_of_this_host_is_killed_before_its_effects_are_looked_at(site, slow, hand, workers, marker):
    [ref] = slow("k")
    stopped = workers()
    begun(hand, site, ref)
    os.kill(stopped.pid, signal.SIGSTOP)
    other = workers()
    seen = hand.until(ref, "failed", "succeeded", "unknown", seconds=40)
    assert stopped.wait(10) == -signal.SIGKILL  # it can't wake up and do it after all
    assert (seen["status"], seen["error"], seen["side_effect"]) == ("failed", "INTERRUPTED", "not_applied")
    open_gate(marker)
    again = hand.do("submit", key="k2", body=SLOW)["ref"]
    assert hand.until(again, "succeeded")["side_effect"] == "applied"
    assert (len(lines(marker)), other.poll()) == (1, None)
    assert site.verify()["findings"] == []


def test_one_stopped_elsewhere_leaves_unknown_effects_and_may_only_say_what_happened(site, slow, hand, workers, marker):
    [ref] = slow("k")
    stopped = workers(FORGE_HOST_ID="another-host")
    begun(hand, site, ref)
    os.kill(stopped.pid, signal.SIGSTOP)
    workers()
    seen = hand.until(ref, "failed", "succeeded", "unknown", seconds=40)
    assert (seen["status"], seen["error"], seen["side_effect"]) == ("unknown", "UNKNOWN_SIDE_EFFECT", "unknown")
    assert (stopped.poll(), lines(marker)) == (None, [])  # its host is not ours: nobody kills it
    assert hand.do("look_again", ref=ref)["found"] == []
    open_gate(marker)
    os.kill(stopped.pid, signal.SIGCONT)
    until = time.monotonic() + 30
    while (told := hand.do("steps", ref=ref))["calls"][0][-1] != "late_outcome":
        assert time.monotonic() < until, (told, site.log())
        time.sleep(0.05)
    assert told == {"calls": [["prepared", "reconcile_observed", "recovery_parked", "late_outcome"]], "taken_over": 1}
    seen = hand.do("get", ref=ref)
    assert (seen["status"], seen["attempt"], len(lines(marker))) == ("unknown", 1, 1)
    assert hand.do("look_again", ref=ref)["found"] == []  # it lives again: what it began is its own to look at
    assert hand.until(ref, "succeeded")["side_effect"] == "applied"  # and now it can be seen
    again = hand.do("submit", key="k2", body=SLOW)["ref"]
    assert hand.until(again, "succeeded")["side_effect"] == "applied"
    assert (len(lines(marker)), stopped.poll()) == (2, None)
    assert site.verify()["findings"] == []


@pytest.mark.parametrize("second", ["test-host", "another-host"])
def test_two_runtimes_leave_each_others_live_work_alone(site, slow, hand, workers, marker, second):
    """Effects longer than a lease, sweeps every second, and a `reconcile` by hand in the middle."""
    refs = slow(*"abcd")
    running = [workers(), workers(FORGE_HOST_ID=second)]
    begun(hand, site, *refs)
    running.append(workers())
    until = time.monotonic() + 5
    while time.monotonic() < until:
        assert "0 executions whose worker is gone" in site.manage("reconcile").stdout
    open_gate(marker)
    for ref in refs:
        seen = hand.until(ref, "succeeded", "failed", "unknown")
        assert (seen["status"], seen["attempt"], seen["side_effect"]) == ("succeeded", 1, "applied")
        assert hand.do("steps", ref=ref) == {"calls": [["prepared", "outcome_committed"]], "taken_over": 0}
    assert (len(lines(marker)), [worker.poll() for worker in running]) == (4, [None] * 3)
    assert site.verify()["findings"] == []
