"""An approval lets exactly what was shown through: whatever changes in between, the effect is refused."""

import pytest

from approvals.models import Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Call, Execution, WorkspaceAccess
from executions.services import intact
from executions.services.asking import MAX_ASKED
from executions.services.sealed import seal
from executions.states import Access
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(caller, workspace, folder, runtime, approver, settings):
    """A file.write of `a` that waits for a person."""
    settings.FORGE_LINGER_MS = 0
    (folder / "a").write_text("old")
    sent = send(caller, capability="file.write", input={"path": "a", "content": "new"}, workspace="ws")
    run_all(runtime)
    return sent


def end(execution):
    done = Execution.objects.get(pk=execution.ref)
    return done.status, done.error_code


def states():
    return list(Approval.objects.order_by("requested_at").values_list("state", flat=True))


def test_nothing_changed_and_it_is_done(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("succeeded", ""), "new")


def test_a_changed_file_is_asked_again(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    (folder / "a").write_text("changed meanwhile")
    run_all(runtime)
    assert (end(asked), states()) == (("waiting_approval", ""), ["revoked", "pending"])
    assert (folder / "a").read_text() == "changed meanwhile"
    again = Approval.objects.get(state="pending")
    assert again.supersedes == Approval.objects.get(state="revoked").ref
    answer(again, approver)
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("succeeded", ""), "new")


def test_a_file_that_changes_each_time_ends_it(asked, folder, runtime, approver):
    for n in range(MAX_ASKED):
        answer(Approval.objects.get(state="pending"), approver)
        (folder / "a").write_text(f"change {n}")
        run_all(runtime)
    assert end(asked) == ("failed", "PRECONDITION_FAILED")
    assert "pending" not in states()
    assert (folder / "a").read_text() == f"change {MAX_ASKED - 1}"


@pytest.mark.rows_by_hand
@pytest.mark.parametrize(
    ("columns", "looked", "code"),
    [
        ({"sealed_input": {"path": "a", "content": "evil"}}, True, "LEDGER_CORRUPT"),
        ({"sealed_input": {"path": "a", "content": "evil"}}, False, "APPROVAL_INVALID"),
        ({"tool": "file.read"}, True, "LEDGER_CORRUPT"),
    ],
)
def test_a_changed_call_is_refused(asked, folder, runtime, approver, monkeypatch, columns, looked, code):
    """By the look at what is stored before anything goes on, and by the approval itself."""
    if not looked:
        monkeypatch.setattr(intact, "check", lambda _: None)
    answer(Approval.objects.get(), approver)
    columns = {name: seal(value) if name.startswith("sealed") else value for name, value in columns.items()}
    Call.objects.update(**columns)
    run_all(runtime)
    assert (folder / "a").read_text() == "old"
    assert end(asked) == ("failed", code)


def test_another_scope_is_refused(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    Execution.objects.update(scope={"task_id": "other"})
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("failed", "APPROVAL_INVALID"), "old")


def test_a_rule_that_forbids_it_now(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    save_rule(SaveRule(name="no", priority=1, capability="file.*", decision="DENY", reason="frozen", author=approver))
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("failed", "POLICY_DENIED"), "old")


def test_a_new_rule_that_wants_a_look_is_another_question(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    save_rule(SaveRule(name="look", priority=1, capability="file.write", decision="REVIEW", author=approver))
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("waiting_approval", ""), "old")
    assert Approval.objects.get(state="pending").rule == "look"


def test_an_unrelated_rule_changes_nothing(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    save_rule(SaveRule(name="git", priority=1, capability="git.*", decision="DENY", author=approver))
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("succeeded", ""), "new")


def test_a_workspace_taken_away(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    WorkspaceAccess.objects.all().delete()
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("failed", "SCOPE_DENIED"), "old")


def test_a_workspace_made_read_only(asked, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    WorkspaceAccess.objects.update(mode=Access.READ)
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("failed", "SCOPE_DENIED"), "old")


def test_an_account_closed_meanwhile(asked, caller, folder, runtime, approver):
    answer(Approval.objects.get(), approver)
    caller.is_active = False
    caller.save()
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("failed", "IDENTITY_INVALID"), "old")


def test_an_approval_used_too_late(asked, folder, runtime, approver, monkeypatch):
    from datetime import timedelta

    from forge_project.kernel import clock

    answer(Approval.objects.get(), approver)
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(seconds=1000))
    run_all(runtime)
    assert (end(asked), (folder / "a").read_text()) == (("failed", "APPROVAL_EXPIRED"), "old")


def test_an_approval_is_used_once(asked, folder, runtime, approver):
    """The same request under another key is another question."""
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    (folder / "a").write_text("old")
    second = send(asked.caller, "k2", capability="file.write", input={"path": "a", "content": "new"}, workspace="ws")
    run_all(runtime)
    assert (end(second), (folder / "a").read_text()) == (("waiting_approval", ""), "old")


def test_a_read_only_grant_never_reaches_a_person(caller, workspace, folder, runtime):
    WorkspaceAccess.objects.update(mode=Access.READ)
    sent = send(caller, capability="file.write", input={"path": "a", "content": "new"}, workspace="ws")
    run_all(runtime)
    assert end(sent) == ("failed", "SCOPE_DENIED")
    assert not Approval.objects.exists()
