"""What an execution's life says in the log, and under whose trace."""

import json
import logging

import pytest

from approvals.models import Approval
from executions.models import Execution
from forge_project.kernel import failpoints
from forge_project.kernel.log.form import formatter
from tests.db.api import READ, WRITE, post
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def lines():
    made, form = [], formatter()
    handler = logging.Handler()
    handler.emit = lambda record: made.append(json.loads(form.format(record)))
    logging.getLogger("forge").addHandler(handler)
    yield made
    logging.getLogger("forge").removeHandler(handler)


def events(lines, *names):
    return [line for line in lines if line["event"] in names]


def test_one_trace_from_request_to_effect(api, caller, workspace, folder, runtime, approver, lines):
    headers = {"HTTP_TRACEPARENT": PARENT, "HTTP_X_REQUEST_ID": "req-1", "HTTP_IDEMPOTENCY_KEY": "k"}
    api.post("/api/v1/executions/", WRITE | {"task_id": "t1", "run_no": 2}, format="json", **headers)
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    ours = [line for line in lines if line.get("execution_ref") == Execution.objects.get().ref]
    assert [line["event"] for line in ours] == [
        "intent_persisted", "started", "parked", "queued", "started", "effect_started", "succeeded",
    ]  # fmt: skip
    assert {line["traceparent"].split("-")[1] for line in ours} == {PARENT.split("-")[1]}
    assert {(line["correlation_id"], line["task"], line["run"]) for line in ours} == {("req-1", "t1", 2)}
    assert {line["capability"] for line in ours} == {"file.write"}
    request = events(lines, "request")[0]
    assert (request["correlation_id"], request["status"], request["method"]) == ("req-1", 202, "POST")
    assert "new" not in json.dumps(ours)


def test_refusals(api, workspace, runtime, settings, lines):
    settings.FORGE_CALLER_QUEUED = 1
    post(api, READ, "1")
    post(api, READ, "2")
    post(api, READ | {"workspace": "nope"}, "3")
    assert [line["error_code"] for line in events(lines, "queue_rejected", "admission_rejected")] == [
        "QUEUE_FULL", "SCOPE_DENIED",
    ]  # fmt: skip


def test_what_reconcile_settles(caller, workspace, runtime, lines):
    from executions.services.reconcile import reconcile
    from tests.db.executions import run_one

    ref = send(caller, source="return 1", interruption="resume").ref
    with failpoints.crash_at("close.before"):
        run_one(runtime)
    runtime.let_go(ref)
    reconcile(runtime)
    told = [line["event"] for line in lines if line.get("execution_ref") == ref]
    assert told == ["intent_persisted", "started", "recovery_pending", "recovery_reconciled"]


def test_a_move_that_is_rolled_back_is_not_told(caller, workspace, lines):
    with failpoints.crash_at("submit.before_commit"):
        send(caller, source="return 1")
    assert lines == []


def test_a_log_that_fails_changes_no_outcome(caller, workspace, runtime, monkeypatch):
    def broken(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(logging.Logger, "log", broken)
    ref = send(caller, source="return 1").ref
    run_all(runtime)
    assert Execution.objects.get(pk=ref).status == "succeeded"
