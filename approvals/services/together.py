"""One person's answer to several requests: each is decided by itself, and each says what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.contrib.auth.models import User

from approvals import ports, selectors, warnings
from approvals.models import Approval
from approvals.services import words
from approvals.services.decide import Decide, decide
from approvals.states import Risk
from forge_project.kernel.errors import Conflict, ForgeError, Invalid

MOST_APPROVED, MOST_DENIED = 20, 100
_MILD = frozenset((Risk.LOW, Risk.MEDIUM))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was on the person's screen of one request."""

    approval_ref: str
    version: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """One answer to all of `seen`; the rest as in `Decide`."""

    actor: User
    decision: Literal["approve", "deny"]
    seen: Sequence[Seen]
    authenticated_at: datetime
    method: Literal["session", "token", "password"]
    reason: str = ""
    session: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What became of one: the approval as it is now, or why nothing was changed."""

    approval_ref: str
    row: Approval | None = None
    refusal: ForgeError | None = None


def decide_together(asked: Together) -> list[Answered]:
    """One result a request, in order. Raises Invalid or Conflict, with nothing changed, where they go not together."""
    if asked.decision == "deny":
        words.required(asked.reason)
    rows = [selectors.get(seen.approval_ref) for seen in asked.seen]
    if why := why_not(asked.decision, rows):
        raise Conflict(why, rule="approval.together")
    return [_one(asked, seen) for seen in asked.seen]


def why_not(decision: str, rows: Sequence[Approval]) -> str:
    """Why these can't be answered at once, or nothing. Looks at files: never call it in a transaction."""
    most = MOST_DENIED if decision == "deny" else MOST_APPROVED
    if not 1 <= len({row.pk for row in rows}) == len(rows) <= most:
        return f"choose between 1 and {most} requests"
    if decision == "deny":
        return ""
    if decision != "approve":
        raise Invalid("a decision is approve or deny", path="/decision")
    if len({row.capability for row in rows}) > 1:
        return "only requests for one and the same capability are approved together"
    if not all(row.risk in _MILD for row in rows):
        return "only low and medium risk is approved together"
    asked = [row.ref for row in rows if row.questions.exists()]
    if asked:
        return f"look at each about which the agent was asked something by itself: {', '.join(asked)}"
    warned = [row.ref for row in rows if warnings.of(row, ports.still_holds(row))]
    return f"look at each that has a warning by itself: {', '.join(warned)}" if warned else ""


def _one(asked: Together, seen: Seen) -> Answered:
    try:
        row = decide(
            Decide(
                approval_ref=seen.approval_ref,
                actor=asked.actor,
                decision=asked.decision,
                version=seen.version,
                fingerprint=seen.fingerprint,
                authenticated_at=asked.authenticated_at,
                method=asked.method,
                reason=asked.reason,
                session=asked.session,
                address=asked.address,
            )
        )
    except ForgeError as refusal:
        return Answered(approval_ref=seen.approval_ref, refusal=refusal)
    return Answered(approval_ref=seen.approval_ref, row=row)
