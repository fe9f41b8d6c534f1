"""POST executions/<ref>/cancel/"""

import pytest

from executions.models import Execution
from tests.db.api import BASE, get, post, refused

pytestmark = pytest.mark.django_db(transaction=True)


def cancel(client, ref, body=None):
    return client.post(
        f"{BASE}/executions/{ref}/cancel/", {"reason": "enough"} if body is None else body, format="json"
    )


@pytest.fixture
def queued(api):
    return post(api, {"source": "1"}).json()["execution_ref"]


def test_a_queued_one_ends_at_once(api, queued):
    answer = cancel(api, queued)
    told = answer.json()
    assert (answer.status_code, told["status"], told["cancel_requested"]) == (202, "cancelled", True)
    assert (told["cancel_reason"], told["error"]["code"]) == ("enough", "CANCELLED")
    assert told["next"]["action"] == "stop"
    assert told == get(api, f"/executions/{queued}/").json()


def test_a_waiting_one_takes_its_question_back(api, asked):
    assert cancel(api, asked.execution_ref).json()["status"] == "cancelled"
    asked.refresh_from_db()
    assert asked.state == "revoked"


def test_a_finished_one_is_409(api, done):
    assert refused(cancel(api, done), 409, "STATE_CONFLICT")["status"] == "succeeded"


def test_an_operator_may_an_approver_may_not(operator, ann, queued):
    assert refused(cancel(ann, queued), 403, "SCOPE_DENIED")["rule"] == "execution.cancel"
    assert cancel(operator, queued).status_code == 202
    assert Execution.objects.get().cancel_requested_by == "user:oscar"


def test_anothers_is_not_there(other, queued):
    refused(cancel(other, queued), 404, "NOT_FOUND")
    assert Execution.objects.get().status == "queued"


@pytest.mark.parametrize(
    "body",
    [{}, [], {"reason": ""}, {"reason": "  "}, {"reason": 1}, {"reason": "x" * 501}, {"reason": "x\0"},
     {"reason": "x", "force": True}, {"reason": None}],
)  # fmt: skip
def test_a_bad_body_is_400(api, queued, body):
    refused(cancel(api, queued, body), 400, "INVALID_REQUEST")
    assert Execution.objects.get().status == "queued"
