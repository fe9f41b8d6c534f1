"""What approvals asks of the app above; executions' AppConfig sets both, nothing is imported from there."""

from collections.abc import Callable

from approvals.models import Approval
from forge_project.ledger.writing import Page

Decided = Callable[[Page, Approval], None]
StillHolds = Callable[[Approval], bool | None]


def _nobody_waits(page: Page, approval: Approval) -> None:
    """Nobody is told."""


def _nobody_looks(approval: Approval) -> bool | None:
    """Whether the precondition holds is not known."""
    return None


decided: Decided = _nobody_waits
"""Called inside the transaction that decided, revoked or expired an approval, under its invocation's lock."""

still_holds: StillHolds = _nobody_looks
"""Whether the world is still as it was when asked; None = can't tell. Reads files: never call it in a transaction."""
