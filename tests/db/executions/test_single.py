"""A capability request, from submission to its end, without a guest."""

import pytest

from approvals.models import Approval
from executions.models import Execution
from executions.services.sealed import unseal
from forge_project.ledger import selectors
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)


def kinds(execution):
    return [event.kind for event in selectors.events(execution.ref)]


def test_a_read_runs_and_is_journaled(caller, workspace, folder, runtime):
    (folder / "a.txt").write_text("hello")
    sent = send(caller, capability="file.read", input={"path": "a.txt"}, workspace="ws")
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.side_effect, done.error_code) == ("succeeded", "not_applied", "")
    assert unseal(done.sealed_result)["content"] == "hello"
    assert kinds(sent) == [
        "execution.submitted",
        "execution.queued",
        "execution.claimed",
        "function_call",
        "policy.decided",
        "tool_dispatch",
        "function_response",
        "completed",
    ]


def test_a_write_waits_for_a_person_and_is_applied_once(caller, workspace, folder, runtime, approver):
    sent = send(caller, capability="file.write", input={"path": "a.txt", "content": "new"}, workspace="ws")
    run_all(runtime)
    parked = Execution.objects.get(pk=sent.ref)
    assert (parked.status, parked.worker) == ("waiting_approval", None)
    assert not (folder / "a.txt").exists()
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.side_effect, done.attempt, done.decision_path) == ("succeeded", "applied", 2, "human")
    assert (folder / "a.txt").read_text() == "new"
    assert Approval.objects.get().state == "consumed"
    assert kinds(sent).count("tool_dispatch") == 1


def test_a_denial_goes_back_to_the_agent_with_its_reason(caller, workspace, folder, runtime, approver):
    sent = send(caller, capability="file.write", input={"path": "a.txt", "content": "new"}, workspace="ws")
    run_all(runtime)
    answer(Approval.objects.get(), approver, "deny", "not on a Friday")
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.error_code, done.side_effect) == ("failed", "APPROVAL_DENIED", "not_applied")
    assert "not on a Friday" in done.error_message
    assert not (folder / "a.txt").exists()
