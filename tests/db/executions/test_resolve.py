"""What became of an unknown effect is said by an operator, once; then its execution ends, or its script goes on."""

import pytest
from django.db import connections

from approvals.models import Approval
from executions.models import Call, CallerLoad, Execution
from executions.sandbox.shapes import NO_VALUE
from executions.services.audit import audit
from executions.services.cancel import Cancel, cancel
from executions.services.resolve import Resolve, resolve
from executions.services.sealed import unseal
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger.journal import journal, standing
from forge_project.ledger.models import Event
from tests.db.executions import answer, run_all, send
from tests.db.executions.test_races import at_once
from tests.marker import Marker

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = """
const told = [];
for (const text of ['a', 'b']) {
  try { told.push(await tools.call('tests.marker', {text})) } catch (e) { told.push(e.code) }
}
return told
"""


def found(ref, observed="applied", n=1, result=NO_VALUE, **other):
    words = {"actor": "user:oscar", "reason": "I looked", "evidence": ("the log, line 7",)} | other
    return resolve(Resolve(execution_ref=ref, n=n, observed=observed, result=result, **words))


def lines(marker):
    return [line.split()[1] for line in marker.read_text().splitlines()] if marker.exists() else []


def test_a_request_that_was_applied_has_succeeded(unknown, runtime, marker):
    ref = unknown()
    left = found(ref, result={"line": "x"})
    assert (left.status, left.side_effect, left.error_code, left.retryable) == ("succeeded", "applied", "", False)
    call = Call.objects.get()
    assert (unseal(left.sealed_result), call.status, call.side_effect) == ({"line": "x"}, "resolved", "applied")
    assert (left.due_at, left.finished_at is None, left.error_message) == (None, False, "")
    run_all(runtime)
    assert lines(marker) == ["x"]


def test_a_request_that_was_not_applied_has_failed(unknown, marker):
    ref = unknown(point="effect.before")
    left = found(ref, "not_applied")
    assert (left.status, left.side_effect, left.error_code) == ("failed", "not_applied", "INTERRUPTED")
    assert (left.retryable, Call.objects.get().error_code) == (True, "INTERRUPTED")


@pytest.mark.parametrize(
    ("observed", "result", "told"), [("applied", {"line": "seen"}, {"line": "seen"}), ("applied", NO_VALUE, None),
                                     ("not_applied", NO_VALUE, "INTERRUPTED")]
)  # fmt: skip
def test_a_script_goes_on_from_what_was_found(unknown, runtime, marker, observed, result, told):
    ref = unknown(source=SCRIPT, interruption="resume")
    assert lines(marker) == ["a"]
    left = found(ref, observed, result=result)
    assert (left.status, left.error_code, left.crashes, left.retryable) == ("queued", "", 0, False)
    assert CallerLoad.objects.get().queued == 1
    run_all(runtime)
    done = Execution.objects.get(pk=ref)
    assert (done.status, lines(marker), done.attempt) == ("succeeded", ["a", "b"], 2)
    assert (unseal(done.sealed_result)[0], done.error_code) == (told, "")


def test_a_script_that_is_not_to_be_resumed_has_failed(unknown, runtime, marker):
    ref = unknown(source=SCRIPT)
    left = found(ref)
    assert (left.status, left.side_effect, left.error_code) == ("failed", "applied", "ISOLATE_FAILURE")
    run_all(runtime)
    assert lines(marker) == ["a"]


@pytest.mark.parametrize("interruption", ["fail", "resume"])
def test_a_cancelled_one_never_goes_on(unknown, runtime, marker, interruption):
    ref = unknown(source=SCRIPT, interruption=interruption)
    assert cancel(Cancel(execution_ref=ref, actor="user:robo", reason="enough")).status == "unknown"
    left = found(ref, "not_applied")
    assert (left.status, left.error_code, left.side_effect) == ("cancelled", "CANCELLED", "not_applied")
    run_all(runtime)
    assert lines(marker) == ["a"]


def test_while_another_call_is_unknown_so_is_the_execution(unknown, runtime, marker):
    source = "await Promise.all(['a', 'b'].map(text => tools.call('tests.marker', {text}))); return 1"
    ref = unknown(source=source, interruption="resume", point="t2.before")
    unsettled = list(Call.objects.filter(status="unknown").order_by("n").values_list("n", flat=True))
    for n in unsettled[:-1]:
        assert found(ref, n=n).status == "unknown"
    assert found(ref, n=unsettled[-1]).status == "queued"
    run_all(runtime)
    assert (Execution.objects.get(pk=ref).status, sorted(lines(marker))) == ("succeeded", ["a", "b"])


@pytest.fixture
def after_the_question(monkeypatch):
    """The marker's call takes until a person has been asked about the other one."""
    real = Marker.execute

    def execute(self, request, effect):
        until = clock.monotonic() + 10
        while not Approval.objects.exists() and clock.monotonic() < until:
            pass
        return real(self, request, effect)

    monkeypatch.setattr(Marker, "execute", execute)


@pytest.mark.usefixtures("after_the_question")
def test_what_it_had_asked_for_waits_until_it_goes_on(unknown, runtime, marker, workspace, folder, approver):
    source = """
      const write = tools.call('file.write', {path: 'f', content: 'x'});
      await tools.call('tests.marker', {text: 'a'}); await write; return 1
    """
    ref = unknown(source=source, interruption="resume", workspace="ws")
    approval = Approval.objects.get()
    answer(approval, approver)  # meanwhile: it is kept for then
    run_all(runtime)
    assert (Execution.objects.get(pk=ref).status, list(folder.iterdir())) == ("unknown", [])
    found(ref, n=2)
    run_all(runtime)
    assert (Execution.objects.get(pk=ref).status, (folder / "f").read_text()) == ("succeeded", "x")


@pytest.mark.usefixtures("after_the_question")
def test_what_a_cancelled_one_had_asked_for_is_given_up(unknown, workspace, folder):
    source = "tools.call('file.write', {path: 'f', content: 'x'}); await tools.call('tests.marker', {text: 'a'})"
    ref = unknown(source=source, interruption="resume", workspace="ws")
    cancel(Cancel(execution_ref=ref, actor="user:robo", reason="enough"))
    assert (Approval.objects.get().state, Execution.objects.get(pk=ref).status) == ("revoked", "unknown")


def test_it_is_written_down_who_said_what_and_why(unknown):
    ref = unknown()
    found(ref, result={"line": "x"}, reason="Bearer abcdefghijklmnop said so", evidence=("one", "two"))
    call = Call.objects.get()
    step = journal(call.operation_id)[-1]
    assert (step.state, step.metadata["became"], step.metadata["actor"]) == ("resolved", "applied", "user:oscar")
    assert (step.metadata["evidence"], step.metadata["result"]) == (["one", "two"], {"line": "x"})
    assert (standing(ref, call.call_id), "abcdefghijklmnop" in step.metadata["reason"]) == ("completed", False)
    told = audit(ref)
    assert told["calls"][0]["evidence"][-1]["said"] == ["one", "two"]
    assert "abcdefghijklmnop" not in str(told)
    assert Event.objects.filter(kind="tool_dispatch").count() == 1


def test_it_is_said_once(unknown):
    ref = unknown()
    found(ref)
    before = Event.objects.count()
    for again in ("applied", "not_applied"):
        with pytest.raises(Conflict) as refused:
            found(ref, again)
        assert refused.value.facts["status"] == "resolved"
    assert (Event.objects.count(), Execution.objects.get().status) == (before, "succeeded")


def test_two_operators_at_once(unknown):
    for n in range(5):
        ref = unknown(f"k{n}")
        ends = at_once(lambda r=ref: found(r), lambda r=ref: found(r, "not_applied", actor="user:olga"))
        assert len([end for end in ends if isinstance(end, Conflict)]) == 1
        assert Event.objects.filter(invocation=ref, kind="call.resolved").count() == 1


def test_what_is_not_unknown_is_not_resolved(caller, runtime, workspace, folder, marker, unknown):
    ref = unknown()
    with pytest.raises(Missing):
        found(ref, n=2)
    with pytest.raises(Missing):
        found("exec_" + "0" * 32)
    waiting = send(caller, "k2", capability="file.write", input={"path": "a", "content": "x"}, workspace="ws")
    queued = send(caller, "k3", capability="tests.marker", input={"text": "y"})
    run_all(runtime)
    for other in (waiting, queued):
        with pytest.raises(Conflict):
            found(other.ref)
    assert Approval.objects.get().state == "pending"


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ({"reason": " "}, "/reason"),
        ({"reason": "x" * 501}, "/reason"),
        ({"reason": "a\0"}, "/reason"),
        ({"reason": "\ud800"}, "/reason"),
        ({"evidence": ()}, "/evidence"),
        ({"evidence": ("x",) * 21}, "/evidence"),
        ({"evidence": ("x", " ")}, "/evidence/1"),
        ({"evidence": ("x" * 1001,)}, "/evidence/0"),
        ({"observed": "perhaps"}, "/observed"),
        ({"observed": "not_applied", "result": None}, "/result"),
        ({"result": {"line": 5}}, "/result/line"),
        ({"result": {"line": "x", "more": 1}}, "/result/more"),
        ({"result": {}}, "/result/line"),
        ({"result": {"line": "\ud800"}}, "/result/line"),
    ],
)
def test_a_bad_answer_changes_nothing(unknown, words, path):
    ref = unknown()
    before = (Event.objects.count(), Execution.objects.values().get(), Call.objects.values().get())
    with pytest.raises(Invalid) as refused:
        found(ref, **words)
    assert refused.value.facts["path"] == path
    assert (Event.objects.count(), Execution.objects.values().get(), Call.objects.values().get()) == before
    connections.close_all()
