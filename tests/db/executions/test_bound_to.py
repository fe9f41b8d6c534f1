"""One after the other, everything an approval is bound to is changed after the yes: each time the effect is refused."""

import json
import uuid

import pytest
from django.contrib.auth.models import User

from approvals.models import Agent, Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Call, CallerLoad, Execution, WorkspaceAccess
from executions.services.sealed import seal
from tests.db.executions import answer, run_all, send

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.rows_by_hand]


def rule(approver, name="look", **says):
    given = {"priority": 1, "capability": "file.write", "decision": "REVIEW"} | says
    save_rule(SaveRule(name=name, author=approver, **given))


def args(world):
    Call.objects.update(sealed_input=seal({"path": "a", "content": "evil"}))


def capability(world):
    args(world)
    Call.objects.update(tool="tests.marker", sealed_input=seal({"text": "x"}))


def policy_version(world):
    rule(world["approver"], reason="reworded")


def stricter_rule(world):
    rule(world["approver"], "strict", priority=0, decision="DENY")


def stricter_condition(world):
    rule(world["approver"], "strict", priority=0, decision="DENY", condition='input.content == "new"')


def more_votes(world):
    rule(world["approver"], votes=2)


def precondition(world):
    (world["folder"] / "a").write_text("other")


def grant_of_the_workspace(world):
    WorkspaceAccess.objects.all().delete()


def caller(world):
    other = User.objects.create_user("other")
    Agent.objects.create(user=other, owner=User.objects.create_user("olga"))
    WorkspaceAccess.objects.create(workspace=world["workspace"], user=other)
    CallerLoad.objects.create(caller=other, queued=1)
    Execution.objects.update(caller=other, caller_ref="user:other")


def task(world):
    Execution.objects.update(scope={"task_id": "t2"})


def role(world):
    Execution.objects.update(scope={"task_id": "t1", "role_ref": "other"})


def another_call(world):
    Call.objects.update(call_id=f"{uuid.uuid4().hex}:forge:1")


ENDS = {
    args: ("failed", "LEDGER_CORRUPT"),  # found before its approval is looked at
    capability: ("failed", "LEDGER_CORRUPT"),  # found before its approval is looked at
    policy_version: ("waiting_approval", ""),
    stricter_rule: ("failed", "POLICY_DENIED"),
    stricter_condition: ("failed", "POLICY_DENIED"),
    more_votes: ("waiting_approval", ""),
    precondition: ("waiting_approval", ""),
    grant_of_the_workspace: ("failed", "SCOPE_DENIED"),
    caller: ("failed", "APPROVAL_INVALID"),
    task: ("failed", "APPROVAL_INVALID"),
    role: ("failed", "APPROVAL_INVALID"),
    another_call: ("failed", "LEDGER_CORRUPT"),  # found before its approval is looked at
}


@pytest.mark.parametrize("change", ENDS, ids=lambda change: change.__name__)
def test_each_change_is_refused(caller, workspace, folder, runtime, approver, settings, change):
    settings.FORGE_LINGER_MS = 0
    (folder / "a").write_text("old")
    rule(approver)
    given = {"path": "a", "content": "new"}
    sent = send(caller, capability="file.write", input=given, workspace="ws", task_id="t1")
    run_all(runtime)
    asked = Approval.objects.get()
    answer(asked, approver)
    change({"approver": approver, "folder": folder, "workspace": workspace})
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    asked.refresh_from_db()
    assert (done.status, done.error_code) == ENDS[change]
    assert asked.state != "consumed"
    assert (folder / "a").read_text() in ("old", "other")
    if done.status == "waiting_approval":  # asked anew: the old yes is no yes to this
        again = Approval.objects.get(state="pending")
        assert (again.supersedes, asked.state) == (asked.ref, "revoked")
        assert json.loads(again.snapshot)["rule"] == "look"
