"""GET executions/<ref>/"""

import threading
import time

import pytest
from django.db import connections

from executions.models import Execution
from tests.db.api import WRITE, get, post, refused
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)
ALWAYS = {
    "execution_ref", "kind", "capability", "status", "side_effect", "retryable", "decision_path", "caller_ref",
    "idempotency_key", "session_id", "root_session_id", "run_id", "turn_id", "tool_call_id", "interruption",
    "timeout_ms", "expires_at", "evidence", "artifact_refs", "attempt_count", "input_fingerprint", "metrics", "next",
    "created_at", "updated_at", "correlation_id",
}  # fmt: skip


def script(api, runtime, source, **body):
    ref = post(api, {"source": source, **body}).json()["execution_ref"]
    run_all(runtime)
    return get(api, f"/executions/{ref}/").json()


@pytest.mark.django_db
def test_a_queued_one_has_what_a_record_always_has(api, workspace):
    told = post(api, {"source": "1"}).json()
    assert set(told) == ALWAYS | {"code_sha256", "limits"}
    assert told["session_id"] == told["root_session_id"] == told["tool_call_id"] == told["execution_ref"]


@pytest.mark.django_db
def test_refs_and_scope_are_as_in_the_request(api, workspace):
    given = {
        "session_id": "s", "root_session_id": "rs", "tool_call_id": "tc", "run_id": "r", "turn_id": "t",
        "correlation_id": "c", "client_ref": "cr", "analysis_ref": "an",
        "task_id": "ta", "node_id": "n", "role_ref": "ro", "worker_ref": "w",
        "run_no": 3, "workspace": "ws", "timeout_ms": 5, "interruption": "resume", "purpose": "why",
    }  # fmt: skip
    told = post(api, given | {"source": "1"}).json()
    assert {name: told[name] for name in given} == given


def test_a_finished_one(api, done):
    told = get(api, f"/executions/{done}/").json()
    assert set(told) == ALWAYS | {"workspace", "result", "receipt", "started_at", "finished_at"}
    assert (told["status"], told["side_effect"], told["attempt_count"]) == ("succeeded", "not_applied", 1)
    assert (told["metrics"]["calls"], told["next"]["action"]) == (1, "done")
    events = get(api, f"/executions/{done}/events/").json()["results"]
    assert told["receipt"] == {"head": events[-1]["hash"], "seq": events[-1]["seq"]}
    assert told["finished_at"].endswith("Z")
    assert len(told["finished_at"]) == 27


def test_a_script_without_a_call_says_what_it_ran_in(api, runtime):
    told = script(api, runtime, "return 'x'.repeat(2e7).length", limits={"max_calls": 7})
    assert (told["limits"]["max_calls"], told["attempt_count"]) == (7, 1)
    assert told["engine"].startswith("quickjs")
    assert told["isolation"] == runtime.isolation
    assert told["selection_reason"]
    assert set(told["metrics"]) == {"cpu_ms", "wall_ms", "peak_memory_bytes", "turns", "calls"}
    assert told["metrics"]["peak_memory_bytes"] > 0


def test_a_failed_one(api, runtime):
    told = script(api, runtime, "throw new Error('boom')")
    assert (told["error"]["code"], told["error"]["retryable"]) == ("SCRIPT_RUNTIME", False)
    assert told["next"]["action"] == "stop"
    assert "result" not in told


def test_one_that_may_be_asked_again(api, runtime):
    told = script(api, runtime, "await new Promise(() => setTimeout(() => {}, 9))", timeout_ms=1)
    Execution.objects.update(retryable=True)
    assert get(api, f"/executions/{told['execution_ref']}/").json()["next"]["action"] == "resubmit"


@pytest.mark.parametrize(("source", "result"), [("return null", None), ("return 0", 0), ("return 'a\\0b'", "a\0b")])
def test_any_value_is_a_result(api, runtime, source, result):
    told = script(api, runtime, source)
    assert told["result"] == result
    assert "no_value" not in told


@pytest.mark.parametrize("source", ["return '\\ud800'", "return {a: 1, b: 0/0}", "return {'\\udc00': 1}"])
def test_odd_values_have_a_rule_and_are_never_a_5xx(api, operator, runtime, source):
    told = script(api, runtime, source)
    assert told["status"] in ("succeeded", "failed")
    assert get(operator, f"/executions/{told['execution_ref']}/").status_code == 200


def test_no_value_is_not_null(api, runtime):
    told = script(api, runtime, "1")
    assert told["no_value"] is True
    assert "result" not in told


def test_its_caller_gets_the_clear_result_others_the_redacted(api, operator, runtime):
    secret = "ghp_" + "a1B2" * 9
    ref = script(api, runtime, f"return {{token: '{secret}', fine: 1}}")["execution_ref"]
    assert get(api, f"/executions/{ref}/").json()["result"] == {"token": secret, "fine": 1}
    shown = get(operator, f"/executions/{ref}/")
    assert shown.json()["result"]["fine"] == 1
    assert secret not in shown.content.decode()
    Execution.objects.update(sealed_result=None)  # as after its retention
    assert get(api, f"/executions/{ref}/").json() == shown.json()


def test_one_that_waits_names_its_approval(api, asked):
    told = get(api, f"/executions/{asked.execution_ref}/").json()
    assert (told["status"], told["approval_ref"]) == ("waiting_approval", asked.ref)
    assert told["next"] == {"action": "wait", "after_s": 5, "message": told["next"]["message"]}
    assert asked.ref in told["next"]["message"]


def test_artifacts_and_evidence_of_its_calls_are_on_it(api, workspace, folder, runtime):
    (folder / "a.txt").write_text("one\n")
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    body = {"capability": "artifact.patch-proposal.materialize", "input": {"diff": patch}, "workspace": "ws"}
    answer = post(api, body)
    assert answer.status_code == 202, answer.content
    run_all(runtime)
    told = get(api, f"/executions/{answer.json()['execution_ref']}/").json()
    assert told["status"] == "succeeded", told
    assert told["artifact_refs"] == [told["result"]["artifact_ref"]]


@pytest.mark.parametrize("path", ["", "calls/", "attempts/", "events/", "output/"])
def test_anothers_is_not_there(other, done, path):
    refused(get(other, f"/executions/{done}/{path}"), 404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["", "calls/", "attempts/", "events/", "output/"])
def test_people_with_the_permission_see_all(operator, ann, done, path):
    assert get(operator, f"/executions/{done}/{path}").status_code == 200
    assert get(ann, f"/executions/{done}/{path}").status_code == 200


def test_an_agent_sees_only_its_own_whatever_it_may(other, done):
    from django.contrib.auth.models import User

    User.objects.filter(username="other").update(is_superuser=True)
    refused(get(other, f"/executions/{done}/"), 404, "NOT_FOUND")


@pytest.mark.django_db
@pytest.mark.parametrize("ref", ["exec_" + "0" * 32, "exec_%00", "exec_", "x" * 3000, "exec_" + "A" * 32, "%FF"])
def test_no_such_ref(api, ref):
    refused(api.get(f"/api/v1/executions/{ref}/"), 404, "NOT_FOUND")


def test_wait_ends_as_soon_as_it_has_finished(api, runtime, driven):
    ref = post(api, {"source": "return 1"}).json()["execution_ref"]
    began = time.monotonic()
    with driven(runtime):
        told = get(api, f"/executions/{ref}/", wait=60).json()
    assert (told["status"], told["result"]) == ("succeeded", 1)
    assert time.monotonic() - began < 20


def test_wait_ends_for_a_person(api, workspace, runtime, driven):
    ref = post(api, WRITE).json()["execution_ref"]
    with driven(runtime):
        assert get(api, f"/executions/{ref}/", wait=60).json()["status"] == "waiting_approval"


def test_wait_ends_when_its_time_is_up(api):
    ref = post(api, {"source": "1"}).json()["execution_ref"]
    began = time.monotonic()
    assert get(api, f"/executions/{ref}/", wait=1).json()["status"] == "queued"
    assert 1 <= time.monotonic() - began < 5


def test_wait_sees_a_cancel(api):
    ref = post(api, {"source": "1"}).json()["execution_ref"]
    answers = []

    def ask():
        answers.append(get(api, f"/executions/{ref}/", wait=60).json())
        connections.close_all()

    waiting = threading.Thread(target=ask)
    waiting.start()
    api.post(f"/api/v1/executions/{ref}/cancel/", {"reason": "enough"}, format="json")
    waiting.join(20)
    assert answers[0]["status"] == "cancelled"
