"""A rotation that forgot a key, with real workers: the row waits, and goes on when a worker starts with it again."""

import signal
import time

OLD, NEW = "A" * 43 + "=", "B" * 43 + "="


def test_a_worker_without_the_key_puts_it_aside_and_one_with_it_goes_on(site, workers):
    from tests import sites

    site.env["FORGE_SEALING_KEYS"] = f"{OLD},{NEW}"  # seals with the first, opens results of either
    hand = sites.Hand(site)
    hand.do("setup")
    ref = hand.do("submit", key="k", body={"source": "return 1", "interruption": "resume"})["ref"]
    first = workers(FORGE_SEALING_KEYS=NEW)
    until = time.monotonic() + 60
    while not (seen := hand.do("moves")["open"]) or "SEAL_BROKEN" not in seen[0]["why"]:
        assert time.monotonic() < until, (seen, site.log())
        time.sleep(0.05)
    first.send_signal(signal.SIGTERM)
    first.wait(40)
    assert hand.do("get", ref=ref)["status"] == "queued"
    workers(FORGE_SEALING_KEYS=f"{NEW},{OLD}")
    seen = hand.until(ref, "succeeded", "failed", seconds=60)
    assert (seen["status"], seen["attempt"], seen["error"]) == ("succeeded", 2, "")
    hand.close()
    assert site.verify()["findings"] == []
