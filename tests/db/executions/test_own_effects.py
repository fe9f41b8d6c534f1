"""What a living worker began itself and knows to be over is settled while it lives; what it is still at is not."""

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError

from executions.capabilities.base import NotApplied
from executions.models import Call, Execution
from executions.services import declare_dead, reobserve
from executions.services.attempt import Attempt
from executions.services.reconcile import reconcile
from executions.services.reobserve import reobserve_due
from forge_project.kernel import clock
from tests.db.executions import run_one, send
from tests.db.executions.test_elsewhere import due, row, silent
from tests.marker import Marker
from tests.receiver import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def own(unknown, marker):
    """An effect that this very worker began, that nobody could look at then, and that is not there."""
    return unknown(point="effect.before")


def test_its_own_worker_settles_it_while_it_lives(own, runtime):
    assert (due(own, runtime), row(own).side_effect, row(own).error_code) == (["failed"], "not_applied", "INTERRUPTED")


def test_no_other_looks_while_that_one_can(own, runtime, second):
    assert (due(own, second), row(own).status) == ([], "unknown")
    at = row(own).due_at
    assert at <= clock.now()  # it has not even taken its turn
    assert [found.became for found in reobserve_due(runtime)] == ["failed"]


def test_one_that_does_not_look_is_looked_after_but_proves_nothing(own, second):
    Execution.objects.filter(pk=own).update(due_at=clock.now() - reobserve.PATIENCE - timedelta(seconds=1))
    assert (reobserve_due(second), row(own).status) == ([], "unknown")
    assert row(own).due_at > clock.now()


def test_what_it_is_still_at_is_not_there_yet(own, runtime, marker):
    """The call of the attempt that broke off is still in its pool: slow, and about to happen."""
    gate, line = threading.Event(), f"{Call.objects.get().operation_id} x\n"
    late = runtime.call(own, lambda: (gate.wait(20), marker.write_text(line)))
    assert runtime.drives(own)
    assert (due(own, runtime), row(own).status) == ([], "unknown")
    gate.set()
    late.result(20)
    wait_for(lambda: not runtime.drives(own))
    assert (due(own, runtime), row(own).side_effect) == (["succeeded"], "applied")


def test_a_worker_that_dies_at_its_effect_while_one_looks_proves_nothing(own, second, runtime, marker, monkeypatch):
    """Not there at the look, then it happens, then its worker is dead: what was seen is from before."""
    silent(runtime.worker_id)

    def look(*_):
        declare_dead.declare_dead(str(runtime.worker_id), actor="os:olga")
        return NotApplied()

    with monkeypatch.context() as patch:
        patch.setattr(Marker, "reconcile", look)
        assert (due(own, second), row(own).status) == ([], "unknown")
    assert due(own, second) == ["failed"]


def test_a_driver_that_breaks_off_leaves_its_slow_effect_to_end(caller, runtime, marker, monkeypatch):
    """The database is away for a moment while the effect runs: its thread is not settled under it."""
    gate, there = threading.Event(), threading.Event()
    monkeypatch.setattr("tests.marker._wait", lambda: (there.set(), gate.wait(20)))

    def away(_):
        if there.is_set():
            raise OperationalError("away")
        return False

    ref = send(caller, capability="tests.marker", input={"text": "x"}).ref
    with monkeypatch.context() as patch:
        patch.setattr(Attempt, "cancelled", away)
        with pytest.raises(OperationalError):
            run_one(runtime)
    assert (reconcile(runtime), row(ref).status) == ([], "running")
    gate.set()
    wait_for(lambda: not runtime.drives(ref))
    assert [found.became for found in reconcile(runtime)] == ["succeeded"]
    assert (row(ref).side_effect, len(marker.read_text().splitlines())) == ("applied", 1)
