"""The only writer of an approval's state."""

from collections.abc import Mapping
from typing import Any, NoReturn

from approvals.errors import ApprovalInvalid
from approvals.models import Approval
from approvals.states import MOVES, State
from forge_project.kernel import clock, hot
from forge_project.kernel.errors import Conflict
from forge_project.ledger.events import fact
from forge_project.ledger.writing import Page

_FACTS: Mapping[State, str] = {
    State.APPROVED: "approval.decided",
    State.DENIED: "approval.decided",
    State.REVOKED: "approval.revoked",
    State.EXPIRED: "approval.expired",
    State.CONSUMED: "approval.consumed",
}


def move(
    page: Page, row: Approval, to: State, *, where: Mapping[str, Any], said: Mapping[str, Any], **columns: Any
) -> bool:
    """One conditional UPDATE from the state and version in `row`, and its event; False: it moved on without us.

    `page` holds the approval's invocation. `where` (kernel/hot) narrows the UPDATE, `said` goes into the event.
    """
    if page.invocation_id != row.invocation_id:
        raise ApprovalInvalid("this approval belongs to another invocation", approval=row.pk)
    if to not in MOVES[State(row.state)]:
        return False
    if not _write(row, where, {"state": to} | columns):
        return False
    page.add(fact(_FACTS[to], ref=row.pk, call_id=row.call_id, **said))
    return True


def voted(page: Page, row: Approval, *, where: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """A vote that decides nothing yet: the version goes on, the state stays. As `move` otherwise."""
    if page.invocation_id != row.invocation_id:
        raise ApprovalInvalid("this approval belongs to another invocation", approval=row.pk)
    if not _write(row, where, {}):
        return False
    page.add(fact("approval.voted", ref=row.pk, call_id=row.call_id, **said))
    return True


def _write(row: Approval, where: Mapping[str, Any], columns: dict[str, Any]) -> bool:
    """One version more, from exactly what `row` says; then `row` says it."""
    same = {"state": row.state, "version": row.version}
    if any(where.get(name, value) != value for name, value in same.items()):
        return False
    values = {"version": row.version + 1, **columns}
    if hot.update(Approval, {"ref": row.pk, **same, **where}, values) != 1:
        return False
    for name, value in values.items():
        setattr(row, name, value)
    return True


def lost(ref: str) -> NoReturn:
    """Raises the loser's Conflict: where the approval is now, and who brought it there."""
    row = Approval.objects.select_related("decided_by", "revoked_by").get(pk=ref)
    who = row.revoked_by if row.state == State.REVOKED else row.decided_by
    at = row.ended_at or row.decided_at
    overdue = row.state == State.PENDING and row.expires_at <= clock.now()
    raise Conflict(
        "this approval is overdue" if overdue else f"this approval is {row.state}, at version {row.version}",
        state=row.state,
        version=row.version,
        decided_by=who.username if who else None,
        decided_at=clock.text(at) if at else None,
        reason=row.reason,
    )
