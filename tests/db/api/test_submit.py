"""POST executions/"""

import threading
from urllib.parse import quote

import pytest
from django.db import connections

from approvals.models import Approval
from approvals.services.expire import expire_due
from executions.models import Execution
from forge_project.kernel import clock
from tests.db.api import READ, WRITE, client_of, get, post, refused
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)


def test_new_and_unfinished_is_202(api, workspace):
    answer = post(api, READ)
    ref = answer.json()["execution_ref"]
    assert (answer.status_code, answer["Retry-After"]) == (202, "1")
    assert answer["Location"] == f"http://testserver/api/v1/executions/{ref}/"
    assert answer.json()["next"]["action"] == "wait"
    assert "Idempotent-Replay" not in answer


def test_the_same_key_is_200_and_the_same_execution(api, workspace, runtime):
    first = post(api, READ).json()
    again = post(api, READ)
    assert (again.status_code, again["Idempotent-Replay"]) == (200, "true")
    assert again.json() == first
    run_all(runtime)
    assert post(api, READ).json()["status"] == "failed"
    assert Execution.objects.count() == 1


def test_the_same_key_with_another_body_is_409(api, workspace):
    ref = post(api, READ).json()["execution_ref"]
    facts = refused(post(api, WRITE | {"capability": "file.read", "input": {"path": "b"}}), 409, "IDEMPOTENCY_CONFLICT")
    assert facts == {"execution": ref}


def test_a_key_is_its_callers_own(api, other):
    first, second = post(api, {"source": "1"}).json(), post(other, {"source": "1"}).json()
    assert first["execution_ref"] != second["execution_ref"]


def test_32_threads_with_one_key_make_one_execution(caller, workspace):
    barrier, answers = threading.Barrier(32), []
    clients = [client_of(caller) for _ in range(32)]

    def send(client):
        barrier.wait(20)
        answers.append(post(client, READ))
        connections.close_all()

    threads = [threading.Thread(target=send, args=[client]) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answer.status_code for answer in answers) == [200] * 31 + [202]
    assert len({answer.json()["execution_ref"] for answer in answers}) == 1
    assert Execution.objects.count() == 1


def test_wait_answers_200_once_it_has_finished(api, workspace, folder, runtime, driven):
    (folder / "a.txt").write_text("hello")
    with driven(runtime):
        answer = post(api, READ, query="?wait=30")
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    assert answer.json()["result"]["content"] == "hello"
    assert "Location" not in answer


def test_wait_answers_202_once_a_person_is_needed(api, workspace, runtime, driven):
    with driven(runtime):
        answer = post(api, WRITE, query="?wait=30")
    told = answer.json()
    assert (answer.status_code, told["status"], answer["Retry-After"]) == (202, "waiting_approval", "5")
    assert get(api, f"/approvals/{told['approval_ref']}/").json()["state"] == "pending"


@pytest.mark.django_db
@pytest.mark.parametrize("wait", ["-1", "61", "x", "1.5", "", "1e1", "9" * 2000, "\0", "1&wait=1"])
def test_a_bad_wait_is_400_and_starts_nothing(api, workspace, wait):
    query = f"?wait={quote(wait, safe='&=')}"
    assert refused(post(api, READ, query=query), 400, "INVALID_REQUEST")["path"] == "/wait"
    assert not Execution.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("key", [None, "", "a b", "x" * 151, "ключ"])
def test_a_bad_key_is_400(api, key):
    assert refused(post(api, {"source": "1"}, key), 400, "INVALID_REQUEST")["rule"] == "request.idempotency_key"


def test_a_person_submits_nothing(ann):
    assert refused(post(ann, {"source": "1"}), 403, "SCOPE_DENIED")["rule"] == "caller.no_agent"


def test_a_workspace_that_is_not_granted_is_403(other, workspace):
    assert refused(post(other, READ), 403, "SCOPE_DENIED")["path"] == "/workspace"


def test_over_the_queues_cap_is_429(api, settings):
    settings.FORGE_CALLER_QUEUED = 1
    assert post(api, {"source": "1"}, "k1").status_code == 202
    answer = post(api, {"source": "1"}, "k2")
    refused(answer, 429, "QUEUE_FULL")
    assert answer["Retry-After"] == "5"
    assert Execution.objects.count() == 1


def test_a_key_that_asks_again_is_accepted_like_a_new_one(api, asked, runtime):
    Approval.objects.update(expires_at=clock.now())
    expire_due()
    run_all(runtime)
    told = get(api, f"/executions/{asked.execution_ref}/").json()
    assert (told["error"]["code"], told["next"]["action"], told["attempt_count"]) == ("APPROVAL_EXPIRED", "resubmit", 2)
    answer = post(api, WRITE, "asked")
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/{asked.execution_ref}/")
    assert "Idempotent-Replay" not in answer
    assert (answer.json()["status"], answer.json()["round"]) == ("queued", 1)
    assert post(api, WRITE, "asked")["Idempotent-Replay"] == "true"
    run_all(runtime)
    ids = [call["call_id"] for call in get(api, f"/executions/{asked.execution_ref}/calls/").json()["results"]]
    assert ids == [f"{asked.execution_ref}:forge:1", f"{asked.execution_ref}~1:forge:1"]
