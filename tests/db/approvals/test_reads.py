import pytest
from django.contrib.auth.models import Group

from approvals import selectors
from approvals.services import Revoke, revoke
from forge_project.kernel.errors import Missing
from tests.db.approvals import agent, answer, pending, person

pytestmark = pytest.mark.django_db


def test_who_sees_what(robot, owner, ada, nobody):
    other = agent("other", ada)
    mine, theirs = pending(robot, "exec-1"), pending(other, "exec-2", on_behalf_of=person("grace"))
    assert list(selectors.visible_to(robot)) == [mine]
    assert list(selectors.visible_to(ada)) == [theirs, mine]  # newest first
    assert list(selectors.visible_to(nobody)) == []


def test_an_agent_sees_its_own_whatever_it_may(robot, ada):
    pending(agent("other", ada), "exec-2")
    robot.is_superuser = True
    robot.save()
    assert list(selectors.visible_to(robot)) == []


def test_what_waits_for_me_is_never_my_own(robot, owner, ada, bob, nobody, turn):
    mine = pending(agent("other", ada), "exec-1")
    named = pending(robot, "exec-2", on_behalf_of=ada)
    plain = pending(robot, "exec-3")
    own = pending(ada, "exec-4")
    answer(pending(robot, "exec-5"), ada)
    assert list(selectors.pending_for(ada)) == [plain]
    assert list(selectors.pending_for(owner)) == [mine, own]
    assert list(selectors.pending_for(bob)) == [mine, named, plain, own]
    assert [list(selectors.pending_for(user)) for user in (nobody, robot)] == [[], []]
    turn(hours=24)
    assert list(selectors.pending_for(bob)) == []


def test_as_the_api_shows_it(robot, ada, bob):
    row = answer(pending(robot, purpose="to test"), ada)
    assert selectors.as_json(selectors.get(row.ref)) | {"requested_at": "", "expires_at": ""} == {
        "approval_ref": row.ref, "execution_ref": "exec-1", "call_id": "exec-1:forge:1", "n": 1,
        "capability": "file.write", "target": "a.txt", "risk": "medium", "state": "approved", "version": 2,
        "fingerprint": row.fingerprint, "sentence": "Write a.txt", "preview": {"kind": "text", "text": "+one"},
        "warnings": ["new file"], "reversible": True, "purpose": "to test", "requested_at": "", "expires_at": "",
        "decided_by": "ada", "reason": "", "votes_needed": 1, "voted": ["ada"], "approvers": "", "grant": None,
        "questions": [], "shown": row.fingerprint,
    }  # fmt: skip
    revoke(Revoke(approval_ref=row.ref, actor=bob, reason="stop"))
    assert selectors.as_json(selectors.get(row.ref))["decided_by"] == "bob"
    with pytest.raises(Missing):
        selectors.get("appr_0")


def test_the_roles_are_there():
    held = {group.name: {p.codename for p in group.permissions.all()} for group in Group.objects.all()}
    see = {"view_approval", "view_execution", "view_event", "view_artifact"}
    assert (held["agents"], held["approvers"]) == (set(), see | {"decide_approval"})
    assert held["auditors"] >= see
    assert held["operators"] >= see | {"cancel_execution", "resolve_execution", "change_policyrule", "change_workspace"}
    assert "decide_approval" not in held["operators"] | held["auditors"]
