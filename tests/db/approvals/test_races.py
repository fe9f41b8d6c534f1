"""Each pair of verbs at once, a hundred times: one wins, the other is told, the ledger has exactly that."""

from datetime import timedelta

import pytest

from approvals.errors import ApprovalInvalid
from approvals.models import Approval
from approvals.services import Revoke, consume, expire_due, revoke
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict
from tests import environment
from tests.db.approvals import answer, at_once, facts, page, pending, use

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = environment.ROUNDS or 100


@pytest.fixture
def rounds(robot, ada, bob, settings):
    """Fresh pending approvals, one an invocation."""
    settings.FORGE_CALLER_PENDING = 2 * ROUNDS
    return (pending(robot, f"exec-{n}") for n in range(ROUNDS))


def loser_of(ended, row):
    """The one Conflict among two ends; the winner moved the row."""
    lost = [end for end in ended if isinstance(end, Exception)]
    assert len(lost) == 1, ended
    assert isinstance(lost[0], Conflict), ended
    row.refresh_from_db()
    return lost[0]


def spend(row):
    with page(row.invocation_id, row.caller) as held:
        return consume(held, use(row))


@pytest.mark.parametrize("decisions", [("approve", "approve"), ("approve", "deny"), ("deny", "deny")])
def test_two_people_decide(rounds, ada, bob, told, decisions):
    for row in rounds:
        ended = at_once(*[lambda a=a, d=d, r=row: answer(r, a, d) for a, d in zip((ada, bob), decisions, strict=True)])
        lost = loser_of(ended, row)
        assert (lost.facts["state"], lost.facts["decided_by"], lost.facts["version"]) == (
            row.state, row.decided_by.username, 2,
        )  # fmt: skip
        said = facts(row.invocation_id)
        assert [one.get("actor") for one in said] == [None, f"user:{row.decided_by.username}"]
    assert len(told) == ROUNDS


def test_two_tabs_of_one_person(rounds, ada):
    for row in rounds:
        loser_of(at_once(lambda r=row: answer(r, ada), lambda r=row: answer(r, ada)), row)
        spend(row)
        assert [said["fact"] for said in facts(row.invocation_id)].count("approval.consumed") == 1


def due_soon(row, n):
    """Due in 0 to 40 ms, so that over the rounds the clock passes it before, amid and after the other verb."""
    Approval.objects.filter(pk=row.pk).update(expires_at=clock.now() + timedelta(milliseconds=40 * n / ROUNDS))


def test_decide_and_expire(rounds, ada, told):
    for n, row in enumerate(rounds):
        due_soon(row, n)
        decided, _ = at_once(lambda r=row: answer(r, ada), lambda: until(expire_due))
        yes = not isinstance(decided, Exception)
        assert yes or isinstance(decided, Conflict)
        until(lambda r=row: expire_due() or Approval.objects.exclude(state="pending").filter(pk=r.pk).exists())
        row.refresh_from_db()
        ends = [said["fact"] for said in facts(row.invocation_id)][1:]
        assert (row.state, ends) == (("approved", ["approval.decided"]) if yes else ("expired", ["approval.expired"]))
    assert len(told) == ROUNDS


def until(happened, tries=40):
    """What `happened` says first that is not nothing, if ever."""
    return next(filter(None, (happened() for _ in range(tries))), None)


def test_consume_and_revoke(rounds, ada, bob):
    for row in rounds:
        answer(row, ada)
        take_back = Revoke(approval_ref=row.ref, actor=bob, reason="stop")
        ended = at_once(lambda r=row: spend(r), lambda t=take_back: revoke(t))
        lost = loser_of(ended, row)
        if row.state == "consumed":
            assert lost.facts["state"] == "consumed"
        else:
            assert (row.state, lost.code, lost.facts["reason"]) == ("revoked", "APPROVAL_DENIED", "stop")
        assert len(facts(row.invocation_id)) == 3


def test_consume_and_expire(rounds, ada):
    for n, row in enumerate(rounds):
        answer(row, ada)
        due_soon(row, n)
        spent, _ = at_once(lambda r=row: spend(r), lambda: until(expire_due))
        until(lambda r=row: expire_due() or Approval.objects.exclude(state="approved").filter(pk=r.pk).exists())
        row.refresh_from_db()
        assert isinstance(spent, ApprovalInvalid) == (row.state == "expired"), (spent, row.state)
        assert (len(facts(row.invocation_id)), row.state in {"consumed", "expired"}) == (3, True)


def test_two_effects_never_share_one(rounds, ada):
    for row in rounds:
        answer(row, ada)
        lost = loser_of(at_once(lambda r=row: spend(r), lambda r=row: spend(r)), row)
        assert (row.state, lost.code) == ("consumed", "APPROVAL_INVALID")
        assert [said["fact"] for said in facts(row.invocation_id)].count("approval.consumed") == 1


def test_ask_again_and_decide(rounds, robot, ada):
    """What is superseded in the moment of decision is either decided first, or not at all."""
    again = {"precondition": {"sha256": "00"}}
    for row in rounds:
        name = row.invocation_id
        decided, new = at_once(lambda r=row: answer(r, ada), lambda n=name: pending(robot, n, **again))
        row.refresh_from_db()
        assert (row.state, new.state, new.supersedes) == ("revoked", "pending", row.ref)
        assert isinstance(decided, Approval | Conflict)
