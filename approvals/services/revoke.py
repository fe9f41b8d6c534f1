"""Take an approval, or the question for one, back."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from approvals import eligibility, ports, selectors
from approvals.models import Approval
from approvals.services import words
from approvals.states import State
from approvals.transitions import lost, move
from forge_project.kernel import actors, clock
from forge_project.ledger.writing import Page, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    """A person takes back what is pending or approved, and says why."""

    approval_ref: str
    actor: User
    reason: str


def revoke(asked: Revoke) -> Approval:
    """The approval, revoked. Raises Missing, Invalid, Denied; Conflict once it was used or ended otherwise."""
    reason = words.required(asked.reason)
    with writing(selectors.get(asked.approval_ref).invocation_id) as page:
        actor = User.objects.get(pk=asked.actor.pk)
        eligibility.check_person(actor)
        row = Approval.objects.get(pk=asked.approval_ref)
        if not _revoke(page, row, reason, by=actor):
            lost(row.pk)
        ports.decided(page, row)
    return row


def revoke_in(page: Page, approval_ref: str, reason: str) -> bool:
    """Revokes it in the transaction of `page` and tells nobody; False if it was not live (or not there)."""
    row = Approval.objects.filter(pk=approval_ref).first()
    return row is not None and _revoke(page, row, reason, by=None)


def _revoke(page: Page, row: Approval, reason: str, *, by: User | None) -> bool:
    said = {"reason": reason, "was": row.state} | ({"actor": actors.of(by)} if by else {})
    return move(page, row, State.REVOKED, where={}, said=said, reason=reason, revoked_by=by, ended_at=clock.now())
