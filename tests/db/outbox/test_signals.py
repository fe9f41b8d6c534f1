"""Signals: one row in the transaction of the transition it tells."""

import threading
from datetime import timedelta

import pytest
from django.db import connections

from executions.models import Execution
from executions.outbox.models import Signal
from executions.outbox.tell import ref_of
from executions.services.cancel import Cancel, cancel
from executions.services.waiting import requeue
from forge_project.kernel import clock, failpoints
from tests.db.api import WRITE, client_of, get, post, refused
from tests.db.executions import answer, run_all, run_one, send
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def told(**fit):
    rows = Signal.objects.filter(**fit).order_by("created_at", "ref")
    return [(row.kind, row.status, row.approval_state) for row in rows]


def test_a_script_that_asks_and_ends(caller, workspace, runtime, approver):
    source = "await tools.call('file.write', {path: 'a', content: '1'}); return 1"
    ref = send(caller, source=source, workspace="ws", task_id="t1", run_no=3).ref
    run_all(runtime)
    from approvals.models import Approval

    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert told() == [
        ("APPROVAL_REQUESTED", "running", "pending"),
        ("APPROVAL_DECIDED", "waiting_approval", "approved"),
        ("EXECUTION_FINISHED", "succeeded", ""),
    ]
    last = Signal.objects.get(kind="EXECUTION_FINISHED")
    assert last.ref == ref_of(ref, "EXECUTION_FINISHED", 2, "succeeded", "")
    assert (last.attempt, last.side_effect) == (2, "applied")


def test_two_questions_of_one_attempt_are_two_signals(caller, workspace, runtime):
    source = "await Promise.all(['a', 'b'].map(path => tools.call('file.write', {path, content: '1'})))"
    send(caller, source=source, workspace="ws")
    run_all(runtime)
    assert told() == [("APPROVAL_REQUESTED", "running", "pending")] * 2


def test_a_cancel_in_the_queue_and_an_expiry_are_told(caller, workspace):
    one = send(caller, key="1", source="return 1")
    cancel(Cancel(execution_ref=one.ref, actor="user:robo", reason="no"))
    two = send(caller, key="2", source="return 1")
    Execution.objects.filter(pk=two.ref).update(expires_at=clock.now() - timedelta(seconds=1))
    from executions.services.expire import expire_due

    expire_due()
    assert told() == [("EXECUTION_FINISHED", "cancelled", ""), ("EXECUTION_FINISHED", "timed_out", "")]
    assert list(Signal.objects.order_by("created_at").values_list("error_code", flat=True)) == ["CANCELLED", "TIMEOUT"]


def test_a_drain_is_no_recovery(caller, workspace, runtime):
    from executions.services.claim import claim_next

    send(caller, source="return 1")
    lease = claim_next(runtime)
    requeue(lease, {}, "drained")
    runtime.let_go(lease.ref)
    assert told() == []


def test_what_a_dead_worker_left_is_told(caller, workspace, runtime, marker):
    from executions.services.reconcile import reconcile

    send(caller, source="await tools.call('tests.marker', {text: 'x'}); return 1", interruption="resume")
    with failpoints.crash_at("t1.before"):
        run_one(runtime)
    runtime.let_go(Execution.objects.get().ref)
    reconcile(runtime)
    assert told() == [("RECOVERY_RESUME", "queued", "")]
    run_all(runtime)
    assert told()[1:] == [("EXECUTION_FINISHED", "succeeded", "")]


def test_a_crash_before_commit_leaves_neither(caller, workspace, runtime):
    ref = send(caller, source="return 1").ref
    with failpoints.crash_at("ledger.after_head", nth=2):
        run_one(runtime)
    assert Execution.objects.get(pk=ref).status == "running"
    assert told() == []


def test_the_list_is_oldest_first_and_only_ones_own(api, other, operator, done, caller):
    post(other, {"source": "return 1"}, "theirs")
    cancel(Cancel(execution_ref=Execution.objects.exclude(pk=done).get().ref, actor="user:other", reason="no"))
    mine = get(api, "/signals/").json()
    assert [row["execution_ref"] for row in mine["results"]] == [done]
    assert mine["next"] is mine["previous"] is None
    assert mine["results"][0] | {"created_at": 0, "signal_ref": 0} == {
        "signal_ref": 0, "kind": "EXECUTION_FINISHED", "execution_ref": done, "attempt": 1, "status": "succeeded",
        "side_effect": "not_applied", "created_at": 0,
    }  # fmt: skip
    everybodys = [row["execution_ref"] for row in get(operator, "/signals/").json()["results"]]
    assert everybodys[0] == done
    assert len(everybodys) == 2
    assert get(client_of(person("ann2", "approvers")), "/signals/").json()["results"] == []


@pytest.mark.parametrize(("limit", "got"), [(0, 1), (-5, 1), (1, 1), (2, 2), (1000, 3)])
def test_the_limit_is_clamped(api, caller, workspace, limit, got):
    for key in "abc":
        cancel(Cancel(execution_ref=send(caller, key=key, source="1").ref, actor="user:robo", reason="no"))
    page = get(api, "/signals/", limit=limit).json()
    assert len(page["results"]) == got
    assert (page["next"] is None) == (got == 3)


@pytest.mark.parametrize("query", ["limit=x", "limit=1.5", "limit=", "nope=1", "cursor=zz"])
def test_a_bad_query_is_400(api, query):
    refused(api.get(f"/api/v1/signals/?{query}"), 400, "INVALID_REQUEST")


def test_acknowledged_once(api, other, operator, done):
    ref = get(api, "/signals/").json()["results"][0]["signal_ref"]
    path = f"/signals/{ref}/acknowledge/"
    refused(post(other, {}, path=path), 404, "NOT_FOUND")
    assert post(api, {}, path=path).json() == {"acknowledged": True}
    assert post(api, {}, path=path).json() == {"acknowledged": False}
    assert post(operator, {}, path=path).json() == {"acknowledged": False}
    assert api.post(f"/api/v1{path}").json() == {"acknowledged": False}
    assert get(api, "/signals/").json()["results"] == []
    row = Signal.objects.get()
    assert row.acknowledged_by == "user:robo"
    refused(post(api, {"x": 1}, path=path), 400, "INVALID_REQUEST")


def test_an_acknowledged_one_does_not_come_back(api, done):
    from executions.outbox.models import SignalKind
    from executions.outbox.tell import tell

    ref = get(api, "/signals/").json()["results"][0]["signal_ref"]
    post(api, {}, path=f"/signals/{ref}/acknowledge/")
    tell(Execution.objects.get(pk=done), SignalKind.EXECUTION_FINISHED)
    assert get(api, "/signals/").json()["results"] == []


def test_one_of_many_acknowledges(caller, workspace):
    from executions.services.acknowledge import Acknowledge, acknowledge

    cancel(Cancel(execution_ref=send(caller, source="1").ref, actor="user:robo", reason="no"))
    ref, start, answers = Signal.objects.get().ref, threading.Barrier(8), []

    def ask():
        start.wait()
        answers.append(acknowledge(Acknowledge(signal_ref=ref, actor=caller)))
        connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False] * 7 + [True]


def test_denied_and_revoked_are_told(api, asked, approver, caller, runtime):
    answer(asked, approver, "deny")
    run_all(runtime)
    assert told()[1:] == [("APPROVAL_DECIDED", "waiting_approval", "denied"), ("EXECUTION_FINISHED", "failed", "")]


def test_the_admin_shows_and_changes_nothing(done, client):
    client.force_login(person("oscar", "operators"))
    ref = Signal.objects.get().ref
    page = client.get("/admin/executions/signal/")
    assert ref in page.content.decode()
    assert client.get(f"/admin/executions/signal/{ref}/change/").status_code == 200
    assert client.get("/admin/executions/signal/add/").status_code == 403
    assert client.post(f"/admin/executions/signal/{ref}/delete/", {"post": "yes"}).status_code == 403


def test_writes_of_an_approval_that_waits(api, workspace, runtime):
    post(api, WRITE, "k")
    run_all(runtime)
    row = get(api, "/signals/").json()["results"][0]
    assert (row["kind"], row["approval_state"]) == ("APPROVAL_REQUESTED", "pending")
    assert row["approval_ref"].startswith("appr_")
