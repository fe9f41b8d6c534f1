"""The same key asks again: which executions begin a new round, and what that leaves of the old one."""

import threading
from datetime import timedelta

import pytest
from django.db import connections

from approvals.models import Approval
from approvals.services.expire import expire_due
from executions.models import Call, CallerLoad, Execution
from executions.services import late
from executions.services.cancel import Cancel, cancel
from executions.services.journal import Ended
from executions.services.reconcile import reconcile
from executions.services.rounds import may_ask_again
from executions.services.submission import parse
from executions.services.submit import lookup, submit
from executions.states import Status
from executions.transitions import Lease
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import Conflict, Denied, TooMany
from forge_project.ledger.models import Invocation
from forge_project.ledger.selectors import events, payload
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
WRITE = {"capability": "file.write", "input": {"path": "a", "content": "x"}, "workspace": "ws"}


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def expire(ref):
    """As when nobody answered in time."""
    Approval.objects.filter(execution_ref=ref, state="pending").update(expires_at=clock.now() - timedelta(seconds=1))
    expire_due()


def again(caller, **body):
    return submit(parse(caller, "k1", body))


@pytest.fixture
def expired(caller, workspace, runtime):
    """A write whose approval nobody gave."""
    sent = send(caller, **WRITE)
    run_all(runtime)
    expire(sent.ref)
    run_all(runtime)
    return Execution.objects.get(pk=sent.ref)


def test_an_expired_one_is_asked_again_from_the_beginning(caller, expired, runtime, approver, folder):
    assert (expired.status, expired.error_code) == ("failed", "APPROVAL_EXPIRED")
    made = again(caller, **WRITE)
    row = made.execution
    assert (made.created, row.ref, row.status, row.side_effect) == (True, expired.ref, "queued", "not_started")
    assert (row.round, row.attempt, row.error_code, row.started_at, row.finished_at) == (1, 2, "", None, None)
    run_all(runtime)
    old, new = Approval.objects.order_by("requested_at")
    assert (old.state, new.state) == ("expired", "pending")
    with pytest.raises(Conflict):
        answer(old, approver)
    answer(new, approver)
    run_all(runtime)
    done = Execution.objects.get(pk=row.ref)
    assert (done.status, done.side_effect, done.attempt) == ("succeeded", "applied", 4)
    assert (folder / "a").read_text() == "x"


def test_its_calls_are_numbered_anew_on_a_chain_of_their_own(caller, expired, runtime, approver):
    again(caller, **WRITE)
    run_all(runtime)
    answer(Approval.objects.get(state="pending"), approver)
    run_all(runtime)
    ref = expired.ref
    ids = list(Call.objects.order_by("round").values_list("round", "n", "call_id"))
    assert ids == [(0, 1, f"{ref}:forge:1"), (1, 1, f"{ref}~1:forge:1")]
    first, second = Invocation.objects.order_by("pk")
    assert (second.pk, second.follows, first.successors) == (f"{ref}~1", ref, 1)
    assert first.sealed_at
    assert second.sealed_at
    begun = payload(next(events(f"{ref}~1")))["actions"]["forge"]
    assert (begun["fact"], begun["reason"], begun["round"]) == ("execution.queued", "asked_again", 1)


def test_a_script_runs_anew_and_replays_its_own_round(caller, workspace, runtime, approver, folder):
    source = """const l = await tools.file.list({});
        text('asking'); await tools.file.write({path: 'a', content: 'x'}); return l.entries.length"""
    body = {"source": source, "workspace": "ws"}
    sent = send(caller, **body, timeout_ms=60_000)
    run_all(runtime)
    Execution.objects.filter(pk=sent.ref).update(expires_at=clock.now())
    from executions.services.expire import expire_due as expire_executions

    expire_executions()
    assert Execution.objects.get(pk=sent.ref).status == "timed_out"
    (folder / "other").write_text("there meanwhile")
    assert again(caller, **body).created
    run_all(runtime)
    answer(Approval.objects.get(state="pending"), approver)
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.shown_result, done.turns, done.round) == ("succeeded", "1", 2, 1)
    assert list(Call.objects.order_by("round", "n").values_list("round", "n")) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_one_whose_worker_died_is_asked_again(caller, runtime, marker):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    with failpoints.crash_at("effect.before"):
        run_one(runtime)
    reconcile(runtime)
    assert Execution.objects.get(pk=sent.ref).error_code == "INTERRUPTED"
    again(caller, capability="tests.marker", input={"text": "x"})
    run_all(runtime)
    assert Execution.objects.get(pk=sent.ref).status == "succeeded"
    assert len(marker.read_text().splitlines()) == 1


def test_a_third_round_follows_the_second(caller, expired, runtime):
    again(caller, **WRITE)
    run_all(runtime)
    expire(expired.ref)
    run_all(runtime)
    assert again(caller, **WRITE).execution.round == 2
    assert sorted(Invocation.objects.values_list("pk", flat=True)) == [
        expired.ref,
        f"{expired.ref}~1",
        f"{expired.ref}~2",
    ]


def test_what_the_key_does_not_cover_is_as_asked_last(caller, expired, runtime):
    row = again(caller, **WRITE, timeout_ms=1234, correlation_id="c2", run_no=9, purpose="once more").execution
    row.refresh_from_db()
    assert (row.timeout_ms, row.correlation_id, row.scope, row.purpose) == (1234, "c2", {"run_no": 9}, "once more")
    assert row.expires_at > expired.expires_at


def test_it_is_admitted_anew(caller, expired):
    workspace = expired.workspace
    workspace.access.all().delete()
    with pytest.raises(Denied):
        again(caller, **WRITE)
    assert Execution.objects.get(pk=expired.ref).status == "failed"
    assert Invocation.objects.count() == 1


def test_it_takes_a_place_in_the_queue(caller, expired, settings):
    settings.FORGE_CALLER_QUEUED = 1
    send(caller, "k2", source="1")
    with pytest.raises(TooMany):
        again(caller, **WRITE)
    assert (Execution.objects.get(pk=expired.ref).status, CallerLoad.objects.get().queued) == ("failed", 1)
    assert not Invocation.objects.filter(follows=expired.ref).exists()


def test_a_lookup_starts_nothing(caller, expired):
    found = lookup(parse(caller, "k1", WRITE))
    assert (found.ref, found.status, found.round) == (expired.ref, "failed", 0)


def test_a_denied_one_is_over(caller, workspace, runtime, approver):
    send(caller, **WRITE)
    run_all(runtime)
    answer(Approval.objects.get(), approver, "deny", "no")
    run_all(runtime)
    made = again(caller, **WRITE)
    assert (made.created, made.execution.status, made.execution.error_code) == (False, "failed", "APPROVAL_DENIED")


def test_a_cancelled_one_is_over(caller, workspace, runtime):
    sent = send(caller, **WRITE)
    run_all(runtime)
    cancel(Cancel(execution_ref=sent.ref, actor="user:ann", reason="no"))
    made = again(caller, **WRITE)
    assert (made.created, made.execution.status) == (False, "cancelled")


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("effect", ["not_applied", "applied", "unknown"])
@pytest.mark.parametrize(
    ("code", "retryable"),
    [("TIMEOUT", True), ("INTERRUPTED", False), ("APPROVAL_REQUIRED", False), ("APPROVAL_DENIED", False),
     ("POLICY_DENIED", False), ("SCRIPT_RUNTIME", False)],
)  # fmt: skip
def test_exactly_these_may_ask_again(status, effect, code, retryable):
    row = Execution(status=status, side_effect=effect, error_code=code, retryable=retryable)
    due = status in ("failed", "timed_out") and effect == "not_applied"
    assert may_ask_again(row) is (due and code in ("TIMEOUT", "INTERRUPTED", "APPROVAL_REQUIRED"))
    row.cancel_requested_at = clock.now()
    assert not may_ask_again(row)


def test_16_threads_that_ask_again_make_one_round(caller, expired, runtime):
    barrier, made = threading.Barrier(16), []

    def ask():
        barrier.wait(20)
        made.append(again(caller, **WRITE))
        connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(one.created for one in made) == 1
    assert len(made) == 16
    assert {one.execution.ref for one in made} == {expired.ref}
    assert list(Invocation.objects.filter(follows=expired.ref).values_list("pk", flat=True)) == [f"{expired.ref}~1"]
    assert CallerLoad.objects.get().queued == 1
    run_all(runtime)
    assert Call.objects.filter(round=1).count() == 1


def test_what_came_too_late_and_the_next_round_share_a_chain(caller, runtime, marker):
    """The old attempt's true outcome opened the successor; the round that follows goes on there."""
    body = {"capability": "tests.marker", "input": {"text": "x"}}
    sent = send(caller, **body)
    with failpoints.crash_at("effect.before"):
        run_one(runtime)
    old = Execution.objects.get(pk=sent.ref)
    lease = Lease(ref=old.ref, attempt=old.attempt, worker_id=runtime.worker_id)
    reconcile(runtime)
    late.keep(Call.objects.get(), lease, Ended(value={"line": "x"}), [])
    assert again(caller, **body).execution.round == 1
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.attempt, done.invocation_id) == ("succeeded", 2, f"{sent.ref}~1")
    kinds = [event.kind for event in events(done.invocation_id)]
    assert kinds[0] == "call.late_outcome"
    assert kinds[-1] == "completed"
