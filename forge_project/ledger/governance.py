"""The invocation `forge:governance`: what people and retention do to Forge itself. Locked last, never sealed."""

from contextlib import AbstractContextManager

from forge_project.ledger.events import Identity
from forge_project.ledger.writing import Page, writing

GOVERNANCE = "forge:governance"
_IDENTITY = Identity(
    invocation_id=GOVERNANCE, session_id=GOVERNANCE, run_id=GOVERNANCE, turn_id=GOVERNANCE, owner="forge"
)


def governing() -> AbstractContextManager[Page]:
    """A page of the governance chain. Of two invocations in one transaction this is the last to be locked."""
    return writing(GOVERNANCE, opening=_IDENTITY)
