"""Races for how an execution ends, each met in its very middle: cancel and finish, two reconcilers, a living effect."""

import subprocess
import sys
import threading

import pytest
from django.db import connection

from executions.models import Call, Execution, Worker
from executions.services import workers
from executions.services.cancel import Cancel, cancel
from executions.services.reconcile import reconcile
from executions.services.runtime import Runtime
from forge_project.kernel import failpoints
from forge_project.kernel.errors import Conflict
from forge_project.ledger import selectors
from forge_project.ledger.models import Event
from tests import environment
from tests.db.executions import run_one, send
from tests.db.executions.test_races import at_once, lines

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = environment.ROUNDS or (50 if connection.vendor == "postgresql" else 10)


@pytest.fixture
def meeting(monkeypatch):
    """`meeting(point)` makes a barrier for two: who passes the failpoint, and who calls `wait`."""
    real, barriers = failpoints.reach, {}

    def reach(name):
        if name in barriers:
            barriers.pop(name).wait(20)
        real(name)

    def arrange(point):
        barriers[point] = threading.Barrier(2)
        return barriers[point]

    monkeypatch.setattr(failpoints, "reach", reach)
    return arrange


@pytest.fixture
def second(db):
    """Another worker of this host."""
    made = Runtime()
    workers.register(made)
    yield made
    made.close()


def kinds(ref):
    return [event.kind for event in selectors.events(ref)]


def test_a_cancel_against_the_end(caller, runtime, marker, meeting):
    """Either the cancel is too late and says so, or it is on the record; one effect, one end."""
    for n in range(ROUNDS):
        sent = send(caller, f"k{n}", capability="tests.marker", input={"text": str(n)})
        barrier, stop = meeting("close.before"), Cancel(execution_ref=sent.ref, actor="user:ann", reason="race")

        def late(barrier=barrier, stop=stop):
            barrier.wait(20)
            return cancel(stop)

        _, told = at_once(lambda: run_one(runtime), late)
        done = Execution.objects.get(pk=sent.ref)
        assert (done.status, done.side_effect) == ("succeeded", "applied")
        assert isinstance(told, Conflict) == (done.cancel_requested_at is None)
        assert [kind for kind in kinds(sent.ref) if kind in ("completed", "cancelled")] == ["completed"]
    assert len(lines(marker)) == ROUNDS


def test_a_cancel_against_a_dispatch(caller, runtime, marker, meeting):
    """Met right before T1: a cancel that is on the record first forbids it, one that comes after finds it applied."""
    for n in range(ROUNDS):
        sent = send(caller, f"k{n}", capability="tests.marker", input={"text": str(n)})
        barrier, stop = meeting("t1.before"), Cancel(execution_ref=sent.ref, actor="user:ann", reason="race")

        def now(barrier=barrier, stop=stop):
            barrier.wait(20)
            return cancel(stop)

        at_once(lambda: run_one(runtime), now)
        done, there = Execution.objects.get(pk=sent.ref), kinds(sent.ref)
        assert (done.status == "succeeded") == ("tool_dispatch" in there) == (done.side_effect == "applied")
        assert done.status in ("succeeded", "cancelled")
        if done.status == "cancelled":
            assert f" {n}" not in [line[line.index(" ") :] for line in lines(marker)]


@pytest.mark.parametrize("point", ["effect.before", "effect.after"])
def test_two_reconcilers(caller, marker, second, runtime, point):
    """One of them settles it, the other finds it settled; the world is looked at, nothing is done again."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    applied = point == "effect.after"
    for n in range(ROUNDS):
        doomed = Runtime()
        workers.register(doomed)
        sent = send(caller, f"k{n}", capability="tests.marker", input={"text": str(n)})
        with failpoints.crash_at(point):
            run_one(doomed)
        Worker.objects.filter(pk=doomed.worker_id).update(pid=gone.pid, start_time=1)
        doomed.close()
        found = at_once(lambda: reconcile(runtime), lambda: reconcile(second))
        settled = [one for some in found for one in some]
        if not settled:  # SQLite: each found the other's lock
            settled = reconcile(runtime)
        assert [one.became for one in settled] == ["succeeded" if applied else "failed"]
        there = kinds(sent.ref)
        assert there.count("execution.taken_over") == 1
        decisions = Event.objects.filter(invocation=sent.ref, event_id__contains="_decision_")
        assert (decisions.count(), there.count("tool_dispatch")) == (1, 1)
    assert len(lines(marker)) == ROUNDS * applied


def test_a_reconciler_against_a_living_effect(caller, runtime, marker, second, meeting):
    """Met between the dispatch and the effect: what lives is left alone, by others and by its own process."""
    for n in range(ROUNDS):
        sent = send(caller, f"k{n}", capability="tests.marker", input={"text": str(n)})
        barrier, other = meeting("effect.before"), second if n % 2 else runtime

        def look(barrier=barrier, other=other):
            barrier.wait(20)
            return reconcile(other)

        _, found = at_once(lambda: run_one(runtime), look)
        assert found == []
        done = Execution.objects.get(pk=sent.ref)
        assert (done.status, done.side_effect, done.attempt) == ("succeeded", "applied", 1)
    assert len(lines(marker)) == Call.objects.filter(status="succeeded").count() == ROUNDS
