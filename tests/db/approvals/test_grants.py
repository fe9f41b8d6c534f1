"""Standing grants: their scope and limits, each use an ordinary approval, and never more uses than allowed."""

import pytest
from django.db import IntegrityError, transaction

from approvals import ports
from approvals.conditions import Subject
from approvals.errors import ApprovalInvalid
from approvals.models import Approval, Grant
from approvals.policy import Question, Verdict
from approvals.services import (
    MakeGrant,
    RevokeGrant,
    VoteGrant,
    consume,
    make_grant,
    revoke_grant,
    vote_grant,
)
from approvals.services.grant_use import answer_in, covering
from approvals.services.grants import Proof
from approvals.states import Decision
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Denied, Invalid
from forge_project.ledger import selectors as ledger
from forge_project.ledger.governance import GOVERNANCE
from tests import environment
from tests.db.approvals import REVIEW, answer, at_once, facts, page, pending, use

pytestmark = pytest.mark.django_db
ROUNDS = environment.ROUNDS or 15
TWO = Verdict(decision=Decision.REVIEW, rule="two", version=1, reason="", votes=2)


@pytest.fixture(autouse=True)
def _world(monkeypatch):
    monkeypatch.setattr(ports, "subject_of", lambda row: Subject(lambda: {"path": row.target}, dict))


def proof(actor, **changes):
    return Proof(**{"actor": actor, "authenticated_at": clock.now(), "method": "session"} | changes)


def grant(row, actor, **changes):
    said = {"condition": "input.path.endsWith('.txt')", "uses": 3, "lasts": "1h"} | changes
    proven = said.pop("proof", None) or proof(actor)
    seen = {"version": row.version, "fingerprint": row.fingerprint}
    return make_grant(MakeGrant(approval_ref=row.ref, proof=proven, **seen | said))


def ask(robot, name, refs, **changes):
    """A question that a grant may answer at once."""
    row = pending(robot, name, **changes)
    with page(name, robot) as held:
        answer_in(held, row, refs)
    row.refresh_from_db()
    return row


def test_it_answers_its_question_and_similar_ones(robot, ada, told):
    row = pending(robot)
    made = grant(row, ada, uses=2)
    row.refresh_from_db()
    assert (row.state, row.grant, row.decided_by, made.uses, told) == (
        "approved", made.pk, ada, 1, [(row.ref, "approved")],
    )  # fmt: skip
    second = ask(robot, "exec-2", [made.pk])
    assert (second.state, second.grant, facts("exec-2")[-1]["grant"]) == ("approved", made.pk, made.pk)
    assert ask(robot, "exec-3", [made.pk]).state == "pending"  # both uses are taken
    with page("exec-2", robot) as held:
        assert consume(held, use(second)).state == "consumed"
    assert "file.write by robot, at most 2 times within 1h, where input.path" in made.sentence


@pytest.mark.parametrize(
    "change",
    [
        {"capability": "patch.apply"},
        {"workspace": "other"},
        {"risk": "critical"},
        {"verdict": Verdict(decision=Decision.REVIEW, rule="default", version=2, reason="")},
        {"verdict": Verdict(decision=Decision.REVIEW, rule="other", version=1, reason="")},
    ],
)
def test_it_answers_nothing_else(robot, ada, change):
    made = grant(pending(robot), ada)
    assert ask(robot, "exec-2", [made.pk], **change).state == "pending"
    made.refresh_from_db()
    assert made.uses == 1


def test_one_for_an_execution_is_for_that_one(robot, ada):
    made = grant(pending(robot), ada, lasts="execution")
    assert ask(robot, "exec-2", [made.pk]).state == "pending"
    assert ask(robot, "exec-1", [made.pk], call_id="exec-1:forge:2", n=2).state == "approved"


def test_it_does_not_answer_for_whom_it_would_be_an_own_one(robot, ada):
    made = grant(pending(robot), ada)
    assert ask(robot, "exec-2", [made.pk], on_behalf_of=ada).state == "pending"


@pytest.mark.parametrize("how", ["permission", "time", "revoked"])
def test_it_ends(robot, ada, bob, turn, how):
    made = grant(pending(robot), ada)
    if how == "permission":
        ada.user_permissions.clear()
    elif how == "time":
        turn(hours=1)
    else:
        revoke_grant(RevokeGrant(grant_ref=made.pk, actor=bob, reason="enough"))
    assert ask(robot, "exec-2", [made.pk]).state == "pending"


def test_what_it_approved_is_not_used_after_it_was_revoked(robot, ada, bob):
    made = grant(pending(robot), ada)
    row = ask(robot, "exec-2", [made.pk])
    revoke_grant(RevokeGrant(grant_ref=made.pk, actor=bob, reason="enough"))
    with page("exec-2", robot) as held, pytest.raises(ApprovalInvalid) as refusal:
        consume(held, use(row))
    assert refusal.value.code == "APPROVAL_DENIED"
    with pytest.raises(Conflict):
        revoke_grant(RevokeGrant(grant_ref=made.pk, actor=bob, reason="again"))


def test_it_needs_the_votes_its_rule_needs(robot, ada, bob, told):
    row = pending(robot, verdict=TWO)
    made = grant(row, ada)
    assert (made.lives_until, told) == (None, [])
    assert ask(robot, "exec-2", [made.pk], verdict=TWO).state == "pending"
    with pytest.raises(Conflict):
        vote_grant(VoteGrant(grant_ref=made.pk, proof=proof(ada)))
    made = vote_grant(VoteGrant(grant_ref=made.pk, proof=proof(bob)))
    row.refresh_from_db()
    assert (made.lives_until is not None, row.state, row.grant) == (True, "approved", made.pk)
    assert ask(robot, "exec-3", [made.pk], verdict=TWO).state == "approved"
    with pytest.raises(Conflict):
        vote_grant(VoteGrant(grant_ref=made.pk, proof=proof(bob)))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"uses": 0}, Invalid),
        ({"uses": 51}, Invalid),
        ({"lasts": "1y"}, Invalid),
        ({"condition": ""}, Invalid),
        ({"condition": "true"}, Invalid),
        ({"condition": "input.path == 'b.txt'"}, Invalid),  # not this very request
        ({"condition": "input.nothing == 1"}, Invalid),
        ({"version": 2}, Conflict),
        ({"fingerprint": "other"}, Conflict),
    ],
)
def test_what_no_grant_may_be(robot, ada, change, kind):
    with pytest.raises(kind):
        grant(pending(robot), ada, **change)
    assert not Grant.objects.exists()


def test_never_for_critical_risk(robot, ada):
    with pytest.raises(Denied) as refusal:
        grant(pending(robot, risk="critical"), ada, proof=proof(ada, method="password"))
    assert refusal.value.facts["rule"] == "grant.critical"


def test_who_may_not_decide_may_not_grant(robot, owner, nobody, settings, ada):
    row = pending(robot)
    for actor in (owner, nobody, robot):
        with pytest.raises(Denied):
            grant(row, actor)
    settings.FORGE_API_DECISIONS = False
    with pytest.raises(Denied):
        grant(row, ada, proof=proof(ada, method="token"))


@pytest.mark.parametrize(
    ("given", "verdict", "covered"),
    [
        ({"path": "b.txt"}, REVIEW, True),
        ({"path": "b.md"}, REVIEW, False),
        ({}, REVIEW, False),
        ({"path": "b.txt"}, Verdict(decision=Decision.DENY, rule="default", version=1, reason=""), False),
        ({"path": "b.txt"}, Verdict(decision=Decision.REVIEW, rule="default", version=1, reason="", risk="critical"),
         False),
    ],
)  # fmt: skip
def test_only_what_the_condition_covers(robot, ada, given, verdict, covered):
    made = grant(pending(robot), ada)
    asked = Question(caller="robot", workspace="", capability="file.write", effect="write", network=False,
                     subject=Subject(lambda: given, dict))  # fmt: skip
    assert covering(asked, "exec-2", verdict) == ([made.pk] if covered else [])


def test_each_step_is_a_fact_of_governance(robot, ada, bob):
    made = grant(pending(robot), ada)
    revoke_grant(RevokeGrant(grant_ref=made.pk, actor=bob, reason="enough"))
    told = [ledger.payload(event)["actions"]["forge"] for event in ledger.events(GOVERNANCE)]
    assert [(said["fact"], said["ref"], said["actor"]) for said in told] == [
        ("grant.made", made.pk, "user:ada"),
        ("grant.revoked", made.pk, "user:bob"),
    ]
    assert told[0]["sentence"] == made.sentence


def test_the_database_widens_none(robot, ada, bob):
    made = grant(pending(robot), ada, uses=1)
    for change in ({"uses": 2}, {"uses": 0}, {"max_uses": 9}, {"condition": "input.path != ''"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Grant.objects.update(**change)
    revoke_grant(RevokeGrant(grant_ref=made.pk, actor=bob, reason="enough"))
    with pytest.raises(IntegrityError), transaction.atomic():
        Grant.objects.update(ended_at=None, end_reason="")


@pytest.mark.django_db(transaction=True)
def test_a_race_takes_no_more_uses_than_there_are(robot, ada, settings):
    settings.FORGE_CALLER_PENDING = 10_000
    for n in range(ROUNDS):
        made = grant(pending(robot, f"exec-{n}"), ada, uses=3)
        names = [f"exec-{n}-{k}" for k in range(6)]
        for name in names:
            pending(robot, name)
        rows = [Approval.objects.get(execution_ref=name) for name in names]

        def take(row, made=made):
            with page(row.invocation_id, robot) as held:
                fresh = Approval.objects.get(pk=row.pk)
                answer_in(held, fresh, [made.pk])
                return fresh.state == "approved" and consume(held, use(fresh)).state

        ended = at_once(*[lambda r=row: take(r) for row in rows])
        made.refresh_from_db()
        assert sorted(map(str, ended)) == ["False"] * 4 + ["consumed"] * 2
        assert (made.uses, Approval.objects.filter(grant=made.pk).count()) == (3, 3)


@pytest.mark.django_db(transaction=True)
def test_use_and_revoke_and_a_person_at_once(robot, ada, bob, settings):
    settings.FORGE_CALLER_PENDING = 10_000
    for n in range(ROUNDS):
        made = grant(pending(robot, f"exec-{n}"), ada)
        row = pending(robot, f"exec-{n}-a")

        def take(row=row, made=made):
            with page(row.invocation_id, robot) as held:
                return answer_in(held, Approval.objects.get(pk=row.pk), [made.pk])

        end = RevokeGrant(grant_ref=made.pk, actor=bob, reason="enough")
        taken, revoked, decided = at_once(take, lambda e=end: revoke_grant(e), lambda r=row: answer(r, bob, "deny"))
        row.refresh_from_db()
        made.refresh_from_db()
        assert isinstance(revoked, Grant)
        assert made.uses == 1 + (taken is True)
        if taken is True:
            assert (row.state, row.grant) == ("approved", made.pk)
            assert isinstance(decided, Conflict)
        else:
            assert row.state == "denied"


@pytest.mark.django_db(transaction=True)
def test_a_vote_and_a_revocation_at_once(robot, ada, bob, settings):
    """Both touch the grant and the chain of governance: in one order, or they would wait for each other."""
    settings.FORGE_CALLER_PENDING = 10_000
    for n in range(ROUNDS):
        row = pending(robot, f"exec-{n}", verdict=TWO)
        made = grant(row, ada)
        yes = VoteGrant(grant_ref=made.pk, proof=proof(bob))
        end = RevokeGrant(grant_ref=made.pk, actor=ada, reason="enough")
        voted, revoked = at_once(lambda v=yes: vote_grant(v), lambda e=end: revoke_grant(e))
        made.refresh_from_db()
        row.refresh_from_db()
        assert isinstance(revoked, Grant), revoked
        assert isinstance(voted, Grant | Conflict), voted
        assert made.ended_at is not None
        assert (row.state == "approved") == isinstance(voted, Grant) == (made.lives_until is not None)
