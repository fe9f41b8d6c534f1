"""Writes a signal with the transition it tells: both are committed, or neither."""

import hashlib
import json

from executions.models import Execution
from executions.outbox.models import Delivery, Signal, SignalKind
from executions.states import TERMINAL, Status
from forge_project.kernel import clock, hot, plain

_GIVEN_BACK = frozenset(("drained", "unreadable"))  # back in the queue in good order: nothing was interrupted
# Asked at every signal, and dearer to build by the ORM than to run.
_LISTENING = """SELECT w.ref, w.kinds FROM executions_webhook w JOIN auth_user u ON u.id = w.owner_id
    WHERE w.deleted_at IS NULL AND u.is_active AND (w.owner_id = %s OR w.everything)"""


def moved(execution: Execution, was: Status, to: Status, reason: str) -> None:
    """Called by `transitions.move` in its transaction, with the row as it is now."""
    if to in TERMINAL:
        tell(execution, SignalKind.EXECUTION_FINISHED)
    elif to == Status.UNKNOWN:
        tell(execution, SignalKind.UNKNOWN_REALITY)
    elif to == Status.QUEUED and was in (Status.RUNNING, Status.UNKNOWN) and reason not in _GIVEN_BACK:
        tell(execution, SignalKind.RECOVERY_RESUME)


def tell(
    execution: Execution, kind: SignalKind, *, approval_ref: str = "", approval_state: str = "", question: int = 0
) -> None:
    """One row for each (execution, kind, attempt, status), and for each approval, and for each question about it: a
    repeat is the row that is there."""
    status = approval_state or str(execution.status)
    about = f"{approval_ref} {question}" if question else approval_ref
    row = Signal(
        ref=ref_of(execution.ref, kind, execution.attempt, status, about),
        kind=kind,
        execution=execution,
        attempt=execution.attempt,
        status=str(execution.status),
        side_effect=str(execution.side_effect),
        error_code=execution.error_code,
        approval_ref=approval_ref,
        approval_state=approval_state,
        question=question,
        created_at=clock.now(),
    )
    hot.insert(row, ignore=True)
    _fan_out(row, execution.caller_id)


def _fan_out(row: Signal, caller_id: int) -> None:
    """A delivery to each webhook that wants it, in the same transaction."""
    for ref, kinds in plain.rows(_LISTENING, [caller_id]):
        if row.kind in json.loads(kinds):
            hot.insert(Delivery(webhook_id=ref, signal=row, due_at=row.created_at), ignore=True)


def ref_of(execution: str, kind: str, attempt: int, status: str, approval_ref: str) -> str:
    """The same for the same thing told, whoever tells it."""
    said = "\n".join((execution, kind, str(attempt), status, approval_ref))
    return f"sig_{hashlib.sha256(said.encode()).hexdigest()[:32]}"
