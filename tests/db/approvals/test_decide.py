from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Denied, Invalid, Missing
from tests.db.approvals import agent, answer, facts, pending, person

pytestmark = pytest.mark.django_db


def refused(approval, actor, **changes):
    with pytest.raises(Denied) as refusal:
        answer(approval, actor, **changes)
    approval.refresh_from_db()
    assert (approval.state, refusal.value.code) == ("pending", "SCOPE_DENIED")
    return refusal.value.facts["rule"]


def test_approving_starts_the_second_clock(robot, ada, told, settings):
    row = answer(pending(robot), ada, reason=" fine ")
    assert (row.state, row.version, row.decided_by, row.reason, row.authentication) == (
        "approved", 2, ada, "fine", "session",
    )  # fmt: skip
    assert row.expires_at - row.decided_at == timedelta(seconds=settings.FORGE_APPROVAL_UNUSED_SECONDS)
    said = facts()[-1]
    assert {name: said[name] for name in ("fact", "ref", "decision", "actor", "reason", "method", "shown")} == {
        "fact": "approval.decided", "ref": row.ref, "decision": "approve", "actor": "user:ada", "reason": "fine",
        "method": "session", "shown": row.fingerprint,
    }  # fmt: skip
    assert told == [(row.ref, "approved")]


def test_denying_needs_a_reason(robot, ada, told):
    row = pending(robot)
    with pytest.raises(Invalid):
        answer(row, ada, "deny", reason="  ")
    row = answer(row, ada, "deny", reason="not in this tree")
    assert (row.state, row.reason, facts()[-1]["decision"]) == ("denied", "not in this tree", "deny")
    assert told == [(row.ref, "denied")]


def test_nobody_decides_their_own(robot, owner, ada):
    row = pending(robot, on_behalf_of=ada)
    assert {refused(row, owner), refused(row, ada)} == {"approval.self"}
    mine = pending(ada, "exec-2")  # a person who calls by an own token
    assert refused(mine, ada) == "approval.self"


def test_a_superuser_may_not_either(robot):
    root = User.objects.create_superuser("root")
    robot.agent.owner = root
    robot.agent.save()
    assert refused(pending(robot), root) == "approval.self"


def test_agents_decide_nothing_whatever_they_may(robot, ada, owner):
    row = pending(robot)
    root = User.objects.create_superuser("root")
    agent_root = agent("other", ada)
    agent_root.is_superuser = True
    agent_root.save()
    assert refused(row, agent_root) == "approval.agent"
    answer(row, root)


def test_permission_and_activity_are_read_afresh(robot, ada, nobody):
    row = pending(robot)
    assert refused(row, nobody) == "approval.permission"
    assert ada.has_perm("approvals.decide_approval")  # cached on this instance, as a session would have it
    User.objects.get(pk=ada.pk).user_permissions.clear()
    assert refused(row, ada) == "approval.permission"
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert refused(row, ada) == "approval.inactive"


def test_a_log_in_goes_stale(robot, ada):
    row, now = pending(robot), clock.now()
    assert refused(row, ada, authenticated_at=now - timedelta(hours=12, seconds=1)) == "approval.stale_login"
    assert refused(row, ada, authenticated_at=now + timedelta(hours=1)) == "approval.stale_login"
    answer(row, ada, authenticated_at=now - timedelta(hours=11, minutes=59))


def test_critical_risk_needs_a_password_just_given(robot, ada):
    row, now = pending(robot, risk="critical"), clock.now()
    assert refused(row, ada) == "approval.stale_login"
    late = now - timedelta(minutes=5, seconds=1)
    assert refused(row, ada, method="password", authenticated_at=late) == "approval.stale_login"
    assert refused(row, ada, method="token") == "approval.token"
    answer(row, ada, method="password", typed_target=row.target)


def test_tokens_decide_only_where_the_setting_says_so(robot, ada, settings):
    row = pending(robot)
    settings.FORGE_API_DECISIONS = False
    assert refused(row, ada, method="token") == "approval.token"
    settings.FORGE_API_DECISIONS = True
    assert answer(row, ada, method="token").authentication == "token"


@pytest.mark.parametrize("seen", [{"version": 2}, {"fingerprint": "jcs1:hmac-sha256:00:00"}])
def test_what_was_shown_is_what_is_approved(robot, ada, seen, told):
    row = pending(robot)
    with pytest.raises(Conflict) as loss:
        answer(row, ada, **seen)
    assert (loss.value.facts["state"], loss.value.facts["version"], told) == ("pending", 1, [])


def test_the_second_is_told_who_was_first(robot, ada, bob):
    row = pending(robot)
    answer(row, ada, "deny", reason="no")
    with pytest.raises(Conflict) as loss:
        answer(row, bob)
    row.refresh_from_db()
    assert loss.value.facts == {
        "state": "denied", "version": 2, "decided_by": "ada", "decided_at": clock.text(row.decided_at), "reason": "no",
    }  # fmt: skip
    assert [said["fact"] for said in facts()] == ["approval.requested", "approval.decided"]


def test_an_overdue_one_is_not_approved_even_before_the_sweep(robot, ada, turn):
    row = pending(robot)
    turn(hours=24)
    with pytest.raises(Conflict, match="overdue"):
        answer(row, ada)


def test_a_superseded_one_is_not_decided(robot, ada):
    old = pending(robot)
    pending(robot, precondition={"sha256": "00"})
    with pytest.raises(Conflict) as loss:
        answer(old, ada)
    assert (loss.value.facts["state"], loss.value.facts["decided_by"]) == ("revoked", None)


def test_a_failing_port_leaves_nothing_behind(robot, ada, monkeypatch):
    from approvals import ports

    def fails(page, approval):
        raise Conflict("the execution has ended")

    monkeypatch.setattr(ports, "decided", fails)
    row = pending(robot)
    with pytest.raises(Conflict):
        answer(row, ada)
    row.refresh_from_db()
    assert (row.state, len(facts())) == ("pending", 1)


def test_faults_in_what_is_asked(robot, ada):
    row = pending(robot)
    for fault in (
        {"decision": "maybe"},
        {"method": "guess"},
        {"reason": "a\0b"},
        {"reason": "\ud800"},
        {"reason": "x" * 2001},
    ):
        with pytest.raises(Invalid):
            answer(row, ada, **fault)
    with pytest.raises(Missing):
        answer(row, person("eve"), approval_ref="appr_0")
