"""What an approver asked the agent, and what it answered: read, and tied to the votes given in sight of it."""

from typing import Any, NoReturn

from django.conf import settings

from approvals.models import Approval, Question
from approvals.states import State
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict


def of(row: Approval) -> list[Question]:
    """In the order they were asked."""
    return sorted(row.questions.all(), key=lambda one: one.n)


def as_json(row: Approval) -> list[dict[str, Any]]:
    """As the API shows them; an answer that is not there yet is null."""
    return [
        {
            "n": one.n,
            "text": one.text,
            "asked_by": one.asked_by.username,
            "asked_at": clock.text(one.asked_at),
            "answer": one.answer or None,
            "answered_at": clock.text(one.answered_at) if one.answered_at else None,
        }
        for one in of(row)
    ]


def shown(row: Approval) -> str:
    """The digest of all that is shown now: the fingerprint; once something was asked, that and every word of it."""
    return str(settings.FORGE_FINGERPRINTS.of(_all(row))) if of(row) else row.fingerprint


def check_shown(row: Approval, told: str, *, needed: bool) -> str:
    """The digest of what a voter saw who sends `told` ("" = nothing asked, or shown). Raises Conflict if it isn't so.

    `needed`: who approves must have been shown every question and answer there is.
    """
    there = of(row)
    if not there or (not told and not needed):
        if told not in ("", row.fingerprint):
            _unseen(row)
        return row.fingerprint
    if not settings.FORGE_FINGERPRINTS.match(told, _all(row)):
        _unseen(row)
    return told


def _unseen(row: Approval) -> NoReturn:
    raise Conflict(
        "what the agent was asked, or answered, is not what you were shown",
        rule="approval.questions",
        state=State(row.state).value,
        version=row.version,
    )


def _all(row: Approval) -> Any:
    return [row.fingerprint, as_json(row)]
