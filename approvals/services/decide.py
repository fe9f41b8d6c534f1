"""A person answers; where the rule wants several, the last one needed decides, and one no ends it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.conf import settings
from django.contrib.auth.models import User

from approvals import eligibility, ports, questions
from approvals.models import Approval, Vote
from approvals.services import words
from approvals.states import Method, State
from approvals.transitions import lost, move, voted
from forge_project.kernel import actors, clock, hot
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger.writing import Page, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """One person's answer to what they were shown: `version` and `fingerprint` as seen, and how they logged in.

    `typed_target`: for critical risk, what they typed. `session` (a digest) and `address` are kept with the vote.
    `shown`: the digest that `questions.shown` gave; "" = they saw no question, and approve nothing that has one.
    """

    approval_ref: str
    actor: User
    decision: Literal["approve", "deny"]
    version: int
    fingerprint: str
    authenticated_at: datetime
    method: Literal["session", "token", "password"]
    reason: str = ""
    typed_target: str = ""
    session: str = ""
    address: str = ""
    shown: str = ""


def decide(asked: Decide) -> Approval:
    """The approval: denied, approved, or pending with one vote more.

    Raises Missing, Invalid, Denied; Conflict (who was first, when, why).
    """
    if asked.decision not in ("approve", "deny") or asked.method not in Method.values:
        raise Invalid("a decision is approve or deny, by session, token or password", path="/decision")
    reason = words.required(asked.reason) if asked.decision == "deny" else words.reason(asked.reason)
    with writing(_read(asked).invocation_id) as page:
        row = _read(asked)
        actor = User.objects.get(pk=asked.actor.pk)  # not as the session cached it
        eligibility.check_may_vote(actor, row)
        eligibility.check_fresh(row, Method(asked.method), asked.authenticated_at)
        if asked.decision == "approve":
            eligibility.check_typed(row, asked.typed_target)
        if not _answer(page, row, asked, actor, reason):
            lost(row.pk)
        if row.state != State.PENDING:
            ports.decided(page, row)
    return row


def _read(asked: Decide) -> Approval:
    row = hot.one(Approval, {"ref": asked.approval_ref})
    if row is None:
        raise Missing("no such approval", approval=asked.approval_ref)
    return row


def _answer(page: Page, row: Approval, asked: Decide, actor: User, reason: str) -> bool:
    now = clock.now()
    given = [vote.person for vote in hot.rows(Vote, {"approval_id": row.pk})]
    if actor in given and row.state == State.PENDING:
        raise Conflict("you have voted on this already", rule="approval.voted", version=row.version)
    counted = 1 + sum(eligibility.may_vote(person, row) for person in given)  # whose right was taken back, no more
    seen = {"state": State.PENDING, "version": asked.version, "fingerprint": asked.fingerprint}
    seen |= {"expires_at": hot.Above(now)}
    shown = row.fingerprint
    if (row.state, row.version, row.fingerprint) == (State.PENDING, asked.version, asked.fingerprint):
        shown = questions.check_shown(row, asked.shown, needed=asked.decision == "approve")
    said = {
        "decision": asked.decision,
        "actor": actors.of(actor),
        "reason": reason,
        "method": asked.method,
        "authenticated_at": clock.text(asked.authenticated_at),
        "session": asked.session,
        "address": asked.address,
        "shown": shown,
        "votes": f"{counted} of {row.votes_needed}",
    }
    columns: dict[str, Any] = {
        "decided_by": actor, "decided_at": now, "reason": reason, "authentication": asked.method,
    }  # fmt: skip
    if asked.decision == "deny":
        landed = move(page, row, State.DENIED, where=seen, said=said, **columns)
    elif counted < row.votes_needed:
        landed = voted(page, row, where=seen, said=said)
    else:
        columns["expires_at"] = now + timedelta(seconds=settings.FORGE_APPROVAL_UNUSED_SECONDS)
        landed = move(page, row, State.APPROVED, where=seen, said=said, **columns)
    if landed:
        kept = {"decision": asked.decision, "method": asked.method, "reason": reason, "at": now}
        hot.insert(Vote(approval=row, person=actor, **kept))
    return landed
