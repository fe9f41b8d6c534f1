"""Who is next: round robin between callers, the oldest first of each, nobody more than a share."""

import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connections

from approvals.models import Agent
from executions.models import CallerLoad, CallerRefused, Execution
from executions.services import workers
from executions.services.claim import claim_next
from executions.services.runtime import Runtime
from forge_project.kernel import clock
from forge_project.kernel.errors import TooMany
from tests.db.executions import run_all, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def callers(caller):
    made = [caller]
    for name in ("busy", "rare"):
        user = User.objects.create_user(name)
        Agent.objects.create(user=user, owner=User.objects.get(username="owen"))
        made.append(user)
    return made


def claimed(runtime, count):
    """Whose executions are claimed, in order, while none ends."""
    leases = [claim_next(runtime) for _ in range(count)]
    return [Execution.objects.get(pk=lease.ref) for lease in leases if lease is not None]


def names(rows):
    return [row.caller.username for row in rows]


def test_a_caller_with_much_work_does_not_make_the_others_wait(callers, runtime):
    robo, busy, rare = callers
    for n in range(6):
        send(busy, f"k{n}", source="1")
    send(robo, "a", source="1")
    send(rare, "b", source="1")
    assert names(claimed(runtime, 5)) == ["busy", "robo", "rare", "busy", "busy"]


def test_of_one_caller_the_oldest_is_first(caller, runtime):
    refs = [send(caller, f"k{n}", source="1").ref for n in range(4)]
    Execution.objects.filter(pk=refs[2]).update(created_at=clock.now() - timedelta(hours=1))
    assert [row.ref for row in claimed(runtime, 4)] == [refs[2], refs[0], refs[1], refs[3]]


def test_turns_go_on_from_who_was_served_last(callers, runtime):
    robo, busy, rare = callers
    for user in (busy, robo):
        for n in range(3):
            send(user, f"k{n}", source="1")
    assert names(claimed(runtime, 3)) == ["busy", "robo", "busy"]
    send(rare, "k", source="1")
    assert names(claimed(runtime, 3)) == ["rare", "robo", "busy"]


def test_one_caller_runs_at_most_four(caller, runtime, settings):
    settings.FORGE_WORKER_THREADS = 100
    for n in range(6):
        send(caller, f"k{n}", source="1")
    assert len(claimed(runtime, 6)) == 4
    assert (CallerLoad.objects.get().running, CallerLoad.objects.get().queued) == (4, 2)


def test_one_caller_holds_at_most_half_of_a_workers_slots(callers, runtime, settings):
    settings.FORGE_WORKER_THREADS = 4
    _, busy, rare = callers
    for n in range(4):
        send(busy, f"k{n}", source="1")
    send(rare, "k", source="1")
    assert names(claimed(runtime, 4)) == ["busy", "rare", "busy"]
    elsewhere = Runtime()
    workers.register(elsewhere)
    assert names(claimed(elsewhere, 3)) == ["busy", "busy"]


def test_what_waits_for_a_person_does_not_count(caller, workspace, runtime, settings):
    settings.FORGE_LINGER_MS = 0
    for n in range(6):
        send(caller, f"k{n}", capability="file.write", input={"path": f"{n}", "content": "x"}, workspace="ws")
    run_all(runtime)
    assert set(Execution.objects.values_list("status", flat=True)) == {"waiting_approval"}
    assert (CallerLoad.objects.get().running, CallerLoad.objects.get().queued) == (0, 0)


def test_a_race_can_not_pass_the_queues_cap(caller, settings):
    settings.FORGE_CALLER_QUEUED = 5
    barrier, full = threading.Barrier(16), []

    def ask(n):
        barrier.wait(20)
        try:
            send(caller, f"k{n}", source="1")
        except TooMany as refusal:
            full.append(refusal)
        connections.close_all()

    threads = [threading.Thread(target=ask, args=[n]) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (Execution.objects.count(), len(full)) == (5, 11)
    refused = CallerRefused.objects.get()
    assert (CallerLoad.objects.get().queued, refused.rule, refused.times) == (5, "queue.full", 11)


def test_active_time_alone_counts(caller, workspace, runtime, settings, approver):
    """Half an hour in the hands of a person leaves the time-out of 5 seconds untouched."""
    from approvals.models import Approval
    from tests.db.executions import answer

    settings.FORGE_LINGER_MS = 0
    body = {"capability": "file.write", "input": {"path": "a", "content": "x"}, "workspace": "ws"}
    sent = send(caller, **body, timeout_ms=5000)
    run_all(runtime)
    Execution.objects.filter(pk=sent.ref).update(
        created_at=clock.now() - timedelta(minutes=30), started_at=clock.now() - timedelta(minutes=30)
    )
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert done.status == "succeeded"
    assert 0 < done.active_ms < 5000
