"""A worker of another host: silent for longer than its lease it loses what it held, but that proves nothing."""

from datetime import timedelta

import pytest

from executions.capabilities.base import Applied
from executions.models import Attempt, Call, Execution, Worker
from executions.services import declare_dead, workers
from executions.services import reconcile as reconciling
from executions.services.claim import claim_next
from executions.services.reconcile import reconcile
from executions.services.reobserve import reobserve_due
from executions.services.runtime import Runtime
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import Conflict, Missing
from forge_project.ledger.models import Event
from tests.db.executions import run_all, run_one, send
from tests.marker import Marker

pytestmark = pytest.mark.django_db(transaction=True)
OTHER = {"host": "other-host", "pid": 4_000_000, "start_time": 1}


@pytest.fixture(autouse=True)
def _at_once(settings, monkeypatch):
    settings.FORGE_LINGER_MS = 0
    monkeypatch.setattr(workers, "WATCH_SECONDS", 0)


def silent(worker_id, **columns):
    old = clock.now() - timedelta(seconds=3600)
    Worker.objects.filter(pk=worker_id).update(**OTHER | {"heartbeat": old} | columns)


def looks(second, times=2):
    """The first look only begins to watch a worker that is silent."""
    return [found.became for _ in range(times) for found in reconcile(second)]


@pytest.fixture
def begun(caller, runtime, marker):
    """`begun(point)`: a call of a worker elsewhere that went silent there."""

    def make(point, key="k", **body):
        sent = send(caller, key, **(body or {"capability": "tests.marker", "input": {"text": "x"}}))
        with failpoints.crash_at(point):
            run_one(runtime)
        silent(runtime.worker_id)
        return sent.ref

    return make


def row(ref):
    return Execution.objects.get(pk=ref)


def test_it_is_watched_before_it_is_given_up(begun, second):
    ref = begun("effect.before")
    assert (reconcile(second), second.watching, row(ref).status) == ([], True, "running")
    assert [found.became for found in reconcile(second)] == ["unknown"]


def test_one_whose_heart_beats_again_keeps_what_it_holds(begun, second, runtime):
    """After an outage of the database everybody's heartbeat is old for a moment."""
    ref = begun("effect.before")
    reconcile(second)
    workers.beat(runtime)
    assert (looks(second), second.watching, row(ref).status) == ([], False, "running")


def test_what_is_not_there_is_unknown_and_what_is_there_is_applied(begun, second):
    here, there = begun("effect.before", "k1"), begun("effect.after", "k2")
    assert sorted(looks(second)) == ["succeeded", "unknown"]
    lost, found = row(here), row(there)
    assert (lost.status, lost.side_effect, lost.error_code) == ("unknown", "unknown", "UNKNOWN_SIDE_EFFECT")
    assert (found.status, found.side_effect) == ("succeeded", "applied")
    assert (lost.termination_unconfirmed, found.termination_unconfirmed) == (True, True)
    assert Call.objects.get(execution=here).evidence[-1]["why"].startswith("it is not there, but")


def test_its_script_does_not_go_on(begun, second, runtime):
    ref = begun(
        "effect.before", source="await tools.call('tests.marker', {text: 'a'}); return 1", interruption="resume"
    )
    assert looks(second) == ["unknown"]
    silent(runtime.worker_id, heartbeat=clock.now())
    run_all(runtime)
    assert row(ref).status == "unknown"


def test_a_read_of_it_is_simply_asked_again(begun, second, workspace, folder, runtime):
    (folder / "a").write_text("x")
    source = "return (await tools.call('file.read', {path: 'a'})).content"
    ref = begun("t1.after", source=source, workspace="ws", interruption="resume")
    assert looks(second) == ["queued"]
    assert Call.objects.get(execution=ref).side_effect == "not_started"


def test_a_reconciler_that_dies_in_the_middle_does_not_make_it_proven(begun, second):
    ref = begun("effect.before")
    reconcile(second)
    with failpoints.crash_at("reconcile.middle"):
        reconcile(second)
    assert row(ref).worker_id == second.worker_id
    Worker.objects.filter(pk=second.worker_id).update(pid=4_000_001, start_time=1)
    third = Runtime()
    workers.register(third)
    assert (looks(third), row(ref).side_effect) == (["unknown"], "unknown")


def due(ref, who):
    Execution.objects.filter(pk=ref).update(due_at=clock.now())
    return [found.became for found in reobserve_due(who)]


def test_it_stays_unknown_until_its_worker_is_proven_dead(begun, second, runtime):
    ref = begun("effect.before")
    looks(second)
    assert (due(ref, second), row(ref).status) == ([], "unknown")
    declare_dead.declare_dead(str(runtime.worker_id), actor="os:olga")
    assert [found.became for found in reobserve_due(second)] == ["failed"]
    done = row(ref)
    assert (done.status, done.side_effect, done.error_code, done.due_at) == (
        "failed",
        "not_applied",
        "INTERRUPTED",
        None,
    )
    told = Event.objects.get(kind="worker.declared_dead")
    assert (told.invocation_id, str(runtime.worker_id) in told.payload) == ("forge:governance", True)


@pytest.mark.parametrize("proof", ["rebooted", "gone", "stopped"])
def test_other_proofs_of_its_death(begun, second, runtime, proof):
    ref = begun("effect.before")
    looks(second)
    match proof:
        case "rebooted":
            again = Runtime()
            workers.register(again)
            Worker.objects.filter(pk=again.worker_id).update(host="other-host", boot_id="another")
        case "gone":  # its own host looks
            Worker.objects.filter(pk=runtime.worker_id).update(host="test-host")
        case "stopped":
            workers.stop(runtime.worker_id)
    assert due(ref, second) == ["failed"]
    assert row(ref).side_effect == "not_applied"


def test_what_happened_late_is_found_whoever_lives(begun, second, marker):
    ref = begun("effect.before")
    looks(second)
    marker.write_text(f"{Call.objects.get().operation_id} x\n")
    assert (due(ref, second), row(ref).side_effect) == (["succeeded"], "applied")


def test_who_may_not_be_declared_dead(begun, second, runtime):
    begun("effect.before")
    with pytest.raises(Conflict):
        declare_dead.declare_dead(str(second.worker_id), actor="os:olga")  # it is this very process
    silent(runtime.worker_id, heartbeat=clock.now())
    with pytest.raises(Conflict):
        declare_dead.declare_dead(str(runtime.worker_id), actor="os:olga")
    for name in ("nobody", "00000000-0000-0000-0000-00000000000f"):
        with pytest.raises(Missing):
            declare_dead.declare_dead(name, actor="os:olga")
    assert not Event.objects.filter(kind="worker.declared_dead").exists()


def test_one_declared_dead_begins_nothing_any_more(begun, runtime, caller, monkeypatch):
    begun("effect.before")
    declare_dead.declare_dead(str(runtime.worker_id), actor="os:olga")
    monkeypatch.setattr(clock, "boottime", lambda: 1e9)
    workers.beat(runtime)
    send(caller, "k2", source="return 1")
    assert (runtime.fresh(), claim_next(runtime)) == (False, None)


def test_a_guest_of_a_dead_worker_is_killed_and_its_end_confirmed(caller, runtime, monkeypatch):
    import subprocess

    from executions.services.processes import start_time

    for confirmed in (True, False):
        sent = send(caller, f"k{confirmed}", source="return 1")
        with failpoints.crash_at("claim.after"):
            run_one(runtime)
        guest = subprocess.Popen(["sleep", "60"])
        Attempt.objects.filter(execution=sent.ref).update(guest_pid=guest.pid, guest_start_time=start_time(guest.pid))
        with monkeypatch.context() as patch:
            if not confirmed:
                patch.setattr(reconciling.processes, "kill", lambda *_: False)
            reconcile(runtime)
        assert row(sent.ref).termination_unconfirmed is not confirmed
        assert (guest.poll() is None) is not confirmed or guest.wait(5) == -9
        guest.kill()
        guest.wait()


# --- looking again ----------------------------------------------------------------------------------


def test_an_effect_that_can_be_seen_later_is_settled_then(unknown, runtime, marker):
    ref = unknown()
    assert reobserve_due(runtime) == []  # not yet
    assert (due(ref, runtime), row(ref).status, row(ref).error_code) == (["succeeded"], "succeeded", "")
    assert len(marker.read_text().splitlines()) == 1


def test_a_script_goes_on_then(unknown, runtime, marker):
    ref = unknown(source="return (await tools.call('tests.marker', {text: 'a'})).line", interruption="resume")
    assert due(ref, runtime) == ["queued"]
    run_all(runtime)
    assert (row(ref).status, len(marker.read_text().splitlines())) == ("succeeded", 1)


def test_the_waits_double(unknown, runtime, monkeypatch):
    ref = unknown()
    begun = Call.objects.get().ended_at
    monkeypatch.setattr(Marker, "reconcile", lambda *_: 1 / 0)
    events, waits, now = Event.objects.count(), [], begun
    for _ in range(14):
        now = row(ref).due_at
        monkeypatch.setattr(clock, "now", lambda at=now: at)
        assert reobserve_due(runtime) == []
        waits.append((row(ref).due_at - now).total_seconds())
    assert waits[:4] == pytest.approx([30, 60, 120, 240], rel=0.1)
    assert (waits[-1], Event.objects.count()) == (6 * 3600, events)  # and the ledger does not grow by looking


def test_one_that_nobody_can_look_at_waits_for_a_person(unknown, runtime):
    ref = unknown()
    Call.objects.update(recovery_mode="never_auto_retry")
    assert (due(ref, runtime), row(ref).due_at, row(ref).status) == ([], None, "unknown")


@pytest.mark.rows_by_hand
def test_a_bad_row_stops_no_other(unknown, runtime, monkeypatch):
    bad, good = unknown("k1"), unknown("k2")
    Call.objects.filter(execution=bad).update(shown_input="not json")
    Execution.objects.update(due_at=clock.now())
    assert [found.ref for found in reobserve_due(runtime)] == [good]
    assert row(bad).status == "unknown"


def test_two_lookers_settle_it_once(unknown, runtime, monkeypatch):
    ref, seen = unknown(), []
    monkeypatch.setattr(
        Marker, "reconcile", lambda *_: (seen.append(reobserve_due(runtime)), Applied({"line": "x"}))[1]
    )
    assert (due(ref, runtime), seen) == (["succeeded"], [[]])
