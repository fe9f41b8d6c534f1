"""GET executions/<ref>/attempts/"""

import pytest

from executions.models import Attempt, Worker
from tests.db.api import get, post
from tests.db.executions import answer, run_all, run_one

pytestmark = pytest.mark.django_db(transaction=True)


def test_none_before_it_was_claimed(api, workspace):
    ref = post(api, {"source": "1"}).json()["execution_ref"]
    assert get(api, f"/executions/{ref}/attempts/").json()["results"] == []


def test_one_that_waited_has_two(api, asked, ann, approver, runtime):
    answer(asked, approver)
    run_all(runtime)
    first, second = get(api, f"/executions/{asked.execution_ref}/attempts/").json()["results"]
    assert (first["number"], first["ending"], second["number"], second["ending"]) == (1, "parked", 2, "succeeded")
    assert first["ended_at"] <= second["started_at"]
    assert second["worker"] == str(runtime.worker_id)


def test_a_scripts_says_what_it_ran_in_and_took(api, runtime):
    ref = post(api, {"source": "await tools.call('file.list', {path: ''}).catch(() => 0); return 1"}).json()[
        "execution_ref"
    ]
    run_one(runtime)
    (told,) = get(api, f"/executions/{ref}/attempts/").json()["results"]
    assert told["isolation"] == Worker.objects.get().isolation or runtime.isolation
    assert told["guest_pid"] == Attempt.objects.get().guest_pid
    assert told["metrics"]["cpu_ms"] >= 0
