"""An effect that goes wrong while its worker lives is settled at once; what is known survives an outage."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from approvals.models import Approval
from executions.errors import CancelRequested, DeadlinePassed
from executions.models import Call, Execution
from executions.services import calls, catalog
from executions.services.cancel import Cancel, cancel
from executions.services.expire import expire_due
from executions.services.reconcile import reconcile
from executions.services.sealed import unseal
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import NotReady
from forge_project.ledger.models import Event
from tests import modes
from tests.db.executions import answer, run_all, run_one, send
from tests.marker import Marker

pytestmark = pytest.mark.django_db(transaction=True)
ONE = {"capability": "tests.marker", "input": {"text": "x"}}
SCRIPT = """
try { return (await tools.call('tests.marker', {text: 'x'})).line } catch (e) { return [e.code, e.retryable] }
"""


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def row(sent):
    return Execution.objects.get(pk=sent.ref)


def lines(marker):
    return marker.read_text().splitlines() if marker.exists() else []


def goes_wrong(monkeypatch, error, *, after):
    """The executor raises `error` once its effect has begun: before or after the line is there."""
    real = Marker.execute

    def execute(self, request, effect):
        if after:
            real(self, request, effect)
        else:
            effect.begin(self.observe(request))
        raise error

    monkeypatch.setattr(Marker, "execute", execute)


TROUBLE = [
    (OSError("gone"), "EXECUTION_FAILED", False),
    (NotReady("no such part", part="x"), "EXECUTOR_UNAVAILABLE", True),
    (DeadlinePassed("too slow"), "TIMEOUT", True),
    (CancelRequested("stop"), "TIMEOUT", True),
]


@pytest.mark.parametrize("error", [error for error, _, _ in TROUBLE])
def test_what_had_happened_is_a_success(caller, runtime, marker, monkeypatch, error):
    goes_wrong(monkeypatch, error, after=True)
    alone, script = send(caller, "k1", **ONE), send(caller, "k2", source=SCRIPT)
    run_all(runtime)
    assert [(row(sent).status, row(sent).side_effect) for sent in (alone, script)] == [("succeeded", "applied")] * 2
    assert (unseal(row(script).sealed_result), len(lines(marker))) == (lines(marker)[1], 2)


@pytest.mark.parametrize(("error", "code", "retryable"), TROUBLE)
def test_what_had_not_happened_keeps_its_own_failure(caller, runtime, marker, monkeypatch, error, code, retryable):
    goes_wrong(monkeypatch, error, after=False)
    alone, script = send(caller, "k1", **ONE), send(caller, "k2", source=SCRIPT)
    run_all(runtime)
    done = row(alone)
    assert (done.status, done.error_code, done.side_effect, done.retryable) == (
        "failed",
        code,
        "not_applied",
        retryable,
    )
    assert (row(script).status, unseal(row(script).sealed_result)) == ("succeeded", [code, retryable])
    assert lines(marker) == []


@pytest.mark.parametrize(("error", "code", "retryable"), TROUBLE)
def test_what_nobody_can_tell_is_unknown_and_the_script_never_hears(
    caller, runtime, marker, monkeypatch, error, code, retryable
):
    goes_wrong(monkeypatch, error, after=True)
    monkeypatch.setattr(Marker, "reconcile", lambda *_: 1 / 0)
    alone, script = send(caller, "k1", **ONE), send(caller, "k2", source=SCRIPT, interruption="resume")
    run_all(runtime)
    for sent in (alone, script):
        assert (row(sent).status, row(sent).error_code, row(sent).retryable) == (
            "unknown",
            "UNKNOWN_SIDE_EFFECT",
            False,
        )
    run_all(runtime)
    assert len(lines(marker)) == 2


def test_a_cancel_meanwhile_waits_for_the_effect_that_has_begun(caller, runtime, marker, monkeypatch):
    real = Marker.execute

    def execute(self, request, effect):
        done = real(self, request, effect)
        cancel(Cancel(execution_ref=sent.ref, actor="user:robo", reason="enough"))
        return done

    monkeypatch.setattr(Marker, "execute", execute)
    sent = send(caller, **ONE)
    run_all(runtime)
    assert (row(sent).status, row(sent).side_effect, len(lines(marker))) == ("succeeded", "applied", 1)


# --- the database's trouble -------------------------------------------------------------------------


@pytest.fixture
def fire(marker, approver):
    """An effect that nobody can look at: only its outcome tells."""
    catalog.registry().add(modes.Fire())
    from approvals.services.rules import SaveRule, save_rule

    save_rule(SaveRule(name="modes", priority=1, capability="modes.*", decision="ALLOW", author=approver))
    yield {"capability": "modes.fire", "input": {}}
    del catalog.registry()._by_name["modes.fire"]


@pytest.mark.parametrize("committed", [False, True])
def test_a_known_outcome_survives_an_outage(caller, runtime, fire, monkeypatch, committed):
    """`committed`: it was written, only the answer was lost."""
    real, tries = calls._write_outcome, []

    def write(*asked):
        tries.append(1)
        if len(tries) <= 2 and not committed:
            raise OperationalError("the server is gone")
        done = real(*asked)
        if len(tries) == 1:
            raise OperationalError("the server is gone")
        return done

    monkeypatch.setattr(calls, "_write_outcome", write)
    monkeypatch.setattr(calls, "_AGAIN_AFTER", (0, 0, 0))
    sent = send(caller, **fire)
    run_all(runtime)
    assert (row(sent).status, row(sent).side_effect) == ("succeeded", "applied")
    assert len(tries) == (2 if committed else 3)
    assert Event.objects.filter(kind="function_response").count() == 1


def test_an_outage_that_lasts_leaves_it_to_whoever_looks(caller, runtime, marker, monkeypatch):
    monkeypatch.setattr(calls, "_AGAIN_AFTER", (0, 0))
    sent = send(caller, **ONE)
    with monkeypatch.context() as patch:
        patch.setattr(calls, "_write_outcome", lambda *_: (_ for _ in ()).throw(OperationalError("gone")))
        with pytest.raises(OperationalError):
            run_one(runtime)
    assert [found.became for found in reconcile(runtime)] == ["succeeded"]
    assert (row(sent).side_effect, len(lines(marker))) == ("applied", 1)


# --- what is not there any more, what waits, what is bad --------------------------------------------


@pytest.mark.parametrize("kind", ["script", "capability"])
def test_a_capability_that_is_gone_by_the_time_it_is_approved(
    caller, runtime, workspace, folder, approver, monkeypatch, kind
):
    source = (
        "try { await tools.call('file.write', {path: 'a', content: 'x'}) } catch (e) { return [e.code, e.retryable] }"
    )
    alone = {"capability": "file.write", "input": {"path": "a", "content": "x"}}
    sent = send(caller, workspace="ws", **({"source": source} if kind == "script" else alone))
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    monkeypatch.delitem(catalog.registry()._by_name, "file.write")
    run_all(runtime)
    done = row(sent)
    told = unseal(done.sealed_result) if kind == "script" else [done.error_code, done.retryable]
    assert (done.status, told) == ("succeeded" if kind == "script" else "failed", ["EXECUTOR_UNAVAILABLE", True])
    assert (Approval.objects.get().state, list(folder.iterdir())) == ("revoked", [])


def test_a_read_that_is_gone_when_it_is_to_be_asked_again(caller, runtime, workspace, folder, monkeypatch):
    (folder / "a").write_text("x")
    source = "try { await tools.call('file.read', {path: 'a'}) } catch (e) { return e.code }"
    sent = send(caller, source=source, workspace="ws", interruption="resume")
    with failpoints.crash_at("t1.after"):
        run_one(runtime)
    reconcile(runtime)
    monkeypatch.delitem(catalog.registry()._by_name, "file.read")
    run_all(runtime)
    assert (row(sent).status, unseal(row(sent).sealed_result)) == ("succeeded", "EXECUTOR_UNAVAILABLE")


def test_attempts_that_die_are_put_off_ever_longer(caller, runtime, settings):
    settings.FORGE_MAX_CRASHES = 6
    sent, waits = send(caller, source="return 1", interruption="resume"), []
    for _ in range(5):
        Execution.objects.update(due_at=None)
        with failpoints.crash_at("claim.after"):
            run_one(runtime)
        at = clock.now()
        reconcile(runtime)
        waits.append(round((row(sent).due_at - at).total_seconds()) if row(sent).due_at else 0)
    assert waits == [0, 1, 5, 15, 60]
    assert run_one(runtime) is None  # not due
    Execution.objects.update(due_at=None)
    run_all(runtime)
    assert (row(sent).status, row(sent).crashes) == ("succeeded", 5)


def test_waits_for_a_person_are_no_crashes(caller, runtime, workspace, approver, settings):
    settings.FORGE_MAX_CRASHES = 2
    source = "for (const path of ['a', 'b', 'c']) await tools.call('file.write', {path, content: 'x'}); return 1"
    sent = send(caller, source=source, workspace="ws", interruption="resume")
    for _ in range(3):
        run_all(runtime)
        answer(Approval.objects.get(state="pending"), approver)
    run_all(runtime)
    assert (row(sent).status, row(sent).attempt) == ("succeeded", 4)


@pytest.mark.rows_by_hand
def test_a_bad_row_stops_no_other_from_expiring(caller, runtime):
    bad, good = send(caller, "k1", source="return 1"), send(caller, "k2", source="return 1")
    Execution.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    Call.objects.create(
        execution=row(bad), n=1, call_id=f"{bad.ref}:forge:1", operation_id="toolop_x", tool="x", effect="read",
        recovery_mode="replay_safe", sealed_input=b"", shown_input="not json", input_digest="x",
        requested_at=clock.now(),
    )  # fmt: skip
    assert expire_due() == 1
    assert (row(bad).status, row(good).status) == ("queued", "timed_out")
