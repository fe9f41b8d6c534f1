"""A recoverer in another process never settles an operation whose worker is alive, however slow its effect is."""

import json
import os
import signal
import time

import pytest

SLOW = {"capability": "tests.marker", "input": {"text": "x"}}


@pytest.fixture
def gate(site, tmp_path):
    """The effect waits in the world for as long as this file is there; every lease is short."""
    path = tmp_path / "gate"
    path.touch()
    marker = tmp_path / "marker"
    site.env |= {"FORGE_TEST_MARKER": str(marker), "FORGE_TEST_GATE": str(path), "FORGE_LEASE_SECONDS": "3"}
    return path


@pytest.fixture
def marker(tmp_path, gate):
    return tmp_path / "marker"


def begun(hand, gate):
    """The ref of a call whose effect has begun and does not end."""
    ref = hand.do("submit", key="k", body=SLOW)["ref"]
    until = time.monotonic() + 30
    while not gate.with_name("gate.reached").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    return ref


def reconciled(site):
    return json.loads(site.manage("reconcile", "--json", check=False).stdout)["found"]


def test_a_slow_effect_of_a_living_worker_is_left_alone(site, gate, marker, hand, workers):
    workers()
    ref = begun(hand, gate)
    workers()  # it sweeps every second, too
    began, looks = time.monotonic(), []
    while len(looks) < 4 or time.monotonic() - began < 7:  # twice the lease
        looks.append(reconciled(site))
    assert looks == [[]] * len(looks)
    assert hand.do("get", ref=ref)["calls"] == [["prepared", "started"]]
    gate.unlink()
    seen = hand.until(ref, "succeeded", "failed", "unknown")
    assert (seen["status"], seen["side_effect"], seen["attempt"]) == ("succeeded", "applied", 1)
    assert marker.read_text().count("\n") == 1
    kinds = [event["kind"] for event in hand.do("events", ref=ref)["events"]]
    assert (kinds.count("tool_dispatch"), kinds.count("function_response")) == (1, 1)
    assert not {"runtime_fact", "execution.taken_over"} & set(kinds)
    assert site.verify()["findings"] == []


def test_the_same_look_settles_it_once_the_worker_is_dead(site, gate, marker, hand, workers):
    worker = workers()
    ref = begun(hand, gate)
    assert reconciled(site) == []
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    assert reconciled(site) == [{"ref": ref, "became": "failed"}]
    seen = hand.do("get", ref=ref)
    assert (seen["error"], seen["side_effect"], seen["calls"]) == (
        "INTERRUPTED",
        "not_applied",
        [["failed", "not_applied"]],
    )
    assert not marker.exists()
    assert site.verify()["findings"] == []
