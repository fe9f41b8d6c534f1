"""Cancel is persisted at once and final."""

import threading

import pytest

from approvals.models import Approval
from executions.models import CallerLoad, Execution, SessionValue
from executions.services import attempt
from executions.services.cancel import Cancel, cancel
from executions.services.reconcile import reconcile
from forge_project.kernel import failpoints
from forge_project.kernel.errors import Conflict, Invalid
from forge_project.ledger.selectors import events, payload
from tests.db.executions import answer, run_all, run_one, send
from tests.echo import Echo

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


def test_what_a_guest_still_says_after_the_stop_changes_nothing(caller, runtime, monkeypatch):
    """The cancel comes while its last call runs: its result, its output and its state are nobody's any more."""
    monkeypatch.setattr(attempt, "CANCEL_POLL_SECONDS", 0)
    source = "await tools.tests.echo({value: 1}); state.set('k', 1); return 'all went well'"
    sent = send(caller, source=source, session_id="s")
    real = Echo.execute
    monkeypatch.setattr(Echo, "execute", lambda self, *given: (stop(sent), real(self, *given))[1])
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.error_code, done.sealed_result) == ("cancelled", "CANCELLED", None)
    assert not SessionValue.objects.exists()
    facts = [payload(event)["actions"]["forge"]["fact"] for event in events(sent.ref) if event.kind.startswith("exec")]
    assert facts[-2:] == ["execution.cancel_requested", "execution.stopping"]


def test_a_draining_worker_gives_its_script_back_and_the_next_goes_on(
    caller, workspace, folder, runtime, approver, settings
):
    settings.FORGE_LINGER_MS = 60_000
    source = "const r = await tools.file.write({path: 'a', content: 'x'}); return r.created"
    sent = send(caller, source=source, workspace="ws")
    running = threading.Thread(target=run_one, args=(runtime,))
    running.start()
    while not Approval.objects.exists():
        pass
    runtime.draining.set()
    running.join(timeout=5)
    assert not running.is_alive()
    given_back = Execution.objects.get(pk=sent.ref)
    assert (given_back.status, given_back.attempts.get().ending) == ("queued", "drained")
    assert runtime.zygotes.current().living == 0
    runtime.draining.clear()
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert end(sent) == ("succeeded", "", "applied")
    assert Execution.objects.get(pk=sent.ref).attempt == 2
    assert (folder / "a").read_text() == "x"
