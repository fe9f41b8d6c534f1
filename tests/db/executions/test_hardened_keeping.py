"""What was kept, counted or told wrongly once: each a kind of fault that must stay mended."""

import threading

import pytest

from approvals.models import Approval
from executions.models import Call, Output, SessionValue, Workspace, WorkspaceAccess
from executions.services import first_start, locks, session_state
from executions.services.reconcile import reconcile
from executions.services.sealed import unseal
from forge_project.kernel import clock, failpoints
from tests.db.executions import answer, run_all, run_one, send
from tests.db.executions.hardened import _no_linger, end, row  # noqa: F401  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)


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
