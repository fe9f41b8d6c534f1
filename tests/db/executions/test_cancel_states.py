"""Cancel in every state of an execution: what it does there, and that nothing undoes it."""

import threading
import time

import pytest
from django.db import connections

from approvals.models import Approval
from executions.models import Call, Execution
from executions.services import attempt
from executions.services.cancel import Cancel, cancel
from executions.services.submission import parse
from executions.services.submit import submit
from executions.states import MOVES, TERMINAL, Status
from forge_project.kernel import failpoints
from forge_project.kernel.errors import Conflict
from forge_project.ledger.selectors import events, payload
from tests.db.executions import answer, run_all, run_one, send
from tests.echo import Echo
from tests.marker import Marker

pytestmark = pytest.mark.django_db(transaction=True)
WRITE = {"capability": "file.write", "input": {"path": "a", "content": "x"}, "workspace": "ws"}


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def stop(ref):
    return cancel(Cancel(execution_ref=ref, actor="user:ann", reason="enough"))


def row_of(ref):
    return Execution.objects.get(pk=ref)


def until(ref, status):
    end = time.monotonic() + 10
    while row_of(ref).status != status:
        assert time.monotonic() < end, row_of(ref).status
        time.sleep(0.01)


class Slow:
    """A call that stays in its executor until it is told to go on."""

    def __init__(self, monkeypatch, kind):
        self.entered, self.go_on = threading.Event(), threading.Event()
        real = kind.execute

        def execute(this, request, effect):
            if kind is Marker:
                seen = this.observe(request)
                effect.begin({"line": seen["line"]})
            self.entered.set()
            self.go_on.wait(20)
            return real(this, request, _Begun() if kind is Marker else effect)

        monkeypatch.setattr(kind, "execute", execute)


class _Begun:
    def begin(self, seen):
        pass


@pytest.fixture
def driving(runtime):
    """Runs one execution in a thread; waits for it at the end."""
    threads = []

    def start():
        def work():
            run_one(runtime)
            connections.close_all()

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return threads[-1]

    yield start
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def facts(ref):
    told = [payload(event) for event in events(ref)]
    return [one["actions"]["forge"]["fact"] for one in told if "forge" in one.get("actions", {})]


@pytest.fixture
def reach(caller, workspace, runtime, approver, marker, driving, monkeypatch, settings):
    """`reach(status)` brings an execution there; its ref."""

    def queued():
        return send(caller, source="return 1").ref

    def running():
        ref = send(caller, source="for(;;);", limits={"cpu_ms": 60_000}, timeout_ms=60_000).ref
        driving()
        until(ref, "running")
        return ref

    def waiting_approval():
        ref = send(caller, **WRITE).ref
        run_all(runtime)
        return ref

    def stopping():
        slow = Slow(monkeypatch, Marker)
        ref = send(caller, capability="tests.marker", input={"text": "x"}).ref
        driving()
        assert slow.entered.wait(10)
        stop(ref)
        until(ref, "stopping")
        threading.Timer(0.3, slow.go_on.set).start()
        return ref

    def unknown():
        ref = send(caller, capability="tests.marker", input={"text": "x"}).ref
        monkeypatch.setattr(Marker, "reconcile", lambda *_: (_ for _ in ()).throw(OSError))
        with failpoints.crash_at("effect.after"):
            run_one(runtime)
        from executions.services.reconcile import reconcile

        reconcile(runtime)
        return ref

    def ended(source, **body):
        ref = send(caller, source=source, **body).ref
        run_all(runtime)
        return ref

    ways = {
        Status.QUEUED: queued,
        Status.RUNNING: running,
        Status.WAITING_APPROVAL: waiting_approval,
        Status.STOPPING: stopping,
        Status.UNKNOWN: unknown,
        Status.SUCCEEDED: lambda: ended("return 1"),
        Status.FAILED: lambda: ended("throw new Error('x')"),
        Status.TIMED_OUT: lambda: ended("for(;;);", timeout_ms=300, limits={"cpu_ms": 60_000}),
        Status.CANCELLED: lambda: stop(queued()).ref,
    }

    def go(status):
        ref = ways[status]()
        assert row_of(ref).status == status
        return ref

    go.known = set(ways)
    return go


LIVE = [Status.QUEUED, Status.RUNNING, Status.WAITING_APPROVAL, Status.STOPPING]


def test_the_table_is_whole(reach):
    assert reach.known == set(Status) - {Status.VALIDATING}  # which nobody ever sees
    assert set(LIVE) | TERMINAL | {Status.UNKNOWN} == reach.known


@pytest.mark.parametrize("status", LIVE)
def test_a_living_one_ends_cancelled(reach, status, runtime):
    ref = reach(status)
    at_once = stop(ref)
    assert at_once.cancel_requested_at is not None
    if status in (Status.QUEUED, Status.WAITING_APPROVAL):
        assert row_of(ref).status == "cancelled"
    until(ref, "cancelled")
    assert row_of(ref).error_code == "CANCELLED"
    assert facts(ref).count("execution.cancel_requested") == 1
    run_all(runtime)
    assert row_of(ref).status == "cancelled"


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_a_finished_one_stays_as_it_is(reach, status):
    ref = reach(status)
    was, told = Execution.objects.filter(pk=ref).values().get(), list(events(ref))
    with pytest.raises(Conflict) as refused:
        stop(ref)
    assert refused.value.code == "STATE_CONFLICT"
    assert refused.value.facts["status"] == status
    assert Execution.objects.filter(pk=ref).values().get() == was
    assert list(events(ref)) == told


def test_an_unknown_one_stays_unknown_and_never_resumes(reach):
    ref = reach(Status.UNKNOWN)
    assert stop(ref).status == "unknown"
    assert row_of(ref).cancel_reason == "enough"


def test_what_is_cancelled_goes_nowhere(caller, reach, runtime):
    assert MOVES[Status.CANCELLED] == frozenset()
    ref = reach(Status.CANCELLED)
    again = submit(parse(caller, "k1", {"source": "return 1"}))
    assert (again.created, again.execution.ref, again.execution.status) == (False, ref, "cancelled")


@pytest.mark.parametrize(
    "body",
    [
        {"capability": "tests.echo", "input": {"value": 1}},
        {"source": "await tools.tests.echo({value: 1}); return 1"},
        {"source": "tools.tests.echo({value: 1}); for(;;);", "limits": {"cpu_ms": 60_000}},
    ],
)
def test_a_slow_read_is_not_waited_for(caller, runtime, driving, monkeypatch, body):
    slow = Slow(monkeypatch, Echo)
    ref = send(caller, **body, timeout_ms=60_000).ref
    thread = driving()
    if "for(;;)" not in body.get("source", ""):
        assert slow.entered.wait(10)
    else:
        until(ref, "running")
    began = time.monotonic()
    stop(ref)
    until(ref, "cancelled")
    assert time.monotonic() - began < 3  # seen within 1 s, and half a second's grace
    thread.join(10)
    slow.go_on.set()
    runtime.calls.submit(lambda: None).result(10)
    assert row_of(ref).status == "cancelled"
    assert set(Call.objects.values_list("status", flat=True)) <= {"failed", "rejected"}


@pytest.mark.parametrize("script", [False, True])
def test_a_slow_effect_is_said_to_stop_within_a_second_and_finishes(caller, marker, driving, monkeypatch, script):
    slow = Slow(monkeypatch, Marker)
    body = {"capability": "tests.marker", "input": {"text": "x"}}
    if script:
        body = {"source": "await tools.call('tests.marker', {text: 'x'}); return 1"}
    ref = send(caller, **body, timeout_ms=60_000).ref
    driving()
    assert slow.entered.wait(10)
    began = time.monotonic()
    stop(ref)
    until(ref, "stopping")
    assert time.monotonic() - began < attempt.CANCEL_POLL_SECONDS + 1
    time.sleep(1)
    assert row_of(ref).status == "stopping"  # an effect that has begun is waited for
    slow.go_on.set()
    until(ref, "cancelled")
    row = row_of(ref)
    assert (row.side_effect, row.error_code) == ("applied", "CANCELLED")
    assert Call.objects.get().status == "succeeded"
    assert len(marker.read_text().splitlines()) == 1


def test_a_slow_look_ends_with_the_executions_time(caller, driving, monkeypatch):
    """No admission step is waited for longer than the execution has."""
    slow, held = threading.Event(), threading.Event()
    monkeypatch.setattr(Marker, "observe", lambda *_: (slow.set(), held.wait(20), {"line": "x"})[2])
    ref = send(caller, capability="tests.marker", input={"text": "x"}, timeout_ms=500).ref
    driving()
    assert slow.wait(10)
    until(ref, "timed_out")
    assert Call.objects.get().status == "rejected"
    held.set()


def test_the_result_that_came_before_the_cancel_was_seen_is_kept(caller, runtime, marker, monkeypatch):
    ref = send(caller, capability="tests.marker", input={"text": "x"}).ref
    real = failpoints.reach
    monkeypatch.setattr(failpoints, "reach", lambda name: (stop(ref) if name == "t2.after" else None, real(name))[1])
    run_one(runtime)
    row = row_of(ref)
    assert (row.status, row.side_effect, row.cancel_requested_at is not None) == ("succeeded", "applied", True)


def test_a_decision_after_the_cancel_changes_nothing(reach, approver, runtime, folder):
    ref = reach(Status.WAITING_APPROVAL)
    stop(ref)
    with pytest.raises(Conflict):
        answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert list(folder.iterdir()) == []
