"""A hold: nothing it covers is dispatched from then on, what has begun finishes, and release lets the rest go on."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connections, transaction

from approvals.models import Agent, Approval
from executions.bounds import HeldKind, Hold
from executions.models import Call, Execution
from executions.services import gate
from executions.services.boundary import Boundary
from executions.services.hold import PlaceHold, ReleaseHold, hold, release
from forge_project.kernel import failpoints
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger.governance import GOVERNANCE
from forge_project.ledger.selectors import events, payload
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
MARK = {"capability": "tests.marker", "input": {"text": "x"}}
SCRIPT = """await tools.tests.echo({value: 1}); text('before');
    await tools.call('tests.marker', {text: 'x'}); return 'done'"""
EVERYTHING, CALLER = (HeldKind.EVERYTHING, ""), (HeldKind.CALLER, "robo")
WORKSPACE, CAPABILITY = (HeldKind.WORKSPACE, "ws"), (HeldKind.CAPABILITY, "tests.marker")


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def place(kind, target, reason="incident 7"):
    return hold(PlaceHold(kind=kind, target=target, actor="os:op", reason=reason))


def free(kind, target):
    return release(ReleaseHold(kind=kind, target=target, actor="os:op", reason="over"))


def row_of(sent):
    return Execution.objects.get(pk=sent.ref)


def lines(marker):
    return marker.read_text().splitlines() if marker.exists() else []


@pytest.mark.parametrize("what", [EVERYTHING, CALLER, WORKSPACE, CAPABILITY])
def test_what_is_held_waits_and_goes_on_when_it_is_released(caller, workspace, runtime, marker, what):
    sent = send(caller, **MARK, workspace="ws")
    place(*what)
    run_all(runtime)
    assert (row_of(sent).status, row_of(sent).attempt, lines(marker)) == ("queued", 0, [])
    free(*what)
    run_all(runtime)
    assert (row_of(sent).status, len(lines(marker))) == ("succeeded", 1)


def test_others_go_on(caller, workspace, runtime, marker):
    other = User.objects.create_user("other")
    Agent.objects.create(user=other, owner=User.objects.get(username="owen"))
    place(*CALLER)
    place(HeldKind.CAPABILITY, "file.read")
    sent = send(other, **MARK)
    run_all(runtime)
    assert row_of(sent).status == "succeeded"


@pytest.mark.parametrize("what", [EVERYTHING, CALLER, CAPABILITY])
@pytest.mark.parametrize("interruption", ["fail", "resume"])
def test_a_running_script_stops_at_its_next_dispatch_and_resumes(
    caller, runtime, marker, monkeypatch, what, interruption
):
    """Held while its first call runs; its second is dispatched after the release, and the first not again."""
    from tests.echo import Echo

    real, times = Echo.execute, []

    def execute(self, *given):
        times.append(1)
        place(*what)
        return real(self, *given)

    monkeypatch.setattr(Echo, "execute", execute)
    sent = send(caller, source=SCRIPT, interruption=interruption)
    run_one(runtime)
    held = row_of(sent)
    assert (held.status, held.attempts.get().ending, lines(marker)) == ("queued", "held", [])
    assert held.hold.reason == "incident 7"
    assert run_one(runtime) is None  # it does not spin
    free(*what)
    run_all(runtime)
    done = row_of(sent)
    assert (done.status, done.shown_result, done.hold_id) == ("succeeded", '"done"', None)
    assert (len(times), len(lines(marker))) == (1, 1)


def test_an_approved_effect_under_a_hold_is_not_applied_before_its_release(
    caller, workspace, folder, runtime, approver
):
    sent = send(caller, capability="file.write", input={"path": "a", "content": "x"}, workspace="ws")
    run_all(runtime)
    place(*WORKSPACE)
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert (row_of(sent).status, Approval.objects.get().state, list(folder.iterdir())) == ("queued", "approved", [])
    free(*WORKSPACE)
    run_all(runtime)
    assert (row_of(sent).status, (folder / "a").read_text()) == ("succeeded", "x")


@pytest.mark.parametrize("script", [False, True])
def test_a_hold_right_before_the_boundary_closes_it(caller, runtime, marker, monkeypatch, script):
    sent = send(caller, **({"source": SCRIPT} if script else MARK))
    real = Boundary.begin
    monkeypatch.setattr(Boundary, "begin", lambda self, seen: (place(*CAPABILITY), real(self, seen))[1])
    run_one(runtime)
    assert (row_of(sent).status, lines(marker)) == ("queued", [])
    assert Call.objects.order_by("-n").first().status == "requested"
    monkeypatch.setattr(Boundary, "begin", real)
    free(*CAPABILITY)
    run_all(runtime)
    assert (row_of(sent).status, len(lines(marker))) == ("succeeded", 1)


def test_what_has_begun_finishes(caller, runtime, marker, monkeypatch):
    sent = send(caller, **MARK)
    real = failpoints.reach
    monkeypatch.setattr(
        failpoints, "reach", lambda name: (place(*EVERYTHING) if name == "effect.before" else None, real(name))[1]
    )
    run_one(runtime)
    assert (row_of(sent).status, len(lines(marker))) == ("succeeded", 1)


def test_two_holds_are_both_released_before_it_goes_on(caller, runtime, marker):
    sent = send(caller, source=SCRIPT)
    place(*CAPABILITY)
    place(HeldKind.CAPABILITY, "tests.echo")
    run_all(runtime)
    free(HeldKind.CAPABILITY, "tests.echo")
    run_all(runtime)
    assert (row_of(sent).status, lines(marker)) == ("queued", [])
    free(*CAPABILITY)
    run_all(runtime)
    assert row_of(sent).status == "succeeded"


def test_both_are_facts_of_governance(caller):
    place(*CALLER)
    free(*CALLER)
    place(*CALLER)
    told = [payload(event)["actions"]["forge"] for event in events(GOVERNANCE)]
    assert [(one["fact"], one["kind"], one["target"], one["actor"], one["reason"]) for one in told] == [
        ("hold.placed", "caller", "robo", "os:op", "incident 7"),
        ("hold.released", "caller", "robo", "os:op", "over"),
        ("hold.placed", "caller", "robo", "os:op", "incident 7"),
    ]
    assert Hold.objects.filter(released_at=None).count() == 1


@pytest.mark.parametrize(
    ("what", "reason", "refusal"),
    [
        ((HeldKind.CALLER, "nobody"), "x", Missing), ((HeldKind.WORKSPACE, "none"), "x", Missing),
        ((HeldKind.CAPABILITY, "no.such"), "x", Missing), ((HeldKind.EVERYTHING, "x"), "x", Invalid),
        (EVERYTHING, "", Invalid), (EVERYTHING, " ", Invalid), (EVERYTHING, "x" * 501, Invalid),
        (EVERYTHING, "a\0b", Invalid),
    ],
)  # fmt: skip
def test_a_faulty_hold_changes_nothing(db, what, reason, refusal):
    with pytest.raises(refusal):
        place(*what, reason)
    assert not Hold.objects.exists()
    assert not list(events(GOVERNANCE))


def test_what_is_held_is_not_held_again_and_what_is_not_is_not_released(db):
    place(*EVERYTHING)
    with pytest.raises(Conflict):
        place(*EVERYTHING)
    free(*EVERYTHING)
    with pytest.raises(Missing):
        free(*EVERYTHING)
    assert len(list(events(GOVERNANCE))) == 2


def test_a_hold_waits_for_the_dispatch_that_came_first(db):
    inside, go_on, placed = threading.Event(), threading.Event(), threading.Event()

    def dispatch():
        with transaction.atomic():
            gate.enter()
            inside.set()
            go_on.wait(10)
        connections.close_all()

    def holds():
        place(*EVERYTHING)
        placed.set()
        connections.close_all()

    threads = [threading.Thread(target=dispatch), threading.Thread(target=holds)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    assert not placed.wait(0.5)
    go_on.set()
    assert placed.wait(10)
    for thread in threads:
        thread.join(10)


def test_a_hold_against_dispatches_none_after_its_return(caller, marker, runtime, settings):
    """While executions run, a hold is placed: from its return on the marker file does not grow."""
    settings.FORGE_WORKER_THREADS = 1
    for n in range(12):
        send(caller, f"k{n}", source=SCRIPT)
    stop = threading.Event()

    def work():
        while not stop.is_set() and run_one(runtime):
            pass
        connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(lines(marker)) < 3:
        pass
    place(*CAPABILITY)
    dispatched = Call.objects.filter(tool="tests.marker").exclude(status__in=["requested", "rejected"]).count()
    for thread in threads:
        thread.join(60)
    stop.set()
    assert len(lines(marker)) == dispatched
    free(*CAPABILITY)
    run_all(runtime)
    assert set(Execution.objects.values_list("status", flat=True)) == {"succeeded"}
    assert len(lines(marker)) == 12
