"""What an unlucky crash, cancel or drain found: each a kind of fault that must stay mended."""

import time

import pytest
from django.db import OperationalError

from approvals.models import Approval
from executions.models import Call, Execution, Output, Worker
from executions.sandbox import guest as guests
from executions.services import locks, settle, single, worker
from executions.services import reconcile as reconciling
from executions.services.claim import claim_next
from executions.services.reconcile import reconcile
from executions.services.script import Script
from executions.services.sealed import unseal
from forge_project.kernel import clock, failpoints
from tests.db.executions import answer, run_all, run_one, send
from tests.db.executions.hardened import _no_linger, claimed, drive, end, row, stop  # noqa: F401  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)
READ = "return (await tools.call('file.read', {path: 'a'})).content"


def retried_read(caller, folder, runtime):
    (folder / "a").write_text("x")
    sent = send(caller, source=READ, workspace="ws", interruption="resume")
    with failpoints.crash_at("t1.after"):
        run_one(runtime)
    reconcile(runtime)
    Execution.objects.update(due_at=None)
    return sent


def test_a_retried_read_that_is_given_up_is_settled(caller, workspace, folder, runtime, settings):
    sent = retried_read(caller, folder, runtime)
    for _ in range(settings.FORGE_MAX_CRASHES - 1):
        with failpoints.crash_at("claim.after"):
            run_one(runtime)
        reconcile(runtime)
        Execution.objects.update(due_at=None)
    assert (end(sent), Call.objects.get().error_code) == (("failed", "ISOLATE_FAILURE"), "INTERRUPTED")


def test_a_retried_read_of_a_cancelled_execution_is_settled(caller, workspace, folder, runtime):
    sent = retried_read(caller, folder, runtime)
    stop(sent)
    assert (end(sent), Call.objects.get().status) == (("cancelled", "CANCELLED"), "failed")


def test_a_cancel_between_claim_and_start(caller, workspace, folder, runtime):
    sent = retried_read(caller, folder, runtime)
    lease = claimed(runtime)
    stop(sent)
    drive(lease, runtime)
    assert end(sent) == ("cancelled", "CANCELLED")


@pytest.mark.parametrize("trouble", ["lock", "database"])
def test_trouble_of_the_moment_quarantines_nothing(caller, workspace, runtime, rule, monkeypatch, trouble):
    rule("file.write", "ALLOW")
    sent = send(caller, capability="file.write", workspace="ws", input={"path": "a", "content": "x"})
    with failpoints.crash_at("effect.after"):
        run_one(runtime)
    if trouble == "lock":
        monkeypatch.setattr(reconciling, "_LOCK_SECONDS", 0.1)
        with locks.workspace_lock("ws", clock.monotonic() + 1):
            assert reconcile(runtime) == []
    else:
        with monkeypatch.context() as patch:
            patch.setattr(settle, "observe", lambda *_: (_ for _ in ()).throw(OperationalError("gone")))
            assert reconcile(runtime) == []
    assert row(sent).quarantined == ""
    reconcile(runtime)
    assert end(sent) == ("succeeded", "")


def test_a_quarantined_row_can_be_tried_again(caller, runtime, marker, monkeypatch):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    with failpoints.crash_at("effect.after"):
        run_one(runtime)
    with monkeypatch.context() as patch:
        patch.setattr(settle, "observe", lambda *_: 1 / 0)
        assert [found.became for found in reconcile(runtime)] == ["quarantined"]
    assert reconcile(runtime) == []
    assert [found.became for found in reconcile(runtime, quarantined=True)] == ["succeeded"]
    assert row(sent).side_effect == "applied"


@pytest.mark.rows_by_hand
def test_nobody_takes_over_from_a_worker_that_lives_elsewhere(caller, runtime, marker):
    sent = send(caller, capability="tests.marker", input={"text": "x"})
    runtime.let_go(claimed(runtime).ref)
    far = Worker.objects.create(
        id="00000000-0000-0000-0000-000000000001", host="h2", pid=4_000_000, start_time=1, boot_id="other",
        pid_namespace="other", started_at=clock.now(), heartbeat=clock.now(),
    )  # fmt: skip
    Execution.objects.update(worker=far)  # after the list of abandoned rows was made
    assert reconciling._one(sent.ref, runtime) is None
    assert end(sent) == ("running", "")


def test_a_drain_while_lingering_parks(caller, workspace, runtime, settings, monkeypatch):
    settings.FORGE_LINGER_MS = 200
    sent = send(caller, capability="file.write", input={"path": "a", "content": "x"}, workspace="ws")
    steps, real = [], single._step

    def step(*asked):
        steps.append(runtime.draining.set())
        assert len(steps) < 5
        return real(*asked)

    monkeypatch.setattr(single, "_step", step)
    drive(claimed(runtime), runtime)
    assert end(sent) == ("waiting_approval", "")


def test_a_drain_during_replay_gives_the_execution_back(caller, workspace, runtime, approver, monkeypatch):
    source = "await tools.call('file.write', {path: 'a', content: 'x'}); return 1"
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    lease = claimed(runtime)
    runtime.draining.set()
    with monkeypatch.context() as patch:
        patch.setattr(guests, "TICK_SECONDS", 0)
        drive(lease, runtime)
    assert end(sent)[0] in ("queued", "succeeded")
    runtime.draining.clear()
    run_all(runtime)
    assert end(sent) == ("succeeded", "")


def test_a_worker_outlives_whatever_claiming_raises(caller, monkeypatch, settings):
    settings.FORGE_SWEEP_SECONDS = 0.1
    sent, real, raised = send(caller, source="return 1"), claim_next, []

    def once(runtime):
        if not raised:
            raised.append(1)
            raise RuntimeError("whatever")
        return real(runtime)

    monkeypatch.setattr(worker, "claim_next", once)
    process = worker.WorkerProcess()
    try:
        until = time.monotonic() + 10
        while end(sent)[0] != "succeeded" and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        process.drain()
    assert end(sent) == ("succeeded", "")


def test_the_heart_beats_while_reconcile_waits(caller, workspace, runtime, rule, settings, monkeypatch):
    settings.FORGE_SWEEP_SECONDS, settings.FORGE_LEASE_SECONDS = 0.1, 2
    monkeypatch.setattr(reconciling, "_LOCK_SECONDS", 3)
    rule("file.write", "ALLOW")
    send(caller, capability="file.write", workspace="ws", input={"path": "a", "content": "x"})
    with failpoints.crash_at("effect.after"):
        run_one(runtime)
    process = worker.WorkerProcess()
    try:
        with locks.workspace_lock("ws", clock.monotonic() + 1):
            Execution.objects.update(worker=process.runtime.worker_id)
            until = time.monotonic() + 2.5
            while time.monotonic() < until:
                assert process.runtime.fresh()
                time.sleep(0.1)
    finally:
        process.drain()


def test_a_result_received_before_the_cancel_was_seen_is_kept(caller, workspace, folder, runtime, monkeypatch):
    (folder / "a").write_text("x")
    sent = send(caller, source=f"text('bye'); {READ}", workspace="ws")
    lease, real = claimed(runtime), Script.run

    def run(script):
        ended = real(script)
        stop(sent)
        script._attempt._asked_at = 0
        return ended

    monkeypatch.setattr(Script, "run", run)
    drive(lease, runtime)
    done = row(sent)
    assert (done.status, unseal(done.sealed_result), done.cancel_requested_at is not None) == ("succeeded", "x", True)
    assert Output.objects.get().text == "bye\n"


@pytest.mark.parametrize("decision", ["DENY", "REVIEW"])
def test_a_read_is_not_asked_again_once_policy_forbids_it(caller, workspace, folder, runtime, rule, decision):
    sent = retried_read(caller, folder, runtime)
    rule("file.read", decision)
    run_one(runtime)
    assert end(sent) == ("failed", "POLICY_DENIED")
    assert (Call.objects.get().status, Call.objects.get().error_code) == ("failed", "INTERRUPTED")


@pytest.mark.parametrize("decision", ["DENY", "REVIEW"])
def test_nor_that_of_a_single_request(caller, workspace, folder, runtime, rule, decision):
    (folder / "a").write_text("x")
    sent = send(caller, capability="file.read", input={"path": "a"}, workspace="ws", interruption="resume")
    with failpoints.crash_at("t1.after"):
        run_one(runtime)
    reconcile(runtime)
    Execution.objects.update(due_at=None)
    rule("file.read", decision)
    run_one(runtime)
    assert end(sent) == ("failed", "POLICY_DENIED")
    assert (Call.objects.get().status, Call.objects.get().error_code) == ("failed", "INTERRUPTED")
