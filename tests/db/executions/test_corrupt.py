"""A row behind an execution was changed by somebody: it is not resumed and nothing is dispatched; the others go on."""

from contextlib import ExitStack

import pytest
from django.db import connection

from approvals.models import Approval
from executions.models import Call, Execution
from executions.services.reconcile import reconcile
from executions.services.sealed import seal, unseal
from forge_project.ledger.errors import OperationConflict
from forge_project.ledger.models import Event
from tests.db.api.test_events import tampered
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = """
const seen = (await tools.call('file.read', {path: 'seen'})).content;
await tools.call('file.write', {path: 'a', content: seen});
return seen
"""


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


@pytest.fixture
def waiting(caller, workspace, folder, runtime):
    """Two scripts that wait for a person; the first one's rows are going to be changed."""
    (folder / "seen").write_text("hello")
    sent = [send(caller, f"k{n}", source=SCRIPT, workspace="ws") for n in range(2)]
    run_all(runtime)
    return [one.ref for one in sent]


@pytest.fixture
def changed():
    """Changes a stored event behind the triggers' back, and puts it back after the test."""
    with ExitStack() as undo:
        yield lambda row, **columns: undo.enter_context(tampered(row.invocation_id, row.seq, **columns))


def approved(ref, approver):
    answer(Approval.objects.get(execution_ref=ref), approver)


def ended_as_corrupt(ref):
    done = Execution.objects.get(pk=ref)
    assert (done.status, done.error_code, done.retryable) == ("failed", "LEDGER_CORRUPT", False)
    assert (done.side_effect, done.attempts.get(number=2).guest_pid) == ("not_applied", None)
    return done.error_details


def the_other_goes_on(ref, runtime, approver, folder):
    approved(ref, approver)
    run_all(runtime)
    assert Execution.objects.get(pk=ref).status == "succeeded"
    assert (folder / "a").read_text() == "hello"


@pytest.mark.parametrize("kind", ["execution.submitted", "forge.turn", "function_response", "function_call"])
def test_an_event_with_another_text(waiting, changed, runtime, approver, folder, kind):
    first, second = waiting
    row = Event.objects.filter(invocation=first, kind=kind).earliest("seq")
    changed(row, payload=row.payload.replace('"partial":false', '"partial": false'))
    approved(first, approver)
    run_all(runtime)
    details = ended_as_corrupt(first)
    assert (details["problem"], details["seq"], list(folder.iterdir())) == ("edited", row.seq, [folder / "seen"])
    the_other_goes_on(second, runtime, approver, folder)


def test_a_turn_that_calls_itself_something_else(waiting, changed, runtime, approver, folder):
    first, second = waiting
    changed(Event.objects.filter(invocation=first, kind="forge.turn").earliest("seq"), kind="forge.other")
    approved(first, approver)
    run_all(runtime)
    assert ended_as_corrupt(first)["problem"] == "columns_differ"
    the_other_goes_on(second, runtime, approver, folder)


def results_swapped(first, second):
    Call.objects.filter(execution=first, n=1).update(sealed_result=seal({"ok": True, "value": {"content": "evil"}}))


def input_swapped(first, second):
    asked = unseal(Call.objects.get(execution=first, n=2).sealed_input) | {"content": "evil"}
    Call.objects.filter(execution=first, n=2).update(sealed_input=seal(asked))


def call_lost(first, second):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM executions_call WHERE execution_id = %s AND n = 1", [first])


def source_swapped(first, second):
    asked = unseal(Execution.objects.get(pk=first).sealed_request) | {"source": "return 'evil'"}
    Execution.objects.filter(pk=first).update(sealed_request=seal(asked))


@pytest.mark.rows_by_hand
@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        (results_swapped, "result_differs"),
        (input_swapped, "input_differs"),
        (call_lost, "calls_differ"),
        (source_swapped, "request_differs"),
    ],
)
def test_a_row_that_is_not_what_the_ledger_says(waiting, runtime, approver, folder, tamper, problem):
    first, second = waiting
    tamper(first, second)
    approved(first, approver)
    run_all(runtime)
    assert ended_as_corrupt(first)["problem"] == problem
    the_other_goes_on(second, runtime, approver, folder)


def test_a_single_request(caller, workspace, folder, runtime, approver, changed):
    sent = send(caller, capability="file.write", input={"path": "a", "content": "x"}, workspace="ws")
    run_all(runtime)
    approved(sent.ref, approver)
    row = Event.objects.filter(invocation=sent.ref, kind="approval.requested").get()
    changed(row, payload=row.payload.replace('"partial":false', '"partial": false'))
    run_all(runtime)
    assert ended_as_corrupt(sent.ref)["problem"] == "edited"
    assert list(folder.iterdir()) == []


@pytest.mark.rows_by_hand
def test_one_that_can_not_even_be_closed_is_put_aside(waiting, runtime, approver, folder):
    """A dispatched call that claims not to be: the ledger takes no other end of it."""
    first, second = waiting
    Call.objects.filter(execution=first, n=1).update(status="requested")
    approved(first, approver)
    with pytest.raises(OperationConflict):
        run_one(runtime)
    assert [(found.ref, found.became) for found in reconcile(runtime)] == [(first, "quarantined")]
    assert Execution.objects.get(pk=first).status == "running"
    the_other_goes_on(second, runtime, approver, folder)
