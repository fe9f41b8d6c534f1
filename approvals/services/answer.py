"""The agent answers what an approver asked about its request."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from approvals import ports, selectors
from approvals.models import MAX_ANSWER, Approval, Question
from approvals.services import words
from approvals.states import State
from approvals.transitions import lost
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import Conflict, Missing
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The caller's own words, at most 2,000 characters, to question `n` about its own request."""

    approval_ref: str
    actor: User
    n: int
    text: str


def answer(asked: Answer) -> Approval:
    """The approval, as it was but for the answer; the same one again changes nothing.

    Raises Invalid; Missing (to everybody but the caller); Conflict (answered otherwise, or no longer pending).
    """
    text = words.said(asked.text, MAX_ANSWER, "an answer")
    found = selectors.get(asked.approval_ref)
    if found.caller_id != asked.actor.pk:
        raise Missing("no such approval", approval=asked.approval_ref)
    with writing(found.invocation_id) as page:
        row = Approval.objects.get(pk=found.pk)
        question = row.questions.filter(n=asked.n).first()
        if question is None:
            raise Missing("no such question was asked", approval=row.pk, n=asked.n)
        told = ports.redacted(row, text)
        if question.answer == told:
            return selectors.get(row.pk)
        if question.answered_at is not None:
            raise Conflict("this question has its answer, which stays", rule="question.answered", n=asked.n)
        if row.state != State.PENDING or row.expires_at <= clock.now():
            lost(row.pk)
        unanswered = Question.objects.filter(pk=question.pk, answered_at=None)
        if unanswered.update(answer=told, answered_at=clock.now()) != 1:
            raise AssertionError(f"{question} was answered under its approval's lock")
        who = actors.of(asked.actor)
        page.add(fact("approval.answered", ref=row.pk, call_id=row.call_id, n=asked.n, text=told, actor=who))
    return selectors.get(row.pk)
