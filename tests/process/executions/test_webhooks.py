"""A real worker delivers; killed right after sending, the delivery is not lost: another worker sends it again."""

import json
import signal

from standardwebhooks import Webhook as Verifier

from tests.receiver import receiver, wait_for
from tests.sites import Hand, fresh


def test_at_least_once_over_a_kill(tmp_path):
    extra = {"FORGE_NETWORK_ALLOW": "127.0.0.0/8", "FORGE_WEBHOOK_HTTP": "1", "FORGE_WEBHOOK_SECONDS": "1"}
    with fresh(tmp_path, **extra) as site, receiver() as server:
        hand = Hand(site)
        hand.do("setup")
        secret = hand.do("subscribe", url=f"{server.url}/in")["secret"]
        ref = hand.do("submit", key="k", body={"source": "return 1"})["ref"]
        assert site.worker(FORGE_FAILPOINTS="deliver.sent=kill").wait(60) == -signal.SIGKILL, site.log()
        assert (len(server.got), hand.do("deliveries")["states"]) == (1, ["pending"])
        worker = site.worker()
        wait_for(lambda: hand.do("deliveries")["states"] == ["delivered"], 40)
        worker.terminate()
        assert worker.wait(40) == 0, site.log()
        hand.close()
    assert len(server.got) == 2
    assert len(set(server.ids())) == 1
    told = [Verifier(secret).verify(body, headers) for _, headers, body in server.got]
    assert told[0] == told[1]
    assert (told[0]["data"]["execution_ref"], told[0]["data"]["status"]) == (ref, "succeeded")
    assert "Traceback" not in site.log()
    said = [json.loads(line) for line in site.log().splitlines() if line.startswith("{")]
    ours = [line["event"] for line in said if line.get("execution_ref") == ref]
    assert ours == ["started", "succeeded"]  # the worker's log; it was submitted elsewhere
    assert secret not in site.log()
