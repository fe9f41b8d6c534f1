"""A real sleep over a killed worker: nobody holds it, and it ends when it is due."""

import signal
import time

from executions.services.processes import start_time

SOURCE = "const before = Date.now(); await sleep(6000); return [Date.now() - before, Math.random()]"


def test_a_sleep_outlives_its_worker(site, hand, workers):
    ref = hand.do("submit", key="k", body={"source": SOURCE})["ref"]
    first = workers()
    until = time.monotonic() + 30
    while not (seen := hand.do("get", ref=ref))["calls"] or seen["status"] != "queued":
        assert time.monotonic() < until, (seen, site.log())
        time.sleep(0.05)
    assert hand.do("held")["held"] == 0
    assert [start_time(pid) for pid in seen["guests"]] == [None]  # its guest is gone
    first.kill()
    assert first.wait() == -signal.SIGKILL
    workers()
    seen = hand.until(ref, "succeeded", "failed", seconds=40)
    assert (seen["status"], seen["attempt"], seen["calls"]) == ("succeeded", 2, [["succeeded", "not_started"]])
    assert seen["result"][0] >= 6000
    assert hand.do("steps", ref=ref) == {"calls": [["prepared", "outcome_committed"]], "taken_over": 0}
    assert site.verify()["findings"] == []
