"""Cancel is persisted at once and final."""

import threading

import pytest

from approvals.models import Approval
from executions.models import CallerLoad, Execution
from executions.services.cancel import Cancel, cancel
from executions.services.reconcile import reconcile
from forge_project.kernel import failpoints
from forge_project.kernel.errors import Conflict, Invalid
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def stop(execution, reason="changed my mind"):
    return cancel(Cancel(execution_ref=execution.ref, actor="user:ann", reason=reason))


def end(execution):
    done = Execution.objects.get(pk=execution.ref)
    return done.status, done.error_code, done.side_effect


def load(caller):
    row = CallerLoad.objects.get(pk=caller.pk)
    return row.running, row.queued


def test_a_queued_execution_ends_at_once(caller, runtime):
    sent = send(caller, source="return 1")
    assert load(caller) == (0, 1)
    stop(sent)
    assert end(sent) == ("cancelled", "CANCELLED", "not_applied")
    assert load(caller) == (0, 0)
    run_all(runtime)
    assert Execution.objects.get(pk=sent.ref).attempt == 0


def test_a_waiting_one_ends_at_once_and_its_approval_is_void(caller, workspace, folder, runtime, approver):
    sent = send(caller, capability="file.write", input={"path": "a", "content": "x"}, workspace="ws")
    run_all(runtime)
    approval = Approval.objects.get()
    stop(sent)
    assert end(sent) == ("cancelled", "CANCELLED", "not_applied")
    with pytest.raises(Conflict):
        answer(approval, approver)
    run_all(runtime)
    assert list(folder.iterdir()) == []


def test_a_running_guest_is_killed_within_a_second(caller, runtime):
    sent = send(caller, source="for(;;);", limits={"cpu_ms": 60000}, timeout_ms=60000)
    running = threading.Thread(target=run_one, args=(runtime,))
    running.start()
    while Execution.objects.get(pk=sent.ref).status != "running":
        pass
    stop(sent)
    running.join(timeout=3)
    assert not running.is_alive()
    assert end(sent) == ("cancelled", "CANCELLED", "not_applied")


def test_nothing_is_dispatched_once_cancel_was_asked(caller, runtime, marker, monkeypatch):
    sent = send(caller, source="await tools.call('tests.marker', {text: 'x'}); return 1")
    real = failpoints.reach
    monkeypatch.setattr(failpoints, "reach", lambda name: stop(sent) if name == "t1.before" else real(name))
    run_all(runtime)
    assert end(sent)[0] == "cancelled"
    assert not marker.exists()


def test_an_effect_that_came_before_the_cancel_is_kept(caller, runtime, marker):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    with failpoints.crash_at("effect.after"):
        run_one(runtime)
    stop(sent)
    assert Execution.objects.get(pk=sent.ref).status == "running"  # its worker is gone; the reconciler closes it
    reconcile(runtime)
    assert end(sent) == ("cancelled", "CANCELLED", "applied")


def test_a_cancel_needs_a_reason_and_a_living_execution(caller, runtime):
    sent = send(caller, source="return 1")
    for bad in ("", "  ", "x" * 501, "a\0b"):
        with pytest.raises(Invalid):
            stop(sent, bad)
    run_all(runtime)
    with pytest.raises(Conflict):
        stop(sent)
