"""A sealing key that is missing after a rotation: what it sealed is put aside, and goes on with it."""

from datetime import timedelta

import pytest

from approvals.models import Approval
from executions.models import Call, CallerLoad, Execution, SessionValue
from executions.outbox.models import Signal
from executions.selectors import attention
from executions.services import quarantine, workers
from executions.services.cancel import Cancel, cancel
from executions.services.expire import expire_due
from executions.services.reconcile import reconcile
from executions.services.reconcile_once import reconcile_once
from executions.services.reobserve import reobserve_due
from executions.services.runtime import Runtime
from forge_project.kernel import clock, failpoints
from forge_project.kernel.sealing import Sealer
from forge_project.ledger.models import Event
from tests.db.api import client_of, get
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
OLD, NEW = "A" * 43 + "=", "B" * 43 + "="
MARK = "return (await tools.call('tests.marker', {text: 'a'})).line"


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0
    settings.FORGE_SEALER = Sealer([OLD])


@pytest.fixture
def keys(settings):
    """`keys(NEW)`: which keys there are from now on."""

    def given(*keys):
        settings.FORGE_SEALER = Sealer(keys)

    return given


def row(ref):
    return Execution.objects.get(pk=ref)


def aside(ref):
    seen = row(ref)
    assert (seen.status, seen.crashes, seen.worker) == ("queued", 0, None)
    assert seen.quarantined == (
        "SEAL_BROKEN: none of the 1 sealing keys opens this: sealed with another key, or altered"
    )
    return True


def queued(caller, keys):
    return send(caller, source="return 1").ref


def single(caller, keys):
    return send(caller, capability="sleep", input={"ms": 0}).ref


def with_state(caller, keys):
    """Its own request opens; a value of its session does not."""
    SessionValue.objects.create(caller=caller, session_id="s", key="k", sealed_value=Sealer([OLD]).seal(1))
    keys(NEW, OLD)
    return send(caller, source="return state.get('k')", session_id="s").ref


@pytest.mark.parametrize("make", [queued, single, with_state])
def test_what_was_queued_is_put_aside_and_goes_on_once_the_key_is_back(caller, runtime, keys, make):
    ref = make(caller, keys)
    keys(NEW)
    run_all(runtime)
    run_all(runtime)
    assert aside(ref)
    assert [one.ending for one in row(ref).attempts.all()] == ["unreadable"]
    assert [(one.name, one.count) for one in attention.concerns() if one.count] == [("Quarantined", 1)]
    assert (quarantine.release_readable(), reconcile(runtime, quarantined=True)) == ([], [])  # not yet
    keys(NEW, OLD)
    assert [(one.ref, one.became) for one in reconcile_once(quarantined=True).found] == [(ref, "released")]
    run_all(runtime)
    assert (row(ref).status, row(ref).quarantined, row(ref).crashes) == ("succeeded", "", 0)
    assert Event.objects.filter(invocation_id=ref, kind="execution.released").count() == 1
    assert [one.kind for one in Signal.objects.filter(execution=ref)] == ["EXECUTION_FINISHED"]


@pytest.mark.parametrize("sealed", ["sealed_input", "sealed_result"])
def test_a_script_in_the_middle_goes_on_by_replay(caller, workspace, folder, runtime, approver, keys, sealed):
    """One of its calls was sealed with the key that is missing: nothing is dispatched, nor later twice."""
    (folder / "seen").write_text("hello")
    source = """const {content} = await tools.call('file.read', {path: 'seen'});
        await tools.call('file.write', {path: 'a', content}); return content"""
    ref = send(caller, source=source, workspace="ws").ref
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    kept = Call.objects.get(execution=ref, n=1)
    Call.objects.filter(pk=kept.pk).update(**{sealed: Sealer([NEW]).seal(Sealer([OLD]).open(getattr(kept, sealed)))})
    run_all(runtime)
    assert aside(ref)
    assert [path.name for path in folder.iterdir()] == ["seen"]
    keys(OLD, NEW)
    assert quarantine.release_readable() == [ref]
    run_all(runtime)
    assert (row(ref).status, (folder / "a").read_text()) == ("succeeded", "hello")
    dispatched = Event.objects.filter(invocation_id=ref, kind="tool_dispatch").values_list("payload", flat=True)
    assert sum("file.write" in payload for payload in dispatched) == 1


@pytest.mark.parametrize("point", ["effect.before", "effect.after"])
@pytest.mark.parametrize("body", [{"capability": "tests.marker", "input": {"text": "a"}}, {"source": MARK}])
def test_what_a_dead_worker_left_waits_for_the_key_before_anybody_says_what_happened(
    caller, runtime, marker, keys, point, body
):
    ref = send(caller, interruption="resume", **body).ref
    with failpoints.crash_at(point):
        run_one(runtime)
    runtime.let_go(ref)
    keys(NEW)
    assert [found.became for found in reconcile(runtime)] == ["quarantined"]
    assert (row(ref).status, row(ref).quarantined[:11]) == ("running", "SEAL_BROKEN")
    assert Call.objects.get().status == "prepared"
    assert reconcile(runtime, quarantined=True) == []
    keys(NEW, OLD)
    became = [found.became for found in reconcile(runtime, quarantined=True)]
    assert became[0] == "released"
    run_all(runtime)
    there = point == "effect.after"
    if "source" in body and not there:
        assert (row(ref).status, row(ref).error_code) == ("failed", "SCRIPT_RUNTIME")  # the script heard INTERRUPTED
    elif there:
        assert row(ref).status == "succeeded"
    else:
        assert (row(ref).status, row(ref).error_code) == ("failed", "INTERRUPTED")
    assert row(ref).side_effect == ("applied" if there else "not_applied")
    assert (len(marker.read_text().splitlines()) if marker.exists() else 0) == there


def test_an_unknown_effect_stays_so_and_is_looked_at_with_the_key(unknown, runtime, keys):
    ref = unknown()
    for key, found in ((NEW, []), (OLD, ["succeeded"])):
        keys(key)
        Execution.objects.filter(pk=ref).update(due_at=clock.now())
        assert [one.became for one in reobserve_due(runtime)] == found
    assert row(ref).side_effect == "applied"


def test_the_time_it_is_put_aside_does_not_count(caller, runtime, keys, monkeypatch):
    ref = queued(caller, keys)
    keys(NEW)
    run_all(runtime)
    before, later = row(ref).expires_at, clock.now() + timedelta(days=30)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert (expire_due(), aside(ref)) == (0, True)
    keys(OLD)
    assert quarantine.release_readable() == [ref]
    assert row(ref).expires_at - before == pytest.approx(timedelta(days=30), abs=timedelta(minutes=1))
    assert expire_due() == 0


def test_it_can_be_cancelled(caller, runtime, keys):
    ref = queued(caller, keys)
    keys(NEW)
    run_all(runtime)
    cancel(Cancel(execution_ref=ref, actor="user:robo", reason="the key is lost"))
    assert (row(ref).status, attention.count()) == ("cancelled", 0)
    assert quarantine.release_readable() == []
    keys(OLD)
    assert (quarantine.release_readable(), row(ref).status) == ([], "cancelled")
    assert (CallerLoad.objects.get().queued, CallerLoad.objects.get().running) == (0, 0)


def test_one_that_was_to_end_ends(caller, runtime, keys):
    ref = queued(caller, keys)
    keys(NEW)
    with failpoints.crash_at("claim.after"):
        run_one(runtime)
    cancel(Cancel(execution_ref=ref, actor="user:robo", reason="no"))
    assert [found.became for found in reconcile(runtime)] == ["cancelled"]


def test_its_caller_is_told_to_wait_and_still_sees_results(caller, runtime, keys):
    api = client_of(caller)
    done = send(caller, "done", source="return 'kept'").ref
    run_all(runtime)
    ref = queued(caller, keys)
    keys(NEW)
    run_all(runtime)
    told = get(api, f"/executions/{ref}/").json()
    assert (told["status"], told["next"]["action"], told["next"]["after_s"]) == ("queued", "wait", 60)
    assert get(api, f"/executions/{done}/").json()["result"] == "kept"  # the redacted copy


def test_an_altered_token_looks_the_same_and_stays_aside(caller, runtime, keys):
    ref = queued(caller, keys)
    Execution.objects.filter(pk=ref).update(sealed_request=b"nonsense")
    run_all(runtime)
    assert aside(ref)
    assert quarantine.release_readable() == []


def test_one_bad_row_stops_no_other(caller, runtime, keys, monkeypatch):
    refs = [send(caller, key, source="return 1").ref for key in ("k1", "k2")]
    keys(NEW)
    run_all(runtime)
    keys(OLD)
    real = quarantine._release
    monkeypatch.setattr(quarantine, "_release", lambda ref: real(ref) if ref == refs[1] else 1 / 0)
    assert quarantine.release_readable() == [refs[1]]


@pytest.mark.rows_by_hand
def test_who_lost_the_lease_puts_nothing_aside(caller, runtime, keys, monkeypatch):
    """Another took it over between the failed opening and the giving back."""
    ref = queued(caller, keys)
    keys(NEW)
    other = Runtime()
    workers.register(other)
    real = quarantine._put_aside

    def late(lease, broken):
        Execution.objects.filter(pk=ref).update(worker=other.worker_id)
        return real(lease, broken)

    monkeypatch.setattr(quarantine, "_put_aside", late)
    run_one(runtime)
    assert (row(ref).status, row(ref).quarantined) == ("running", "")


def test_two_releases_are_one(caller, runtime, keys, monkeypatch):
    ref = queued(caller, keys)
    keys(NEW)
    run_all(runtime)
    keys(OLD)
    real = quarantine._opens
    monkeypatch.setattr(quarantine, "_opens", lambda one: real(one) and bool(quarantine._release(one.ref) or True))
    assert quarantine.release_readable() == []
    assert Event.objects.filter(invocation_id=ref, kind="execution.released").count() == 1
