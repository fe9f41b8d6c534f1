"""A worker that lives is never settled by another; one that was given up may still say what really happened."""

import pytest

from approvals.models import Approval
from executions.models import Execution, Worker
from executions.services import calls, settle, workers
from executions.services.reconcile import reconcile
from executions.services.runtime import Runtime
from forge_project.ledger.journal import journal
from forge_project.ledger.models import Operation
from tests.db.executions import answer, run_all, run_one, send
from tests.marker import Marker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def second(db):
    """Another worker of this host."""
    made = Runtime()
    workers.register(made)
    return made


@pytest.fixture
def between(monkeypatch):
    """`between(point, do)` runs `do` when the call passes `point`: the effect is slow, and the world goes on."""
    real = calls.failpoints.reach

    def set_up(point, do):
        def reach(name):
            if name == point:
                monkeypatch.setattr(calls.failpoints, "reach", real)
                do()
            real(name)

        monkeypatch.setattr(calls.failpoints, "reach", reach)

    return set_up


def test_a_slow_effect_of_a_living_worker_is_left_alone(caller, runtime, marker, second, between):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    seen = []
    between("t2.before", lambda: seen.append(reconcile(second)))
    run_one(runtime)
    assert seen == [[]]
    done = Execution.objects.get(pk=sent.ref)
    assert (done.status, done.side_effect) == ("succeeded", "applied")
    assert Operation.objects.get().state == "outcome_committed"


def given_up(runtime, second):
    """The second worker takes the first for dead, and settles what it held."""
    row = Worker.objects.filter(pk=runtime.worker_id)
    was = row.values("pid", "start_time").get()
    row.update(pid=2**22 + 5, start_time=1)
    assert len(reconcile(second)) == 1
    row.update(**was)


@pytest.fixture
def approved(caller, workspace, runtime, approver):
    sent = send(caller, capability="file.write", input={"path": "a", "content": "new"}, workspace="ws")
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    return sent.ref


def test_the_outcome_after_parking_is_kept_and_shown(approved, folder, runtime, second, between, settings):
    def diverge():
        (folder / "a").write_text("somebody else")
        given_up(runtime, second)

    settings.FORGE_LINGER_MS = 0
    between("t2.before", diverge)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("executions.services.reconcile._LOCK_SECONDS", 0.0)
        patch.setattr("executions.services.reconcile.workspace_lock", _no_lock)
        run_one(runtime)
    done = Execution.objects.get(pk=approved)
    operation = Operation.objects.get()
    assert (done.status, done.side_effect, operation.state) == ("unknown", "unknown", "recovery_parked")
    told = journal(operation.pk)[-1]
    assert (told.state, told.invocation_id) == ("late_outcome", approved)
    assert (told.metadata["attempt"], told.metadata["is_error"], told.metadata["result"]["path"]) == (2, False, "a")


def test_the_outcome_after_sealing_goes_to_the_successor(caller, runtime, marker, second, between):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    between("t2.before", lambda: given_up(runtime, second))
    run_one(runtime)
    assert Execution.objects.get(pk=sent.ref).status == "succeeded"  # found by looking
    told = journal(Operation.objects.get().pk)[-1]
    assert (told.state, told.invocation_id, told.seq) == ("late_outcome", f"{sent.ref}~1", 1)


def test_an_executor_that_fails_under_a_lost_lease_says_so(caller, runtime, marker, second, between, monkeypatch):
    """As a finished one leaves its result; it looks at nothing any more: looking may finish what was begun."""
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    between("effect.before", lambda: given_up(runtime, second))
    monkeypatch.setattr(Marker, "execute", _failing)
    looked = []
    real = settle.observe
    monkeypatch.setattr(settle, "observe", lambda *asked: (looked.append(1), real(*asked))[1])
    run_one(runtime)
    assert (Execution.objects.get(pk=sent.ref).status, len(looked)) == ("failed", 1)  # the second worker's look
    told = journal(Operation.objects.get().pk)[-1]
    assert (told.state, told.invocation_id) == ("late_outcome", f"{sent.ref}~1")
    assert (told.metadata["is_error"], told.metadata["result"]["code"]) == (True, "EXECUTION_FAILED")


def _failing(self, request, effect):
    effect.begin(self.observe(request))
    calls.failpoints.reach("effect.before")
    raise OSError("the disk is gone")


class _no_lock:
    """The stale worker still holds the workspace: as if its lock had gone with its host."""

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
