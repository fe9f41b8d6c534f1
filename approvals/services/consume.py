"""Use an approval, once, at the effect boundary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from approvals.errors import ApprovalInvalid, PolicyChanged, PreconditionChanged
from approvals.models import Approval
from approvals.policy import Question, judge
from approvals.services.grant_use import stands
from approvals.states import Decision, State
from approvals.transitions import move
from forge_project.kernel import clock, hot
from forge_project.kernel.errors import Denied
from forge_project.ledger.writing import Page

_REFUSALS: Mapping[State, tuple[str, str]] = {
    State.PENDING: ("APPROVAL_REQUIRED", "nobody has decided yet"),
    State.DENIED: ("APPROVAL_DENIED", "a person denied this"),
    State.EXPIRED: ("APPROVAL_EXPIRED", "the approval expired"),
    State.CONSUMED: ("APPROVAL_INVALID", "this approval was used already"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Consume:
    """Which approval, for which call, with what is true now: JSON in the clear, as `Ask` had it."""

    approval_ref: str
    execution_ref: str
    call_id: str
    capability: str
    input: Any
    scope: Any
    precondition: Any
    question: Question | None = None  # with its conditions answered; without it, conditions count against the call


def consume(page: Page, asked: Consume) -> Approval:
    """The approval, used up, in the caller's transaction; the caller's dispatch event follows it on `page`.

    Raises ApprovalInvalid; PreconditionChanged or PolicyChanged (ask again); Denied where policy now forbids it.
    """
    row = hot.one(Approval, {"ref": asked.approval_ref})
    if row is None:
        raise ApprovalInvalid("no such approval", approval=asked.approval_ref)
    _check_state(row)
    _check_bound(page, row, asked)
    if row.grant and not stands(row.grant):
        raise ApprovalInvalid("the standing grant was ended", code="APPROVAL_DENIED", approval=row.pk, grant=row.grant)
    if not settings.FORGE_FINGERPRINTS.match(row.precondition_fingerprint, asked.precondition):
        raise PreconditionChanged("the world changed since this was asked", approval=row.pk)
    _check_policy(row, asked.question)
    now = clock.now()
    if not move(page, row, State.CONSUMED, where={"expires_at": hot.Above(now)}, said=_said(row), consumed_at=now):
        raise ApprovalInvalid("the approval moved on without us", approval=row.pk)
    return row


def _check_state(row: Approval) -> None:
    state = State(row.state)
    if state in (State.PENDING, State.APPROVED) and row.expires_at <= clock.now():
        state = State.EXPIRED  # overdue, whether or not the sweep has been here
    if state == State.APPROVED:
        return
    person = "APPROVAL_DENIED" if row.revoked_by_id else "APPROVAL_INVALID"
    code, message = _REFUSALS.get(state, (person, "the approval was revoked"))
    raise ApprovalInvalid(message, code=code, approval=row.pk, state=row.state, reason=row.reason)


def _check_bound(page: Page, row: Approval, asked: Consume) -> None:
    """The same call of the same execution, with the same input and scope."""
    given = (page.invocation_id, asked.execution_ref, asked.call_id, asked.capability)
    match = settings.FORGE_FINGERPRINTS.match
    if (
        given != (row.invocation_id, row.execution_ref, row.call_id, row.capability)
        or not match(row.input_fingerprint, asked.input)
        or not match(row.scope_fingerprint, asked.scope)
    ):
        raise ApprovalInvalid("this approval is for something else", approval=row.pk)


def _check_policy(row: Approval, question: Question | None) -> None:
    """What policy says now may be milder than what the person was asked under, never stricter or another review."""
    verdict = judge(question or _question(row))
    if verdict.decision == Decision.DENY:
        raise Denied(verdict.reason or "refused by policy", code="POLICY_DENIED", rule=verdict.rule)
    if verdict.decision == Decision.REVIEW and (verdict.rule, verdict.version) != (row.rule, row.rule_version):
        raise PolicyChanged("the policy changed since this was asked", approval=row.pk, rule=verdict.rule)


def _question(row: Approval) -> Question:
    return Question(
        caller=row.caller.username,
        workspace=row.workspace,
        capability=row.capability,
        effect=row.effect,
        network=row.network,
    )


def _said(row: Approval) -> dict[str, Any]:
    return {"shown": row.fingerprint, "version": row.version + 1}
