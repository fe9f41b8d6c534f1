"""`ledger_rebuild`: rows are projections; what something else wrote in them is found, named and put back."""

import json

import pytest
from django.db.models import F

from approvals.models import Approval
from executions.models import Call, CallerLoad, Execution
from forge_project.ledger.models import Event
from tests.db.commands import run
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
SOURCE = """
  const seen = await tools.call('file.read', {path: 'a'});
  try { await tools.call('file.read', {path: 'none'}) } catch (e) { text(e.code) }
  return (await tools.call('file.write', {path: 'b', content: seen.content})).path;
"""


@pytest.fixture
def done(caller, workspace, folder, runtime, approver, settings):
    """A script with a read, a read that failed and an approved write; and one that waits for a person."""
    settings.FORGE_LINGER_MS = 0
    (folder / "a").write_text("hello")
    ref = send(caller, source=SOURCE, workspace="ws").ref
    send(caller, "k2", capability="file.write", input={"path": "c", "content": "x"}, workspace="ws")
    run_all(runtime)
    answer(Approval.objects.get(execution_ref=ref), approver)
    run_all(runtime)
    assert Execution.objects.get(pk=ref).status == "succeeded"
    return ref


def rows():
    return [list(model.objects.order_by("pk").values()) for model in (Execution, Call, Approval)]


def check(*args):
    code, said = run("ledger_rebuild", "--json", *args)
    told = json.loads(said)
    return code, [(one["table"], one["column"]) for one in told["differences"]], told


def test_what_forge_wrote_is_what_the_events_tell(done):
    code, found, told = check("--check")
    assert (code, found, told["executions"]) == (0, [], 2)
    assert run("ledger_rebuild", "--check", "--invocation", done)[0] == 0


CHANGES = [
    (Execution, {"status": "failed", "error_code": "X", "retryable": True}),
    (Execution, {"side_effect": "not_applied"}),
    (Execution, {"attempt": 9, "turns": 0}),
    (Execution, {"cancel_requested_by": "user:eve", "cancel_reason": "none"}),
    (Call, {"status": "failed", "error_code": "X", "side_effect": "not_applied"}),
    (Call, {"shown_result": "{}", "input_digest": "d", "result_digest": "e", "approval_ref": ""}),
]


@pytest.mark.parametrize(("model", "change"), CHANGES)
def test_what_something_else_wrote_is_found_and_put_back(done, model, change):
    was = rows()
    key = {"pk": done} if model is Execution else {"execution": done, "n": 3}
    model.objects.filter(**key).update(**change)
    table = model._meta.model_name
    before = rows()
    code, found, _ = check("--check", "--invocation", done)
    assert (code, set(found)) == (1, {(table, column) for column in change})
    assert rows() == before  # a check changes nothing
    code, found, told = check("--invocation", done)
    assert (code, found, len(told["put_back"])) == (0, [], len(change))
    assert rows() == was
    assert Event.objects.filter(kind="ledger.rebuilt").count() == 1


def test_a_decision_that_nobody_made_is_taken_back(done):
    pending = Approval.objects.filter(state="pending")
    pending.update(version=7, reason="looks fine")
    assert check("--check")[1] == [("approval", "version"), ("approval", "reason")]
    assert check()[0] == 0
    assert (pending.get().version, pending.get().reason) == (1, "")


def test_a_load_that_is_not_the_count_is_counted_again(done):
    CallerLoad.objects.update(running=F("running") + 3)
    assert check("--check")[1] == [("load", "running, queued")]
    assert check()[0] == 0
    assert CallerLoad.objects.get().running == 0


@pytest.mark.rows_by_hand
def test_what_can_not_be_put_back_is_left_and_said(done):
    """The sealed input of a call is nowhere else: a row that is gone stays gone."""
    Call.objects.filter(execution=done, n=1).delete()
    code, found, told = check()
    assert (code, found) == (1, [("call", "")])
    assert told["differences"][0]["live"] == "missing"


@pytest.mark.rows_by_hand
def test_a_row_no_event_tells_of(done):
    call = Call.objects.get(execution=done, n=1)
    call.pk, call.n, call.call_id, call.operation_id = None, 9, "made-up", "made-up"
    call.save(force_insert=True)
    code, _, told = check("--check")
    assert (code, told["differences"][0]["rebuilt"]) == (1, "no event tells of it")


def test_an_execution_that_is_not_there(db):
    assert run("ledger_rebuild", "--check", "--invocation", "exec_none") == (2, "no such execution")
    assert run("ledger_rebuild") == (0, "0 executions rebuilt, 0 put back, 0 differ\n")
