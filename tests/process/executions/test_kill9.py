"""Kill -9 of a real worker or guest anywhere on the road: each file is written once or not at all, and the record
says which. The writes are counted from outside (inotify)."""

import os
import signal
import time

import pytest

WRITE = {"capability": "file.write", "input": {"path": "a", "content": "new"}, "workspace": "ws"}
#  where it dies, whether the effect is in the world then
PLACES = [
    ("claim.after", False),
    ("t1.after", False),
    ("effect.middle", False),
    ("effect.after", True),
    ("t2.after", True),
    ("close.before", True),
]


def settled(hand, site, ref, *, applied):
    seen = hand.until(ref, "succeeded", "failed", "unknown", seconds=30)
    assert seen["status"] == ("succeeded" if applied else "failed"), (seen, site.log())
    assert seen["side_effect"] == ("applied" if applied else "not_applied")
    assert seen["error"] == ("" if applied else "INTERRUPTED")
    assert site.verify()["findings"] == []


@pytest.mark.parametrize(("place", "applied"), PLACES)
def test_a_killed_worker(site, hand, workers, folder, renames, place, applied):
    hand.do("allow", capability="file.write")
    ref = hand.do("submit", key="k", body=WRITE)["ref"]
    doomed = workers(FORGE_FAILPOINTS=f"{place}=kill")
    assert doomed.wait(30) == -signal.SIGKILL
    workers()
    settled(hand, site, ref, applied=applied)
    assert renames.names() == (["a"] if applied else [])
    assert sorted(path.name for path in folder.iterdir()) == (["a"] if applied else [])


def test_a_worker_killed_while_a_person_thinks(site, hand, workers, folder, renames):
    ref = hand.do("submit", key="k", body=WRITE)["ref"]
    first = workers()
    hand.until(ref, "waiting_approval")
    first.kill()
    first.wait()
    assert hand.do("approve", ref=ref)["approved"]
    workers()
    settled(hand, site, ref, applied=True)
    assert renames.names() == ["a"]


def test_a_killed_guest_ends_its_own_execution_only(site, hand, workers, renames):
    """It died under a living worker: not resumed; the next script runs."""
    source = "await tools.call('file.list', {}); for(;;);"
    body = {"source": source, "workspace": "ws", "limits": {"cpu_ms": 60000}, "timeout_ms": 60000}
    ref = hand.do("submit", key="k", body=body)["ref"]
    worker = workers()
    until = time.monotonic() + 20
    while not (pids := hand.do("get", ref=ref)["guests"]) or pids == [None]:
        assert time.monotonic() < until, site.log()
        time.sleep(0.02)
    os.kill(pids[0], signal.SIGKILL)
    seen = hand.until(ref, "failed")
    assert (seen["error"], seen["side_effect"]) == ("ISOLATE_FAILURE", "not_applied")
    again = hand.do("submit", key="k2", body={"source": "return 1"})["ref"]
    assert hand.until(again, "succeeded")["result"] == 1
    assert worker.poll() is None
    assert site.verify()["findings"] == []


def test_three_approvals_in_any_order_over_two_worker_restarts(site, hand, workers, folder, renames):
    source = """
      const names = await Promise.all(['a', 'b', 'c'].map(async path =>
        (await tools.call('file.write', {path, content: path + Math.random()})).path));
      return [names, Math.random(), Date.now()];
    """
    ref = hand.do("submit", key="k", body={"source": source, "workspace": "ws"})["ref"]
    for _ in range(3):
        worker = workers()
        hand.until(ref, "waiting_approval")
        worker.kill()
        worker.wait()
        assert hand.do("approve", ref=ref)["approved"]
    workers()
    seen = hand.until(ref, "succeeded")
    assert seen["result"][0] == ["a", "b", "c"]
    assert sorted(renames.names()) == ["a", "b", "c"]
    assert seen["calls"] == [["succeeded", "applied"]] * 3
    assert site.verify()["findings"] == []


def test_a_worker_that_is_asked_to_end_ends_in_good_order(site, hand, workers, renames):
    """SIGTERM: what runs is given back and goes on elsewhere; the worker says goodbye and exits 0."""
    source = "for (let i = 0; i < 40; i++) { await tools.call('file.list', {}); const t = Date.now(); } return 'done'"
    ref = hand.do("submit", key="k", body={"source": source, "workspace": "ws"})["ref"]
    worker = workers()
    hand.until(ref, "running", "succeeded")
    worker.terminate()
    assert worker.wait(30) == 0, site.log()
    assert hand.do("get", ref=ref)["status"] in ("queued", "succeeded")
    assert hand.do("get", ref=ref)["workers"] == 0
    workers()
    assert hand.until(ref, "succeeded")["result"] == "done"
