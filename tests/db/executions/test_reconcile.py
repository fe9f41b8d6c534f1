"""After a crash anywhere: what happened is found out by looking, and nothing is done twice."""

import pytest

from approvals.models import Approval
from executions.models import Call, Execution
from executions.services.reconcile import reconcile
from executions.services.sealed import unseal
from forge_project.kernel import failpoints
from forge_project.ledger.models import Operation
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
POINTS = [
    "claim.after",
    "t1.before",
    "t1.after",
    "effect.before",
    "effect.middle",
    "effect.after",
    "t2.before",
    "t2.after",
    "close.before",
]
APPLIED = {"effect.after", "t2.before", "t2.after", "close.before"}


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def lines(marker):
    return marker.read_text().splitlines() if marker.exists() else []


@pytest.mark.parametrize("point", POINTS)
def test_a_marker_request_is_applied_once_or_not_at_all(caller, runtime, marker, point):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    with failpoints.crash_at(point):
        run_one(runtime)
    reconcile(runtime)
    done = Execution.objects.get(pk=sent.ref)
    applied = point in APPLIED
    assert len(lines(marker)) == applied
    assert (done.status, done.side_effect) == (("succeeded", "applied") if applied else ("failed", "not_applied"))
    assert done.error_code == ("" if applied else "INTERRUPTED")
    assert done.retryable is not applied
    assert reconcile(runtime) == []


@pytest.mark.parametrize("point", POINTS)
def test_an_approved_write_is_applied_once_or_not_at_all(caller, workspace, folder, runtime, approver, point):
    sent = send(caller, capability="file.write", input={"path": "a", "content": "new"}, workspace="ws")
    if point == "claim.after":
        with failpoints.crash_at(point):
            run_one(runtime)
        reconcile(runtime)
        assert Execution.objects.get(pk=sent.ref).error_code == "INTERRUPTED"
        return
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    with failpoints.crash_at(point):
        run_one(runtime)
    reconcile(runtime)
    done = Execution.objects.get(pk=sent.ref)
    applied = point in APPLIED
    assert (folder / "a").exists() == applied
    assert (done.status, done.side_effect) == (("succeeded", "applied") if applied else ("failed", "not_applied"))
    assert [path.name for path in folder.iterdir()] == (["a"] if applied else [])  # no stage is left
    crossed = point != "t1.before"
    assert Approval.objects.get().state == ("consumed" if crossed else "revoked")


@pytest.mark.parametrize("point", POINTS)
def test_a_script_resumes_and_repeats_nothing(caller, runtime, marker, point):
    source = (
        "const done = []; for (const text of ['a', 'b']) {"
        " try { await tools.call('tests.marker', {text}); done.push('ok') } catch (e) { done.push(e.code) } }"
        " return done"
    )
    sent = send(caller, source=source, interruption="resume")
    with failpoints.crash_at(point):
        run_one(runtime)
    reconcile(runtime)
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert done.status == "succeeded", (done.error_code, done.error_message)
    told = unseal(done.sealed_result)
    assert [line.split()[1] for line in lines(marker)] == [t for t, was in zip("ab", told, strict=True) if was == "ok"]
    assert set(told) <= {"ok", "INTERRUPTED"}
    # A turn's own T1 is passed before any marker's: a crash there is before anything began.
    assert told.count("INTERRUPTED") == (point in {"effect.before", "effect.middle"})
    assert done.attempt == 2


def test_without_resume_a_script_fails_and_nothing_is_relaunched(caller, runtime, marker):
    sent = send(caller, source="await tools.call('tests.marker', {text: 'a'}); return 1")
    with failpoints.crash_at("effect.after"):
        run_one(runtime)
    reconcile(runtime)
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.error_code, done.side_effect) == ("failed", "ISOLATE_FAILURE", "applied")
    assert (done.error_details["reason"], done.retryable, len(lines(marker))) == ("interrupted", True, 1)


def test_a_read_that_was_in_flight_is_asked_again(caller, workspace, folder, runtime):
    (folder / "a").write_text("hello")
    source = "return (await tools.call('file.read', {path: 'a'})).content"
    sent = send(caller, source=source, workspace="ws", interruption="resume")
    with failpoints.crash_at("t1.after"):
        run_one(runtime)
    assert Call.objects.get().status == "prepared"
    reconcile(runtime)
    assert Operation.objects.get().state == "retried"
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, unseal(done.sealed_result)) == ("succeeded", "hello")
    assert (Call.objects.get().attempt, Operation.objects.get().attempt) == (2, 2)


def test_crashes_without_progress_end_at_the_limit(caller, runtime, settings):
    sent = send(caller, source="return 1", interruption="resume")
    for _ in range(settings.FORGE_MAX_CRASHES):
        Execution.objects.filter(pk=sent.ref).update(due_at=None)
        with failpoints.crash_at("claim.after"):
            run_one(runtime)
        reconcile(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.attempt, done.error_code) == ("failed", settings.FORGE_MAX_CRASHES, "ISOLATE_FAILURE")


def test_a_diverged_world_is_unknown_and_is_not_retried(caller, workspace, folder, runtime, approver):
    sent = send(
        caller, capability="file.write", input={"path": "a", "content": "new"}, workspace="ws", interruption="resume"
    )
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    with failpoints.crash_at("effect.middle"):
        run_one(runtime)
    (folder / "a").write_text("somebody else")
    reconcile(runtime)
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.side_effect, done.error_code, done.retryable) == (
        "unknown", "unknown", "UNKNOWN_SIDE_EFFECT", False,
    )  # fmt: skip
    assert Call.objects.get().status == "unknown"
    assert (folder / "a").read_text() == "somebody else"


@pytest.mark.rows_by_hand
def test_a_bad_row_is_quarantined_and_the_rest_go_on(caller, runtime, marker):
    bad = send(caller, "k1", capability="tests.marker", input={"text": "x"})
    good = send(caller, "k2", capability="tests.marker", input={"text": "y"})
    for _ in range(2):
        with failpoints.crash_at("effect.after"):
            run_one(runtime)
    Call.objects.filter(execution=bad).update(shown_input="not json")
    became = {found.ref: found.became for found in reconcile(runtime)}
    assert became == {bad.ref: "quarantined", good.ref: "succeeded"}
    assert Execution.objects.get(pk=bad.ref).quarantined != ""
    assert reconcile(runtime) == []


def test_what_a_living_thread_drives_is_left_alone(caller, runtime, marker):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    with failpoints.crash_at("effect.after"):
        run_one(runtime)
    assert runtime.take(sent.ref)
    assert reconcile(runtime) == []
    runtime.let_go(sent.ref)
    assert len(reconcile(runtime)) == 1
