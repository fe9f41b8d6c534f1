"""Revoked by a person, revoked by what closes the execution, expired by the clock."""

import pytest

from approvals.models import Approval
from approvals.services import Revoke, expire_due, revoke, revoke_in
from forge_project.kernel.errors import Conflict, Denied, Invalid
from forge_project.ledger.events import fact
from tests.db.approvals import answer, facts, page, pending

pytestmark = pytest.mark.django_db


def back(row, actor, reason="changed my mind"):
    return revoke(Revoke(approval_ref=row.ref, actor=actor, reason=reason))


def test_pending_and_approved_ones_are_taken_back(robot, ada, bob, told):
    first = back(pending(robot, "exec-1"), ada)
    second = back(answer(pending(robot, "exec-2"), ada), bob)
    assert [(row.state, row.revoked_by, row.decided_by) for row in (first, second)] == [
        ("revoked", ada, None), ("revoked", bob, ada),
    ]  # fmt: skip
    assert told[-1] == (second.ref, "revoked")
    said = facts("exec-2")[-1]
    assert (said["fact"], said["was"], said["actor"]) == ("approval.revoked", "approved", "user:bob")


def test_who_may_not_and_what_can_not(robot, ada, bob, nobody, told):
    row = pending(robot)
    for actor, rule in ((nobody, "approval.permission"), (robot, "approval.agent")):
        with pytest.raises(Denied) as refusal:
            back(row, actor)
        assert refusal.value.facts["rule"] == rule
    with pytest.raises(Invalid):
        back(row, ada, reason="")
    back(row, ada, reason="no more")
    with pytest.raises(Conflict) as loss:
        back(row, bob)
    assert (loss.value.facts["decided_by"], loss.value.facts["reason"]) == ("ada", "no more")
    assert told == [(row.ref, "revoked")]


def test_in_another_transaction_nobody_is_told(robot, told):
    row = pending(robot)
    with page("exec-1", robot) as held:
        assert revoke_in(held, row.ref, "cancelled")
        assert not revoke_in(held, row.ref, "cancelled")
        assert not revoke_in(held, "appr_0", "cancelled")
    assert (told, facts()[-1]["reason"], len(facts())) == ([], "cancelled", 2)


def test_another_invocations_page_moves_nothing(robot):
    row = pending(robot, "exec-1")
    with pytest.raises(Conflict), page("exec-2", robot) as held:
        revoke_in(held, row.ref, "cancelled")
    row.refresh_from_db()
    assert row.state == "pending"


def test_expiry_is_a_refusal_with_its_own_fact(robot, ada, told, turn):
    waits = pending(robot, "exec-1")
    assert expire_due() == 0
    turn(hours=24)
    unused = answer(pending(robot, "exec-2"), ada)
    assert expire_due() == 1
    turn(minutes=15)
    assert (expire_due(), expire_due()) == (1, 0)
    assert told == [(unused.ref, "approved"), (waits.ref, "expired"), (unused.ref, "expired")]
    assert [said["fact"] for said in facts("exec-1")] == ["approval.requested", "approval.expired"]
    assert facts("exec-2")[-1]["was"] == "approved"
    assert not Approval.objects.filter(state__in=["pending", "approved"]).exists()


def test_one_bad_row_stops_no_other(robot, turn, caplog):
    bad, good = pending(robot, "exec-1"), pending(robot, "exec-2")
    with page("exec-1", robot) as held:
        held.add(fact("execution.finished", status="completed"))  # sealed under a pending approval: a bug elsewhere
    turn(hours=25)
    assert expire_due() == 1
    good.refresh_from_db()
    bad.refresh_from_db()
    assert (bad.state, good.state, bad.ref in caplog.text) == ("pending", "expired", True)


def test_the_sweep_takes_a_share_at_a_time(robot, turn):
    for n in range(3):
        pending(robot, f"exec-{n}")
    turn(hours=25)
    assert [expire_due(limit=2), expire_due(limit=2)] == [2, 1]
