"""POST executions/<ref>/calls/<n>/resolve/"""

import pytest

from executions.models import Call, Execution
from forge_project.ledger.models import Event
from tests.db.api import BASE, client_of, get, refused
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)
SAID = {"observed": "applied", "result": {"line": "x"}, "reason": "I looked", "evidence": ["line 7 of the file"]}


def resolve(client, ref, body=None, n="1"):
    return client.post(f"{BASE}/executions/{ref}/calls/{n}/resolve/", SAID if body is None else body, format="json")


def test_an_operator_ends_it(api, operator, unknown):
    ref = unknown()
    assert get(api, f"/executions/{ref}/").json()["next"]["action"] == "stop"
    answer = resolve(operator, ref)
    told = answer.json()
    assert (answer.status_code, told["status"], told["side_effect"]) == (200, "succeeded", "applied")
    seen = get(api, f"/executions/{ref}/").json()
    assert (seen["result"], seen["next"]["action"], "error" in seen) == ({"line": "x"}, "done", False)
    call = get(api, f"/executions/{ref}/calls/").json()["results"][0]
    assert (call["status"], call["evidence"][-1]["actor"]) == ("resolved", "user:oscar")
    assert "call.resolved" in [event["kind"] for event in get(api, f"/executions/{ref}/events/").json()["results"]]


def test_a_second_time_is_409(operator, unknown):
    ref = unknown()
    resolve(operator, ref)
    facts = refused(resolve(operator, ref, SAID | {"observed": "not_applied"} | {}), 400, "INVALID_REQUEST")
    assert facts["path"] == "/result"
    assert refused(resolve(operator, ref), 409, "STATE_CONFLICT")["status"] == "resolved"


def test_who_may_not(api, other, ann, unknown, owner_of_all):
    ref = unknown()
    before = (Event.objects.count(), Execution.objects.values().get(), Call.objects.values().get())
    for client in (api, ann):
        assert refused(resolve(client, ref), 403, "SCOPE_DENIED")["rule"] == "execution.resolve"
    refused(resolve(other, ref), 404, "NOT_FOUND")
    refused(resolve(owner_of_all, ref), 404, "NOT_FOUND")  # an agent with an operator's group is still an agent
    assert (Event.objects.count(), Execution.objects.values().get(), Call.objects.values().get()) == before


@pytest.fixture
def owner_of_all(approver):
    from approvals.models import Agent

    user = person("sneaky", "operators")
    Agent.objects.create(user=user, owner=approver)
    return client_of(user)


@pytest.mark.parametrize("n", ["2", "999999999"])
def test_a_call_that_is_not_there(operator, unknown, n):
    refused(resolve(operator, unknown(), n=n), 404, "NOT_FOUND")


def test_a_call_that_is_not_unknown(operator, done):
    assert refused(resolve(operator, done), 409, "STATE_CONFLICT")["execution_status"] == "succeeded"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/observed"),
        ([], ""),
        (SAID | {"observed": "perhaps"}, "/observed"),
        (SAID | {"reason": ""}, "/reason"),
        (SAID | {"reason": None}, "/reason"),
        (SAID | {"reason": "a\0"}, "/reason"),
        (SAID | {"evidence": []}, "/evidence"),
        (SAID | {"evidence": "x"}, "/evidence"),
        (SAID | {"evidence": [1]}, "/evidence/0"),
        (SAID | {"evidence": ["x" * 1001]}, "/evidence/0"),
        (SAID | {"force": True}, "/force"),
        (SAID | {"result": {"line": 1}}, "/result/line"),
    ],
)
def test_a_bad_body_is_400_and_changes_nothing(operator, unknown, body, path):
    ref = unknown()
    before = (Event.objects.count(), Execution.objects.values().get(), Call.objects.values().get())
    assert refused(resolve(operator, ref, body), 400, "INVALID_REQUEST")["path"] == path
    assert (Event.objects.count(), Execution.objects.values().get(), Call.objects.values().get()) == before
