"""Races with barriers: one winner, at most one effect, no deadlock, and the ledger agrees. SQLite hides most of it."""

import subprocess
import sys
import threading
import time

import pytest
from django.db import connection, connections

from approvals.models import Approval
from executions.errors import LeaseLost
from executions.models import Call, CallerLoad, Execution, Worker
from executions.sandbox.shapes import Asked
from executions.services import workers
from executions.services.boundary import Boundary
from executions.services.cancel import Cancel, cancel
from executions.services.catalog import find
from executions.services.claim import claim_next
from executions.services.guard import Guard
from executions.services.reconcile import reconcile
from executions.services.runtime import Runtime
from executions.services.submission import parse
from executions.services.submit import submit
from executions.services.turns import judge_all, open_one, pose
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, ForgeError
from forge_project.ledger import selectors
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing
from tests import environment
from tests.db.executions import answer, run_all, send
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = environment.ROUNDS or (100 if connection.vendor == "postgresql" else 10)


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0
    settings.FORGE_CALLER_QUEUED = 10_000
    settings.FORGE_CALLER_PENDING = 10_000


def at_once(*jobs):
    """Runs the jobs from one barrier; what each returned or raised."""
    barrier, ends = threading.Barrier(len(jobs)), [None] * len(jobs)

    def work(at, job):
        try:
            barrier.wait(10)
            ends[at] = job()
        except ForgeError as error:
            ends[at] = error
        except BaseException as error:
            ends[at] = AssertionError(repr(error))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "deadlock"
    for end in ends:
        if isinstance(end, AssertionError):
            raise end
    return ends


def lines(marker):
    return marker.read_text().splitlines() if marker.exists() else []


def test_32_threads_with_one_key(caller):
    for n in range(ROUNDS):
        body = parse(caller, f"k{n}", {"source": f"return {n}"})
        ends = at_once(*[lambda body=body: submit(body) for _ in range(32)])
        assert len({end.execution.ref for end in ends}) == 1
        assert [end.created for end in ends].count(True) == 1
    assert CallerLoad.objects.get().queued == Execution.objects.count() == ROUNDS
    assert verify().findings == []


def test_the_queue_cap_holds(caller, settings):
    settings.FORGE_CALLER_QUEUED = 5
    ends = at_once(*[lambda n=n: send(caller, f"k{n}", source="return 1") for n in range(16)])
    assert [type(end).__name__ for end in ends].count("TooMany") == 11
    assert CallerLoad.objects.get().queued == 5


@pytest.mark.rows_by_hand
def test_two_workers_never_claim_one_execution(caller):
    both = [Runtime(), Runtime()]
    for runtime in both:
        workers.register(runtime)
    for n in range(ROUNDS):
        send(caller, f"k{n}", source="return 1")
        for runtime in both:
            workers.beat(runtime)  # many rounds outlast a heartbeat, and then nothing is claimed
        ends = at_once(*[lambda runtime=runtime: claim_next(runtime) for runtime in both])
        won = [lease for lease in ends if lease is not None]
        assert len(won) == 1
        cancel(Cancel(execution_ref=won[0].ref, actor="user:ann", reason="next round"))
        Execution.objects.filter(pk=won[0].ref).update(
            status="failed", error_code="X", side_effect="not_applied", worker=None
        )
        CallerLoad.objects.update(running=0)
        for runtime in both:
            runtime.let_go(won[0].ref)


@pytest.fixture
def dead_worker():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    def make():
        """Another one each time: who was declared dead once claims nothing after half a lease."""
        runtime = Runtime()
        workers.register(runtime)
        Worker.objects.filter(pk=runtime.worker_id).update(pid=gone.pid, start_time=1)
        return runtime

    return make


def test_a_take_over_against_a_stale_t1(caller, marker, dead_worker, runtime):
    """T1 lands before the take-over or never: a stale attempt can't dispatch."""
    landed = 0
    for n in range(ROUNDS):
        sent = send(caller, f"k{n}", capability="tests.marker", input={"text": str(n)})
        dead = dead_worker()
        lease = claim_next(dead)
        guard = Guard(lease=lease, runtime=dead, deadline=clock.monotonic() + 60)
        with writing(sent.ref) as page:
            asked, execution = Asked(1, "tests.marker", {"text": "x"}, None), Execution.objects.get(pk=sent.ref)
            opened = open_one(page, guard, execution, asked, judge_all(pose(execution, [asked]))[1])
        boundary = Boundary(opened.call, execution, find("tests.marker"), guard)

        def begin(boundary=boundary, pause=n % 10 * 0.003):  # it is quicker than finding what is to be taken over
            time.sleep(pause)
            boundary.begin({"line": "x"})

        stale, _ = at_once(begin, lambda: reconcile(runtime))
        kinds = [event.kind for event in selectors.events(sent.ref)]
        done = Execution.objects.get(pk=sent.ref)
        assert done.status in ("failed", "running"), done.status
        if done.status == "running":  # reconcile lost the race for the row's lock and left it for its next round
            reconcile(runtime)
        if isinstance(stale, LeaseLost):
            assert "tool_dispatch" not in kinds
        else:
            assert stale is None
            landed += 1
            kinds = [event.kind for event in selectors.events(sent.ref)]
            assert kinds.index("tool_dispatch") < kinds.index("execution.taken_over")
        assert Execution.objects.get(pk=sent.ref).status == "failed"
        dead.close()
    assert verify().findings == []
    if connection.vendor == "postgresql":
        assert 0 < landed < ROUNDS, landed  # both orders were seen


def test_a_decision_against_a_cancel(caller, workspace, folder, runtime, approver):
    """Closing a waiting execution and deciding its approval at the same time."""
    for n in range(ROUNDS):
        sent = send(caller, f"k{n}", capability="file.write", input={"path": f"f{n}", "content": "x"}, workspace="ws")
        run_all(runtime)
        approval = Approval.objects.get(execution_ref=sent.ref)
        stop = Cancel(execution_ref=sent.ref, actor="user:ann", reason="race")
        decided, _ = at_once(lambda a=approval: answer(a, approver), lambda s=stop: cancel(s))
        assert isinstance(decided, Conflict | Approval)
        run_all(runtime)
        assert Execution.objects.get(pk=sent.ref).status == "cancelled"
        assert Approval.objects.get(pk=approval.ref).state == "revoked"
    assert list(folder.iterdir()) == []
    assert verify().findings == []


def test_a_decision_against_parking(caller, workspace, folder, runtime, approver):
    """Whichever is first, the decision is never slept through."""
    for n in range(ROUNDS):
        sent = send(caller, f"k{n}", capability="file.write", input={"path": f"f{n}", "content": "x"}, workspace="ws")

        def approve(ref=sent.ref):
            while (approval := Approval.objects.filter(execution_ref=ref).first()) is None:
                pass
            return answer(approval, approver)

        at_once(lambda: run_all(runtime), approve)
        run_all(runtime)
        done = Execution.objects.get(pk=sent.ref)
        assert (done.status, done.side_effect) == ("succeeded", "applied"), (done.status, done.error_code)
    assert len(list(folder.iterdir())) == ROUNDS
    assert Call.objects.filter(status="succeeded").count() == ROUNDS
    assert verify().findings == []


def test_two_approvers_are_one_effect(caller, workspace, folder, runtime, approver):
    other = person("bea", "approvers")
    for n in range(ROUNDS):
        sent = send(caller, f"k{n}", capability="file.write", input={"path": f"f{n}", "content": "x"}, workspace="ws")
        run_all(runtime)
        approval = Approval.objects.get(execution_ref=sent.ref)
        ends = at_once(lambda a=approval: answer(a, approver), lambda a=approval: answer(a, other))
        lost = [end for end in ends if isinstance(end, Conflict)]
        assert len(lost) == 1
        assert lost[0].facts["decided_by"] in ("ann", "bea")
        run_all(runtime)
        kinds = [event.kind for event in selectors.events(sent.ref)]
        assert kinds.count("tool_dispatch") == kinds.count("approval.consumed") == 1
    assert len(list(folder.iterdir())) == ROUNDS


def test_a_cancel_against_an_effect(caller, runtime, marker):
    """The record says which of the two was first, and the world agrees."""
    for n in range(ROUNDS):
        before = len(lines(marker))
        sent = send(caller, f"k{n}", capability="tests.marker", input={"text": str(n)})
        stop = Cancel(execution_ref=sent.ref, actor="user:ann", reason="race")
        at_once(lambda: run_all(runtime), lambda s=stop: cancel(s))
        reconcile(runtime)
        done = Execution.objects.get(pk=sent.ref)
        assert done.status in ("cancelled", "succeeded")
        assert (done.side_effect == "applied") == (len(lines(marker)) - before == 1), done.status
        if done.status == "succeeded":
            assert done.side_effect == "applied"
    assert verify().findings == []
