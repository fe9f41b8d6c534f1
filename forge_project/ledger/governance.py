"""The invocation `forge:governance`: what people and retention do to Forge itself. Locked last, never sealed."""

from contextlib import AbstractContextManager
from typing import Any

from django.db import connection
from django.db.transaction import TransactionManagementError

from forge_project.ledger.events import Identity, fact
from forge_project.ledger.writing import Page, writing

GOVERNANCE = "forge:governance"
_IDENTITY = Identity(
    invocation_id=GOVERNANCE, session_id=GOVERNANCE, run_id=GOVERNANCE, turn_id=GOVERNANCE, owner="forge"
)


def governing() -> AbstractContextManager[Page]:
    """A page of the governance chain. Of two invocations in one transaction this is the last to be locked.

    A change of settings is made inside it: then changes follow one another, and none waits for another's rows.
    """
    return writing(GOVERNANCE, opening=_IDENTITY)


def record(name: str, /, *, actor: str, **said: Any) -> None:
    """One fact of the governance chain in the transaction that is open: it stands or falls with the change it tells of.

    Names are a noun and what became of it (`rule.changed`); `said` is JSON without secrets.
    """
    if not connection.in_atomic_block:
        raise TransactionManagementError("a governance fact is written in the transaction of its change")
    with governing() as page:
        page.add(fact(name, actor=actor, **said))
