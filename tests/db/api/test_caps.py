"""What a caller over its caps is told, and how many may wait in a web thread."""

import logging
import threading

import pytest
from django.db import connections

from executions.api import polls
from executions.models import CallerRefused, Execution
from forge_project.ledger.models import Invocation
from tests.db.api import get, post, refused

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_full_queue_is_429_and_nothing_is_stored(api, settings, caplog):
    settings.FORGE_CALLER_QUEUED = 1
    post(api, {"source": "1"}, "k1")
    with caplog.at_level(logging.WARNING, "forge.queue"):
        answer = post(api, {"source": "1"}, "k2")
    assert refused(answer, 429, "QUEUE_FULL") == {"rule": "queue.full", "limit": 1, "retry_after": 5}
    assert answer["Retry-After"] == "5"
    assert (Execution.objects.count(), Invocation.objects.count()) == (1, 1)
    assert list(CallerRefused.objects.values_list("caller__username", "rule", "times")) == [("robo", "queue.full", 1)]
    assert "queue_rejected: robo" in caplog.text
    assert post(api, {"source": "1"}, "k1").status_code == 200


def test_a_callers_fifth_wait_is_answered_at_once(api, caller):
    ref = post(api, {"source": "1"}).json()["execution_ref"]
    waits = [polls.patience(caller.pk, 60) for _ in range(polls.OF_CALLER)]
    assert [wait.__enter__() for wait in waits] == [60] * 4
    try:
        assert get(api, f"/executions/{ref}/", wait=60).json()["status"] == "queued"
        with polls.patience(caller.pk + 1, 60) as another:
            assert another == 60
    finally:
        for wait in waits:
            wait.__exit__(None, None, None)
    with polls.patience(caller.pk, 60) as later:
        assert later == 60


def test_waits_hold_at_most_half_of_the_web_threads(caller):
    waits = [polls.patience(n, 60) for n in range(polls.IN_ALL + 1)]
    assert [wait.__enter__() for wait in waits] == [60] * polls.IN_ALL + [0]
    for wait in waits:
        wait.__exit__(None, None, None)
    assert polls._waiting == {}


def test_a_wait_that_breaks_off_leaves_its_place(caller):
    with pytest.raises(RuntimeError), polls.patience(caller.pk, 60):
        raise RuntimeError
    assert polls._waiting == {}


def test_real_waits_count(api, caller):
    ref = post(api, {"source": "1"}).json()["execution_ref"]

    def ask():
        get(api, f"/executions/{ref}/", wait=60)
        connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while polls._waiting[caller.pk] < 4:
        pass
    assert get(api, f"/executions/{ref}/", wait=60).json()["status"] == "queued"
    api.post(f"/api/v1/executions/{ref}/cancel/", {"reason": "enough"}, format="json")
    for thread in threads:
        thread.join(20)
    assert polls._waiting == {}
