"""Parking: an execution that waits for a person holds no lease and no process; its decision queues it again."""

from datetime import timedelta
from typing import Any

from approvals.models import Approval
from approvals.states import State
from executions.models import Call, Execution
from executions.services import hints
from executions.services.finish import end_attempt
from executions.states import CallStatus, Status, worst
from executions.transitions import Lease, held, move
from forge_project.kernel import clock
from forge_project.ledger.events import fact
from forge_project.ledger.writing import Page, writing


def park(lease: Lease, columns: dict[str, Any]) -> bool:
    """Moves to waiting_approval; False (and the attempt goes on) if something was decided or cancelled meanwhile."""
    with writing(lease.ref) as page:
        execution = held(page, lease)
        open_calls = Call.objects.filter(execution=execution, status=CallStatus.AWAITING_APPROVAL)
        refs = list(open_calls.order_by("n").values_list("approval_ref", flat=True))
        pending = Approval.objects.filter(pk__in=refs, state=State.PENDING).count()
        if not refs or pending != len(refs) or execution.cancel_requested_at is not None:
            return False
        effect = worst(list(Call.objects.filter(execution=execution).values_list("side_effect", flat=True)))
        event = fact("execution.parked", attempt=lease.attempt, approvals=refs)
        move(page, execution, Status.WAITING_APPROVAL, event, lease=lease, side_effect=effect, **columns)
        end_attempt(execution, "parked", columns.get("metrics", {}))
    return True


def on_decided(page: Page, approval: Approval) -> None:
    """The port approvals calls in its deciding transaction: a parked execution is queued again, a live one looks."""
    execution = Execution.objects.filter(pk=approval.execution_ref).first()
    if execution is not None and execution.status == Status.WAITING_APPROVAL:
        event = fact("execution.queued", reason="decided", approval=approval.pk)
        move(page, execution, Status.QUEUED, event, lease=None)
        hints.send_on_commit()


def requeue(lease: Lease, columns: dict[str, Any], reason: str, *, hold: int | None = None) -> None:
    """Gives a running execution back to the queue (drained, held): a later attempt goes on from its history."""
    with writing(lease.ref) as page:
        execution = held(page, lease)
        to_queue(page, execution, reason, columns | ({"hold_id": hold} if hold is not None else {}))
        end_attempt(execution, reason, columns.get("metrics", {}))


def to_queue(page: Page, execution: Execution, reason: str, columns: dict[str, Any], *, delay_s: float = 0) -> None:
    """Moves a running execution to the queue, due after `delay_s`."""
    effect = worst(list(Call.objects.filter(execution=execution).values_list("side_effect", flat=True)))
    due = clock.now() + timedelta(seconds=delay_s) if delay_s else None
    event = fact("execution.queued", attempt=execution.attempt, reason=reason)
    move(page, execution, Status.QUEUED, event, lease=None, side_effect=effect, due_at=due, **columns)
    if not delay_s:
        hints.send_on_commit()
