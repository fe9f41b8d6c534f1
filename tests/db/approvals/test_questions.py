"""An approver asks the agent; the request stays as it is, and every vote is tied to what was said by then."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from approvals import ports, questions, selectors
from approvals.models import MAX_QUESTIONS, Question
from approvals.policy import Verdict
from approvals.services import Answer, Revoke, revoke
from approvals.services import answer as reply
from approvals.services.together import Seen, Together, decide_together
from approvals.states import Decision
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Denied, Invalid, Missing
from tests import environment
from tests.db.approvals import answer, asked_about, at_once, facts, page, pending

pytestmark = pytest.mark.django_db
TWO = Verdict(decision=Decision.REVIEW, rule="two", version=1, reason="", votes=2)


@pytest.fixture
def row(robot):
    return pending(robot)


def said(row, actor, text="Because.", n=1):
    return reply(Answer(approval_ref=row.ref, actor=actor, n=n, text=text))


def talk(row):
    return [(one["n"], one["text"], one["asked_by"], one["answer"]) for one in selectors.as_json(row)["questions"]]


def test_asked_and_answered_the_request_is_as_it_was(row, robot, ada, monkeypatch):
    heard = []
    monkeypatch.setattr(ports, "questioned", lambda page, asked, n: heard.append((asked.pk, n)))
    asked_about(row, ada, "  Why this file?\n")
    asked_about(row, ada, "And why now?")
    assert heard == [(row.ref, 1), (row.ref, 2)]
    told = said(row, robot, " It is the only one. ", n=2)
    assert talk(told) == [(1, "Why this file?", "ada", None), (2, "And why now?", "ada", "It is the only one.")]
    assert (told.state, told.version, told.fingerprint) == ("pending", 1, row.fingerprint)
    asked, _, answered = facts()[1:]
    assert asked == {
        "fact": "approval.asked", "ref": row.ref, "call_id": row.call_id, "n": 1, "text": "Why this file?",
        "actor": "user:ada", "method": "session", "session": "s", "address": "a",
    }  # fmt: skip
    assert answered == {
        "fact": "approval.answered", "ref": row.ref, "call_id": row.call_id, "n": 2, "text": "It is the only one.",
        "actor": "user:robot",
    }  # fmt: skip


def test_secrets_are_masked_in_row_and_ledger(row, robot, ada, monkeypatch):
    monkeypatch.setattr(ports, "redacted", lambda asked, text: text.replace("hunter2", "[SECRET]"))
    asked_about(row, ada, "Is it hunter2?")
    told = said(row, robot, "No, hunter2!")
    assert talk(told) == [(1, "Is it [SECRET]?", "ada", "No, [SECRET]!")]
    assert said(row, robot, "No, hunter2!").ref == row.ref  # the same again
    assert "hunter2" not in str(facts())


@pytest.mark.parametrize("text", ["", " \n ", "x" * 501, "a\0b", "\ud800"])
def test_what_is_no_question(row, ada, text):
    with pytest.raises(Invalid) as fault:
        asked_about(row, ada, text)
    assert fault.value.facts["path"] == "/text"
    assert (Question.objects.count(), len(facts())) == (0, 1)


@pytest.mark.parametrize("text", ["", " \n ", "x" * 2001, "a\0b", "\ud800"])
def test_what_is_no_answer(row, robot, ada, text):
    asked_about(row, ada)
    with pytest.raises(Invalid) as fault:
        said(row, robot, text)
    assert (fault.value.facts["path"], len(facts())) == ("/text", 2)


def test_who_may_not_decide_asks_nothing(row, robot, owner, nobody, ada, bob):
    two = pending(robot, "exec-2", verdict=TWO)
    answer(two, ada)
    approvers = pending(robot, "exec-3", verdict=Verdict(decision=Decision.REVIEW, rule="g", version=1, reason="",
                                                         approvers="seniors"))  # fmt: skip
    old = clock.now() - timedelta(hours=13)
    for kind, rule, go in (
        (Denied, "approval.permission", lambda: asked_about(row, nobody)),
        (Denied, "approval.self", lambda: asked_about(row, owner)),
        (Denied, "approval.agent", lambda: asked_about(row, robot)),
        (Denied, "approval.group", lambda: asked_about(approvers, ada)),
        (Denied, "approval.stale_login", lambda: asked_about(row, ada, authenticated_at=old)),
        (Conflict, "approval.voted", lambda: asked_about(two, ada)),
    ):
        with pytest.raises(kind) as refusal:
            go()
        assert refusal.value.facts["rule"] == rule
    ada.is_active = False
    ada.save()
    with pytest.raises(Denied):
        asked_about(row, ada)
    assert not Question.objects.exists()
    asked_about(two, bob)


@pytest.mark.parametrize("end", ["approve", "deny", "revoke", "overdue"])
def test_what_is_decided_is_asked_about_and_answered_no_more(row, robot, ada, bob, turn, end):
    asked_about(row, ada)
    match end:
        case "revoke":
            revoke(Revoke(approval_ref=row.ref, actor=bob, reason="no"))
        case "overdue":
            turn(hours=25)
        case decision:
            answer(row, bob, decision, shown=questions.shown(selectors.get(row.ref)))
    before = facts()
    for go in (lambda: asked_about(row, ada, "And?"), lambda: said(row, robot)):
        with pytest.raises(Conflict) as refusal:
            go()
        assert refusal.value.facts["state"] == selectors.get(row.ref).state
    assert (facts(), Question.objects.get().answer) == (before, "")


def test_five_and_no_more(row, ada):
    for n in range(MAX_QUESTIONS):
        asked_about(row, ada, f"Question {n}")
    with pytest.raises(Conflict) as refusal:
        asked_about(row, ada)
    assert refusal.value.facts["rule"] == "approval.questions"
    assert len(facts()) == 1 + MAX_QUESTIONS


def test_only_the_caller_answers_and_once(row, robot, owner, ada):
    asked_about(row, ada)
    for other in (owner, ada):
        with pytest.raises(Missing):
            said(row, other)
    with pytest.raises(Missing):
        said(row, robot, n=2)
    said(row, robot)
    said(row, robot)
    with pytest.raises(Conflict) as refusal:
        said(row, robot, "Or rather not.")
    assert refusal.value.facts["rule"] == "question.answered"
    assert [one["fact"] for one in facts()] == ["approval.requested", "approval.asked", "approval.answered"]


@pytest.mark.parametrize(
    "change", [{"text": "Other?"}, {"n": 2}, {"answer": "Other."}, {"answer": "", "answered_at": None}]
)
def test_the_database_keeps_every_word(row, robot, ada, change):
    asked_about(row, ada)
    said(row, robot)
    with pytest.raises(IntegrityError), transaction.atomic():
        Question.objects.update(**change)


def test_a_vote_is_tied_to_what_was_said_by_then(row, robot, ada, bob):
    assert questions.shown(row) == row.fingerprint
    asked_about(row, ada)
    unanswered = questions.shown(selectors.get(row.ref))
    said(row, robot)
    answered = questions.shown(selectors.get(row.ref))
    assert len({row.fingerprint, unanswered, answered}) == 3
    for seen in ("", row.fingerprint, unanswered, "jcs1:x", answered[:-1]):
        with pytest.raises(Conflict) as refusal:
            answer(row, bob, shown=seen)
        assert (refusal.value.facts["rule"], refusal.value.facts["version"]) == ("approval.questions", 1)
    with pytest.raises(Conflict):
        answer(row, bob, "deny", shown=unanswered)
    answer(row, bob, shown=answered)
    assert facts()[-1]["shown"] == answered


def test_a_no_needs_no_sight_of_the_answers(row, ada, bob):
    asked_about(row, ada)
    answer(row, bob, "deny")
    assert facts()[-1]["shown"] == row.fingerprint


def test_a_digest_of_questions_nobody_asked_is_no_ones(row, ada):
    with pytest.raises(Conflict):
        answer(row, ada, shown="jcs1:hmac-sha256:00000000:00")
    answer(row, ada, shown=row.fingerprint)


def test_votes_of_two_differ_where_an_answer_came_between(robot, ada, bob):
    row = pending(robot, verdict=TWO)
    answer(row, ada)
    asked_about(row, bob)
    said(row, robot)
    row.refresh_from_db()
    answer(row, bob, shown=questions.shown(row))
    votes = [one["shown"] for one in facts() if one["fact"] in ("approval.voted", "approval.decided")]
    assert votes == [row.fingerprint, questions.shown(row)]


def test_what_was_asked_about_is_not_approved_in_a_heap(row, ada):
    asked_about(row, ada)
    told = {"actor": ada, "authenticated_at": clock.now(), "method": "session", "reason": "no"}
    seen = [Seen(approval_ref=row.ref, version=1, fingerprint=row.fingerprint)]
    with pytest.raises(Conflict):
        decide_together(Together(decision="approve", seen=seen, **told))
    (one,) = decide_together(Together(decision="deny", seen=seen, **told))
    assert one.row.state == "denied"


def test_asked_again_after_a_change_begins_without_questions(row, robot, ada):
    asked_about(row, ada)
    with page("exec-1", robot) as held:
        from approvals.services import ask
        from tests.db.approvals import question

        again = ask(held, question(robot, precondition={"sha256": "x"}))
    assert (again.supersedes, again.questions.count()) == (row.ref, 0)


@pytest.mark.django_db(transaction=True)
def test_questions_and_answers_at_once(robot, ada, bob, settings):
    settings.FORGE_CALLER_PENDING = 1000
    for n in range(environment.ROUNDS or 15):
        row = pending(robot, f"exec-{n}")
        asked_about(row, ada)
        ended = at_once(
            lambda row=row: asked_about(row, ada, "One?"), lambda row=row: asked_about(row, bob, "Two?"),
            lambda row=row: said(row, robot, "A"), lambda row=row: said(row, robot, "B"),
        )  # fmt: skip
        lost = [end for end in ended if isinstance(end, Exception)]
        assert [type(end) for end in lost] == [Conflict], ended
        kept = selectors.get(row.ref)
        assert sorted(one.n for one in kept.questions.all()) == [1, 2, 3]
        assert kept.questions.get(n=1).answer in ("A", "B")
        assert [one["fact"] for one in facts(row.invocation_id)].count("approval.answered") == 1


@pytest.mark.django_db(transaction=True)
def test_an_answer_against_the_decision(robot, ada, settings):
    settings.FORGE_CALLER_PENDING = 1000
    for n in range(environment.ROUNDS or 15):
        row = pending(robot, f"exec-{n}")
        asked_about(row, ada)
        seen = questions.shown(selectors.get(row.ref))
        ended = at_once(lambda row=row: said(row, robot), lambda row=row, seen=seen: answer(row, ada, shown=seen))
        assert sum(isinstance(end, Conflict) for end in ended) == 1, ended
        kept = selectors.get(row.ref)
        assert (kept.state == "approved") == (kept.questions.get().answer == "")
