"""Several people: one vote each, a no ends it, groups, critical risk, and who was there when."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from approvals import selectors
from approvals.models import Vote
from approvals.policy import Verdict
from approvals.states import Decision
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Denied
from tests import environment
from tests.db.approvals import answer, at_once, facts, pending, person

pytestmark = pytest.mark.django_db


def two(**changes):
    return Verdict(**{"decision": Decision.REVIEW, "rule": "two", "version": 1, "reason": "", "votes": 2} | changes)


@pytest.fixture
def asked(robot):
    return pending(robot, verdict=two())


def refused(kind, *args, **changes):
    with pytest.raises(kind) as refusal:
        answer(*args, **changes)
    return refusal.value


def test_the_last_vote_needed_decides(asked, ada, bob, told):
    row = answer(asked, ada, session="s1", address="10.0.0.1")
    assert (row.state, row.version, row.decided_by, told) == ("pending", 2, None, [])
    row = answer(row, bob, session="s2", address="10.0.0.2")
    assert (row.state, row.version, row.decided_by, told) == ("approved", 3, bob, [(row.ref, "approved")])
    said = [[one[name] for name in ("fact", "actor", "method", "session", "address", "votes")] for one in facts()[1:]]
    assert said == [
        ["approval.voted", "user:ada", "session", "s1", "10.0.0.1", "1 of 2"],
        ["approval.decided", "user:bob", "session", "s2", "10.0.0.2", "2 of 2"],
    ]
    assert {one["shown"] for one in facts()[1:]} == {row.fingerprint}


def test_nobody_votes_twice(asked, ada):
    row = answer(asked, ada)
    assert refused(Conflict, row, ada).facts["rule"] == "approval.voted"
    assert refused(Conflict, asked, ada).facts["rule"] == "approval.voted"
    row.refresh_from_db()
    assert (row.state, row.version, Vote.objects.count()) == ("pending", 2, 1)
    assert list(selectors.pending_for(ada)) == []


def test_a_no_ends_it(asked, ada, bob, told):
    row = answer(answer(asked, ada), bob, "deny")
    assert (row.state, row.decided_by, row.reason, told) == ("denied", bob, "too risky", [(row.ref, "denied")])


def test_a_vote_on_what_was_seen_before_another_vote_is_stale(asked, ada, bob):
    answer(asked, ada)
    assert refused(Conflict, asked, bob).facts["version"] == 2


def test_a_vote_whose_right_was_taken_back_counts_no_more(asked, ada, bob):
    row = answer(asked, ada)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    row = answer(row, bob)
    assert (row.state, facts()[-1]["votes"]) == ("pending", "1 of 2")
    assert answer(row, person("cy")).state == "approved"


def test_only_the_rules_group_decides(robot, ada, bob):
    seniors = Group.objects.create(name="seniors")
    row = pending(robot, verdict=two(votes=1, approvers="seniors"))
    assert refused(Denied, row, ada).facts["rule"] == "approval.group"
    assert list(selectors.pending_for(ada)) == []
    ada.groups.add(seniors)
    assert list(selectors.pending_for(ada)) == [row]
    assert answer(row, ada).state == "approved"


class TestCritical:
    @pytest.fixture
    def row(self, robot):
        return pending(robot, risk="critical")

    @pytest.mark.parametrize("typed", ["", "a.tx", "A.txt", "a.txt "])
    def test_the_target_is_typed(self, row, ada, typed):
        assert refused(Denied, row, ada, method="password", typed_target=typed).facts["rule"] == "approval.typed_target"
        assert answer(row, ada, method="password", typed_target="a.txt").state == "approved"

    def test_a_no_needs_no_target(self, row, ada):
        assert answer(row, ada, "deny", method="password").state == "denied"

    @pytest.mark.parametrize(
        ("proof", "rule"),
        [
            ({"method": "session"}, "approval.stale_login"),
            ({"method": "token"}, "approval.token"),
            ({"method": "password", "authenticated_at": timedelta(minutes=-6)}, "approval.stale_login"),
        ],
    )
    def test_other_proofs_are_none(self, row, ada, proof, rule):
        if "authenticated_at" in proof:
            proof = proof | {"authenticated_at": clock.now() + proof["authenticated_at"]}
        assert refused(Denied, row, ada, typed_target="a.txt", **proof).facts["rule"] == rule


def test_the_same_question_denied_before_is_known(robot, ada):
    answer(pending(robot), ada, "deny", reason="not there")
    again = pending(robot, "exec-2")
    other = pending(robot, "exec-3", input={"path": "b.txt"})
    assert [(old.decided_by, old.reason) for old in selectors.denied_before(again)] == [(ada, "not there")]
    assert selectors.denied_before(other) == []


def test_the_database_keeps_votes_as_they_were(asked, ada):
    answer(asked, ada)
    for wrong in (
        lambda: Vote.objects.update(decision="deny"),
        lambda: Vote.objects.create(approval=asked, person=ada, decision="approve", method="token", at=clock.now()),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            wrong()


@pytest.mark.django_db(transaction=True)
def test_votes_at_once_are_each_counted_once(robot, ada, bob, settings):
    settings.FORGE_CALLER_PENDING = 10_000
    cy = person("cy")
    for n in range(environment.ROUNDS or 30):
        row = pending(robot, f"exec-{n}", verdict=two())
        ended = at_once(*[lambda p=p, r=row: answer(r, p) for p in (ada, bob, cy, ada)])
        landed = [one for one in ended if not isinstance(one, Exception)]
        row.refresh_from_db()
        assert (len(landed), row.state, row.votes.count()) == (1, "pending", 1)  # all others saw another version
        ended = at_once(*[lambda p=p, r=row: answer(r, p) for p in (ada, bob, cy)])
        row.refresh_from_db()
        assert (row.state, row.votes.count(), [one["fact"] for one in facts(row.invocation_id)]) == (
            "approved", 2, ["approval.requested", "approval.voted", "approval.decided"],
        )  # fmt: skip
        assert all(isinstance(one, Conflict) for one in ended if isinstance(one, Exception))
