"""An approver asks the agent something about its request; the request waits on, as it was."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from approvals import eligibility, ports, selectors
from approvals.models import MAX_QUESTION, MAX_QUESTIONS, Approval, Question
from approvals.services import words
from approvals.services.grants import Proof
from approvals.states import State
from approvals.transitions import lost
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import Conflict
from forge_project.ledger.events import fact
from forge_project.ledger.writing import writing


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgent:
    """One question, of at most 500 characters, of a person who may decide the request."""

    approval_ref: str
    text: str
    proof: Proof


def ask_agent(asked: AskAgent) -> Question:
    """The question; the agent finds it in its record and its signals. Raises Missing, Invalid, Denied, Conflict."""
    text = words.said(asked.text, MAX_QUESTION, "a question")
    with writing(selectors.get(asked.approval_ref).invocation_id) as page:
        row = Approval.objects.get(pk=asked.approval_ref)
        actor = User.objects.get(pk=asked.proof.actor.pk)  # not as the session cached it
        eligibility.check_may_vote(actor, row)
        eligibility.check_logged_in(asked.proof.authenticated_at)
        if row.state != State.PENDING or row.expires_at <= clock.now():
            lost(row.pk)
        if row.votes.filter(person=actor).exists():
            raise Conflict("you have voted on this already", rule="approval.voted", version=row.version)
        n = row.questions.count() + 1  # under the invocation's lock
        if n > MAX_QUESTIONS:
            raise Conflict(f"the agent was asked {MAX_QUESTIONS} questions already", rule="approval.questions")
        told = ports.redacted(row, text)
        question = Question.objects.create(approval=row, n=n, text=told, asked_by=actor, asked_at=clock.now())
        page.add(
            fact(
                "approval.asked",
                ref=row.pk,
                call_id=row.call_id,
                n=n,
                text=told,
                actor=actors.of(actor),
                method=asked.proof.method,
                session=asked.proof.session,
                address=asked.proof.address,
            )
        )
        ports.questioned(page, row, n)
    return question
